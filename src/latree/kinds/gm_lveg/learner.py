"""The weights of a Gaussian-mixture grammar on their way: steps of Adam, their running mean, and growth."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from latree.arrays import Floats
from latree.inference.gaussian.mixtures import Components, Mixtures
from latree.kinds.gm_lveg import GmLvegOptions
from latree.kinds.gm_lveg.batches import Batches
from latree.kinds.gm_lveg.growth import (
    GROWTH,
    GrowthOptions,
    absorb,
    equals,
    gains,
    how_many_of_each,
    move_apart,
    regrow,
)
from latree.kinds.gm_lveg.objective import Conditional
from latree.kinds.gm_lveg.training import Mirror, Rows, Weights
from latree.learning.adam import Adam
from latree.learning.loop import Progress, Watch

LEAST_LOG_RHO = float(np.log(1e-10))


class Learner:
    """Weights on their way, and what they follow."""

    def __init__(
        self, components: Components, weights: Weights, options: GmLvegOptions, objective: Conditional
    ) -> None:
        self.mirror, self.options, self.objective = Mirror(components, weights, options), options, objective
        self.adam = Adam(options.rate)
        self.mean: Weights | None = None  # of the weights after each epoch, the recent ones weighing more
        # Expected tokens of the components in the gold trees, this epoch.
        self.count = np.zeros_like(weights.mixtures.log_rho)

    @property
    def components(self) -> Components:
        return self.mirror.components

    @property
    def weights(self) -> Weights:
        return self.mirror.weights

    def average(self) -> Weights:
        """Take the weights as they are into the running mean."""
        before = self.weights if self.mean is None else self.mean
        mixed = before.mixed(self.weights, self.options.memory)
        self.mean = self.objective.normalised(self.components, mixed)
        return self.mean

    def epoch(self, batches: Batches, rng: np.random.Generator, watch: Watch) -> float:
        """Mean of what is raised over the sentences, each as its batch found it."""
        total, sentences, sizes = 0.0, 0, batches.sizes
        self.count[:] = 0.0
        rows = self.objective.rows(batches, self.mirror)
        for done, k in enumerate(rng.permutation(len(sizes)).tolist(), start=1):
            total += self.step(batches, k, rows)
            sentences += sizes[k]
            watch(Progress("batch", done, len(sizes), total / sentences, self.objective.name))
        return total / sentences

    def step(self, batches: Batches, number: int, rows: Sequence[Rows]) -> float:
        """One step along the gradient of a batch; the sum of what is raised before it."""
        value, means, tokens = self.objective.slope(batches, number, rows, self.mirror)
        self.count[rows[number].components] += tokens
        self._move(rows[number], means)
        return value

    def _move(self, rows: Rows, slopes: Sequence[Floats]) -> None:
        """Follow the mean slopes of a batch's parameters."""
        mixtures, most = self.weights.mixtures, self.options.clip
        places = (rows.components, rows.slots, rows.slots)
        for name, parameters, slope, place in zip(Mixtures._fields, mixtures, slopes, places, strict=False):
            self.adam.step(name, parameters, np.clip(slope, -most, most), place)
        moved = np.flatnonzero(slopes[-1])
        if len(self.weights.spans):
            self.adam.step("spans", self.weights.spans, slopes[-1][moved], rows.features[moved])
        np.maximum(mixtures.log_rho, LEAST_LOG_RHO, out=mixtures.log_rho)
        np.clip(mixtures.log_sd, self.options.least_log_sd, self.options.most_log_sd, out=mixtures.log_sd)

    def grow(self, rng: np.random.Generator, options: GrowthOptions = GROWTH) -> Weights:
        """Split, merge and drop components (`growth.py`), those of the running mean too, which is returned.

        Moments go with the components.
        """
        before, slopes = self.components, self.adam.squares("mean")
        into = equals(before, self.weights.mixtures, options.alike)
        copies = how_many_of_each(before, gains(before, slopes), self.count, into, options)
        grown = regrow(before, copies)
        weights, self.mean = (
            weights._replace(mixtures=grown.weights(absorb(before, weights.mixtures, into)))
            for weights in (self.weights, self.mean or self.weights)
        )
        self.adam.take("log_rho", grown.source)
        for name in ("mean", "log_sd"):
            self.adam.take(name, grown.slot_source)
        move_apart(grown, weights.mixtures, slopes, options.apart, rng)
        self.mirror = Mirror(grown.components, weights, self.options)
        self.count = np.zeros(len(grown.source))
        return self.mean
