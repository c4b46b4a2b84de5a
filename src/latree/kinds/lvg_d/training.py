"""How log-linear grammars are trained: the options, and one leg of the way uphill.

What is maximised is the sum of log P(T | w) less a penalty on delta, how far the weights are from where they began:
strength / 2 |delta|^2 by L-BFGS, or strength |delta| by OWL-QN, which leaves most of delta at zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from latree.arrays import Floats
from latree.errors import LatreeError
from latree.kinds.lvg_d.loglinear import Batch, LogLinear, log_likelihood
from latree.kinds.lvg_d.options import LvgDOptions
from latree.learning.adam import Adam
from latree.learning.owlqn import OwlQn

MEMORY = 10  # of L-BFGS

ValueAndGradient = Callable[[Floats], tuple[float, Floats]]


@dataclass(frozen=True)
class Objective:
    """What is minimised: the negative log likelihood, with the penalty of L2; that of L1 is the optimiser's affair."""

    log_likelihood: ValueAndGradient
    options: LvgDOptions
    watch: Callable[[float], None]  # sees every log likelihood

    def __call__(self, delta: Floats) -> tuple[float, Floats]:
        value, gradient = self.log_likelihood(delta)
        if not np.isfinite(value) or not np.isfinite(gradient).all():
            return np.inf, np.zeros_like(delta)  # too far: the optimisers take a shorter step
        self.watch(value)
        return -value + self.options.ridge / 2 * float(delta @ delta), self.options.ridge * delta - gradient


def fit_leg(objective: Objective, delta: Floats) -> Floats:
    """Some iterations further."""
    options = objective.options
    if options.penalty == "l1":
        return OwlQn(iterations=options.iterations).minimise(objective, delta, options.strength).x
    limits = {"maxiter": options.iterations, "maxcor": MEMORY}
    found = minimize(objective, delta, jac=True, method="L-BFGS-B", options=limits)
    if not np.isfinite(found.fun):
        raise LatreeError("the likelihood or its gradient is no number any more; the last checkpoint is good")
    return np.asarray(found.x, np.float64)


def stochastic_passes(
    batches: Sequence[Batch], model: LogLinear, delta: Floats, options: LvgDOptions, rng: np.random.Generator
) -> Floats:
    """Adam over the batches in random order: quick at first, and no substitute for what follows."""
    adam, delta = Adam(options.rate), delta.copy()
    sentences = sum(batch.sentences for batch in batches)
    for _ in range(options.stochastic):
        for k in rng.permutation(len(batches)):
            batch = batches[k]
            slope = log_likelihood([batch], model, model.weights(delta))[1]
            gradient = (model.transposed @ slope) / batch.sentences - options.ridge / sentences * delta
            adam.step("delta", delta, gradient, np.flatnonzero(gradient))
    return delta
