"""The continuous form: Gaussian mixtures over latent vectors (GM-LVeG; Zhao, Zhang & Tu 2018), without approximation.

The weight of a rule r: A -> B C is W_r(a, b, c) = sum_k rho_k N(a) N(b) N(c) (eqn 4), with diagonal or spherical
Gaussians, so that every port of every component has a Gaussian of its own, its slot.  Integrals of products of two
Gaussians are numbers, G = N(m1; m2, v1 + v2), and eqns 6 to 8 become sums over components (`slots` has the
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

from latree.arrays import Floats
from latree.inference.gaussian.limits import NO_LIMIT, ComponentLimit, limit_inside, limit_outside, tell_only_kept
from latree.inference.gaussian.mixtures import Components, Mixtures, zeros_like
from latree.inference.gaussian.overlaps import Table, fill_gram, fold_back, gram_slope, lay_out
from latree.inference.gaussian.slots import STRIP, SlotForest
from latree.inference.potentials import NO_POTENTIALS, Potentials
from latree.jit import kernel, lean_kernel


class GaussianInference(NamedTuple):
    """What a forest's two sweeps give."""

    log_z: Floats  # [sentences]
    posterior: Floats  # [edges of the forest] probability that the edge is in the derivation; 0 without a rule
    gradient: Mixtures  # of the sum of log Z


def gaussian_log_z(
    slots: SlotForest,
    components: Components,
    weights: Mixtures,
    limit: ComponentLimit = NO_LIMIT,
    potentials: Potentials = NO_POTENTIALS,
) -> Floats:
    """log Z of every sentence; the potentials of lexical entries must stand on edges (`Potentials.on_edges`)."""
    gram, *messages = _zeros([int(slots.block_at[-1]), *_message_sizes(slots)])
    table = lay_out(slots, components, weights)
    fill_gram(slots, table, gram)
    return _inside(slots, table, gram, _Messages(*messages), limit, potentials)


def gaussian_infer(
    slots: SlotForest,
    components: Components,
    weights: Mixtures,
    stats: Mixtures | None = None,
    limit: ComponentLimit = NO_LIMIT,
    potentials: Potentials = NO_POTENTIALS,
) -> GaussianInference:
    """Both sweeps; the gradient is added to `stats` (new ones where there are none; see `no_statistics`)."""
    stats = zeros_like(weights) if stats is None else stats
    return _both_sweeps(slots, components, weights, stats, _Limits(limit, limit), potentials)


class _Limits(NamedTuple):
    """How many components inside and outside scores may have.  With a limit on the first alone, gradients are those of
    the limited log Z."""

    up: ComponentLimit
    down: ComponentLimit


def _both_sweeps(
    slots: SlotForest,
    components: Components,
    weights: Mixtures,
    stats: Mixtures,
    limits: _Limits,
    potentials: Potentials = NO_POTENTIALS,
) -> GaussianInference:
    wanted = len(stats.log_rho) > 0
    sizes, all_cells = _message_sizes(slots), int(slots.block_at[-1])
    rooms = _zeros([all_cells, all_cells if wanted else 0, sizes[0], sizes[2], *sizes])
    gram, cells, below, above, *rest = rooms
    messages, table = _Messages(*rest), lay_out(slots, components, weights)
    fill_gram(slots, table, gram)
    log_z = _inside(slots, table, gram, messages, limits.up, potentials)
    posterior, count = np.zeros(slots.edges), np.zeros_like(table.rho)
    _outside(slots, table, gram, messages, limits, log_z, below, above, posterior, count, cells)
    if wanted:
        slope = Table(count, np.zeros_like(table.offset), np.zeros_like(table.mean), np.zeros_like(table.var))
        gram_slope(slots, table, gram, cells, slope)
        fold_back(slots, components, weights, table, slope, stats)
    return GaussianInference(log_z, posterior, stats)


