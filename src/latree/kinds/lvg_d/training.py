"""How log-linear grammars are trained: the options, and one leg of the way uphill.

What is maximised is the sum of log P(T | w) less a penalty on delta, how far the weights are from where they began:
strength / 2 |delta|^2 by L-BFGS, or strength |delta| by OWL-QN, which leaves most of delta at zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from scipy.optimize import minimize

from latree.arrays import Floats
from latree.errors import LatreeError
from latree.kinds.lvg_d.loglinear import Batch, LogLinear, log_likelihood
from latree.learning.adam import Adam
from latree.learning.owlqn import OwlQn

Penalty = Literal["l1", "l2"]
MEMORY = 10  # of L-BFGS

ValueAndGradient = Callable[[Floats], tuple[float, Floats]]


@dataclass(frozen=True)
class LoglinearOptions:
    """The constants of the model and its training."""

    start: Literal["generative", "zero"] = "generative"
    scales: bool = False  # several scales (`refinement`), else a parameter for every triple of subtypes
    spans: bool = False  # features of spans (`span_features`) beside the productions
    penalty: Penalty = "l1"
    strength: float = 0.5
    epochs: int = 3  # legs of the way; after each the model is scored and kept
    iterations: int = 8  # of a leg; the memory of L-BFGS does not outlast it
    stochastic: int = 0  # passes of Adam before the first leg
    rate: float = 0.05  # of these
    batch: int = 128  # sentences whose forests are laid end to end
    joined: int = 5  # words with at most so many tokens have their class's weights beside their own
    threshold: float = 1e-3  # edges of a lower posterior under the pruner are dropped
    floor: float = 0.02  # share of the unsplit grammar in the start: cells that EM emptied come to life again
    gain: float = 2.0  # nats that dividing a node must gain, where several scales begin at the generative grammar
    noise: float = 0.01  # in the first parameters, where subtypes begin alike
    max_length: int = 50  # longer sentences are not trained on

    @property
    def ridge(self) -> float:
        """The strength of a penalty by squares."""
        return self.strength if self.penalty == "l2" else 0.0

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Objective:
    """What is minimised: the negative log likelihood, with the penalty of L2; that of L1 is the optimiser's affair."""

    log_likelihood: ValueAndGradient
    options: LoglinearOptions
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
    batches: Sequence[Batch], model: LogLinear, delta: Floats, options: LoglinearOptions, rng: np.random.Generator
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
