"""OWL-QN: L-BFGS with an L1 penalty (Andrew & Gao 2007, "Scalable training of L1-regularized log-linear models").

Minimises f(x) + sum_i strength_i |x_i|.  Within an orthant the penalty is linear, so all curvature is f's: each
iteration picks an orthant, models f there as L-BFGS does, and never steps out of it.  A coordinate that would cross
zero stops at zero: that is where exact zeros come from.  Section 3.2 of the paper has it all, and its symbols (v, p,
xi, pi) are in the comments.  Coordinates of strength 0 have no orthants, and move as in plain L-BFGS.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from latree.arrays import Floats
from latree.errors import LatreeError

ValueAndGradient = Callable[[Floats], tuple[float, Floats]]
Pairs = deque[tuple[Floats, Floats, float]]  # step s, change y of f's gradient, 1 / s.y

SUFFICIENT = 1e-4  # share of the decrease that the slope promises (gamma of the paper)
TRIALS = 20  # of one line search
ROUNDING, TINY = float(np.finfo(np.float64).eps), 1e-300  # squares below underflow


class Reason(StrEnum):
    OPTIMAL = "the pseudo-gradient is zero"
    CONVERGED = "the objective hardly improves any more"
    ITERATIONS = "the iterations are used up"
    STUCK = "no step lowers the objective, not even along the steepest descent"


@dataclass(frozen=True)
class Iteration:
    """What a watcher sees: first the start, as number 0, then every step taken.  A run can start again from x."""

    number: int
    objective: float  # with the penalty
    smooth: float
    x: Floats  # not to be changed: it is the minimiser's own
    non_zero: int


@dataclass(frozen=True)
class Optimum:
    x: Floats
    objective: float
    iterations: int
    evaluations: int
    reason: Reason
    violation: float  # of the optimality conditions at x; if the run got STUCK, tells a good end from a bad one


def pseudo_gradient(x: Floats, gradient: Floats, strength: float | Floats) -> Floats:
    """The subgradient of least norm (-v of the paper): at zero, what of f's slope the penalty does not hold back."""
    return np.where(x != 0, gradient + strength * np.sign(x), gradient - np.clip(gradient, -strength, strength))


def subgradient_violation(x: Floats, gradient: Floats, strength: float | Floats) -> float:
    """How far, at most, f's gradient g at x misses optimality.

    The conditions: |g_i| <= strength_i where x_i = 0, and g_i = -strength_i sign(x_i) elsewhere.
    """
    return float(np.abs(pseudo_gradient(x, gradient, strength)).max(initial=0))


@dataclass(frozen=True)
class OwlQn:
    """Stops when the objective's mean relative improvement over `patience` iterations is below the tolerance.

    With tolerance 0 it goes on until no step is an improvement that floating point can tell.
    """

    memory: int = 10  # pairs of vectors as long as x
    iterations: int = 100
    tolerance: float = 1e-4
    patience: int = 5

    def minimise(
        self,
        value_and_gradient: ValueAndGradient,
        start: Floats,
        strength: float | Floats,
        watch: Callable[[Iteration], None] = lambda _: None,
    ) -> Optimum:
        """`value_and_gradient` is f's alone, and may write each gradient to the same array; x is one-dimensional."""
        problem = _Problem(value_and_gradient, _checked(strength, start))
        here, number, pairs = problem.evaluate(np.array(start, np.float64)), 0, Pairs(maxlen=self.memory)
        if not here.finite:
            raise LatreeError(f"cannot minimise: at the start the value is {here.smooth}, or the gradient not finite")
        objectives = deque([here.objective], self.patience + 1)
        while True:
            watch(Iteration(number, here.objective, here.smooth, here.x, int(np.count_nonzero(here.x))))
            slope = pseudo_gradient(here.x, here.gradient, problem.strength)
            reason = self._reason_to_stop(slope, objectives, number)
            there = None if reason else _step(problem, here, slope, pairs)
            if there is None:
                violation = float(np.abs(slope).max(initial=0))
                return Optimum(here.x, here.objective, number, problem.evaluations, reason or Reason.STUCK, violation)
            _remember(pairs, there.x - here.x, there.gradient - here.gradient)
            here, number = there, number + 1
            objectives.append(here.objective)

    def _reason_to_stop(self, slope: Floats, objectives: deque[float], number: int) -> Reason | None:
        if float(slope @ slope) <= TINY:
            return Reason.OPTIMAL
        least = self.tolerance * self.patience * abs(objectives[-1])
        if len(objectives) > self.patience and objectives[0] - objectives[-1] < least:
            return Reason.CONVERGED
        return Reason.ITERATIONS if number >= self.iterations else None


