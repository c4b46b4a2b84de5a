"""The part of two trees of the same words in which they differ."""

from __future__ import annotations

from latree.check.nodes import Spot, differing, nodes_of
from latree.text.differences import Difference, difference
from latree.text.tree import Tree


def both_drawn(tree: Tree, other: Tree) -> tuple[Difference, Difference]:
    """The parts in which two trees of the same words differ."""
    part, other_part = around_differences(tree, other)
    return difference(part, other_part), difference(other_part, part)


def around_differences(tree: Tree, other: Tree) -> tuple[Tree, Tree]:
    """The smallest parts of two trees, over the same words, that hold all in which they differ and a node above."""
    unlike = [spot for one, two in ((tree, other), (other, tree)) for spot in _unlike(one, two)]
    if not unlike:
        return tree, other
    first, last = min(spot.start for spot in unlike), max(spot.end for spot in unlike)
    parts, other_parts = (_phrases_over(one, first, last) for one in (tree, other))
    both = [span for span in parts if span in other_parts]
    # A node above what differs, where there is one: what is told of a phrase is told of its place.
    span = min([span for span in both if span != (first, last)] or both, key=lambda span: span[1] - span[0])
    return parts[span], other_parts[span]


def _unlike(tree: Tree, other: Tree) -> list[Spot]:
    spots = [spot for spot, _ in nodes_of(tree)]
    return [spots[place] for place in differing(tree, other)]


def _phrases_over(tree: Tree, first: int, last: int) -> dict[tuple[int, int], Tree]:
    """The phrases with all these words, by their own; of several over the same words the topmost."""
    found: dict[tuple[int, int], Tree] = {}
    for spot, node in nodes_of(tree):
        if not spot.is_tag and spot.start <= first and spot.end >= last:
            found.setdefault(spot.span, node)
    return found
