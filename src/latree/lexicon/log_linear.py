"""Weights of features under tags that make the tags of some cases likeliest, less a penalty on their squares.

P(t | features) is proportional to exp(sum of weight[f, t] over the features f).  Only pairs of a feature and a tag that
were seen together have a weight: with 1,000 tags they are one of a hundred.  What is not seen could only be pushed
below zero, and what is seen is pushed above it instead.  exp is taken once of every weight and not of every case
under every tag: odds are products of what the features make of a tag.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from latree.arrays import Floats, Longs
from latree.jit import kernel

if TYPE_CHECKING:
    from scipy.sparse import csr_array

PENALTY = 1.0
_ITERATIONS = 40
_STEEPNESS = 0.05  # of the loss along a feature's weight, for each case that has the feature
_LARGEST = 600.0  # log of odds whose exp is still a number


class Rows(NamedTuple):
    """A sparse table: row r has `column[start[r]:start[r + 1]]`."""

    start: Longs
    column: Longs

    @classmethod
    def of(cls, table: csr_array) -> Rows:
        return cls(table.indptr.astype(np.int64), table.indices.astype(np.int64))


def seen_pairs(table: csr_array, counts: csr_array) -> Rows:
    """The tags with which each feature was seen, in order, given [cases, features] and [cases, tags]."""
    seen = (table.T.tocsr() @ counts).tocsr()
    seen.sort_indices()
    return Rows.of(seen)


def fit(table: csr_array, counts: csr_array, pairs: Rows) -> Floats:
    """Maximise sum c_wt log P(t|w) - penalty / 2 |weights|^2 over the weights of the pairs, [pairs]."""
    from scipy.optimize import minimize

    # Features of many cases have a steep loss: in units of their own the search takes half the steps.
    unit = np.repeat(1 / np.sqrt(PENALTY + _STEEPNESS * table.sum(0)), np.diff(pairs.start))
    shown, chosen, count = Rows.of(table), Rows.of(counts), counts.data.astype(np.float64)
    bound = _LARGEST / max(int(np.diff(shown.start).max(initial=1)), 1)
    odds = np.empty(counts.shape[1])

    def loss(x: Floats) -> tuple[float, Floats]:
        weights = unit * x
        slope = PENALTY * weights
        factor = np.exp(np.clip(weights, -bound, bound))
        value = _loss(shown, pairs, factor, chosen, count, odds, slope)
        return value + PENALTY / 2 * float(weights @ weights), unit * slope

    fitted = minimize(loss, np.zeros(len(unit)), jac=True, method="L-BFGS-B", options={"maxiter": _ITERATIONS})
    return np.asarray(unit * fitted.x)


@kernel
def _loss(shown: Rows, pairs: Rows, factor: Floats, chosen: Rows, count: Floats, odds: Floats, slope: Floats) -> float:
    """- sum c_wt log P(t|w), whose slope along every weight is added to `slope`; `odds` is room for those of a case."""
    loss = 0.0
    for case in range(len(shown.start) - 1):
        features = shown.column[shown.start[case] : shown.start[case + 1]]
        odds[:] = 1.0
        for f in features:
            for p in range(pairs.start[f], pairs.start[f + 1]):
                odds[pairs.column[p]] *= factor[p]
        total, cases = odds.sum(), 0.0
        for k in range(chosen.start[case], chosen.start[case + 1]):
            loss -= count[k] * np.log(odds[chosen.column[k]] / total)
            cases += count[k]
        odds *= cases / total
        for k in range(chosen.start[case], chosen.start[case + 1]):
            odds[chosen.column[k]] -= count[k]
        for f in features:
            for p in range(pairs.start[f], pairs.start[f + 1]):
                slope[p] += odds[pairs.column[p]]
    return loss
