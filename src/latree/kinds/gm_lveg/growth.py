"""How many components each rule needs, found on the way: those that gain are split, equals merged, idle ones dropped.

A rule begins with one component, say.  Its occurrences pull the Gaussians this way and that; where these pulls are
strong but disagree, one Gaussian cannot follow them all, and two halves could.  To second order, what halves gain by
moving apart along a direction is the sum of the occurrences' squared slopes along it, less a curvature.  The sum of
squared slopes is at hand: Adam keeps it, as a running mean and a number of steps.

Splitting and merging equals leave every log Z as it is; halves are then moved apart a little, or they would stay alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from latree.arrays import NONE, Floats, Longs
from latree.inference.gaussian.mixtures import Components, Mixtures, laid_out


@dataclass(frozen=True)
class GrowthOptions:
    """Which components are split, merged and dropped."""

    share: float = 0.1  # of all components: those of the greatest gain are split
    least: float = 10.0  # and only where the gold trees have so many tokens of them
    most: int = 4  # components of a rule
    apart: float = 1.0  # how far the halves move from where they were, in standard deviations
    alike: float = 0.99  # overlap, 1 for equals, above which two components of a rule are merged
    idle: float = 0.1  # expected gold tokens an epoch below which a component is dropped


GROWTH = GrowthOptions()


class Regrowth(NamedTuple):
    """Components after a change, and what each was before."""

    components: Components
    source: Longs  # [components]
    slot_source: Longs  # [slots]
    twin: NDArray[np.bool_]  # [components] it is the second half of its source

    def weights(self, before: Mixtures) -> Mixtures:
        """Weigh the components: halves have half the weight each, and no log Z changes where nothing was dropped."""
        shares = np.bincount(self.source, minlength=len(before.log_rho))[self.source]
        log_rho = before.log_rho[self.source] - np.log(shares)
        return Mixtures(log_rho, before.mean[self.slot_source], before.log_sd[self.slot_source])


def regrow(components: Components, copies: Longs) -> Regrowth:
    """Every component so many times: 0 drops it, 2 splits it.  No rule may lose all of its own."""
    source = np.repeat(np.arange(len(copies)), copies)
    size = np.add.reduceat(copies, components.first[:-1])
    after = laid_out(components.slot[components.first[:-1]] != NONE, size)
    old, new = components.slot[source], after.slot
    slot_source = np.empty(after.slots, np.int64)
    slot_source[new[new != NONE]] = old[new != NONE]
    return Regrowth(after, source, slot_source, np.append(False, source[1:] == source[:-1]))


def gains(components: Components, slopes: Floats) -> Floats:
    """What splitting each component is worth: the squared slopes [slots, d] of its means, summed over its ports."""
    worth = np.append(slopes.sum(1), 0.0)  # the last is for NONE
    sums: Floats = worth[components.slot].sum(1)
    return sums


def move_apart(grown: Regrowth, weights: Mixtures, slopes: Floats, apart: float, rng: np.random.Generator) -> None:
    """Move the halves of what was split in opposite directions, most along the dimensions that pulled most, in place.

    Signs are drawn: squares do not have any.
    """
    twins = np.flatnonzero(grown.twin)
    for port in range(3):
        first, second = (grown.components.slot[which, port] for which in (twins - 1, twins))
        first, second = first[first != NONE], second[second != NONE]
        pull = np.sqrt(slopes[grown.slot_source[first]])
        pull *= rng.choice([-1.0, 1.0], pull.shape) / np.maximum(np.linalg.norm(pull, axis=1, keepdims=True), 1e-300)
        step = apart * pull * np.exp(weights.log_sd[first])
        weights.mean[first] += step
        weights.mean[second] -= step


def overlap(components: Components, weights: Mixtures, one: Longs, other: Longs) -> Floats:
    """Compare pairs of components of the same rules by the cosine of their Gaussians as functions, 1 for equals."""
    log_cosine = np.zeros(len(one))
    for port in range(3):
        a, b = components.slot[one, port], components.slot[other, port]
        there = a != NONE
        a, b = a[there], b[there]
        var_a, var_b = (np.broadcast_to(np.exp(2 * weights.log_sd[s]), weights.mean[s].shape) for s in (a, b))
        both, gap = var_a + var_b, weights.mean[a] - weights.mean[b]
        log_cosine[there] += 0.5 * (np.log(2 * np.sqrt(var_a * var_b) / both) - gap**2 / both).sum(1)
    return np.exp(log_cosine)


def equals(components: Components, weights: Mixtures, alike: float) -> Longs:
    """For every component the one that it is to be merged into: an earlier one of its rule that is alike, or itself."""
    into = np.arange(len(weights.log_rho))
    place, is_target = into - np.repeat(components.first[:-1], components.size), np.zeros(len(into), bool)
    for back in range(1, int(components.size.max(initial=1))):
        later = np.flatnonzero(place >= back)
        for c in later[overlap(components, weights, later - back, later) >= alike]:
            if into[c] == c and not is_target[c] and into[c - back] == c - back:
                into[c] = c - back
                is_target[c - back] = True
    return into


def absorb(components: Components, weights: Mixtures, into: Longs) -> Mixtures:
    """The weights after each component has taken in those that are merged into it, by its first two moments.

    What was taken in is still there, and to be dropped.
    """
    rho = np.exp(weights.log_rho)
    total = np.bincount(into, rho, len(rho))
    share = rho / total[into]
    mean, log_sd = weights.mean.copy(), weights.log_sd.copy()
    merged = np.flatnonzero(np.bincount(into, minlength=len(into)) > 1)
    members = np.flatnonzero(np.isin(into, merged))
    for port in range(3):
        here = members[components.slot[members, port] != NONE]
        slots, target = components.slot[here, port], components.slot[into[here], port]
        mean[target] = 0.0
        np.add.at(mean, target, share[here, None] * weights.mean[slots])
        square = (weights.mean[slots] - mean[target]) ** 2
        if weights.log_sd.shape[1] == 1:
            square = square.mean(1, keepdims=True)
        var = np.zeros_like(log_sd)
        np.add.at(var, target, share[here, None] * (np.exp(2 * weights.log_sd[slots]) + square))
        log_sd[target] = 0.5 * np.log(var[target])
    return Mixtures(np.where(total > 0, np.log(np.maximum(total, 1e-300)), weights.log_rho), mean, log_sd)


def how_many_of_each(components: Components, gain: Floats, count: Floats, into: Longs, options: GrowthOptions) -> Longs:
    """0 for those that were merged into others or are idle, 2 for those to be split, else 1."""
    itself = into == np.arange(len(into))
    tokens = np.bincount(into, count, len(into)).astype(np.float64)
    copies = np.where(itself & (tokens >= options.idle), 1, 0)
    copies[_heaviest(components, np.where(itself, tokens, -1.0))] = 1
    gain = np.where((copies == 1) & (tokens >= options.least), gain, 0.0)
    bound = np.sort(gain)[-max(int(options.share * len(gain)), 1)]
    split = (gain > 0) & (gain >= bound)
    room = np.repeat(np.add.reduceat(copies, components.first[:-1]) * 2 <= options.most, components.size)
    return np.where(split & room, 2, copies)


def _heaviest(components: Components, count: Floats) -> Longs:
    """Find the component of every rule that has the most, which stays whatever it has."""
    order = np.lexsort((-count, np.repeat(np.arange(len(components.size)), components.size)))
    heaviest: Longs = order[components.first[:-1]]
    return heaviest
