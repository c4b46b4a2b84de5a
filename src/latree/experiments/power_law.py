"""Accuracy by the number of examples as a power law, and what it says beyond what was measured.

accuracy(n) = limit - loss * n^-rate: with c = rate given, a line in n^-c, so that limit and loss are those of weighted
least squares, and the best rate is looked for on a grid.  A limit above 100 is taken for 100.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from latree.arrays import Floats

RATES = np.geomspace(0.02, 3.0, 500)  # that are tried
FEWEST = 4  # sizes: three would fit exactly, whatever they are
DRAWS = 1000  # of measurements that might have been, for intervals
WITHIN = 0.95  # of these lie in an interval
UNLIKELY = 0.01  # misses as large as that do not come of noise


class Law(NamedTuple):
    """One power law, or one of each row of measurements."""

    limit: Floats
    loss: Floats
    rate: Floats

    def at(self, sizes: Floats | float) -> Floats:
        """Accuracies of so many examples; [laws, sizes] of several laws."""
        limit, loss, rate = (value[..., None] for value in self)
        return np.asarray(limit - loss * np.asarray(sizes, np.float64) ** -rate)

    def size_for(self, accuracy: Floats) -> Floats:
        """How many examples an accuracy takes; infinite where the law never gets there."""
        with np.errstate(divide="ignore", invalid="ignore"):
            size: Floats = ((self.limit - accuracy) / self.loss) ** (-1.0 / self.rate)
        return np.where(self.limit > accuracy, size, np.inf)


class Interval(NamedTuple):
    """What is likeliest, and between what it lies with a probability of 95 %."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Extrapolation:
    """A fitted law, and laws fitted to measurements that might have been."""

    law: Law
    draws: Law
    seen: float  # the most examples that were measured

    def accuracy(self, size: float) -> Interval:
        """What so many examples would give."""
        return _interval(float(self.law.at(size)[0]), self.draws.at(size)[:, 0])

    @property
    def limit(self) -> Interval:
        """What no number of examples would exceed; 100 where that is not known."""
        return _interval(float(self.law.limit), self.draws.limit)

    def more_for(self, points: float) -> Interval:
        """How many more examples it takes to gain so many points; infinite where no number would do."""
        wanted = [law.size_for(law.at(self.seen)[..., 0] + points) - self.seen for law in (self.law, self.draws)]
        return _interval(float(wanted[0]), wanted[1])


def _interval(value: float, draws: Floats) -> Interval:
    ordered = np.sort(draws)  # quantiles by order, since some may be infinite
    outside = int(len(ordered) * (1 - WITHIN) / 2)
    return Interval(value, float(ordered[outside]), float(ordered[-1 - outside]))


def extrapolate(sizes: Sequence[float], runs: Sequence[Sequence[float]], seed: int = 0) -> Extrapolation | str:
    """Fit a law to the accuracies of some runs of each size; or say why there is none."""
    if len(sizes) < FEWEST:
        return f"a curve takes {FEWEST} sizes or more; there are {len(sizes)}"
    n, mean = np.asarray(sizes, np.float64), np.array([np.mean(run) for run in runs])
    error = standard_errors(n, runs)
    if not error.any():
        return "no size has runs that differ, which would tell how certain they are; try more seeds"
    law, misses = fit(n, mean[None], error)
    law = Law(*(value[0] for value in law))
    if fault := _fault(law, float(misses[0]), len(sizes)):
        return fault
    drawn = np.random.default_rng(seed).normal(law.at(n), error, (DRAWS, len(n)))
    return Extrapolation(law, fit(n, drawn, error)[0], float(n.max()))


def standard_errors(sizes: Floats, runs: Sequence[Sequence[float]]) -> Floats:
    """[sizes] of the means.  Few runs tell little of their variance: all sizes together do, by a line in logarithms.

    The line falls, or is level: larger parts of a treebank are more alike.  Zeros where no size has runs that differ.
    """
    from scipy.special import digamma

    pairs = zip(sizes, runs, strict=True)
    varied = [(size, np.var(run, ddof=1), len(run) - 1) for size, run in pairs if len(set(run)) > 1]
    if not varied:
        return np.zeros(len(sizes))
    n, variance, freedom = map(np.array, zip(*varied, strict=True))
    log_variance = np.log(variance) - digamma(freedom / 2) + np.log(freedom / 2)  # which has no bias
    log_n, centre = np.log(n), np.mean(np.log(n))
    spread = float(np.sum((log_n - centre) ** 2))
    slope = min(0.0, float((log_n - centre) @ log_variance) / spread) if spread else 0.0
    smooth = np.exp(np.mean(log_variance) + slope * (np.log(sizes) - centre))
    return np.asarray(np.sqrt(smooth / [len(run) for run in runs]))


def fit(sizes: Floats, accuracies: Floats, error: Floats) -> tuple[Law, Floats]:
    """The laws nearest to each row of `accuracies` [rows, sizes], and by how much they miss: chi squared."""
    laws, misses = zip(*(_fit_line(sizes, accuracies, error, rate) for rate in RATES), strict=True)
    best, rows = np.argmin(misses, axis=0), np.arange(len(accuracies))
    limit, loss = (np.array([law[k] for law in laws])[best, rows] for k in range(2))
    return Law(limit, loss, RATES[best]), np.array(misses)[best, rows]


def _fit_line(sizes: Floats, accuracies: Floats, error: Floats, rate: float) -> tuple[tuple[Floats, Floats], Floats]:
    """Limits and losses of one rate, by weighted least squares, and the misses."""
    x, weight = sizes**-rate, error**-2 / np.sum(error**-2)
    x_mean, y_mean = x @ weight, accuracies @ weight
    slope = ((accuracies - y_mean[:, None]) @ (weight * (x - x_mean))) / ((x - x_mean) ** 2 @ weight)
    limit = y_mean - slope * x_mean
    slope = np.where(limit > 100.0, (accuracies - 100.0) @ (weight * x) / (x**2 @ weight), slope)
    limit = np.minimum(limit, 100.0)
    misses = (((accuracies - limit[:, None] - slope[:, None] * x) / error) ** 2).sum(1)
    return (limit, -slope), misses


def _fault(law: Law, misses: float, sizes: int) -> str:
    """Why a fitted law is none to go by."""
    from scipy.stats import chi2

    if law.loss <= 0:
        return "accuracy does not rise with the number of examples"
    if law.rate >= RATES[-1]:
        return "accuracy rises at once and then no more, or is too uneven to tell; try smaller sizes, or more seeds"
    if chi2.sf(misses, sizes - 3) < UNLIKELY:
        return "the measurements are not those of a power law, by more than their spread; what lies beyond is not known"
    return ""
