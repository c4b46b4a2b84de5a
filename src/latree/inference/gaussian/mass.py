"""The sum over all trees of all sentences: what makes a GM-LVeG a distribution over these (section 2.1).

Zhao, Zhang & Tu (2018) normalise weights so that those of a symbol's rules integrate to one.  Gaussian mixtures do not
stay such when they are normalised at every vector; but divided by the sum over everything,

    P(T, w) = W(T, w) / Z,    Z = sum over all T and w of W(T, w),

any weights of a finite Z are a proper distribution, and one that some locally normalised grammar has too (Chi 1999;
Smith & Johnson 2007).  Whatever the children send, a component rk hands its parent the same Gaussian.  So all trees
that it is the top of come to one number, its mass:

    m_rk = rho_rk times the product over its child slots s of u_s,    u_s = sum over r'k' of G[r'k', s] m_r'k'
    m_rk = rho_rk times the number of words w that the lexical rule r stands for
    Z = sum of m_rk over the rules of the root

where r'k' goes through all components that make the child, and G are overlaps (`meetings`).  This is a polynomial
system whose least solution is Z's; Newton's method from zero climbs to it without passing it (Etessami & Yannakakis
2009), and a step that leads down anywhere tells that there is none: Z is then infinite.

As everywhere in latree, at most `unary_steps` unary rules stand on a span, the root's not counted: trees with longer
chains are none of the grammar's.  So masses are kept by level, the number of unary rules in the chain so far; whatever
reads a symbol but a unary rule reads the sum over levels.

d log Z / d theta is the expected number of times that theta has a part in a tree, and comes from a linear system.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from latree.arrays import NONE, Floats, Ints, Longs
from latree.inference.forest import L, P, R
from latree.inference.gaussian.meetings import (
    Meetings,
    find_meetings,
    find_overlaps,
    outer_cells,
    read_symbols,
    slope_of_overlaps,
    tell_symbols,
)
from latree.inference.gaussian.mixtures import Components, Mixtures
from latree.inference.grammar import Grammar

MOST_STEPS = 200  # of Newton's method: it doubles the digits with each but where Z is nearly infinite
CLOSE = 1e-12  # a step so small, beside the greatest mass, is the last
DOWN = 1e-3  # a step that leads so far down mends no rounding
ROUGHLY, EXACTLY = 1e-6, 1e-12  # how well linear systems are solved: for a step, which the next one mends; for good


class InfiniteMassError(ArithmeticError):
    """The sum over all trees is not finite."""


class Derivable(NamedTuple):
    """All that a grammar derives, for so many components of its rules."""

    slot: Ints  # [components, 3]
    root: Longs  # components of the rules of the root
    binary: Longs  # of other rules with two children
    unary: Longs  # and with one
    words: Longs  # of lexical rules
    times: Floats  # [components of lexical rules] how many words each stands for
    meetings: Meetings
    phrases: int  # symbols before the tags
    unary_steps: int


def derivable(grammar: Grammar, tag: Longs, times: Floats, components: Components) -> Derivable:
    """`tag` and `times` [lexical rules] say which tag they are of, and how many words each stands for."""
    words = np.full((len(tag), 3), NONE, np.int32)
    words[:, P] = tag + grammar.first_tag
    symbol = np.repeat(np.concatenate([grammar.rules, words]), components.size, axis=0)
    of_root, children = symbol[:, P] == 0, (symbol[:, L:] != NONE).sum(1)
    return Derivable(
        slot=components.slot,
        root=np.flatnonzero(of_root),
        binary=np.flatnonzero(~of_root & (children == 2)),
        unary=np.flatnonzero(~of_root & (children == 1)),
        words=np.flatnonzero(children == 0),
        times=np.repeat(times, components.size[len(grammar.rules) :]),
        meetings=find_meetings(symbol, components.slot, len(grammar.symbols)),
        phrases=grammar.first_tag,
        unary_steps=grammar.unary_steps,
    )


class Mass:
    """The masses of a grammar with these weights; `InfiniteMassError` where they are not finite."""

    def __init__(self, derivable: Derivable, weights: Mixtures) -> None:
        self.derivable, self.weights = derivable, weights
        self.rho = np.exp(weights.log_rho)
        self.rho[derivable.words] *= derivable.times
        self.overlaps = find_overlaps(derivable.meetings, weights)
        self._left, self._right = (derivable.slot[derivable.binary, port] for port in (L, R))
        self._all, self._phrases = len(derivable.meetings.places.cell), derivable.phrases
        self.by_level = self._levels(self._least_solution(), self._all)

    @cached_property
    def reading(self) -> Floats:
        """[slots] u_s: how much of its symbol every child slot sees."""
        return self._read(self.by_level.sum(0), self._all)

    @cached_property
    def of_root(self) -> Floats:
        """[components of the root's rules] the masses that add up to Z."""
        root = self.derivable.root
        return np.asarray(self.rho[root] * self._children(root).prod(1), np.float64)

    @property
    def log_z(self) -> float:
        return float(np.log(self.of_root.sum()))

    def _children(self, components: Longs) -> Floats:
        """[components, 2] what their child slots see, 1 where there is no child."""
        slot = self.derivable.slot[components, L:]
        return np.where(slot == NONE, 1.0, self.reading[slot])

    # -- the sums

    def _read(self, amount: Floats, symbols: int) -> Floats:
        """[slots] what child slots see of the first so many symbols."""
        reading = np.zeros(len(self.weights.mean))
        read_symbols(self.derivable.meetings.places, self.overlaps.cells, amount, symbols, reading)
        return reading

    def _tell(self, force: Floats, symbols: int) -> Floats:
        """[components] `_read` in reverse."""
        told = np.zeros(len(self.rho))
        tell_symbols(self.derivable.meetings.places, self.overlaps.cells, force, symbols, told)
        return told

    def _levels(self, base: Floats, symbols: int) -> Floats:
        """[levels, components]: `base`, what stands on no unary rule, and what unary rules make of it, step by step.

        It is of the first so many symbols alone: of all, or of the phrases.
        """
        unary, levels = self.derivable.unary, [base]
        for _ in range(self.derivable.unary_steps):
            above = np.zeros_like(base)
            above[unary] = self.rho[unary] * self._read(levels[-1], symbols)[self.derivable.slot[unary, L]]
            levels.append(above)
            symbols = self.derivable.phrases  # no tag is made by a unary rule
        return np.stack(levels)

    def _told_levels(self, force: Floats, symbols: int) -> Floats:
        """`_levels` in reverse: from the gradient by what slots see of all levels to that by each level's masses."""
        total = self._tell(force, symbols)
        told = [total]
        for _ in range(self.derivable.unary_steps):
            told.insert(0, total + self._tell(self._force_of_unaries(told[0]), symbols))
        return np.stack(told)

    def _force_of_unaries(self, told: Floats) -> Floats:
        """[slots] from the gradient by the masses of unary rules to that by what they see."""
        unary, force = self.derivable.unary, np.zeros(len(self.weights.mean))
        force[self.derivable.slot[unary, L]] = self.rho[unary] * told[unary]
        return force

    # -- the least solution

    def _least_solution(self) -> Floats:
        """[components] the masses of lexical and of binary rules, by Newton's method from zero."""
        base, binary = np.zeros_like(self.rho), self.derivable.binary
        base[self.derivable.words] = self.rho[self.derivable.words]
        for _ in range(MOST_STEPS):
            reading = self._read(self._levels(base, self._all).sum(0), self._all)
            gap = self.rho[binary] * reading[self._left] * reading[self._right] - base[binary]
            step = _solved(partial(self._forward, reading), gap, ROUGHLY)
            base[binary] += step
            greatest = base[binary].max(initial=0.0)
            if np.abs(step).max(initial=0.0) <= CLOSE * greatest:
                return base
            if not step.min(initial=0.0) >= -DOWN * greatest:
                break
        raise InfiniteMassError("the sum over all trees is not finite")

    def _forward(self, reading: Floats, change: Floats) -> Floats:
        """[binary components] how the masses that a step of the system gives change with those it is given."""
        base = np.zeros_like(self.rho)
        base[self.derivable.binary] = change
        moved = self._read(self._levels(base, self._phrases).sum(0), self._phrases)
        both = moved[self._left] * reading[self._right] + reading[self._left] * moved[self._right]
        return np.asarray(self.rho[self.derivable.binary] * both, np.float64)

    # -- expectations

    def gradient(self) -> Mixtures:
        """The gradient of log Z; by log rho it is the expected number of each component in a tree."""
        force = self._force()
        told = self._told_levels(force, self._all)
        count = (told * self.by_level).sum(0)
        count[self.derivable.root] = self.of_root / self.of_root.sum()
        by_level = np.stack([force + self._force_of_unaries(above) for above in told[1:]] + [force])
        cells = outer_cells(self.derivable.meetings.places, self.by_level, by_level)
        slope = slope_of_overlaps(self.derivable.meetings, self.overlaps, cells, self.weights)
        return slope._replace(log_rho=count)

    def _force(self) -> Floats:
        """[slots] the gradient of log Z by what the slots of binary rules and of the root's see."""
        root = self._force_of(self.derivable.root, np.ones(len(self.derivable.root)) / self.of_root.sum())
        binary = self.derivable.binary
        direct = self._told_levels(root, self._phrases)[0, binary]

        def backward(told: Floats) -> Floats:
            return np.asarray(self._told_levels(self._force_of(binary, told), self._phrases)[0, binary], np.float64)

        return root + self._force_of(binary, _solved(backward, direct, EXACTLY))

    def _force_of(self, components: Longs, told: Floats) -> Floats:
        """[slots] from the gradient by some components' masses to that by what their child slots see."""
        force, seen = np.zeros(len(self.weights.mean)), self._children(components)
        for port, other in ((L, 1), (R, 0)):
            slot = self.derivable.slot[components, port]
            there = slot != NONE
            force[slot[there]] = (self.rho[components] * told * seen[:, other])[there]
        return force


def _solved(product: Callable[[Floats], Floats], right: Floats, tolerance: float) -> Floats:
    """Solve x = right + J x, given products with J."""
    from scipy.sparse.linalg import LinearOperator, gmres  # slow to import, and parsing needs none

    if not right.any():
        return right
    operator = LinearOperator((len(right), len(right)), matvec=lambda x: x - product(x.ravel()), dtype=np.float64)
    found, _ = gmres(operator, right, rtol=tolerance, atol=0.0, restart=60, maxiter=20)
    return np.asarray(found, np.float64)
