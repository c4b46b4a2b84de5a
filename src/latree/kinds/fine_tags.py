"""Tags that have parts, such as N-D, a noun in the dative.

The grammar's tag is what stands before the separator.  A coarse tag's subtype emits a word together with its fine tag,
P(w, f | t_x), so that subtypes learn what of the fine tags the rules care for and the rules are not scattered over all
of them.  Given a tree of coarse tags, a log-linear model says which fine tag each word has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from latree.errors import LatreeError
from latree.files import Arrays, Header, part_of
from latree.lexicon.guesser import Guesser, features
from latree.lexicon.words import Lexicon
from latree.text.binary import Binarization, Node, undo
from latree.text.tree import Tree

SEPARATORS = "-_"
NO_PARTS = ("none", "")  # asked for: whole tags
LEAST_GAIN = 0.1  # of the tags: cutting fewer of them off is not worth it
_EDGE = ""  # what stands beyond a sentence or a phrase
_GENERATIONS = 3  # of labels above a word
_ENDING = 2  # letters of a neighbour
_SMALLEST = 0.05  # weight that is kept
_FAR = 2  # sisters before a word: more count as so many


def cut(tag: str, separators: str) -> str:
    """What stands before the first separator; a tag that begins with one stays whole."""
    end = next((k for k, character in enumerate(tag) if k and character in separators), None)
    return tag if tag[:1] in separators else tag[:end]


def separators_of(tags: Iterable[str]) -> str:
    """Those characters among the usual ones that part many of the tags."""
    names = set(tags)
    most = (1 - LEAST_GAIN) * len(names)
    return "".join(one for one in SEPARATORS if len({cut(tag, one) for tag in names}) <= most)


@dataclass(frozen=True, eq=False)
class FineTags:
    """The fine tags of a treebank."""

    separators: str
    names: tuple[str, ...]

    @classmethod
    def of(cls, trees: Sequence[Tree], wanted: str) -> FineTags | None:
        """Those of some trees; `wanted` are separators, `none` or `auto`.  None: no tag has parts."""
        names = tuple(dict.fromkeys(tag for tree in trees for tag in tree.tags()))
        separators = {"none": "", "auto": separators_of(names)}.get(wanted, wanted)
        if any(cut(name, separators) != name for name in names):
            return cls(separators, names)
        if wanted not in (*NO_PARTS, "auto"):
            raise LatreeError(f"no tag of the treebank is parted by {wanted!r}; --fine auto finds what does, if any")
        return None

    def coarse(self, tag: str) -> str:
        return cut(tag, self.separators)

    def is_part(self, tag: str) -> bool:
        """Whether a tag is one of several that have a coarse one in common."""
        return tag in self.number and sum(self.coarse(name) == self.coarse(tag) for name in self.names) > 1

    def binary(self, tree: Tree, binarization: Binarization) -> Node:
        """The binary tree that the grammar learns from: its tags are coarse, with the fine ones behind them."""
        node = binarization.apply(self.coarsened(tree))
        for leaf, tag in zip(_leaves(node), tree.tags(), strict=True):
            leaf.fine = tag
        return node

    def coarsened(self, tree: Tree) -> Tree:
        """A tree with coarse tags alone."""

        def coarsen(node: Tree, below: list[Tree]) -> Tree:
            return Tree(self.coarse(node.label), word=node.word) if node.word is not None else Tree(node.label, below)

        return tree.fold(coarsen)

    @cached_property
    def number(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.names)}


def _leaves(tree: Node) -> Iterator[Node]:
    """From left to right."""
    stack = [tree]
    while stack:
        node = stack.pop()
        if node.word is not None:
            yield node
        stack.extend(reversed(node.children()))


class Place(NamedTuple):
    """Where a word stands in a tree."""

    leaf: Tree
    above: tuple[str, ...]  # labels, the nearest first
    left: str  # label of the sister before it
    right: str
    number: int  # among its sisters


def places(tree: Tree) -> Iterator[Place]:
    """Those of all words, from left to right."""
    todo = [Place(tree, (), _EDGE, _EDGE, 0)]
    while todo:
        place = todo.pop()
        node = place.leaf
        if node.word is not None:
            yield place
            continue
        above, labels = (node.label, *place.above)[:_GENERATIONS], [_EDGE, *(c.label for c in node.children), _EDGE]
        sisters = [Place(c, above, labels[k], labels[k + 2], k) for k, c in enumerate(node.children)]
        todo.extend(reversed(sisters))


def shown_by(tree: Tree, lexicon: Lexicon) -> list[list[str]]:
    """What there is to tell the fine tag of every word of a coarse tree by: its letters where it is rare, phrases
    above, sisters, neighbours and how these end."""
    stand = list(places(tree))
    words = [_EDGE, *(place.leaf.word or "" for place in stand), _EDGE]
    tags = [_EDGE, *(place.leaf.label for place in stand), _EDGE]
    rows = []
    for k, place in enumerate(stand, start=1):
        word, above, parent = words[k], place.above, place.above[0]
        row = [f"word {word}", *(f"above {' '.join(above[:n])}" for n in range(1, _GENERATIONS + 1))]
        row += features(word, k == 1, lexicon.is_known) if lexicon.is_rare(word) else [""]
        row += [f"left {place.left}", f"right {place.right}", f"left {place.left} under {parent}"]
        row += [f"number {min(place.number, _FAR)} under {parent}", f"two before {' '.join(tags[max(k - 2, 0) : k])}"]
        for side, other in (("before", k - 1), ("after", k + 1)):
            ending = words[other][-_ENDING:]
            row += [f"{side} {words[other]}", f"{side} tag {tags[other]}", f"{side} {tags[other]} -{ending}"]
        rows.append(row)
    return rows


@dataclass(frozen=True, eq=False)
class FineTagger:
    """P(f | t, tree) for every coarse tag t that stands for several fine ones: log-linear, as rare words' tags are."""

    tags: FineTags
    guessers: Mapping[str, Guesser] = field(default_factory=dict)

    def learned(self, trees: Iterable[Node], lexicon: Lexicon) -> FineTagger:
        """Learn from binary trees whose tags are parted."""
        shown: dict[str, list[list[str]]] = {}
        chosen: dict[str, list[int]] = {}
        for tree in trees:
            for leaf, row in zip(_leaves(tree), shown_by(undo(tree), lexicon), strict=True):
                coarse, whole = leaf.symbol.label, leaf.fine or leaf.symbol.label
                if len(self._members[coarse]) > 1:
                    shown.setdefault(coarse, []).append(row)
                    chosen.setdefault(coarse, []).append(self._members[coarse].index(whole))
        guessers = {}
        for coarse, rows in shown.items():
            counts = np.zeros((len(rows), len(self._members[coarse])))
            counts[np.arange(len(rows)), chosen[coarse]] = 1.0
            guessers[coarse] = Guesser.fitted(rows, counts, _SMALLEST)
        return replace(self, guessers=guessers)

    @cached_property
    def _members(self) -> dict[str, list[str]]:
        """The fine tags of each coarse one."""
        members: dict[str, list[str]] = {}
        for name in self.tags.names:
            members.setdefault(self.tags.coarse(name), []).append(name)
        return members

    def refined(self, tree: Tree, lexicon: Lexicon, given: Mapping[int, str]) -> Tree:
        """The tree with the likeliest fine tag of every word, or the one that it is given, by its place."""
        rows = shown_by(tree, lexicon)

        def refine(node: Tree, below: list[Tree]) -> Tree:
            if node.word is None:
                return Tree(node.label, below)
            row = rows.pop()  # a fold comes from the right
            whole = given.get(len(rows), "")
            is_of_it = self.tags.coarse(whole) == node.label
            return Tree(whole if is_of_it else self._best(node.label, row), word=node.word)

        return tree.fold(refine)

    def _best(self, coarse: str, row: Sequence[str]) -> str:
        members = self._members.get(coarse, [coarse])
        return members[int(np.argmax(self.guessers[coarse].given(row)))] if coarse in self.guessers else members[0]

    # -- files

    def header(self) -> Header:
        """What of it is not arrays, as JSON values."""
        names = {"separators": self.tags.separators, "names": list(self.tags.names)}
        return names | {"parted": list(self.guessers)}

    def to_arrays(self) -> Arrays:
        """The arrays of a model file."""
        parts = enumerate(self.guessers.values())
        return {f"{k}.{name}": array for k, guesser in parts for name, array in guesser.to_arrays().items()}

    @classmethod
    def from_file(cls, header: Header, arrays: Arrays) -> FineTagger:
        """What wrote these."""
        fine = cls(FineTags(header["separators"], tuple(header["names"])))
        guessers = {
            coarse: Guesser.from_arrays(part_of(f"{k}.", arrays), len(fine._members[coarse]))
            for k, coarse in enumerate(header["parted"])
        }
        return replace(fine, guessers=guessers)
