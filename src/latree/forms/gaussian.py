"""The continuous form: Gaussian mixtures over latent vectors (GM-LVeG; Zhao, Zhang & Tu 2018), without approximation.

The weight of a rule r: A -> B C is W_r(a, b, c) = sum_k rho_k N(a) N(b) N(c) (eqn 4), with diagonal or spherical
Gaussians, so that every port of every component has a Gaussian of its own, its slot.  Integrals of products of two
Gaussians are numbers, G = N(m1; m2, v1 + v2), and eqns 6 to 8 become sums over components (`latree.slots` has the
words):

    project   u[use, k]  = sum_in,j  G[j, k] alpha[in, j]                         integrate b out of N(b) s_I(b)
    combine   alpha[in, k] = rho_k sum_edges u_left[k] u_right[k]                 eqn 6, one coefficient a component

and Z is the sum of the root's alpha, since the root has no latent vector.  The paper's mixtures grow with the depth
because it keeps equal Gaussians apart, and it prunes them; here that is an option (`ComponentLimit`), to reproduce the
paper.  (With full covariances the ports would not factor.)

The sweep down is the same program in reverse: from d log Z / d alpha at the root to d log Z / d(everything).  That is
the outside score (eqn 7) divided by Z; times u it is a posterior (eqns 8 and 9).  An item's alpha sums to one, with its
log scale kept aside; in reverse these scales need no logarithm and no exponential, because each edge keeps the factor
that its children's scales came to.

The gradient for log rho is the expected count of the component.  For means and log standard deviations it comes from
d log G, once for every distinct block, weighed by the expected count of each of its cells: the moments of eqns 15 and
16 are never formed.

In a tag lattice a word's Gaussian multiplies what follows on the same latent vector.  N_word N_rest is again a Gaussian
times a constant, so that such ins have a component for each pair, and the gradient goes on to both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from latree.arrays import Floats, Ints, Longs
from latree.forest import P
from latree.grammar import NONE
from latree.jit import kernel
from latree.slots import STRIP, SlotForest


class Components(NamedTuple):
    """Which numbers belong to which rule."""

    first: Longs  # [rules + 1] first component of each rule
    slot: Ints  # [components, 3] slot at each port, NONE where there is no latent vector

    @property
    def size(self) -> Longs:
        """[rules] how many components each rule has: K_r."""
        return np.diff(self.first)

    @property
    def slots(self) -> int:
        return int(self.slot.max(initial=NONE)) + 1


class Mixtures(NamedTuple):
    """Weights, or statistics of the same type: the gradient of log Z."""

    log_rho: Floats  # [components]
    mean: Floats  # [slots, d]
    log_sd: Floats  # [slots, d], or [slots, 1] where Gaussians are spherical


class GaussianInference(NamedTuple):
    """What a forest's two sweeps give."""

    log_z: Floats  # [sentences]
    posterior: Floats  # [edges of the forest] probability that the edge is in the derivation; 0 without a rule
    gradient: Mixtures  # of the sum of log Z


class ComponentLimit(NamedTuple):
    """How many components of a message are kept (section 3.2): all where there are at most `k_min`, else the
    min(k_min + floor(k ** theta), k_max) heaviest of k.  The paper's k_hard is k_min = k_max = k_hard, whatever theta.

    The mass of the others is lost: log Z is then too low, and posteriors and gradients are approximate.
    """

    k_min: int
    k_max: int
    theta: float


NO_LIMIT = ComponentLimit(0, 0, 0.0)  # known by k_max = 0: everything is kept, and exact


def components(rules: Ints, tags: Ints, size: Longs) -> Components:
    """The components of a grammar's rules [rules, 3] and after them of lexical rules, of which `tags` holds the tags.

    The root, symbol 0, has no latent vector.  The slots of a rule lie by port, then by component.
    """
    words = np.column_stack([tags, np.full((len(tags), 2), NONE)])
    vectors = np.concatenate([rules, words]) > 0
    first = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
    rule, step = np.repeat(np.arange(len(size)), size), np.repeat(size, size)
    slots_before = np.concatenate([[0], np.cumsum(size * vectors.sum(1))])[rule]
    ports_before: Longs = np.cumsum(vectors, 1) - vectors
    component = np.arange(first[-1]) - first[rule]
    slot = (slots_before + component)[:, None] + ports_before[rule] * step[:, None]
    return Components(first, np.where(vectors[rule], slot, NONE).astype(np.int32))


