"""How much the Gaussians of two slots have in common, for all slots that meet in a forest; and the gradient of that.

The overlap of two Gaussians is a number, G = integral N(x; m1, v1) N(x; m2, v2) dx = N(m1; m2, v1 + v2).  A forest's
sides (`slots`) are laid out side by side first, words' products with what follows them included; overlaps are
then filled in block by block.  The way back, from d log Z / d G to means and standard deviations, is the same in
reverse, and stands in for the moments of Zhao, Zhang & Tu 2018, eqns 15 and 16.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latree.arrays import NONE, Floats, Ints, Longs
from latree.inference.forest import P
from latree.inference.gaussian.mixtures import Components, Mixtures
from latree.inference.gaussian.slots import STRIP, SlotForest
from latree.jit import kernel


class Table(NamedTuple):
    """The Gaussians of all sides laid end to end, components side by side: exp(offset) N(mean, var); or d log Z / d of
    each of these.  Forests use few of a lexicon's slots, and the sweeps want neighbours in memory."""

    rho: Floats  # [components of sides]; of its gradient: d log Z / d log rho
    offset: Floats
    mean: Floats  # [d, components of sides]
    var: Floats  # [d, components of sides], or [1, components of sides]


@kernel
def lay_out(slots: SlotForest, components: Components, weights: Mixtures) -> Table:
    """Lay the Gaussians of all sides out side by side, a word's multiplied with those of what follows it."""
    room = slots.side_at[-1]
    d, spreads = weights.mean.shape[1], weights.log_sd.shape[1]
    # A strip that a use does not fill keeps these numbers: they are read by no one, but must be numbers.
    table = Table(np.zeros(room), np.zeros(room), np.zeros((d, room)), np.ones((spreads, room)))
    for side in range(len(slots.side_rule)):
        rule, port, word = slots.side_rule[side], slots.side_port[side], slots.side_word[side]
        begin, end = components.first[rule], components.first[rule + 1]
        at = slots.side_at[side]
        if word == NONE:
            for c in range(begin, end):
                _copy_slot(table, at + c - begin, weights, components.slot[c, port])
                if port == P:
                    table.rho[at + c - begin] = np.exp(weights.log_rho[c])
            continue
        for w in range(components.first[word], components.first[word + 1]):
            for c in range(begin, end):
                _multiply_slots(table, at, weights, components.slot[w, P], components.slot[c, P])
                table.rho[at] = np.exp(weights.log_rho[w])  # the other's is in what it hands on
                at += 1
    return table


@kernel
def _mean(weights: Mixtures, slot: int, x: int) -> float:
    """Infinities become NaN, which shows in log Z: an infinite mean or spread would only make the component vanish."""
    return weights.mean[slot, x] if np.isfinite(weights.mean[slot, x]) else np.nan


@kernel
def _variance(weights: Mixtures, slot: int, x: int) -> float:
    return np.exp(2.0 * weights.log_sd[slot, x]) if np.isfinite(weights.log_sd[slot, x]) else np.nan


@kernel
def _copy_slot(table: Table, at: int, weights: Mixtures, slot: int) -> None:
    if slot == NONE:
        return
    for x in range(len(table.mean)):
        table.mean[x, at] = _mean(weights, slot, x)
    for x in range(len(table.var)):
        table.var[x, at] = _variance(weights, slot, x)


@kernel
def _multiply_slots(table: Table, at: int, weights: Mixtures, word: int, rest: int) -> None:
    """N(m1, v1) N(m2, v2) = N(m1; m2, v1 + v2) N((m1 v2 + m2 v1) / (v1 + v2), v1 v2 / (v1 + v2))."""
    spreads = len(table.var)
    for x in range(len(table.mean)):
        y = min(x, spreads - 1)
        var_word, var_rest = _variance(weights, word, y), _variance(weights, rest, y)
        mean_word, mean_rest = _mean(weights, word, x), _mean(weights, rest, x)
        both, gap = var_word + var_rest, mean_rest - mean_word
        table.mean[x, at] = (mean_word * var_rest + mean_rest * var_word) / both
        table.var[y, at] = var_word * var_rest / both
        table.offset[at] -= 0.5 * (np.log(2.0 * np.pi * both) + gap * gap / both)


