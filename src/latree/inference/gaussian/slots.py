"""Which Gaussians meet where: a forest seen from the slots of its rules.

In a GM-LVeG (Zhao, Zhang & Tu 2018) a rule r is a mixture of K_r components, and each component has a Gaussian of its
own at every port, its slots.  Whatever the children of A -> B C send, the parent hears the Gaussians of the rule's own
parent slots, with other coefficients.  So the inside score of an item (eqn 6) is a vector of coefficients over

    ins     the distinct rules among its incoming edges, K_r numbers each,

and it is read, as is the outside score (eqn 7), through

    uses    the distinct (rule, port) among the edges above it, K_r numbers each.

Edges of one rule that differ in their split point share an in, and a use.  Between each use and each in of an item (a
pair) lies a block, the table of overlaps of their Gaussians.  It depends on the rules alone: items share blocks.

Links hand a message on.  An edge without a rule (PASS) hands on each in of its child as it is.  In a tag lattice a
lexical entry stands between an item and what follows (its left child), on one and the same latent vector: each in of
the child goes on as the product of two Gaussians, so that such an in has a component for every pair of components.

All of this is integers, made once for a batch of sentences and kept for as long as the grammar's rules are the same.
How many components each rule has is a matter of four arrays (`resized`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from latree.arrays import NONE, Ints, Longs, starts
from latree.inference.forest import PASS, Forest, L, P, R
from latree.jit import kernel

STRIP = 4  # uses have room for a multiple of so many components, which the processor takes in one go


class SlotForest(NamedTuple):
    """Items are numbered as in the forest, children first.

    A side is what an in or a use may be: the Gaussians of all components of a rule at a port, or the products of those
    with a lexical rule's.  Values of the sides, ins, uses and blocks lie end to end, from `.._at` on.
    """

    root: Ints  # [sentences] NONE where a sentence has no derivation
    in_start: Longs  # [items + 1] first in of each item
    use_start: Longs  # [items + 1] first use
    link_start: Longs  # [items + 1] first link into it
    pair_start: Longs  # [items + 1] first pair; by use, then by in
    in_side: Ints  # [ins]
    in_at: Longs  # [ins + 1]
    edge_start: Longs  # [ins + 1] first edge of each in
    edge: Ints  # [edges of ins] its number in the forest
    left: Ints  # [edges of ins] use of its left child, NONE where there is none
    right: Ints  # [edges of ins]
    link_in: Ints  # [links] the in that is made
    link_from: Ints  # [links] the in of the child
    link_child: Ints  # [links] the child
    link_edge: Ints  # [links] its number in the forest
    use_side: Ints  # [uses]
    use_at: Longs  # [uses + 1]
    pair_block: Ints  # [pairs]
    block_start: Longs  # [sides + 1] first block whose use is of this side
    block_in: Ints  # [blocks] the side of its in
    block_at: Longs  # [blocks + 1] tables [component of the in, component of the use]
    side_rule: Ints  # [sides]
    side_port: Ints  # [sides]
    side_word: Ints  # [sides] a lexical rule whose Gaussians multiply those of `side_rule`, or NONE
    side_at: Longs  # [sides + 1]
    edges: int  # in the forest


class _Sides(NamedTuple):
    """Sides in the making."""

    known: Ints  # [3, rules] the side of a rule's port
    rule: Ints
    port: Ints
    word: Ints
    used: Longs  # [1]


def slot_forest(forest: Forest, entry_rule: Longs, size: Longs) -> SlotForest:
    """View a forest from the slots of its rules.

    `entry_rule[e]` is the lexical rule of the forest's lexical entry e, numbered after the grammar's rules; edges of
    entries without a rule (NONE) are left out.  `size[r]` is how many components rule r has.
    """
    rule, link = global_rules(forest, entry_rule), _links(forest)
    items, kept = len(forest.symbol), rule != ABSENT
    parent = np.where(kept, forest.ends[:, P], NONE)
    child = np.where((kept & ~link)[:, None], forest.ends, NONE)
    if np.any(forest.symbol[child[:, L:][child[:, L:] >= 0]] == 0):
        raise ValueError("the root symbol has no latent vector, and cannot be a child")
    by_parent, by_left, by_right = (_bucket(key, items) for key in (parent, child[:, L], child[:, R]))
    room = _room(link, forest.ends, *by_parent)
    sides = _no_sides(len(size), room + 2 * len(rule))
    in_start, in_side, edge_in, link_start, links = _find_ins(rule, link, forest.ends, *by_parent, sides, room)
    use_start, use_side, edge_use = _find_uses(rule, *by_left, *by_right, sides)
    edge_start, edge = _bucket(edge_in, len(in_side))
    count = int(sides.used[0])
    pair_start, pair_block, block_start, block_in = _find_blocks(in_start, in_side, use_start, use_side, count)
    side_rule, side_port, side_word = (x[:count].copy() for x in (sides.rule, sides.port, sides.word))
    nowhere = np.zeros(0, np.int64)
    slots = SlotForest(
        root=forest.root,
        in_start=in_start,
        use_start=use_start,
        link_start=link_start,
        pair_start=pair_start,
        in_side=in_side,
        in_at=nowhere,
        edge_start=edge_start,
        edge=edge.astype(np.int32),
        left=edge_use[edge, 0],
        right=edge_use[edge, 1],
        link_in=links[0].copy(),
        link_from=links[1].copy(),
        link_child=links[2].copy(),
        link_edge=links[3].astype(np.int32),
        use_side=use_side,
        use_at=nowhere,
        pair_block=pair_block,
        block_start=block_start,
        block_in=block_in,
        block_at=nowhere,
        side_rule=side_rule,
        side_port=side_port,
        side_word=side_word,
        side_at=nowhere,
        edges=len(rule),
    )
    return resized(slots, size)


def resized(slots: SlotForest, size: Longs) -> SlotForest:
    """Make room for other numbers of components in the rules: only the places of values change."""
    width = size[slots.side_rule] * np.where(slots.side_word == NONE, 1, size[slots.side_word])
    width = np.where(slots.side_port == P, width, -(-width // STRIP) * STRIP)
    return slots._replace(
        in_at=starts(width[slots.in_side]),
        use_at=starts(width[slots.use_side]),
        block_at=starts(np.repeat(width, np.diff(slots.block_start)) * width[slots.block_in]),
        side_at=starts(width),
    )


ABSENT = -2  # an edge whose lexical entry has no rule


def global_rules(forest: Forest, entry_rule: Longs) -> Ints:
    """PASS, a rule of the grammar, a lexical rule, or ABSENT."""
    entry = np.append(np.where(entry_rule == NONE, ABSENT, entry_rule), ABSENT)
    lexical = forest.rule >= forest.rules
    return np.where(lexical, entry[np.where(lexical, forest.rule - forest.rules, -1)], forest.rule).astype(np.int32)


def _links(forest: Forest) -> NDArray[np.bool_]:
    """Edges that hand on their child's message: those without a rule, and words that something follows."""
    linked: NDArray[np.bool_] = (forest.rule == PASS) | ((forest.rule >= forest.rules) & (forest.ends[:, L] >= 0))
    return linked