def zeros_like(weights: Mixtures) -> Mixtures:
    """Statistics of no mass."""
    return Mixtures(*(np.zeros_like(part) for part in weights))


def no_statistics(weights: Mixtures) -> Mixtures:
    """For inference that is after posteriors alone."""
    return Mixtures(*(part[:0] for part in weights))


def gaussian_log_z(
    slots: SlotForest, components: Components, weights: Mixtures, limit: ComponentLimit = NO_LIMIT
) -> Floats:
    """log Z of every sentence."""
    gram, *messages = _zeros([int(slots.block_at[-1]), *_message_sizes(slots)])
    table = _lay_out(slots, components, weights)
    _gram(slots, table, gram)
    return _inside(slots, table, gram, _Messages(*messages), limit)


def gaussian_infer(
    slots: SlotForest,
    components: Components,
    weights: Mixtures,
    stats: Mixtures | None = None,
    limit: ComponentLimit = NO_LIMIT,
) -> GaussianInference:
    """Both sweeps; the gradient is added to `stats` (new ones where there are none; see `no_statistics`)."""
    stats = zeros_like(weights) if stats is None else stats
    return _both_sweeps(slots, components, weights, stats, _Limits(limit, limit))


class _Limits(NamedTuple):
    """Of the inside scores and of the outside scores.  With a limit on the first alone, gradients are those of the
    limited log Z."""

    up: ComponentLimit
    down: ComponentLimit


def _both_sweeps(
    slots: SlotForest, components: Components, weights: Mixtures, stats: Mixtures, limits: _Limits
) -> GaussianInference:
    wanted = len(stats.log_rho) > 0
    sizes, all_cells = _message_sizes(slots), int(slots.block_at[-1])
    rooms = _zeros([all_cells, all_cells if wanted else 0, sizes[0], sizes[2], *sizes])
    gram, cells, below, above, *rest = rooms
    messages, table = _Messages(*rest), _lay_out(slots, components, weights)
    _gram(slots, table, gram)
    log_z = _inside(slots, table, gram, messages, limits.up)
    posterior, count = np.zeros(slots.edges), np.zeros_like(table.rho)
    _outside(slots, table, gram, messages, limits, log_z, below, above, posterior, count, cells)
    if wanted:
        slope = _Table(count, np.zeros_like(table.offset), np.zeros_like(table.mean), np.zeros_like(table.var))
        _gram_slope(slots, table, gram, cells, slope)
        _fold_back(slots, components, weights, table, slope, stats)
    return GaussianInference(log_z, posterior, stats)


def _zeros(sizes: Sequence[int]) -> list[Floats]:
    """Arrays of these sizes, in one piece of memory: one large piece may lie on large pages, which come cheaper."""
    return np.split(np.zeros(sum(sizes)), np.cumsum(sizes)[:-1])


# -- the Gaussians that a forest uses


class _Table(NamedTuple):
    """The Gaussians of all sides laid end to end, components side by side: exp(offset) N(mean, var); or d log Z / d of
    each of these.  Forests use few of a lexicon's slots, and the sweeps want neighbours in memory."""

    rho: Floats  # [components of sides]; of its gradient: d log Z / d log rho
    offset: Floats
    mean: Floats  # [d, components of sides]
    var: Floats  # [d, components of sides], or [1, components of sides]


@kernel
def _lay_out(slots: SlotForest, components: Components, weights: Mixtures) -> _Table:
    room = slots.side_at[-1]
    d, spreads = weights.mean.shape[1], weights.log_sd.shape[1]
    # A strip that a use does not fill keeps these numbers: they are read by no one, but must be numbers.
    table = _Table(np.zeros(room), np.zeros(room), np.zeros((d, room)), np.ones((spreads, room)))
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
def _copy_slot(table: _Table, at: int, weights: Mixtures, slot: int) -> None:
    if slot == NONE:
        return
    for x in range(len(table.mean)):
        table.mean[x, at] = _mean(weights, slot, x)
    for x in range(len(table.var)):
        table.var[x, at] = _variance(weights, slot, x)


