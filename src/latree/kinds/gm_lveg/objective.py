"""What training raises: log P(T | w), or so much of log P(T, w) and the rest of log P(T | w).

The gradient of a batch (`training.py`) is all there is to the first.  A generative training leaves so much of the sums
over each sentence's trees out of it; a sum over all sentences (`generative.py`) takes their place, here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from latree.arrays import Floats
from latree.errors import LatreeError
from latree.inference.gaussian.mixtures import Components
from latree.kinds.gm_lveg.batches import Batches
from latree.kinds.gm_lveg.generative import Normaliser
from latree.kinds.gm_lveg.training import Mirror, Rows, Weights
from latree.kinds.gradient_trainee import LOG_P


class Slope(NamedTuple):
    """What a batch says of the parameters that it has a say in."""

    value: float  # the sum of what is raised over its sentences
    means: list[Floats]  # slopes, the mean over its sentences, as `Rows.of` gives parameters
    tokens: Floats  # [components] how often each is expected in its gold trees


class Conditional:
    """log P(T | w): sums over the trees of a sentence, and nothing beyond its batch."""

    name = LOG_P

    def rows(self, batches: Batches, mirror: Mirror) -> list[Rows]:
        """Find the parameters that each batch has a say in."""
        return batches.rows(mirror)

    def slope(self, batches: Batches, number: int, rows: Sequence[Rows], mirror: Mirror) -> Slope:
        """Follow a batch: what is raised with the weights as they are, and by what it rises."""
        now, size = rows[number].of(mirror.weights), batches.sizes[number]
        value, flat = batches.gradient(mirror, rows, number, now)
        if not np.isfinite(value) or not np.isfinite(flat).all():
            raise LatreeError("the likelihood or its gradient is no number any more; the last checkpoint is good")
        *slopes, tokens = np.split(flat, np.cumsum([part.size for part in now]))
        means = [slope.reshape(part.shape) / size for slope, part in zip(slopes, now, strict=True)]
        return Slope(value, means, tokens)

    def normalised(self, components: Components, weights: Weights) -> Weights:
        """Bring weights to how they are shown and kept: here as they are."""
        return weights


class Generative(Conditional):
    """So much of log P(T, w), the rest of log P(T | w); P(T, w) sums to one."""

    def __init__(self, share: float, normaliser: Normaliser) -> None:
        self.share, self.normaliser = share, normaliser
        self.name = f"{share:g} log P(T,w) + {1 - share:g} log P(T|w) a sentence"

    def rows(self, batches: Batches, mirror: Mirror) -> list[Rows]:
        """All that any tree of training uses, since all sentences are summed over; what was not seen keeps the share
        that it has."""
        seen = np.append(np.ones(len(self.normaliser.grammar.rules), bool), ~self.normaliser.lexical.is_unseen)
        return [Rows.of_rules(np.flatnonzero(seen), mirror.components)] * len(batches.sizes)

    def slope(self, batches: Batches, number: int, rows: Sequence[Rows], mirror: Mirror) -> Slope:
        """Less what all sentences say, for every sentence of the batch."""
        mass = self.normaliser.settle(mirror.components, mirror.weights.mixtures)
        value, means, tokens = super().slope(batches, number, rows, mirror)
        expected = rows[number].of(Weights(mass.gradient()))
        means = [mean - self.share * slope for mean, slope in zip(means, expected, strict=True)]
        return Slope(value - self.share * batches.sizes[number] * mass.log_z, means, tokens)

    def normalised(self, components: Components, weights: Weights) -> Weights:
        """Let P(T, w) sum to one."""
        return weights._replace(mixtures=self.normaliser.normalised(components, weights.mixtures))


def objective_of(share: float, normaliser: Normaliser | None) -> Conditional:
    """What is raised, where so much of it is generative."""
    return Conditional() if normaliser is None else Generative(share, normaliser)