@kernel
def _bucket(key: Ints, buckets: int) -> tuple[Longs, Longs]:
    """Where each bucket begins, and what is in it, in order; nothing is put under NONE."""
    start = np.zeros(buckets + 1, np.int64)
    for k in key:
        if k >= 0:
            start[k + 1] += 1
    start = np.cumsum(start)
    order, filled = np.empty(start[-1], np.int64), start.copy()
    for i in range(len(key)):
        if key[i] >= 0:
            order[filled[key[i]]] = i
            filled[key[i]] += 1
    return start, order


@kernel
def _room(link: NDArray[np.bool_], ends: Ints, start: Longs, order: Longs) -> int:
    """No more ins than this: one an edge, and for a link as many as its child has."""
    most = np.zeros(len(start) - 1, np.int64)
    for item in range(len(most)):
        for x in range(start[item], start[item + 1]):
            e = order[x]
            most[item] += most[ends[e, L]] if link[e] else 1
    return int(most.sum())


def _no_sides(rules: int, room: int) -> _Sides:
    rule, port, word = np.empty((3, room), np.int32)
    return _Sides(np.full((3, rules), NONE, np.int32), rule, port, word, np.zeros(1, np.int64))


@kernel
def _add_side(sides: _Sides, rule: int, port: int, word: int) -> int:
    k: int = sides.used[0]
    sides.rule[k], sides.port[k], sides.word[k] = rule, port, word
    sides.used[0] += 1
    return k


@kernel
def _side(sides: _Sides, rule: int, port: int) -> int:
    """The side of a rule's port."""
    if sides.known[port, rule] == NONE:
        sides.known[port, rule] = _add_side(sides, rule, port, NONE)
    return int(sides.known[port, rule])