@dataclass(frozen=True)
class _Point:
    x: Floats
    smooth: float
    gradient: Floats
    objective: float
    finite: bool


class _Problem:
    def __init__(self, value_and_gradient: ValueAndGradient, strength: Floats) -> None:
        self.value_and_gradient, self.strength, self.evaluations = value_and_gradient, strength, 0
        self.penalised = strength > 0

    def evaluate(self, x: Floats) -> _Point:
        self.evaluations += 1
        value, gradient = self.value_and_gradient(x)
        objective = float(value) + float((self.strength * np.abs(x)).sum())
        finite = bool(np.isfinite(objective) and np.isfinite(gradient).all())
        return _Point(x, float(value), np.array(gradient, np.float64), objective, finite)


def _checked(strength: float | Floats, start: Floats) -> Floats:
    """One strength for each coordinate; a single number takes no memory."""
    array = np.asarray(strength, np.float64)
    if start.ndim != 1 or array.shape not in ((), start.shape) or not (np.isfinite(array) & (array >= 0)).all():
        raise LatreeError("cannot minimise: x must be a vector, and L1 strengths finite, none negative, one or as many")
    return np.broadcast_to(array, start.shape)


def _step(problem: _Problem, here: _Point, slope: Floats, pairs: Pairs) -> _Point | None:
    """A better point.  Pairs that mislead the line search are forgotten, and the steepest descent has one try."""
    there = _line_search(problem, here, slope, _direction(problem, slope, pairs), bool(pairs))
    if there is None and pairs:
        pairs.clear()
        there = _line_search(problem, here, slope, -slope, False)
    return there


def _direction(problem: _Problem, slope: Floats, pairs: Pairs) -> Floats:
    """p = pi(H v; v): the two-loop recursion, then zero wherever it went against the steepest descent."""
    direction, shares, scratch = -slope, [], np.empty_like(slope)
    for s, y, inverse in reversed(pairs):
        shares.append(inverse * float(s @ direction))
        direction -= np.multiply(y, shares[-1], out=scratch)
    if pairs:
        direction /= pairs[-1][2] * float(pairs[-1][1] @ pairs[-1][1])  # the usual first guess of H, s.y / y.y
    for (s, y, inverse), share in zip(pairs, reversed(shares), strict=True):
        direction += np.multiply(s, share - inverse * float(y @ direction), out=scratch)
    direction[problem.penalised & (np.multiply(direction, slope, out=scratch) >= 0)] = 0
    return direction


def _line_search(problem: _Problem, here: _Point, slope: Floats, direction: Floats, scaled: bool) -> _Point | None:
    """Backtrack over pi(x + step p; xi) until the objective falls by a share of what slope . (x' - x) promises.

    Without pairs the scale of the direction means nothing: the first try has length one, and the tries shrink fast.
    """
    orthant = np.where(here.x != 0, np.sign(here.x), -np.sign(slope)).astype(np.int8)  # xi
    first, shrink = (1.0, 0.5) if scaled else (1 / float(np.linalg.norm(direction)), 0.1)
    for trial in range(TRIALS):
        x = here.x + first * shrink**trial * direction
        x[problem.penalised & (x * orthant <= 0)] = 0
        promise = float(slope @ (x - here.x))
        # No evaluation where rounding would hide the promised decrease, nor where clipping has left an ascent.
        if promise < -ROUNDING * abs(here.objective):
            there = problem.evaluate(x)
            if there.finite and there.objective <= here.objective + SUFFICIENT * promise:
                return there
    return None


def _remember(pairs: Pairs, s: Floats, y: Floats) -> None:
    """Only a pair that shows positive curvature, or H would not be positive definite; nor one that underflows."""
    curvature, square = float(s @ y), float(y @ y)
    if curvature > max(ROUNDING * square, TINY) and square > TINY:
        pairs.append((s, y, 1 / curvature))