@kernel
def fold_back(
    slots: SlotForest, components: Components, weights: Mixtures, table: Table, slope: Table, stats: Mixtures
) -> None:
    """From the gradient of the table to that of the weights: `lay_out` in reverse."""
    for side in range(len(slots.side_rule)):
        rule, port, word = slots.side_rule[side], slots.side_port[side], slots.side_word[side]
        begin, end = components.first[rule], components.first[rule + 1]
        at = slots.side_at[side]
        if word == NONE:
            for c in range(begin, end):
                stats.log_rho[c] += slope.rho[at + c - begin]
                _add_slot(table, slope, at + c - begin, components.slot[c, port], stats)
            continue
        for w in range(components.first[word], components.first[word + 1]):
            for c in range(begin, end):
                stats.log_rho[w] += slope.rho[at]
                _add_product(slope, at, weights, components.slot[w, P], components.slot[c, P], stats)
                at += 1


@kernel
def _add_slot(table: Table, slope: Table, at: int, slot: int, stats: Mixtures) -> None:
    if slot == NONE:
        return
    for x in range(len(slope.mean)):
        stats.mean[slot, x] += slope.mean[x, at]
    for x in range(len(slope.var)):
        stats.log_sd[slot, x] += 2.0 * table.var[x, at] * slope.var[x, at]


@kernel
def _add_product(slope: Table, at: int, weights: Mixtures, word: int, rest: int, stats: Mixtures) -> None:
    """The chain rule through `_multiply_slots`."""
    spreads = len(slope.var)
    for x in range(len(slope.mean)):
        y = min(x, spreads - 1)
        var_word, var_rest = _variance(weights, word, y), _variance(weights, rest, y)
        share = var_rest / (var_word + var_rest)  # of the word in the mean; the rest has the remainder
        other = var_word / (var_word + var_rest)
        pull = (weights.mean[rest, x] - weights.mean[word, x]) / (var_word + var_rest)
        stats.mean[word, x] += slope.mean[x, at] * share + slope.offset[at] * pull
        stats.mean[rest, x] += slope.mean[x, at] * other - slope.offset[at] * pull
        constant = slope.offset[at] * 0.5 * (pull * pull - 1.0 / (var_word + var_rest))
        by_word, by_rest = slope.mean[x, at] * pull * share + constant, constant - slope.mean[x, at] * pull * other
        if x == y:  # a spherical variance is one number, and counts once
            by_word += slope.var[y, at] * share * share
            by_rest += slope.var[y, at] * other * other
        stats.log_sd[word, y] += 2.0 * var_word * by_word
        stats.log_sd[rest, y] += 2.0 * var_rest * by_rest


# -- overlaps


@kernel
def _largest_side(slots: SlotForest) -> int:
    """The most cells that the blocks of one use's side have together."""
    largest = 1
    for side in range(len(slots.side_rule)):
        cells = slots.block_at[slots.block_start[side + 1]] - slots.block_at[slots.block_start[side]]
        largest = max(largest, cells)
    return largest


@kernel
def fill_gram(slots: SlotForest, table: Table, gram: Floats) -> None:
    """The cells of all blocks: exp(offset) N(m1; m2, v1 + v2)."""
    room = _largest_side(slots)
    exponent, square, bits = np.empty(room), np.empty(room), np.empty(room, np.int64)
    for side in range(len(slots.side_rule)):
        first, last = slots.block_start[side], slots.block_start[side + 1]
        theirs, begin = slots.block_in[first:last], slots.block_at[first]
        rows, cells = slots.side_at[side + 1] - slots.side_at[side], slots.block_at[last] - begin
        if first == last:
            continue
        for k in range(0, rows, STRIP):
            ours = slots.side_at[side] + k
            _distances(theirs, slots.side_at, table.offset, table.mean, table.var, ours, k, rows, exponent, square)
        exponentials(exponent, cells, bits)
        for c in range(cells):
            gram[begin + c] = exponent[c] * np.sqrt(square[c])


