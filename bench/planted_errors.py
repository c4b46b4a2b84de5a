"""How many errors that were planted in a treebank `latree check` finds.

    python -m bench.planted_errors FILE [--trust FILE]... [--recipe "lvg --rounds 4"] [-m MODEL] [--errors 200]

Errors of four kinds, a quarter each, at random places: the label of a phrase is another one; the tag of a word is another
one that the word has elsewhere, if any; a first or last child goes from its phrase to the phrase above, or a sister of a
phrase into it; a bracket is dropped.  What is printed:

places       The list has every phrase and every tag of the treebank, and every bracket that the model would add, the most
             suspicious first.  Ranks count all of these; N per cent of the list are N per cent of the phrases and tags.
             An error is found where a place is listed that it changed: the phrase or word itself, or, of a bracket that is
             no longer there, its span.
phrases      The same list without tags, for errors in phrases alone.
sentences    Sentences by their worst place; an error is found with its sentence.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from latree.text.tree import Tree

Span = tuple[int, int]
Path = tuple[int, ...]  # the numbers of the children on the way from the root


class Place(NamedTuple):
    """A phrase, by its words, or a tag; of phrases over the same words, all."""

    sentence: int
    start: int
    end: int
    is_tag: bool = False


class Planted(NamedTuple):
    kind: str
    places: frozenset[Place]  # of which each tells of the error


class Spot(NamedTuple):
    """A node where it stands."""

    node: Tree
    path: Path
    start: int
    end: int


def spots_of(tree: Tree) -> Iterator[Spot]:
    """All nodes, a parent before its children."""
    stack = [(tree, Path(), 0)]
    while stack:
        node, path, start = stack.pop()
        yield Spot(node, path, start, start + len(node.words()))
        for number, child in enumerate(node.children):
            stack.append((child, (*path, number), start))
            start += len(child.words())


def replaced(tree: Tree, path: Path, nodes: Sequence[Tree]) -> Tree:
    """The tree with other nodes in the place of one."""
    nodes = tuple(nodes)
    for depth in reversed(range(len(path))):
        above = tree
        for number in path[:depth]:
            above = above.children[number]
        children = above.children
        nodes = (Tree(above.label, (*children[: path[depth]], *nodes, *children[path[depth] + 1 :])),)
    return nodes[0]


Change = tuple[Tree, frozenset[tuple[int, int, bool]]]  # the tree with an error, and the spans that tell of it


class Planter:
    """Makes errors as they are likely in one treebank."""

    def __init__(self, trees: Iterable[Tree], rng: random.Random) -> None:
        self.rng, self.labels, self.tags = rng, Counter[str](), Counter[str]()
        self.tags_of: dict[str, set[str]] = defaultdict(set)
        for tree in trees:
            self.labels.update(label for label, *_ in tree.spans())
            for leaf in tree.leaves():
                self.tags[leaf.label] += 1
                self.tags_of[leaf.word or ""].add(leaf.label)
            self.labels[tree.label] -= 1
        self.labels = +self.labels

    def _other(self, label: str, names: Counter[str]) -> str:
        while True:
            if (chosen := self.rng.choices(list(names), list(names.values()))[0]) != label:
                return chosen

    def label(self, tree: Tree) -> Change | None:
        """Give a phrase another label, as often as each occurs."""
        spots = [one for one in spots_of(tree) if one.path and not one.node.is_leaf]
        if not spots:
            return None
        node, path, start, end = self.rng.choice(spots)
        wrong = Tree(self._other(node.label, self.labels), node.children)
        return replaced(tree, path, [wrong]), frozenset({(start, end, False)})

    def tag(self, tree: Tree) -> Change | None:
        """Give a word another tag."""
        node, path, start, end = self.rng.choice([one for one in spots_of(tree) if one.node.is_leaf])
        possible = sorted(self.tags_of[node.word or ""] - {node.label})
        tag = self.rng.choice(possible) if possible else self._other(node.label, self.tags)
        return replaced(tree, path, [Tree(tag, word=node.word)]), frozenset({(start, end, True)})

    def drop(self, tree: Tree) -> Change | None:
        """Take a bracket of two words or more away."""
        spots = [one for one in spots_of(tree) if one.path and one.end - one.start > 1 and len(one.node) > 1]
        if not spots:
            return None
        node, path, start, end = self.rng.choice(spots)
        return replaced(tree, path, node.children), frozenset({(start, end, False)})

    def attach(self, tree: Tree) -> Change | None:
        """Move the edge of a phrase by one child, out of it or into it."""
        moves = [move for one in spots_of(tree) if one.path and not one.node.is_leaf for move in self._moves(tree, one)]
        return self.rng.choice(moves) if moves else None

    def _moves(self, tree: Tree, spot: Spot) -> Iterator[Change]:
        node, (*above, number), start, end = spot
        children = node.children
        parent = tree
        for step in above:
            parent = parent.children[step]
        before, after = parent.children[:number], parent.children[number + 1 :]

        def change(*parts: Tree, first: int, last: int) -> Change:
            whole = Tree(parent.label, parts)
            return replaced(tree, tuple(above), [whole]), frozenset({(start, end, False), (first, last, False)})

        if len(children) > 2:
            first, *most, last = children
            short = Tree(node.label, [first, *most]), Tree(node.label, [*most, last])
            yield change(*before, short[0], last, *after, first=start, last=end - len(last.words()))
            yield change(*before, first, short[1], *after, first=start + len(first.words()), last=end)
        if len(parent) > 2:
            if before:
                longer = Tree(node.label, [before[-1], *children])
                yield change(*before[:-1], longer, *after, first=start - len(before[-1].words()), last=end)
            if after:
                longer = Tree(node.label, [*children, after[0]])
                yield change(*before, longer, *after[1:], first=start, last=end + len(after[0].words()))


def plant(trees: Sequence[Tree], errors: int, seed: int) -> tuple[list[Tree], list[Planted]]:
    """Copy a treebank with so many errors in it; a sentence may have several, no two at the same place."""
    rng = random.Random(seed)
    planter, changed, planted = Planter(trees, rng), list(trees), list[Planted]()
    kinds: dict[str, Callable[[Tree], Change | None]] = {
        "label": planter.label,
        "tag": planter.tag,
        "attachment": planter.attach,
        "dropped": planter.drop,
    }
    taken: set[Place] = set()
    while len(planted) < errors:
        kind = [*kinds][len(planted) % len(kinds)]
        sentence = rng.randrange(len(trees))
        if (change := kinds[kind](changed[sentence])) is None:
            continue
        places = frozenset(Place(sentence, *one) for one in change[1])
        if not places & taken:
            taken |= places
            changed[sentence] = change[0]
            planted.append(Planted(kind, places))
    return changed, planted
