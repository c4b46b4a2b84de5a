"""Gaussian mixtures over the latent vectors of tag sequences, many sentences at once and without forests.

In a tag lattice three Gaussians meet on the vector of every word: that of the step into it, the word's own, and that of
the step out of it, each with a component (`mixtures`).  With N(x; m, v) = exp(c + eta x - lambda x^2 / 2), lambda =
1 / v and eta = m / v, their product adds up the exponents, so that its integral, a cell, is

    G = exp(c1 + c2 + c3 + eta^2 / (2 lambda)) sqrt(2 pi / lambda),   eta = eta1 + eta2 + eta3, lambda likewise,

and a sequence's weight is a product of cells and of the components' weights rho.  What is summed over is a chain whose
states are the components of steps; numbers are those of `sweeps`, for a fraction of the work.

The gradient needs no more than moments of the latent vector under each Gaussian (Zhao, Zhang & Tu 2018, eqns 15 and
16): how often it is expected, and there the expected x and x^2, which of a cell are mu = eta / lambda and
mu^2 + 1 / lambda.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latree.arrays import NONE, Floats, Ints, Longs
from latree.inference.forest import L, P
from latree.inference.gaussian.mixtures import Components, Mixtures
from latree.inference.gaussian.overlaps import exponentials
from latree.inference.sequences import Lattice, Sums
from latree.inference.trellis import ChainRules
from latree.jit import inner, kernel


class GaussianChain(NamedTuple):
    """A bigram model of mixtures, as products of Gaussians want it."""

    rules: ChainRules
    first: Longs  # [rules + 1] first component of each rule; lexical rules are numbered after the grammar's
    slot: Ints  # [components, 3]
    rho: Floats  # [components]
    precision: Floats  # [slots, d or 1] lambda
    pull: Floats  # [slots, d] eta
    constant: Floats  # [slots] c


class Joints(NamedTuple):
    """What meets where: integers, made once for a lattice and numbers of components.

    A joint is an edge of a lattice with its rule: a step, the beginning of a sentence, or its end.
    """

    rule: Longs  # [joints] steps first, as the lattice numbers them
    at: Longs  # [joints + 1] where the numbers of its components begin
    in_start: Longs  # [nodes + 1] the joints into each node
    into: Longs
    out_start: Longs  # [nodes + 1] those out of it
    out: Longs
    word_rule: Longs  # [nodes] NONE where the word cannot have the tag
    cell_at: Longs  # [nodes + 1] cells by component of the word, of what comes in and of what goes out
    widest: int  # most components that come into a node, or go out of it


class Moments(NamedTuple):
    """Expected counts of components, and expected powers of the latent vector under slots; or no room for any."""

    component: Floats  # [components]
    zeroth: Floats  # [slots]
    first: Floats  # [slots, d]
    second: Floats  # [slots, d or 1] where Gaussians are spherical, the sum over all dimensions


def gaussian_chain(rules: ChainRules, components: Components, weights: Mixtures) -> GaussianChain:
    """Make the tables of a model."""
    precision = np.exp(-2.0 * weights.log_sd)
    dims = weights.mean.shape[1]
    pull = weights.mean * precision
    logs = np.log(precision / (2.0 * np.pi)).sum(1) * (dims / precision.shape[1])
    constant = 0.5 * (logs - (pull * weights.mean).sum(1))
    tables = (np.exp(weights.log_rho), precision, pull, constant)
    return GaussianChain(rules, components.first, components.slot, *tables)


def no_moments(chain: GaussianChain) -> Moments:
    """Make moments without room, for sums that are after posteriors alone."""
    return Moments(np.zeros(0), np.zeros(0), chain.pull[:0].copy(), chain.precision[:0].copy())


def new_moments(chain: GaussianChain) -> Moments:
    return Moments(*(np.zeros_like(part) for part in (chain.rho, chain.constant, chain.pull, chain.precision)))


def gradient(chain: GaussianChain, weights: Mixtures, moments: Moments) -> Mixtures:
    """Differentiate log Z by log rho, means and log standard deviations, given the moments."""
    zeroth = moments.zeroth[:, None]
    by_mean = chain.precision * (moments.first - weights.mean * zeroth)
    spread = weights.mean * (weights.mean * zeroth - 2.0 * moments.first)
    dims = 1
    if chain.precision.shape[1] == 1:
        spread, dims = spread.sum(1, keepdims=True), weights.mean.shape[1]
    return Mixtures(moments.component, by_mean, chain.precision * (moments.second + spread) - dims * zeroth)


# -- what meets


@kernel
def find_joints(rules: ChainRules, first_component: Longs, lattice: Lattice, word_rule: Longs) -> Joints:
    """Find what meets at every node of a lattice; `word_rule` [nodes] has the lexical rules, or NONE."""
    nodes, sentences = len(lattice.tag), len(lattice.sentence) - 1
    steps, ends = len(lattice.is_open), 0
    for k in range(sentences):
        first, last = lattice.sentence[k], lattice.sentence[k + 1] - 1
        ends += lattice.word[first + 1] - lattice.word[first] + lattice.word[last + 1] - lattice.word[last]
    rule, at = np.full(steps + ends, NONE), np.zeros(steps + ends + 1, np.int64)
    in_start, into = np.zeros(nodes + 1, np.int64), np.empty(steps + ends, np.int64)
    out_start, out = np.zeros(nodes + 1, np.int64), np.empty(steps + ends, np.int64)
    joint = steps
    for k in range(sentences):
        first, last = lattice.sentence[k], lattice.sentence[k + 1] - 1
        for i in range(first, last + 1):
            for n in range(lattice.word[i], lattice.word[i + 1]):
                tag = lattice.tag[n]
                in_start[n + 1], out_start[n + 1] = in_start[n], out_start[n]
                if i == first:
                    rule[joint], into[in_start[n]] = rules.start[tag], joint
                    in_start[n + 1] += 1
                    joint += 1
                else:
                    _steps_into(rules, lattice, i, n, rule, in_start, into)
                if i == last:
                    rule[joint], out[out_start[n]] = rules.stop[tag], joint
                    out_start[n + 1] += 1
                    joint += 1
                else:
                    _steps_out_of(rules, lattice, i, n, out_start, out)
    for j in range(len(rule)):
        at[j + 1] = at[j] + _size(first_component, rule[j])
    cell_at, widest = _count_cells(first_component, word_rule, at, in_start, into, out_start, out)
    return Joints(rule, at, in_start, into, out_start, out, word_rule, cell_at, widest)


@inner
def _size(first_component: Longs, rule: int) -> int:
    """How many components a rule has."""
    return first_component[rule + 1] - first_component[rule] if rule != NONE else 0


@inner
def _steps_into(rules: ChainRules, lattice: Lattice, i: int, n: int, rule: Longs, in_start: Longs, into: Longs) -> None:
    """Add the open steps into node n of word i."""
    ahead, e = lattice.word[i + 1] - lattice.word[i], lattice.step[i] + n - lattice.word[i]
    for m in range(lattice.word[i - 1], lattice.word[i]):
        if lattice.is_open[e] and rules.step[lattice.tag[m], lattice.tag[n]] != NONE:
            rule[e], into[in_start[n + 1]] = rules.step[lattice.tag[m], lattice.tag[n]], e
            in_start[n + 1] += 1
        e += ahead


@inner
def _steps_out_of(rules: ChainRules, lattice: Lattice, i: int, n: int, out_start: Longs, out: Longs) -> None:
    """Add the open steps out of node n of word i."""
    ahead = lattice.word[i + 2] - lattice.word[i + 1]
    e = lattice.step[i + 1] + (n - lattice.word[i]) * ahead
    for m in range(lattice.word[i + 1], lattice.word[i + 2]):
        if lattice.is_open[e] and rules.step[lattice.tag[n], lattice.tag[m]] != NONE:
            out[out_start[n + 1]] = e
            out_start[n + 1] += 1
        e += 1


@inner
def _count_cells(
    first_component: Longs, word_rule: Longs, at: Longs, in_start: Longs, into: Longs, out_start: Longs, out: Longs
) -> tuple[Longs, int]:
    """Where the cells of each node begin, and the most components on one side of a node."""
    cell_at, widest = np.zeros(len(word_rule) + 1, np.int64), 1
    for n in range(len(word_rule)):
        ins, outs = 0, 0
        for joint in into[in_start[n] : in_start[n + 1]]:
            ins += at[joint + 1] - at[joint]
        for joint in out[out_start[n] : out_start[n + 1]]:
            outs += at[joint + 1] - at[joint]
        cell_at[n + 1] = cell_at[n] + _size(first_component, word_rule[n]) * ins * outs
        widest = max(widest, ins, outs)
    return cell_at, widest


# -- sums


class _Room(NamedTuple):
    """The components on one side of a node, side by side."""

    component: Longs  # [widest]
    value: Longs  # [widest] where its number stands among those of all joints
    precision: Floats  # [d or 1, widest]
    pull: Floats  # [d, widest]
    constant: Floats  # [widest]


class _Values(NamedTuple):
    """What the way forward leaves for the way back."""

    forward: Floats  # [components of joints] sums over beginnings of sequences, rho of the component in them
    cell: Floats  # G of all cells, times rho of the word and its factor
    scale: Floats  # [words] what was divided by


def sum_mixtures(chain: GaussianChain, lattice: Lattice, joints: Joints, factors: Floats, moments: Moments) -> Sums:
    """Sum over all sequences, given logs of what words weigh beside their rules [nodes]; moments are added up."""
    values = _Values(np.zeros(joints.at[-1]), np.empty(joints.cell_at[-1]), np.zeros(len(lattice.word) - 1))
    sums = Sums(
        _go_forward(chain, lattice, joints, factors, values), *map(np.zeros, (len(lattice.tag), len(lattice.is_open)))
    )
    _go_back(chain, lattice, joints, values, sums, moments)
    return sums


def log_z_of_mixtures(chain: GaussianChain, lattice: Lattice, joints: Joints, factors: Floats) -> Floats:
    """[sentences] the log of the sum over all sequences."""
    values = _Values(np.zeros(joints.at[-1]), np.empty(joints.cell_at[-1]), np.zeros(len(lattice.word) - 1))
    return _go_forward(chain, lattice, joints, factors, values)


@inner
def _make_room(chain: GaussianChain, widest: int) -> _Room:
    dims, wide = chain.pull.shape[1], chain.precision.shape[1]
    numbers = np.empty((2, widest), np.int64)
    return _Room(numbers[0], numbers[1], np.empty((wide, widest)), np.empty((dims, widest)), np.empty(widest))


@inner
def _fill_room(chain: GaussianChain, joints: Joints, chosen: Longs, port: int, room: _Room) -> int:
    """Lay the components of some joints side by side; returns how many there are."""
    used = 0
    for joint in chosen:
        first = chain.first[joints.rule[joint]]
        for c in range(joints.at[joint + 1] - joints.at[joint]):
            slot = chain.slot[first + c, port]
            room.component[used], room.value[used] = first + c, joints.at[joint] + c
            room.constant[used] = chain.constant[slot]
            for x in range(len(room.pull)):
                room.pull[x, used] = chain.pull[slot, x]
            for y in range(len(room.precision)):
                room.precision[y, used] = chain.precision[slot, y]
            used += 1
    return used


@kernel
def _go_forward(chain: GaussianChain, lattice: Lattice, joints: Joints, factors: Floats, values: _Values) -> Floats:
    """Fill the values, word by word; log Z of every sentence."""
    log_z, forward = np.zeros(len(lattice.sentence) - 1), values.forward
    ins, outs = _make_room(chain, joints.widest), _make_room(chain, joints.widest)
    most = np.max(np.diff(joints.cell_at)) if len(joints.word_rule) > 0 else 0
    square, bits, norm = np.empty(most), np.empty(most, np.int64), np.empty(joints.widest)
    for k in range(len(log_z)):
        first, last = lattice.sentence[k], lattice.sentence[k + 1]
        for n in range(lattice.word[first], lattice.word[first + 1]):
            joint = joints.into[joints.in_start[n]]
            rule = joints.rule[joint]
            forward[joints.at[joint] : joints.at[joint + 1]] = chain.rho[chain.first[rule] : chain.first[rule + 1]]
        for i in range(first, last):
            begin, end, shift = lattice.word[i], lattice.word[i + 1], -np.inf
            for n in range(begin, end):
                shift = max(shift, factors[n])
            total = 0.0
            for n in range(begin, end):
                many = _fill_room(chain, joints, joints.into[joints.in_start[n] : joints.in_start[n + 1]], L, ins)
                more = _fill_room(chain, joints, joints.out[joints.out_start[n] : joints.out_start[n + 1]], P, outs)
                weight = np.exp(factors[n] - shift)
                _fill_cells(chain, joints, n, weight, ins, many, outs, more, values.cell, square, bits, norm)
                total += _pass_on(chain, joints, n, ins, many, outs, more, values)
            values.scale[i] = total
            log_z[k] += shift + np.log(total)
            for joint in joints.out[joints.out_start[begin] : joints.out_start[end]]:
                forward[joints.at[joint] : joints.at[joint + 1]] /= total
        if not np.isfinite(log_z[k]):
            log_z[k] = -np.inf
    return log_z


@inner
def _fill_cells(
    chain: GaussianChain,
    joints: Joints,
    n: int,
    weight: float,
    ins: _Room,
    many: int,
    outs: _Room,
    more: int,
    cell: Floats,
    square: Floats,
    bits: Longs,
    norm: Floats,
) -> None:
    """G of all triples that meet at a node, times rho of the word and its weight."""
    dims, wide, at = len(outs.pull), len(outs.precision), 0
    block = cell[joints.cell_at[n] : joints.cell_at[n + 1]]
    if len(block) == 0:
        return
    rule = joints.word_rule[n]
    for w in range(chain.first[rule], chain.first[rule + 1]):
        slot = chain.slot[w, P]
        scale = (weight * chain.rho[w]) ** 2 * (2.0 * np.pi) ** dims
        for j in range(many):
            exponent, product, constant = block[at:], square[at:], chain.constant[slot] + ins.constant[j]
            for k in range(more):
                exponent[k], product[k] = constant + outs.constant[k], scale
            for y in range(wide):
                first, last = (y, y + 1) if wide > 1 else (0, dims)
                _square_norms(chain.pull[slot], ins.pull[:, j], outs.pull, first, last, more, norm)
                precision, theirs = chain.precision[slot, y] + ins.precision[y, j], outs.precision[y]
                for k in range(more):
                    inverse = 1.0 / (precision + theirs[k])
                    exponent[k] += 0.5 * norm[k] * inverse
                    norm[k] = inverse
                for _ in range(first, last):
                    for k in range(more):
                        product[k] *= norm[k]
            at += more
    exponentials(block, at, bits)
    for c in range(at):
        block[c] *= np.sqrt(square[c])


@inner
def _square_norms(word: Floats, into: Floats, out: Floats, first: int, last: int, more: int, norm: Floats) -> None:
    """eta^2 in the dimensions first..last, for all that goes out."""
    for k in range(more):
        norm[k] = 0.0
    for x in range(first, last):
        pull, theirs = word[x] + into[x], out[x]
        for k in range(more):
            norm[k] += (pull + theirs[k]) ** 2


@inner
def _pass_on(
    chain: GaussianChain, joints: Joints, n: int, ins: _Room, many: int, outs: _Room, more: int, values: _Values
) -> float:
    """Sum up what comes into a node, for all that goes out of it; returns the sum of that."""
    total, at, forward = 0.0, joints.cell_at[n], values.forward
    while at < joints.cell_at[n + 1]:
        for j in range(many):
            before = forward[ins.value[j]]
            for k in range(more):
                forward[outs.value[k]] += before * values.cell[at + k]
            at += more
    for k in range(more):
        forward[outs.value[k]] *= chain.rho[outs.component[k]]
        total += forward[outs.value[k]]
    return total


@kernel
def _go_back(
    chain: GaussianChain, lattice: Lattice, joints: Joints, values: _Values, sums: Sums, moments: Moments
) -> None:
    """Go back over every sentence that has a sequence; on the way fill the sums, and add to the moments."""
    backward, wanted = np.zeros(len(values.forward)), len(moments.component) > 0
    ins, outs = _make_room(chain, joints.widest), _make_room(chain, joints.widest)
    share = np.empty(joints.widest)
    for k in range(len(sums.log_z)):
        if sums.log_z[k] == -np.inf:
            continue
        first, last = lattice.sentence[k], lattice.sentence[k + 1]
        for n in range(lattice.word[last - 1], lattice.word[last]):
            joint = joints.out[joints.out_start[n]]
            backward[joints.at[joint] : joints.at[joint + 1]] = 1.0
        for back in range(last - first):
            i = last - 1 - back
            for n in range(lattice.word[i], lattice.word[i + 1]):
                many = _fill_room(chain, joints, joints.into[joints.in_start[n] : joints.in_start[n + 1]], L, ins)
                more = _fill_room(chain, joints, joints.out[joints.out_start[n] : joints.out_start[n + 1]], P, outs)
                for x in range(more):
                    share[x] = chain.rho[outs.component[x]] * backward[outs.value[x]] / values.scale[i]
                    sums.node[n] += values.forward[outs.value[x]] * backward[outs.value[x]]
                if wanted:
                    _add_moments(chain, joints, n, ins, many, outs, more, values, share, moments)
                _pass_back(joints, n, ins, many, more, values.cell, share, backward)
    for e in range(len(sums.step)):
        for c in range(joints.at[e], joints.at[e + 1]):
            sums.step[e] += values.forward[c] * backward[c]
    for joint in range(len(joints.rule) if wanted else 0):
        for c in range(joints.at[joint + 1] - joints.at[joint]):
            at = joints.at[joint] + c
            moments.component[chain.first[joints.rule[joint]] + c] += values.forward[at] * backward[at]


@inner
def _pass_back(
    joints: Joints, n: int, ins: _Room, many: int, more: int, cell: Floats, share: Floats, backward: Floats
) -> None:
    """What goes out of a node, for all that comes into it."""
    at = joints.cell_at[n]
    while at < joints.cell_at[n + 1]:
        for j in range(many):
            total = 0.0
            for k in range(more):
                total += cell[at + k] * share[k]
            backward[ins.value[j]] += total
            at += more


@inner
def _add_moments(
    chain: GaussianChain,
    joints: Joints,
    n: int,
    ins: _Room,
    many: int,
    outs: _Room,
    more: int,
    values: _Values,
    share: Floats,
    moments: Moments,
) -> None:
    """Add the moments of a node's latent vector to those of the three Gaussians of each cell."""
    dims, wide, at = len(outs.pull), len(outs.precision), joints.cell_at[n]
    rule, expected, inverse = joints.word_rule[n], np.empty(more), np.empty(more)
    of_outs = Moments(np.zeros(0), np.zeros(more), np.zeros((dims, more)), np.zeros((wide, more)))
    for w in range(chain.first[rule] if rule != NONE else 0, chain.first[rule + 1] if rule != NONE else 0):
        word = chain.slot[w, P]
        for j in range(many):
            total, into = 0.0, chain.slot[ins.component[j], L]
            for k in range(more):
                expected[k] = values.forward[ins.value[j]] * values.cell[at + k] * share[k]
                of_outs.zeroth[k] += expected[k]
                total += expected[k]
            at += more
            moments.component[w] += total
            moments.zeroth[word] += total
            moments.zeroth[into] += total
            for y in range(wide):
                precision, theirs = chain.precision[word, y] + ins.precision[y, j], outs.precision[y]
                for k in range(more):
                    inverse[k] = 1.0 / (precision + theirs[k])
                for x in range(y if wide > 1 else 0, y + 1 if wide > 1 else dims):
                    pull = chain.pull[word, x] + ins.pull[x, j]
                    mean, power = _add_powers(
                        pull, outs.pull[x], inverse, expected, of_outs.first[x], of_outs.second[y], more
                    )
                    for slot in (word, into):
                        moments.first[slot, x] += mean
                        moments.second[slot, y] += power
    for k in range(more):
        slot = chain.slot[outs.component[k], P]
        moments.zeroth[slot] += of_outs.zeroth[k]
        for x in range(dims):
            moments.first[slot, x] += of_outs.first[x, k]
        for y in range(wide):
            moments.second[slot, y] += of_outs.second[y, k]


@inner
def _add_powers(
    pull: float, theirs: Floats, inverse: Floats, expected: Floats, once: Floats, twice: Floats, more: int
) -> tuple[float, float]:
    """Add expected mu and mu^2 + 1 / lambda in one dimension to those of what goes out; returns their sums."""
    mean, power = 0.0, 0.0
    for k in range(more):
        mu = (pull + theirs[k]) * inverse[k]
        first, second = expected[k] * mu, expected[k] * (mu * mu + inverse[k])
        once[k] += first
        twice[k] += second
        mean += first
        power += second
    return mean, power
