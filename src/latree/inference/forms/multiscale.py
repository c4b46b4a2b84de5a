"""The discrete form at several scales: a rule's tensor as blocks of equal cells, large ones and small (Petrov & Klein
2008, "Sparse multi-scale grammars").

Every symbol has a power of two of subtypes, in a binary split tree: node 0 is the symbol, nodes 2h + 1 and 2h + 2 are
the halves of node h, the last ones are the subtypes.  A block is a node at each port, and stands for all triples of
subtypes below these.  Summed up the tree, a message says of every node what its subtypes have together; with messages
of that kind a block is one cell of the sparse form (`forms.sparse`), however large it is:

    up      out[x] = sum over the nodes h above x of  sum over blocks (h, g, k) of  w left^[g] right^[k]

and `down` likewise.  So a rule that needs no subtypes costs one cell, whatever its symbols have elsewhere.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latree.arrays import Floats, Ints, Longs
from latree.inference.forms import sparse
from latree.inference.forms.sparse import Sparse
from latree.inference.subtypes import Layout
from latree.inference.sweep import Edges, register
from latree.jit import lean


class MultiScale(NamedTuple):
    """Weights, or statistics of the same type."""

    blocks: Sparse  # over the nodes of split trees; lexical entries over subtypes, as ever


def tree_sizes(size: Longs) -> Longs:
    """Nodes of split trees with so many leaves."""
    return 2 * size - 1


def expanded(layout: Layout, weights: MultiScale) -> Sparse:
    """Expand blocks into a cell for every triple of subtypes; `layout` is that of the subtypes."""
    blocks, trees = weights.blocks, Layout(layout.grammar, tree_sizes(layout.size))
    theta = np.zeros(int(layout.start[-1]))
    rule, *node = trees.coordinates(blocks.place)
    for r, value, *nodes in zip(rule.tolist(), blocks.value.tolist(), *(n.tolist() for n in node), strict=True):
        ports = [leaves_below(one, int(leaves)) for one, leaves in zip(nodes, layout.dims[r], strict=True)]
        layout.tensor(theta, r)[ports[0], ports[1], ports[2]] += value
    cells = sparse.sparse(layout, theta)
    return cells._replace(entry=blocks.entry, entry_start=blocks.entry_start)


def leaves_below(node: int, leaves: int) -> slice:
    """The subtypes below a node of a split tree with so many of them."""
    first, last = node, node
    while first < leaves - 1:
        first, last = 2 * first + 1, 2 * last + 2
    return slice(first - leaves + 1, last - leaves + 2)


def room_of(weights: MultiScale, widest: int) -> int:
    """For trees over the messages at all ports, those of the children twice, and what blocks take."""
    return 5 * (2 * widest - 1) + sparse.room_of(weights.blocks, 2 * widest - 1)


@lean
def _sum_up(message: Floats, tree: Floats) -> None:
    """[nodes, m]: of every node what its subtypes have together."""
    leaves = message.shape[0]
    for x in range(leaves):
        for m in range(message.shape[1]):
            tree[leaves - 1 + x, m] = message[x, m]
    for h in range(leaves - 2, -1, -1):
        for m in range(message.shape[1]):
            tree[h, m] = tree[2 * h + 1, m] + tree[2 * h + 2, m]


@lean
def _hand_down(tree: Floats, out: Floats) -> None:
    """Every subtype gets what the nodes above it have."""
    leaves = out.shape[0]
    for h in range(leaves - 1):
        for m in range(out.shape[1]):
            tree[2 * h + 1, m] += tree[h, m]
            tree[2 * h + 2, m] += tree[h, m]
    for x in range(leaves):
        for m in range(out.shape[1]):
            out[x, m] = tree[leaves - 1 + x, m]


@lean
def up(weights: MultiScale, rules: Ints, left: Floats, right: Floats, out: Floats, room: Floats) -> None:
    if rules[0] >= len(weights.blocks.rule_pair) - 1:
        sparse.up(weights.blocks, rules, left, right, out, room)
        return
    size, high, wide, last = left.shape[1], 2 * len(out) - 1, 2 * len(left) - 1, 2 * len(right) - 1
    tall_left, room = room[: wide * size].reshape(wide, size), room[wide * size :]
    tall_right, room = room[: last * size].reshape(last, size), room[last * size :]
    tree, room = room[: high * size].reshape(high, size), room[high * size :]
    _sum_up(left, tall_left)
    _sum_up(right, tall_right)
    sparse.up(weights.blocks, rules, tall_left, tall_right, tree, room)
    _hand_down(tree, out)


@lean
def down(weights: MultiScale, edges: Edges, stats: MultiScale) -> None:
    rules, parent, left, right, factor, to_left, to_right, share, room = edges
    if rules[0] >= len(weights.blocks.rule_pair) - 1:
        sparse.down(weights.blocks, edges, stats.blocks)
        return
    size, high, wide, last = left.shape[1], 2 * len(parent) - 1, 2 * len(left) - 1, 2 * len(right) - 1
    tall_parent, room = room[: high * size].reshape(high, size), room[high * size :]
    tall_left, room = room[: wide * size].reshape(wide, size), room[wide * size :]
    tall_right, room = room[: last * size].reshape(last, size), room[last * size :]
    back_left, room = room[: wide * size].reshape(wide, size), room[wide * size :]
    back_right, room = room[: last * size].reshape(last, size), room[last * size :]
    _sum_up(parent, tall_parent)
    _sum_up(left, tall_left)
    _sum_up(right, tall_right)
    tall = Edges(rules, tall_parent, tall_left, tall_right, factor, back_left, back_right, share, room)
    sparse.down(weights.blocks, tall, stats.blocks)
    _hand_down(back_left, to_left)
    _hand_down(back_right, to_right)


register(MultiScale, up=up, down=down, room=room_of)