@kernel
def _multiply_slots(table: _Table, at: int, weights: Mixtures, word: int, rest: int) -> None:
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
def _fold_back(
    slots: SlotForest, components: Components, weights: Mixtures, table: _Table, slope: _Table, stats: Mixtures
) -> None:
    """From the gradient of the table to that of the weights: `_lay_out` in reverse."""
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
def _add_slot(table: _Table, slope: _Table, at: int, slot: int, stats: Mixtures) -> None:
    if slot == NONE:
        return
    for x in range(len(slope.mean)):
        stats.mean[slot, x] += slope.mean[x, at]
    for x in range(len(slope.var)):
        stats.log_sd[slot, x] += 2.0 * table.var[x, at] * slope.var[x, at]


@kernel
def _add_product(slope: _Table, at: int, weights: Mixtures, word: int, rest: int, stats: Mixtures) -> None:
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
def _gram(slots: SlotForest, table: _Table, gram: Floats) -> None:
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
        _exponentials(exponent, cells, bits)
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
def _exponentials(x: Floats, columns: int, bits: Longs) -> None:
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
def _gram_slope(slots: SlotForest, table: _Table, gram: Floats, cells: Floats, slope: _Table) -> None:
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


# -- the sweeps


class _Messages(NamedTuple):
    """What the sweep up leaves for the sweep down."""

    alpha: Floats  # coefficients of the ins, which sum to one over an item
    scale: Floats  # [items] log of what they were divided by
    reading: Floats  # u of the uses, on the scale of their items
    use_scale: Floats  # [uses] the scale of the item
    factor: Floats  # [edges of ins] what the scales of the children come to on the scale of the parent
    link_factor: Floats  # [links]


def _message_sizes(slots: SlotForest) -> list[int]:
    """Of the arrays of `_Messages`."""
    items, uses = len(slots.in_start) - 1, len(slots.use_side)
    return [int(slots.in_at[-1]), items, int(slots.use_at[-1]), uses, len(slots.edge), len(slots.link_in)]


@kernel
def _inside(slots: SlotForest, table: _Table, gram: Floats, messages: _Messages, limit: ComponentLimit) -> Floats:
    """Sweep up, children first; log Z of every sentence."""
    for item in range(len(messages.scale)):
        top = _top_scale(slots, messages, item)
        messages.scale[item] = top
        if top == -np.inf:
            _rule_out(slots, messages, item)
        else:
            _combine(slots, table, messages, item, top)
            _hand_on(slots, table, messages, item, top)
            _normalise(slots, messages, item)
            if limit.k_max > 0:
                _limit_inside(slots, table, messages.alpha, item, limit)
            _project(slots, gram, messages, item)
        for use in range(slots.use_start[item], slots.use_start[item + 1]):
            messages.use_scale[use] = messages.scale[item]
    log_z = np.full(len(slots.root), -np.inf)
    for k in range(len(log_z)):
        if slots.root[k] >= 0:
            log_z[k] = messages.scale[slots.root[k]]
    return log_z


@kernel
def _top_scale(slots: SlotForest, messages: _Messages, item: int) -> float:
    """The highest scale among what an item is made of; each part's own is left in its factor.

    NaN is not passed over: comparisons with it are false.
    """
    top = -np.inf
    for e in range(slots.edge_start[slots.in_start[item]], slots.edge_start[slots.in_start[item + 1]]):
        scale = 0.0
        if slots.left[e] >= 0:
            scale += messages.use_scale[slots.left[e]]
        if slots.right[e] >= 0:
            scale += messages.use_scale[slots.right[e]]
        messages.factor[e] = scale
        if not scale <= top:
            top = scale
    for link in range(slots.link_start[item], slots.link_start[item + 1]):
        scale = messages.scale[slots.link_child[link]]
        messages.link_factor[link] = scale
        if not scale <= top:
            top = scale
    return top


@kernel
def _rule_out(slots: SlotForest, messages: _Messages, item: int) -> None:
    """An item that cannot be made, since each of its edges lacks a child."""
    messages.factor[slots.edge_start[slots.in_start[item]] : slots.edge_start[slots.in_start[item + 1]]] = 0.0
    messages.link_factor[slots.link_start[item] : slots.link_start[item + 1]] = 0.0


