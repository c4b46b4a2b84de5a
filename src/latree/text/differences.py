"""Two trees of the same words beside each other: what both have is drawn as one, what only one has is marked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from latree.text.draw import svg
from latree.text.tree import Tree

LONGEST = 5  # words of a phrase that is the same in both trees, beyond which the middle is left out
SPACE = "\u00a0"  # between the words of a phrase that is drawn as one
ONLY_HERE = "*"  # after the label of what the other tree does not have


@dataclass(frozen=True)
class Difference:
    """A tree in which phrases that another has too, all below them the same, are words."""

    tree: Tree
    marked: frozenset[int]  # the places in `subtrees()` of nodes that the other does not have

    def svg(self) -> str:
        """The tree as a picture."""
        return svg(self.tree, marked=self.marked)

    def __str__(self) -> str:
        """The tree in brackets, with marks in its labels."""
        places = iter(range(len(self.tree.subtrees()) - 1, -1, -1))  # a fold takes nodes from the last to the first

        def combine(node: Tree, below: list[Tree]) -> Tree:
            return Tree(node.label + ONLY_HERE * (next(places) in self.marked), below, node.word)

        return str(self.tree.fold(combine))


def difference(tree: Tree, other: Tree) -> Difference:
    """Tell in what a tree differs from another of the same words."""
    common = set(_placed(other))
    extra = Counter(tree.spans()) - Counter(other.spans())
    tags = other.tags()
    starts = iter([start for _, start in _placed(tree)][::-1])

    def combine(node: Tree, below: list[tuple[Tree, list[bool]]]) -> tuple[Tree, list[bool]]:
        start = next(starts)
        if node.is_leaf:
            return node, [node.label != tags[start]]
        words = node.words()
        if (node, start) in common:
            return Tree(node.label, word=SPACE.join(_shortened(words))), [False]
        marks = [(node.label, start, start + len(words)) in extra]
        return Tree(node.label, [child for child, _ in below]), marks + [mark for _, part in below for mark in part]

    condensed, marks = tree.fold(combine)
    return Difference(condensed, frozenset(place for place, is_marked in enumerate(marks) if is_marked))


def _placed(tree: Tree) -> Iterator[tuple[Tree, int]]:
    """All nodes, each with the number of its first word."""
    words = 0
    for node in tree.subtrees():
        yield node, words
        words += node.is_leaf


def _shortened(words: list[str]) -> list[str]:
    return words if len(words) <= LONGEST else [*words[: LONGEST - 2], "…", words[-1]]