@kernel
def _linked_side(sides: _Sides, rule: int, side: int) -> int:
    """What an in of this side is handed on as.  Products are not shared between items: words seldom recur with what
    follows them, and finding out would cost more than it saves."""
    if rule == PASS:
        return side
    if sides.word[side] != NONE:
        raise ValueError("two words stand on one latent vector")
    return _add_side(sides, sides.rule[side], P, rule)


@kernel
def _find_ins(
    rule: Ints, link: NDArray[np.bool_], ends: Ints, start: Longs, order: Longs, sides: _Sides, room: int
) -> tuple[Longs, Ints, Ints, Longs, Ints]:
    """The ins of every item, the in of every edge that is no link, and the links (in, child's in, child, edge)."""
    items = len(start) - 1
    in_start, in_side, edge_in = np.zeros(items + 1, np.int64), np.empty(room, np.int32), np.full(len(rule), NONE)
    link_start, links = np.zeros(items + 1, np.int64), np.empty((4, room), np.int32)
    place = np.full(len(sides.rule), NONE)  # the last in that has this side: of this item or of an earlier one
    ins, linked = 0, 0
    for item in range(items):
        for x in range(start[item], start[item + 1]):
            e, child = order[x], ends[order[x], L]
            first, last = (in_start[child], in_start[child + 1]) if link[e] else (0, 1)
            for j in range(first, last):
                side = _linked_side(sides, rule[e], in_side[j]) if link[e] else _side(sides, rule[e], P)
                if place[side] < in_start[item]:
                    place[side] = ins
                    in_side[ins] = side
                    ins += 1
                if link[e]:
                    links[0, linked], links[1, linked], links[2, linked], links[3, linked] = place[side], j, child, e
                    linked += 1
                else:
                    edge_in[e] = place[side]
        in_start[item + 1], link_start[item + 1] = ins, linked
    return in_start, in_side[:ins].copy(), edge_in.astype(np.int32), link_start, links[:, :linked]


@kernel
def _find_uses(
    rule: Ints, left_start: Longs, left_order: Longs, right_start: Longs, right_order: Longs, sides: _Sides
) -> tuple[Longs, Ints, Ints]:
    """The uses of every item, and the uses that every edge makes of its children."""
    items = len(left_start) - 1
    use_start, use_side = np.zeros(items + 1, np.int64), np.empty(len(left_order) + len(right_order), np.int32)
    edge_use, place = np.full((len(rule), 2), NONE, np.int32), np.full(len(sides.rule), NONE)
    uses = 0
    for item in range(items):
        for port in (L, R):
            start, order = (left_start, left_order) if port == L else (right_start, right_order)
            for x in range(start[item], start[item + 1]):
                side = _side(sides, rule[order[x]], port)
                if place[side] < use_start[item]:
                    place[side] = uses
                    use_side[uses] = side
                    uses += 1
                edge_use[order[x], port - L] = place[side]
        use_start[item + 1] = uses
    return use_start, use_side[:uses].copy(), edge_use


@kernel
def _find_blocks(
    in_start: Longs, in_side: Ints, use_start: Longs, use_side: Ints, sides: int
) -> tuple[Longs, Ints, Longs, Ints]:
    """Number the distinct blocks, by the side of the use, and find that of every pair."""
    items = len(in_start) - 1
    pair_start, use_item = np.zeros(items + 1, np.int64), np.empty(len(use_side), np.int32)
    for item in range(items):
        pairs = (in_start[item + 1] - in_start[item]) * (use_start[item + 1] - use_start[item])
        pair_start[item + 1] = pair_start[item] + pairs
        use_item[use_start[item] : use_start[item + 1]] = item
    pair_block, block_in = np.empty(pair_start[-1], np.int32), np.empty(pair_start[-1], np.int32)
    block_start, place = np.zeros(sides + 1, np.int64), np.full(sides, NONE)
    by_side, order = _bucket(use_side, sides)
    blocks = 0
    for side in range(sides):
        for x in range(by_side[side], by_side[side + 1]):
            use = order[x]
            item = use_item[use]
            first, last = in_start[item], in_start[item + 1]
            pair = pair_start[item] + (use - use_start[item]) * (last - first)
            for i in range(first, last):
                if place[in_side[i]] < block_start[side]:
                    place[in_side[i]] = blocks
                    block_in[blocks] = in_side[i]
                    blocks += 1
                pair_block[pair + i - first] = place[in_side[i]]
        block_start[side + 1] = blocks
    return pair_start, pair_block, block_start, block_in[:blocks].copy()