@kernel
def _combine(slots: SlotForest, table: _Table, messages: _Messages, item: int, top: float) -> None:
    """alpha[k] = rho_k sum_edges u_left[k] u_right[k], for all ins of an item."""
    alpha, reading = messages.alpha, messages.reading
    for i in range(slots.in_start[item], slots.in_start[item + 1]):
        at, size = slots.in_at[i], slots.in_at[i + 1] - slots.in_at[i]
        for e in range(slots.edge_start[i], slots.edge_start[i + 1]):
            factor = np.exp(messages.factor[e] - top)
            messages.factor[e] = factor
            if slots.right[e] >= 0:
                left, right = slots.use_at[slots.left[e]], slots.use_at[slots.right[e]]
                for k in range(size):
                    alpha[at + k] += factor * reading[left + k] * reading[right + k]
            elif slots.left[e] >= 0:
                left = slots.use_at[slots.left[e]]
                for k in range(size):
                    alpha[at + k] += factor * reading[left + k]
            else:
                for k in range(size):
                    alpha[at + k] += factor
        rho = slots.side_at[slots.in_side[i]]
        for k in range(size):
            alpha[at + k] *= table.rho[rho + k]


@kernel
def _hand_on(slots: SlotForest, table: _Table, messages: _Messages, item: int, top: float) -> None:
    """Links into an item: its child's coefficients as they are, or times those of a word."""
    alpha = messages.alpha
    for link in range(slots.link_start[item], slots.link_start[item + 1]):
        to, source = slots.link_in[link], slots.link_from[link]
        factor = np.exp(messages.link_factor[link] - top)
        messages.link_factor[link] = factor
        at, begin, end = slots.in_at[to], slots.in_at[source], slots.in_at[source + 1]
        if slots.in_side[to] == slots.in_side[source]:
            for j in range(begin, end):
                alpha[at + j - begin] += factor * alpha[j]
            continue
        rho = slots.side_at[slots.in_side[to]]
        for w in range(0, slots.in_at[to + 1] - at, end - begin):
            for j in range(begin, end):
                alpha[at + w + j - begin] += factor * table.rho[rho + w] * alpha[j]


@kernel
def _normalise(slots: SlotForest, messages: _Messages, item: int) -> None:
    """Let alpha sum to one, and keep the log of the sum."""
    first, last = slots.in_start[item], slots.in_start[item + 1]
    total = 0.0
    for k in range(slots.in_at[first], slots.in_at[last]):
        total += messages.alpha[k]
    messages.scale[item] += np.log(total)
    if total == 0.0:
        return
    for k in range(slots.in_at[first], slots.in_at[last]):
        messages.alpha[k] /= total
    for e in range(slots.edge_start[first], slots.edge_start[last]):
        messages.factor[e] /= total
    for link in range(slots.link_start[item], slots.link_start[item + 1]):
        messages.link_factor[link] /= total


@kernel
def _project(slots: SlotForest, gram: Floats, messages: _Messages, item: int) -> None:
    """u[use, k] = sum_in,j G[j, k] alpha[in, j], for all uses of an item."""
    reading = messages.reading
    ins = slots.in_start[item + 1] - slots.in_start[item]
    pair = slots.pair_start[item]
    for use in range(slots.use_start[item], slots.use_start[item + 1]):
        out, rows = slots.use_at[use], slots.use_at[use + 1] - slots.use_at[use]
        for k in range(0, rows, STRIP):
            strip = _read(slots, gram, messages.alpha, item, pair, rows, k)
            reading[out + k], reading[out + k + 1], reading[out + k + 2], reading[out + k + 3] = strip
        pair += ins