def _zeros(sizes: Sequence[int]) -> list[Floats]:
    """Arrays of these sizes, in one piece of memory: one large piece may lie on large pages, which come cheaper."""
    return np.split(np.zeros(sum(sizes)), np.cumsum(sizes)[:-1])


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
    """Count how many numbers each array of `_Messages` has."""
    items, uses = len(slots.in_start) - 1, len(slots.use_side)
    return [int(slots.in_at[-1]), items, int(slots.use_at[-1]), uses, len(slots.edge), len(slots.link_in)]


@kernel
def _inside(
    slots: SlotForest, table: Table, gram: Floats, messages: _Messages, limit: ComponentLimit, potentials: Potentials
) -> Floats:
    """Sweep up, children first; log Z of every sentence.

    Potentials become part of the scales, and so of the factors by which the sweep down goes.
    """
    for item in range(len(messages.scale)):
        top = _top_scale(slots, messages, item, potentials.edge)
        messages.scale[item] = top
        if top == -np.inf:
            _rule_out(slots, messages, item)
        else:
            _combine(slots, table, messages, item, top)
            _hand_on(slots, table, messages, item, top)
            _normalise(slots, messages, item)
            if len(potentials.item) > 0:
                messages.scale[item] += potentials.item[item]
            if limit.k_max > 0:
                limit_inside(slots, table, messages.alpha, item, limit)
            _project(slots, gram, messages, item)
        for use in range(slots.use_start[item], slots.use_start[item + 1]):
            messages.use_scale[use] = messages.scale[item]
    log_z = np.full(len(slots.root), -np.inf)
    for k in range(len(log_z)):
        if slots.root[k] >= 0:
            log_z[k] = messages.scale[slots.root[k]]
    return log_z


@lean_kernel
def _top_scale(slots: SlotForest, messages: _Messages, item: int, potential: Floats) -> float:
    """The highest scale among what an item is made of; each part's own, its potential in it, is left in its factor.

    NaN is not passed over: comparisons with it are false.
    """
    top = -np.inf
    for e in range(slots.edge_start[slots.in_start[item]], slots.edge_start[slots.in_start[item + 1]]):
        scale = potential[slots.edge[e]] if len(potential) > 0 else 0.0
        if slots.left[e] >= 0:
            scale += messages.use_scale[slots.left[e]]
        if slots.right[e] >= 0:
            scale += messages.use_scale[slots.right[e]]
        messages.factor[e] = scale
        if not scale <= top:
            top = scale
    for link in range(slots.link_start[item], slots.link_start[item + 1]):
        scale = messages.scale[slots.link_child[link]]
        if len(potential) > 0:
            scale += potential[slots.link_edge[link]]
        messages.link_factor[link] = scale
        if not scale <= top:
            top = scale
    return top


@lean_kernel
def _rule_out(slots: SlotForest, messages: _Messages, item: int) -> None:
    """An item that cannot be made, since each of its edges lacks a child."""
    messages.factor[slots.edge_start[slots.in_start[item]] : slots.edge_start[slots.in_start[item + 1]]] = 0.0
    messages.link_factor[slots.link_start[item] : slots.link_start[item + 1]] = 0.0


@lean_kernel
def _combine(slots: SlotForest, table: Table, messages: _Messages, item: int, top: float) -> None:
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


@lean_kernel
def _hand_on(slots: SlotForest, table: Table, messages: _Messages, item: int, top: float) -> None:
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


@lean_kernel
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


@lean_kernel
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


@lean_kernel
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
    table: Table,
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
            limit_outside(slots, above, item, limits.down)
        _project_back(slots, gram, messages, item, below, above, cells)
        if limits.up.k_max > 0:
            tell_only_kept(slots, messages.alpha, item, below)
        _combine_back(slots, table, messages, item, below, above, posterior, count)
        _hand_back(slots, table, messages, item, below, posterior, count)


@lean_kernel
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


@lean_kernel
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


@lean_kernel
def _combine_back(
    slots: SlotForest,
    table: Table,
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


@lean_kernel
def _hand_back(
    slots: SlotForest,
    table: Table,
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