@kernel
def _distances(
    sides: Ints,
    side_at: Longs,
    offset: Floats,
    mean: Floats,
    var: Floats,
    ours: int,
    k: int,
    rows: int,
    exponent: Floats,
    square: Floats,
) -> None:
    """N(m1; m2, v1 + v2) of a strip of our Gaussians with all of theirs: its exponent, and the square of what stands
    before."""
    d, spreads = mean.shape[0], var.shape[0]
    constant, cell = (2.0 * np.pi) ** -d, k
    for side in sides:
        for j in range(side_at[side], side_at[side + 1]):
            for i in range(STRIP):
                distance, product = 0.0, constant
                for x in range(d):
                    y = min(x, spreads - 1)
                    precision = 1.0 / (var[y, j] + var[y, ours + i])
                    gap = mean[x, j] - mean[x, ours + i]
                    distance += gap * gap * precision
                    product *= precision
                exponent[cell + i], square[cell + i] = offset[j] - 0.5 * distance, product
            cell += rows


@kernel
def exponentials(x: Floats, columns: int, bits: Longs) -> None:
    """In place: e^x = 2^n e^r with |r| at most ln 2 / 2, several at a time, which the library's function is not.

    The power of two is written as the bits of a float.  Below e^-708 all is zero, above e^709 infinite.
    """
    powers = bits.view(np.float64)
    for j in range(columns):
        y = x[j]
        y = -709.0 if y < -709.0 else y  # in this form NaN stays NaN
        y = 710.0 if y > 710.0 else y
        n = np.floor(y * 1.4426950408889634 + 0.5)
        r = y - n * 0.6931471805599453
        exponent = np.int64(np.int32(n)) + 1023
        bits[j] = (exponent if exponent > 1 else 0) << 52
        series = 1.0 + r * (1 / 11)
        series = 1.0 + r * series * (1 / 10)
        series = 1.0 + r * series * (1 / 9)
        series = 1.0 + r * series * (1 / 8)
        series = 1.0 + r * series * (1 / 7)
        series = 1.0 + r * series * (1 / 6)
        series = 1.0 + r * series * (1 / 5)
        series = 1.0 + r * series * (1 / 4)
        series = 1.0 + r * series * (1 / 3)
        series = 1.0 + r * series * (1 / 2)
        x[j] = 1.0 + r * series
    for j in range(columns):
        x[j] *= powers[j]


@kernel
def gram_slope(slots: SlotForest, table: Table, gram: Floats, cells: Floats, slope: Table) -> None:
    """From d log Z / d G of all cells to the gradient of the table."""
    expected = np.empty(_largest_side(slots))
    for side in range(len(slots.side_rule)):
        first, last = slots.block_start[side], slots.block_start[side + 1]
        theirs, begin = slots.block_in[first:last], slots.block_at[first]
        rows = slots.side_at[side + 1] - slots.side_at[side]
        if first == last:
            continue
        for c in range(slots.block_at[last] - begin):
            expected[c] = cells[begin + c] * gram[begin + c]
        for k in range(0, rows, STRIP):
            ours = slots.side_at[side] + k
            _offset_slope(theirs, slots.side_at, k, rows, expected, slope.offset)
            for x in range(len(table.mean)):
                y = min(x, len(table.var) - 1)
                by_mean, by_var = slope.mean[x], slope.var[y]
                _distance_slope(
                    theirs, slots.side_at, table.mean[x], table.var[y], ours, k, rows, expected, by_mean, by_var
                )


@kernel
def _offset_slope(sides: Ints, side_at: Longs, k: int, rows: int, expected: Floats, by_offset: Floats) -> None:
    cell = k
    for side in sides:
        for j in range(side_at[side], side_at[side + 1]):
            for i in range(STRIP):
                by_offset[j] += expected[cell + i]
            cell += rows


@kernel
def _distance_slope(
    sides: Ints,
    side_at: Longs,
    mean: Floats,
    var: Floats,
    ours: int,
    k: int,
    rows: int,
    expected: Floats,
    by_mean: Floats,
    by_var: Floats,
) -> None:
    """`_distances` in reverse, one dimension: d log G for both means and both variances, weighed by the cells'
    expected counts."""
    cell = k
    for side in sides:
        for j in range(side_at[side], side_at[side + 1]):
            all_push, all_widen = 0.0, 0.0
            for i in range(STRIP):
                precision = 1.0 / (var[j] + var[ours + i])
                pull = (mean[j] - mean[ours + i]) * precision
                push = expected[cell + i] * pull
                widen = 0.5 * (push * pull - expected[cell + i] * precision)
                by_mean[ours + i] += push
                by_var[ours + i] += widen
                all_push += push
                all_widen += widen
            by_mean[j] -= all_push
            by_var[j] += all_widen
            cell += rows