@kernel
def _read(
    slots: SlotForest, gram: Floats, alpha: Floats, item: int, pair: int, rows: int, k: int
) -> tuple[float, float, float, float]:
    """What the components from k on of a use, whose pairs begin here, read of an item."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    first = slots.in_start[item]
    for i in range(first, slots.in_start[item + 1]):
        at = slots.block_at[slots.pair_block[pair + i - first]] + k
        for j in range(slots.in_at[i], slots.in_at[i + 1]):
            a += gram[at] * alpha[j]
            b += gram[at + 1] * alpha[j]
            c += gram[at + 2] * alpha[j]
            d += gram[at + 3] * alpha[j]
            at += rows
    return a, b, c, d


@kernel
def _outside(
    slots: SlotForest,
    table: _Table,
    gram: Floats,
    messages: _Messages,
    limits: _Limits,
    log_z: Floats,
    below: Floats,
    above: Floats,
    posterior: Floats,
    count: Floats,
    cells: Floats,
) -> None:
    """Sweep down, parents first: d log Z / d of everything the sweep up made, where log Z is finite.

    Adds d log Z / d alpha (`below` the uses) and d log Z / d u (`above` the ins), posteriors of edges, expected counts
    of the sides' components, and d log Z / d G where `cells` has room.
    """
    for k in range(len(log_z)):
        if np.isfinite(log_z[k]):
            root = slots.root[k]
            # The root's alpha sums to one, and log Z is its scale.
            below[slots.in_at[slots.in_start[root]] : slots.in_at[slots.in_start[root + 1]]] += 1.0
    for up in range(len(messages.scale)):
        item = len(messages.scale) - 1 - up
        if limits.down.k_max > 0:
            _limit_outside(slots, above, item, limits.down)
        _project_back(slots, gram, messages, item, below, above, cells)
        if limits.up.k_max > 0:
            _tell_only_kept(slots, messages.alpha, item, below)
        _combine_back(slots, table, messages, item, below, above, posterior, count)
        _hand_back(slots, table, messages, item, below, posterior, count)


@kernel
def _project_back(
    slots: SlotForest, gram: Floats, messages: _Messages, item: int, below: Floats, above: Floats, cells: Floats
) -> None:
    ins = slots.in_start[item + 1] - slots.in_start[item]
    pair = slots.pair_start[item]
    for use in range(slots.use_start[item], slots.use_start[item + 1]):
        begin, rows = slots.use_at[use], slots.use_at[use + 1] - slots.use_at[use]
        for k in range(0, rows, STRIP):
            strip = above[begin + k], above[begin + k + 1], above[begin + k + 2], above[begin + k + 3]
            _tell(slots, gram, messages.alpha, item, pair, rows, k, strip, below, cells)
        pair += ins


@kernel
def _tell(
    slots: SlotForest,
    gram: Floats,
    alpha: Floats,
    item: int,
    pair: int,
    rows: int,
    k: int,
    above: tuple[float, float, float, float],
    below: Floats,
    cells: Floats,
) -> None:
    """`_read` in reverse: what a use hears from above is told to an item's ins, and to the cells between."""
    a, b, c, d = above
    if a == 0.0 and b == 0.0 and c == 0.0 and d == 0.0:
        return
    first = slots.in_start[item]
    for i in range(first, slots.in_start[item + 1]):
        at = slots.block_at[slots.pair_block[pair + i - first]] + k
        for j in range(slots.in_at[i], slots.in_at[i + 1]):
            below[j] += (gram[at] * a + gram[at + 1] * b) + (gram[at + 2] * c + gram[at + 3] * d)
            if len(cells) > 0:
                cells[at] += alpha[j] * a
                cells[at + 1] += alpha[j] * b
                cells[at + 2] += alpha[j] * c
                cells[at + 3] += alpha[j] * d
            at += rows


@kernel
def _combine_back(
    slots: SlotForest,
    table: _Table,
    messages: _Messages,
    item: int,
    below: Floats,
    above: Floats,
    posterior: Floats,
    count: Floats,
) -> None:
    reading = messages.reading
    for i in range(slots.in_start[item], slots.in_start[item + 1]):
        at, size = slots.in_at[i], slots.in_at[i + 1] - slots.in_at[i]
        side = slots.side_at[slots.in_side[i]]
        for e in range(slots.edge_start[i], slots.edge_start[i + 1]):
            share = 0.0
            for k in range(size):
                here = below[at + k] * table.rho[side + k] * messages.factor[e]
                if slots.right[e] >= 0:
                    left, right = slots.use_at[slots.left[e]] + k, slots.use_at[slots.right[e]] + k
                    above[left] += here * reading[right]
                    above[right] += here * reading[left]
                    here *= reading[left] * reading[right]
                elif slots.left[e] >= 0:
                    left = slots.use_at[slots.left[e]] + k
                    above[left] += here
                    here *= reading[left]
                count[side + k] += here
                share += here
            posterior[slots.edge[e]] = share


