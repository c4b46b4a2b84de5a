"""The nodes of a tree as values, by which trees of the same words are compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from typing import NamedTuple

from latree.text.partial_trees import Bracket
from latree.text.tree import Tree


class Spot(NamedTuple):
    """A phrase or a tag over words start..end-1."""

    label: str
    start: int
    end: int
    is_tag: bool = False

    @property
    def span(self) -> tuple[int, int]:
        return self.start, self.end

    @property
    def bracket(self) -> Bracket:
        """The constraint that a tree has it."""
        return Bracket(self.label, self.start, self.end)

    def crosses(self, other: Spot) -> bool:
        return self.bracket.crosses(other.bracket)

    def overlap(self, other: Spot) -> int:
        """How many words both have."""
        return min(self.end, other.end) - max(self.start, other.start)


def nodes_of(tree: Tree) -> Iterator[tuple[Spot, Tree]]:
    """Every node where it stands, in the order of `subtrees`."""
    phrases, word = tree.spans(), 0
    for node in tree.subtrees():
        if node.is_leaf:
            yield Spot(node.label, word, word + 1, is_tag=True), node
            word += 1
        else:
            yield Spot(*next(phrases)), node


def spots_of(tree: Tree) -> list[Spot]:
    """All nodes but the root, a parent before its children."""
    return [spot for spot, _ in nodes_of(tree)][1:]


def differing(tree: Tree, other: Tree) -> list[int]:
    """The places in `subtrees` of the nodes that another tree of the same words has not, or not as often."""
    theirs = Counter(spot for spot, _ in nodes_of(other))
    places = []
    for place, (spot, _) in enumerate(nodes_of(tree)):
        if theirs[spot]:
            theirs[spot] -= 1
        else:
            places.append(place)
    return places


def without(spots: Collection[Spot], one: Spot) -> list[Spot]:
    """All but one, once."""
    rest = list(spots)
    rest.remove(one)
    return rest
