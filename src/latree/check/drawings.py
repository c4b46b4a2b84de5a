"""Two trees of the same words drawn beside each other: only the part in which they differ, the difference marked."""

from __future__ import annotations

from typing import NamedTuple

from latree.check.nodes import Spot, differing, nodes_of
from latree.text.draw import svg
from latree.text.tree import Tree

LONGEST = 4  # words of a phrase that is drawn as one leaf; of longer ones the first and the last


def both_drawn(tree: Tree, other: Tree) -> tuple[str, str]:
    """Pictures of two trees of the same words."""
    part, other_part = around_differences(tree, other)
    return _drawn(part, other_part), _drawn(other_part, part)


def _drawn(tree: Tree, other: Tree) -> str:
    marked, theirs = set(differing(tree, other)), set(nodes_of(other))
    places = [(place in marked, one in theirs) for place, one in enumerate(nodes_of(tree))]
    shown = tree.fold(lambda node, below: _shown(node, below, *places.pop()))
    return svg(shown.tree, marked=[place for place, flag in enumerate(shown.flags) if flag])


class _Shown(NamedTuple):
    """A tree as it is drawn, and which of its nodes are marked, in the order of `subtrees`."""

    tree: Tree
    flags: list[bool]


def _shown(node: Tree, below: list[_Shown], is_marked: bool, in_both: bool) -> _Shown:
    """Make a phrase that both trees have, with all in it, one leaf."""
    if in_both and not node.is_leaf:
        words = node.words()
        told = words if len(words) <= LONGEST else [words[0], "…", words[-1]]
        return _Shown(Tree(node.label, word=" ".join(told)), [False])
    flags = [is_marked, *(flag for one in below for flag in one.flags)]
    return _Shown(Tree(node.label, [one.tree for one in below], node.word), flags)


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