@kernel
def _hand_back(
    slots: SlotForest,
    table: _Table,
    messages: _Messages,
    item: int,
    below: Floats,
    posterior: Floats,
    count: Floats,
) -> None:
    for link in range(slots.link_start[item], slots.link_start[item + 1]):
        to, source, factor = slots.link_in[link], slots.link_from[link], messages.link_factor[link]
        at, begin, end = slots.in_at[to], slots.in_at[source], slots.in_at[source + 1]
        if slots.in_side[to] == slots.in_side[source]:
            for j in range(begin, end):
                below[j] += factor * below[at + j - begin]
            continue
        side = slots.side_at[slots.in_side[to]]
        for w in range(0, slots.in_at[to + 1] - at, end - begin):
            for j in range(begin, end):
                here = factor * table.rho[side + w] * below[at + w + j - begin]
                below[j] += here
                here *= messages.alpha[j]
                count[side + w + j - begin] += here
                posterior[slots.link_edge[link]] += here


# -- limits


@kernel
def _allowed(count: int, limit: ComponentLimit) -> int:
    """How many of so many components are kept."""
    if count <= limit.k_min:
        return count
    return min(limit.k_min + int(np.floor(count**limit.theta)), limit.k_max, count)


@kernel
def _keep_heaviest(weight: Floats, coefficient: Floats, limit: ComponentLimit) -> None:
    """Set the coefficients of the others to zero; of equal weights the first are kept.  NaN is not touched: it must
    show."""
    count, size = int(np.count_nonzero(weight)), len(weight)
    allowed = _allowed(count, limit)
    if allowed == count:
        return
    bound = np.partition(weight, size - allowed)[size - allowed]
    equals = allowed - np.count_nonzero(weight > bound)
    for k in range(size):
        if weight[k] == bound and equals > 0:
            equals -= 1
        elif weight[k] <= bound:
            coefficient[k] = 0.0


@kernel
def _limit_inside(slots: SlotForest, table: _Table, alpha: Floats, item: int, limit: ComponentLimit) -> None:
    """Drop the lightest components of an item's message.

    What no use reads stays whole.  That is the root's, which is no mixture but a number in parts, and what is only
    handed on: it is limited where it arrives.
    """
    begin, end = slots.in_at[slots.in_start[item]], slots.in_at[slots.in_start[item + 1]]
    is_read = slots.use_start[item] < slots.use_start[item + 1]
    if is_read and end - begin > limit.k_min:
        _keep_heaviest(_weights(slots, table, alpha, item), alpha[begin:end], limit)


@kernel
def _weights(slots: SlotForest, table: _Table, alpha: Floats, item: int) -> Floats:
    """Of the components of an item's message, as Gaussians that integrate to one: products of Gaussians have a constant
    that is kept apart."""
    first, last = slots.in_start[item], slots.in_start[item + 1]
    begin = slots.in_at[first]
    weight = alpha[begin : slots.in_at[last]].copy()
    for i in range(first, last):
        side = slots.in_side[i]
        if slots.side_word[side] != NONE:
            for k in range(slots.in_at[i + 1] - slots.in_at[i]):
                weight[slots.in_at[i] - begin + k] *= np.exp(table.offset[slots.side_at[side] + k])
    return weight


@kernel
def _limit_outside(slots: SlotForest, above: Floats, item: int, limit: ComponentLimit) -> None:
    """Drop the lightest components of what an item hears from its uses."""
    heard = above[slots.use_at[slots.use_start[item]] : slots.use_at[slots.use_start[item + 1]]]
    if len(heard) > limit.k_min:
        _keep_heaviest(heard, heard, limit)


@kernel
def _tell_only_kept(slots: SlotForest, alpha: Floats, item: int, below: Floats) -> None:
    """`_limit_inside` in reverse: log Z does not depend on what was dropped."""
    for k in range(slots.in_at[slots.in_start[item]], slots.in_at[slots.in_start[item + 1]]):
        if alpha[k] == 0.0:
            below[k] = 0.0
