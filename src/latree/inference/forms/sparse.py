"""The discrete form: a number for every triple of subtypes, T[x, y, z], zeros left out (LVG; with one subtype each, a
PCFG or HMM).

EM drives most of a split tensor to zero, so only cells with some weight are kept: by rule, then by parent subtype x,
each with its pair (y, z) of children's subtypes.  For many edges m of a rule at a time, with `pair[yz, m]` for
left[y, m] right[z, m]:

    up      out[x, m]    = sum_yz  T[x, yz] pair[yz, m]
    down    D[yz, m]     = sum_x   T[x, yz] parent[x, m],  times the one child for the other
            E[x, yz]    += T[x, yz] sum_m factor[m] parent[x, m] pair[yz, m]

Every inner loop runs over the edges, side by side in memory, so that the processor works on several at a time
(`latree.inference.lanes`).

A lexical entry is a vector e[x] that stands on the diagonal between its parent and the rest of a tag lattice
(left port; a row of one in a tree, where nothing follows).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from latree.arrays import Floats, Ints, Longs, Places, starts
from latree.inference.lanes import LANES, fused, fused_lanes, load, splat, store, times, total_of
from latree.inference.subtypes import Cells, Layout
from latree.inference.sweep import Edges, register
from latree.jit import kernel, lean


class Sparse(NamedTuple):
    """Weights, or statistics of the same type."""

    value: Floats  # [cells] T[x, y, z]
    place: Longs  # [cells] where the cell stands in the full tensors (`Layout`); ascending
    cell_pair: Places  # [cells] its pair, numbered within the rule
    row: Longs  # [rows + 1] first cell of a (rule, x)
    row_parent: Longs  # [rows] x among all subtypes laid end to end
    rule_row: Longs  # [rules + 1] first row of a rule
    pair: Places  # [pairs, 2] y and z
    rule_pair: Longs  # [rules + 1] first pair of a rule
    entry: Floats  # lexical entries, end to end
    entry_start: Longs  # [entries + 1]

    def table(self, rule: int, x: int, shape: tuple[int, int]) -> Floats:
        """T[x], for one subtype of the parent."""
        row = self.rule_row[rule] + x
        cells = slice(self.row[row], self.row[row + 1])
        y, z = self.pair[self.rule_pair[rule] + self.cell_pair[cells]].T
        table = np.zeros(shape)
        table[y, z] = self.value[cells]
        return table


def sparse(layout: Layout, theta: Floats, place: Longs | None = None) -> Sparse:
    """The cells of full tensors that have some weight, or those that are named; no lexical entries yet."""
    return of_cells(layout, Cells.of(theta) if place is None else Cells(place, theta[place]))


def of_cells(layout: Layout, cells: Cells) -> Sparse:
    """The form of these cells, which come in the order of their places; no lexical entries yet."""
    place, value = cells
    cell_pair, row = np.empty(len(place), np.uint32), np.zeros(layout.rule_row[-1] + 1, np.int64)
    pair, rule_pair = np.empty((len(place), 2), np.uint32), np.zeros(len(layout.dims) + 1, np.int64)
    number = np.empty(layout.dims[:, 1:].prod(1).max(initial=0), np.int32)
    _index_cells(place, layout.start, layout.dims, layout.rule_row, number, cell_pair, row, pair, rule_pair)
    sorted_pairs = layout.row_parent, layout.rule_row, pair[: rule_pair[-1]].copy(), rule_pair
    return Sparse(value, place, cell_pair, row.cumsum(), *sorted_pairs, np.zeros(0), np.zeros(1, np.int64))


@kernel
def _index_cells(
    place: Longs,
    start: Longs,
    dims: Longs,
    rule_row: Longs,
    number: Ints,
    cell_pair: Places,
    row: Longs,
    pair: Places,
    rule_pair: Longs,
) -> None:
    """Number the pairs of each rule, and count the cells of its rows; `number` has room for all pairs of a rule."""
    cell, pairs = 0, 0
    for rule in range(len(dims)):
        wide, narrow = dims[rule, 1], dims[rule, 2]
        number[: wide * narrow] = -1
        first = cell
        while cell < len(place) and place[cell] < start[rule + 1]:
            number[(place[cell] - start[rule]) % (wide * narrow)] = 0
            cell += 1
        for yz in range(wide * narrow):
            if number[yz] == 0:
                number[yz] = pairs - rule_pair[rule]
                pair[pairs, 0], pair[pairs, 1] = yz // narrow, yz % narrow
                pairs += 1
        rule_pair[rule + 1] = pairs
        for k in range(first, cell):
            x, yz = divmod(place[k] - start[rule], wide * narrow)
            cell_pair[k] = number[yz]
            row[rule_row[rule] + x + 1] += 1


def with_words(weights: Sparse, layout: Layout, emissions: Floats) -> Sparse:
    """Add the lexical entries of one batch: [words, tags' subtypes laid end to end], an entry a word and tag."""
    lengths = np.tile(layout.size[layout.grammar.first_tag :], len(emissions))
    return with_entries(weights, emissions.ravel(), lengths)


def with_entries(weights: Sparse, entry: Floats, lengths: Longs) -> Sparse:
    """Give the rules these lexical entries."""
    return weights._replace(entry=entry, entry_start=starts(lengths))


def zeros_like(weights: Sparse) -> Sparse:
    """Make statistics of no mass."""
    return weights._replace(value=np.zeros_like(weights.value), entry=np.zeros_like(weights.entry))


def no_statistics(weights: Sparse) -> Sparse:
    """Make statistics without room, for inference that is after posteriors alone."""
    return weights._replace(value=np.zeros(0), entry=np.zeros(0))


def without(weights: Sparse, layout: Layout, gone: NDArray[np.bool_]) -> Sparse:
    """Drop some cells of the weights."""
    kept = of_cells(layout, Cells(weights.place[~gone], weights.value[~gone]))
    return kept._replace(entry=weights.entry, entry_start=weights.entry_start)


# -- the form


def room_of(weights: Sparse, widest: int) -> int:
    """For an edge's pairs, and what its parent says of them."""
    return 2 * int(np.diff(weights.rule_pair).max(initial=0))


@lean
def _pair_products(weights: Sparse, rule: int, left: Floats, right: Floats, products: Floats) -> None:
    """left[y, m] right[z, m] for the rule's pairs."""
    pairs = weights.pair[weights.rule_pair[rule] : weights.rule_pair[rule + 1]]
    for p in range(len(pairs)):
        y, z, out = left[pairs[p, 0]], right[pairs[p, 1]], products[p]
        for m in range(0, len(out), LANES):
            store(times(load(y, m), load(z, m)), out, m)


@lean
def up(weights: Sparse, rules: Ints, left: Floats, right: Floats, out: Floats, room: Floats) -> None:
    rule = rules[0]
    if rule >= len(weights.rule_pair) - 1:
        _entries_up(weights, rules, left, out)
        return
    count, size = weights.rule_pair[rule + 1] - weights.rule_pair[rule], left.shape[1]
    products = room[: count * size].reshape(count, size)
    _pair_products(weights, rule, left, right, products)
    first = weights.rule_row[rule]
    for x in range(len(out)):
        begin, end = weights.row[first + x], weights.row[first + x + 1]
        value, pair = weights.value[begin:end], weights.cell_pair[begin:end]
        m = 0
        while m + 4 * LANES <= size:
            _sum_far(value, pair, products, out[x], m)
            m += 4 * LANES
        while m < size:
            _sum_near(value, pair, products, out[x], m)
            m += LANES


@lean
def _sum_near(value: Floats, pair: Places, products: Floats, out: Floats, m: int) -> None:
    """sum_yz T[x, yz] pair[yz, m] for eight edges."""
    sums = splat(0.0)
    for k in range(len(value)):
        sums = fused(value[k], load(products[pair[k]], m), sums)
    store(sums, out, m)


@lean
def _sum_far(value: Floats, pair: Places, products: Floats, out: Floats, m: int) -> None:
    """The same for four times as many, whose sums do not wait for each other."""
    a, b, c, d = splat(0.0), splat(0.0), splat(0.0), splat(0.0)
    for k in range(len(value)):
        weight, row = value[k], products[pair[k]]
        a, b = fused(weight, load(row, m), a), fused(weight, load(row, m + LANES), b)
        c, d = fused(weight, load(row, m + 2 * LANES), c), fused(weight, load(row, m + 3 * LANES), d)
    store(a, out, m)
    store(b, out, m + LANES)
    store(c, out, m + 2 * LANES)
    store(d, out, m + 3 * LANES)


@lean
def _entries_up(weights: Sparse, rules: Ints, left: Floats, out: Floats) -> None:
    """Lexical entries of one tag."""
    step, known = min(left.shape[0] - 1, 1), len(weights.rule_pair) - 1
    for m in range(len(rules)):
        begin = weights.entry_start[rules[m] - known]
        for x in range(out.shape[0]):
            out[x, m] = weights.entry[begin + x] * left[x * step, m]


@lean
def down(weights: Sparse, edges: Edges, stats: Sparse) -> None:
    """Statistics without room (`no_statistics`) are not kept."""
    rules, parent, left, right, factor, to_left, to_right, share, room = edges
    rule = rules[0]
    if rule >= len(weights.rule_pair) - 1:
        _entries_down(weights, rules, parent, left, factor, to_left, stats, share)
        return
    count, size = weights.rule_pair[rule + 1] - weights.rule_pair[rule], len(factor)
    products = room[: count * size].reshape(count, size)
    spread = room[count * size : 2 * count * size].reshape(count, size)
    _pair_products(weights, rule, left, right, products)
    for p in range(len(products)):
        for m in range(0, size, LANES):
            store(times(load(products[p], m), load(factor, m)), products[p], m)
    spread[:] = 0.0
    first = weights.rule_row[rule]
    for x in range(len(parent)):
        begin, end = weights.row[first + x], weights.row[first + x + 1]
        value, pair = weights.value[begin:end], weights.cell_pair[begin:end]
        _spread(value, pair, parent[x], spread)
        if len(stats.value) > 0:
            _count(value, pair, parent[x], products, stats.value[begin:end])
    _contract(weights, rule, spread, products, left, right, to_left, to_right, share)


@lean
def _spread(value: Floats, pair: Places, parent: Floats, spread: Floats) -> None:
    """D[yz, m] += T[x, yz] parent[x, m]."""
    for k in range(len(value)):
        weight, row = value[k], spread[pair[k]]
        for m in range(0, len(parent), LANES):
            store(fused(weight, load(parent, m), load(row, m)), row, m)


@lean
def _count(value: Floats, pair: Places, parent: Floats, products: Floats, count: Floats) -> None:
    """E[x, yz] += T[x, yz] sum_m parent[x, m] pair[yz, m], where pairs have their edges' factors."""
    for k in range(len(value)):
        together, row = splat(0.0), products[pair[k]]
        for m in range(0, len(parent), LANES):
            together = fused_lanes(load(parent, m), load(row, m), together)
        count[k] += value[k] * total_of(together)


@lean
def _contract(
    weights: Sparse,
    rule: int,
    spread: Floats,
    products: Floats,
    left: Floats,
    right: Floats,
    to_left: Floats,
    to_right: Floats,
    share: Floats,
) -> None:
    """What a parent says of each child, given what it says of their pairs; and the edges' posteriors."""
    to_left[:] = 0.0
    to_right[:] = 0.0
    share[:] = 0.0
    pairs = weights.pair[weights.rule_pair[rule] : weights.rule_pair[rule + 1]]
    for p in range(len(pairs)):
        y, z = pairs[p, 0], pairs[p, 1]
        for m in range(0, len(share), LANES):
            says = load(spread[p], m)
            store(fused_lanes(says, load(right[z], m), load(to_left[y], m)), to_left[y], m)
            store(fused_lanes(says, load(left[y], m), load(to_right[z], m)), to_right[z], m)
            store(fused_lanes(says, load(products[p], m), load(share, m)), share, m)


@lean
def _entries_down(
    weights: Sparse,
    rules: Ints,
    parent: Floats,
    left: Floats,
    factor: Floats,
    to_left: Floats,
    stats: Sparse,
    share: Floats,
) -> None:
    """Lexical entries of one tag; in a tree there is nothing to their left, and `to_left` is no one's."""
    step, known = min(left.shape[0] - 1, 1), len(weights.rule_pair) - 1
    for m in range(len(rules)):
        begin = weights.entry_start[rules[m] - known]
        share[m] = 0.0
        for x in range(parent.shape[0]):
            above = weights.entry[begin + x] * parent[x, m]
            to_left[x * step, m] = above
            part = factor[m] * above * left[x * step, m]
            share[m] += part
            if len(stats.entry) > 0:
                stats.entry[begin + x] += part


register(Sparse, up=up, down=down, room=room_of)
