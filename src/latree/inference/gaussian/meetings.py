"""All Gaussians of a grammar that can ever meet: on the vector of a symbol, any that makes it with any that reads it.

A forest has the pairs of one sentence (`slots`); here are those of all sentences, a table of overlaps for each symbol

    G_B[rk, s] = integral N(b; rk's parent slot) N(b; child slot s) db,

with a row for every component rk that makes B and a column for every slot s that takes B for a child.  The tables are
those of `overlaps`: to it, a symbol is an item with a single in, of all that makes it, and a single use.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latree.arrays import NONE, Floats, Ints, Longs, starts
from latree.inference.forest import Forest, L, P
from latree.inference.gaussian.mixtures import Components, Mixtures
from latree.inference.gaussian.overlaps import Table, fill_gram, fold_back, gram_slope, lay_out
from latree.inference.gaussian.slots import STRIP, SlotForest, slot_forest
from latree.jit import kernel


class Places(NamedTuple):
    """Where the table of each symbol lies, and what its rows and columns are."""

    in_first: Longs  # [symbols + 1]
    component: Longs  # [rows of all tables]
    use_first: Longs  # [symbols + 1]
    slot: Longs  # [columns of all tables]
    cell: Longs  # [symbols] first cell; rows have room for a multiple of STRIP columns


class Meetings(NamedTuple):
    """The tables of a grammar, without numbers; the same for as long as its components are."""

    places: Places
    sides: SlotForest  # as `overlaps` sees them
    parts: Components  # of these sides


class Overlaps(NamedTuple):
    """The numbers in all tables, and the Gaussians that they come from."""

    cells: Floats
    gaussians: Table


def find_meetings(symbol: Ints, slot: Ints, symbols: int) -> Meetings:
    """`symbol` and `slot` [components, 3] say what stands at each component's ports; symbol 0 has no vector."""
    in_first, component = _by_symbol(symbol[:, P], symbols)
    use_first, child = _by_symbol(symbol[:, L:].ravel(), symbols)
    makers, readers = slot[component, P], slot[:, L:].ravel()[child]
    parts = _as_rules(in_first, makers, use_first, readers)
    sides = slot_forest(_an_item_each(symbols), np.zeros(0, np.int64), parts.size)
    cell = sides.block_at[sides.pair_block[sides.pair_start[:symbols]]]
    return Meetings(Places(in_first, component, use_first, readers.astype(np.int64), cell), sides, parts)


def _by_symbol(symbol: Ints, symbols: int) -> tuple[Longs, Longs]:
    """Where what has each symbol begins, and in order of the symbols which it is."""
    order = np.argsort(symbol, kind="stable")
    order = order[symbol[order] > 0]
    return np.searchsorted(symbol[order], np.arange(symbols + 1)).astype(np.int64), order


def _as_rules(in_first: Longs, makers: Ints, use_first: Longs, readers: Ints) -> Components:
    """All that makes a symbol as the components of one rule, and after these all that reads it."""
    slot = np.full((len(makers) + len(readers), 3), NONE, np.int32)
    slot[: len(makers), P], slot[len(makers) :, L] = makers, readers
    return Components(starts(np.append(np.diff(in_first), np.diff(use_first))), slot)


def _an_item_each(symbols: int) -> Forest:
    """Item s is made by rule s, and read by rule `symbols` + s, which make the last item."""
    number, nothing = np.arange(symbols, dtype=np.int32), np.zeros(0, np.int64)
    ends = np.full((2 * symbols, 3), NONE, np.int32)
    ends[:symbols, P], ends[symbols:, P], ends[symbols:, L] = number, symbols, number
    return Forest(
        rule=np.arange(2 * symbols, dtype=np.int32),
        ends=ends,
        symbol=np.append(np.ones(symbols), 0).astype(np.int32),
        span=np.zeros((symbols + 1, 2), np.int32),
        sentence=np.zeros(symbols + 1, np.int32),
        root=np.array([symbols], np.int32),
        group=nothing,
        level=nothing,
        layer=nothing,
        rules=2 * symbols,
    )


# -- numbers


def _of_sides(meetings: Meetings, weights: Mixtures) -> Mixtures:
    """The same Gaussians, with room for a weight in every part: the weights themselves are not in the tables."""
    return weights._replace(log_rho=np.zeros(len(meetings.parts.slot)))


def find_overlaps(meetings: Meetings, weights: Mixtures) -> Overlaps:
    """Fill all tables."""
    cells = np.zeros(int(meetings.sides.block_at[-1]))
    gaussians = lay_out(meetings.sides, meetings.parts, _of_sides(meetings, weights))
    fill_gram(meetings.sides, gaussians, cells)
    return Overlaps(cells, gaussians)


def slope_of_overlaps(meetings: Meetings, overlaps: Overlaps, by_cell: Floats, weights: Mixtures) -> Mixtures:
    """From the gradient by all cells to that by means and deviations; log_rho has no part in it."""
    slope = Table(*(np.zeros_like(part) for part in overlaps.gaussians))
    gram_slope(meetings.sides, overlaps.gaussians, overlaps.cells, by_cell, slope)
    stats = Mixtures(np.zeros(len(meetings.parts.slot)), np.zeros_like(weights.mean), np.zeros_like(weights.log_sd))
    fold_back(meetings.sides, meetings.parts, _of_sides(meetings, weights), overlaps.gaussians, slope, stats)
    return stats._replace(log_rho=np.zeros_like(weights.log_rho))


@kernel
def read_symbols(places: Places, cells: Floats, amount: Floats, symbols: int, reading: Floats) -> None:
    """Add to reading[s] the sum over rk of G[rk, s] amount[rk], how much of its symbol each slot sees; of the first so
    many symbols."""
    for symbol in range(symbols):
        begin, end = places.use_first[symbol], places.use_first[symbol + 1]
        width, total = -(-(end - begin) // STRIP) * STRIP, np.zeros(end - begin)
        cell = places.cell[symbol]
        for i in range(places.in_first[symbol], places.in_first[symbol + 1]):
            here = amount[places.component[i]]
            if here != 0.0:  # most are: a level of unary rules has only what these make
                for k in range(end - begin):
                    total[k] += here * cells[cell + k]
            cell += width
        for k in range(end - begin):
            reading[places.slot[begin + k]] += total[k]


@kernel
def tell_symbols(places: Places, cells: Floats, force: Floats, symbols: int, told: Floats) -> None:
    """`read_symbols` in reverse: add to told[rk] the sum over s of G[rk, s] force[s]."""
    for symbol in range(symbols):
        begin, end = places.use_first[symbol], places.use_first[symbol + 1]
        width, here = -(-(end - begin) // STRIP) * STRIP, force[places.slot[begin:end]]
        cell = places.cell[symbol]
        for i in range(places.in_first[symbol], places.in_first[symbol + 1]):
            total = 0.0
            for k in range(end - begin):
                total += cells[cell + k] * here[k]
            told[places.component[i]] += total
            cell += width


def outer_cells(places: Places, amount: Floats, force: Floats) -> Floats:
    """The gradient by all cells: the sum over levels of amount[level, rk] force[level, s]."""
    tables = []
    for symbol in range(len(places.cell)):
        rows = places.component[places.in_first[symbol] : places.in_first[symbol + 1]]
        columns = places.slot[places.use_first[symbol] : places.use_first[symbol + 1]]
        table = np.zeros((len(rows), -(-len(columns) // STRIP) * STRIP))
        table[:, : len(columns)] = amount[:, rows].T @ force[:, columns]
        tables.append(table.ravel())
    return np.concatenate(tables)
