"""Tags that have parts, such as N-D, a noun in the dative.

The grammar's tag is what stands before the separator.  A coarse tag's subtype emits a word together with its fine tag,
P(w, f | t_x), so that subtypes learn what of the fine tags the rules care for and the rules are not scattered over all
of them.  Given a tree, a word's fine tag is the f of the largest sum over x of P(x | T, w) P(f | w, t_x).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from latree.arrays import Floats, Longs
from latree.files import Arrays, Header
from latree.inference.forest import Forest, P
from latree.inference.grammar import Grammar
from latree.inference.reading import Emissions
from latree.inference.sweep import Inference
from latree.lexicon.words import Lexicon
from latree.text.binary import Node
from latree.text.tree import Tree

SEPARATORS = "-_"
LEAST_GAIN = 0.1  # of the tags: cutting fewer of them off is not worth it
_BLURRED = 0.1  # how much of a word's tags as a whole is added to those of each subtype


@dataclass(frozen=True, eq=False)
class FineReading(Emissions):
    """What a grammar with fine tags makes of words."""

    fine: Floats  # [words, fine tags' subtypes laid end to end] P(f, x | w)


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
    def of(cls, trees: Sequence[Node], wanted: str) -> FineTags | None:
        """Those of binary trees; `wanted` are separators, `none` or `auto`.  None: no tag has parts."""
        names = tuple(dict.fromkeys(leaf.symbol.label for tree in trees for leaf in _leaves(tree)))
        separators = {"none": "", "auto": separators_of(names)}.get(wanted, wanted)
        if all(cut(name, separators) == name for name in names):
            return None
        return cls(separators, names)

    def coarse(self, tag: str) -> str:
        return cut(tag, self.separators)

    def part(self, trees: Iterable[Node]) -> None:
        """Have the grammar see coarse tags, with the fine ones behind them."""
        for tree in trees:
            for leaf in _leaves(tree):
                leaf.fine = leaf.symbol.label
                leaf.symbol = leaf.symbol._replace(label=self.coarse(leaf.fine))

    def coarsened(self, tree: Tree) -> Tree:
        """A tree with coarse tags alone."""

        def coarsen(node: Tree, below: list[Tree]) -> Tree:
            return Tree(self.coarse(node.label), word=node.word) if node.word is not None else Tree(node.label, below)

        return tree.fold(coarsen)

    @cached_property
    def number(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.names)}

    def numbers(self, tree: Node) -> list[int]:
        """The fine tags of a tree's words."""
        return [self.number[leaf.fine or leaf.symbol.label] for leaf in _leaves(tree)]


def _leaves(tree: Node) -> Iterator[Node]:
    """From left to right."""
    stack = [tree]
    while stack:
        node = stack.pop()
        if node.word is not None:
            yield node
        stack.extend(reversed(node.children()))


@dataclass(frozen=True, eq=False)
class FineLexicon:
    """P(f, x | w): which fine tags words have, and under which subtypes of the coarse tag."""

    tags: FineTags
    lexicon: Lexicon  # of fine tags' subtypes laid end to end, x numbered as in the coarse tag

    @classmethod
    def unsplit(
        cls,
        tags: FineTags,
        lexicon: Lexicon,
        sentences: Sequence[Sequence[tuple[str, int]]],
        fine: Sequence[Sequence[int]],
    ) -> FineLexicon:
        """Begin with the lexicon of coarse tags: words and their classes are the same, what letters tell is not."""
        words = ([word for word, _ in sentence] for sentence in sentences)
        finely = [list(zip(*pair, strict=True)) for pair in zip(words, fine, strict=True)]
        return cls(tags, lexicon.with_guesser_of(finely, len(tags.names)))

    def header(self) -> Header:
        """What of it is not arrays, as JSON values."""
        return {
            "separators": self.tags.separators,
            "names": list(self.tags.names),
            "lexicon": self.lexicon.header(),
        }

    @classmethod
    def from_file(cls, header: Header, arrays: Arrays) -> FineLexicon:
        """What wrote these."""
        tags = FineTags(header["separators"], tuple(header["names"]))
        return cls(tags, Lexicon.from_arrays(arrays, header["lexicon"]))

    def rows(self, tokens: Sequence[str]) -> Floats:
        """P(f, x | w) of every word of a sentence."""
        return np.stack([self.lexicon.tag_given_word(word, k == 0) for k, word in enumerate(tokens)])

    @cached_property
    def _members(self) -> dict[str, tuple[list[str], Longs]]:
        """The fine tags of each coarse one, and the columns [fine tags, subtypes] of each."""
        members: dict[str, list[str]] = {}
        for name in self.tags.names:
            members.setdefault(self.tags.coarse(name), []).append(name)
        columns = self.lexicon.tag_columns
        tables = {}
        for coarse, names in members.items():
            first = columns[[self.tags.number[name] for name in names]]
            width = int(columns[self.tags.number[names[0]] + 1] - first[0])
            tables[coarse] = names, first[:, None] + np.arange(width)
        return tables

    def best(self, coarse: str, row: Floats, subtypes: Floats) -> str:
        """The fine tag of a word, given P(f, x | w) and how likely each subtype of its coarse tag is."""
        names, columns = self._members[coarse]
        if len(names) == 1:
            return names[0]
        table = row[columns]
        table = table + _BLURRED * table.mean(1, keepdims=True)
        total = table.sum(0)
        given = np.divide(table, total, out=np.zeros_like(table), where=total > 0)
        return names[int(np.argmax(given @ subtypes))]

    def likeliest(self, word: str, first: bool) -> str:
        """The likeliest fine tag of a word by itself."""
        by_tag = np.add.reduceat(self.lexicon.tag_given_word(word, first), self.lexicon.tag_columns[:-1])
        return self.tags.names[int(np.argmax(by_tag))]

    def choose(self, grammar: Grammar, forest: Forest, found: Inference, rows: Floats) -> dict[int, str]:
        """The fine tag of every lexical entry of a forest of single trees."""
        tags, chosen = len(grammar.tags), {}
        for edge in np.flatnonzero(forest.rule >= forest.rules).tolist():
            word, tag = divmod(int(forest.rule[edge]) - forest.rules, tags)
            item = int(forest.ends[edge, P])
            mine = slice(int(found.inside.start[item]), int(found.inside.start[item + 1]))
            subtypes = found.inside.row[mine] * found.outside.row[mine]
            chosen[word * tags + tag] = self.best(grammar.tags[tag].label, rows[word], subtypes)
        return chosen
