"""The gradient that Gaussian-mixture grammars are trained by (Zhao, Zhang & Tu 2018, section 3.3).

What is raised is the sum over sentences of log P(T | w) = log Z of the gold tree's forest - log Z of the pruned forest
(eqn 11), whose gradient is the difference of two gradients of the same kind (eqn 25).  A generative training puts
something else in the place of the second (`objective.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from latree.arrays import NONE, Floats, Longs, ranges
from latree.files import Arrays
from latree.inference.gaussian.limits import NO_LIMIT, ComponentLimit
from latree.inference.gaussian.mixtures import Components, Mixtures
from latree.inference.gaussian.seen import Seen, infer_seen, rules_in, with_sizes
from latree.inference.gaussian.sweeps import GaussianInference
from latree.inference.potentials import NO_POTENTIALS, Potentials
from latree.kinds.gm_lveg import GmLvegOptions
from latree.kinds.span_features import Spans


def component_limit(options: GmLvegOptions, *, parsing: bool = False, gold: bool = False) -> ComponentLimit:
    """The limit on the components of messages, in training or in parsing.

    Of a single tree they are few, and never pruned, unless equal ones are kept apart.
    """
    if gold and options.apart is None:
        return NO_LIMIT
    k_min = options.k_min if options.parse_k_min is None or not parsing else options.parse_k_min
    return ComponentLimit(k_min, options.k_max, float(options.theta))


class Batch(NamedTuple):
    """Some sentences' forests, as mixtures see them."""

    gold: Seen
    all: Seen
    sentences: int
    spans: tuple[Spans, Spans] | None = None  # of gold and all
    letters: tuple[Potentials, Potentials] = (NO_POTENTIALS, NO_POTENTIALS)  # the same

    def resized(self, components: Components) -> Batch:
        """Make room for other numbers of components in the rules."""
        gold, all_ = (with_sizes(seen, components.size) for seen in (self.gold, self.all))
        return self._replace(gold=gold, all=all_)

    def rows(self, components: Components) -> Rows:
        """Find the parameters that these forests have a say in."""
        rows = Rows.of_rules(np.union1d(rules_in(self.gold), rules_in(self.all)), components)
        features = [one.matrix.indices for one in self.spans or ()]
        return rows._replace(features=np.unique(np.concatenate([*features, rows.features])).astype(np.int64))


class Weights(NamedTuple):
    """All that is learned: mixtures, and what features of spans weigh."""

    mixtures: Mixtures
    spans: Floats = np.zeros(0)

    def mixed(self, other: Weights, share: float) -> Weights:
        """So much of these weights, and the rest of others."""
        mixtures = (share * a + (1 - share) * b for a, b in zip(self.mixtures, other.mixtures, strict=True))
        return Weights(Mixtures(*mixtures), share * self.spans + (1 - share) * other.spans)

    def to_arrays(self) -> Arrays:
        """The arrays of a checkpoint."""
        return {**self.mixtures._asdict(), "spans": self.spans}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Weights:
        return cls(Mixtures(*(arrays[name] for name in Mixtures._fields)), arrays["spans"])


class Rows(NamedTuple):
    """Some of the parameters."""

    components: Longs
    slots: Longs
    features: Longs  # of spans

    @classmethod
    def of_rules(cls, rules: Longs, components: Components) -> Rows:
        """All components of some rules, and all of their slots."""
        touched = ranges(components.first[rules], components.size[rules])
        slots = np.unique(components.slot[touched])
        return cls(touched, slots[slots != NONE], np.zeros(0, np.int64))

    @classmethod
    def union(cls, parts: Sequence[Rows]) -> Rows:
        return cls(*(np.unique(np.concatenate(rows)).astype(np.int64) for rows in zip(*parts, strict=True)))

    def of(self, weights: Weights) -> list[Floats]:
        """The numbers of these parameters: logs of weights, means, logs of deviations, and weights of spans."""
        (log_rho, mean, log_sd), spans = weights
        return [log_rho[self.components], mean[self.slots], log_sd[self.slots], spans[self.features]]

    def put(self, numbers: Sequence[Floats], weights: Weights) -> None:
        """Write such numbers where they belong."""
        (log_rho, mean, log_sd), spans = weights
        log_rho[self.components], mean[self.slots], log_sd[self.slots], spans[self.features] = numbers


class Mirror(NamedTuple):
    """What a process needs to take part in a step: the weights, some of which it is told anew every time."""

    components: Components
    weights: Weights
    options: GmLvegOptions


def gradient(batch: Batch, mirror: Mirror) -> tuple[float, Weights, Floats]:
    """The sum of log P(T | w), its gradient, that of the gold forests less that of all, and the components' expected
    number of tokens in the gold ones.

    So much as training is generative, what is said of all is left out; what takes its place is in `objective.py`.  With
    a limit on components log Z of all trees is too low, and log P(T | w) may be above 0.
    """
    gold, gold_spans = _inference(batch, 0, mirror, component_limit(mirror.options, gold=True))
    share = 1.0 - mirror.options.generative
    if share == 0.0:
        return float(gold.log_z.sum()), Weights(gold.gradient, gold_spans), gold.gradient.log_rho
    everything, all_spans = _inference(batch, 1, mirror, component_limit(mirror.options))
    log_likelihood = float((gold.log_z - share * everything.log_z).sum())
    slope = Mixtures(*(a - share * b for a, b in zip(gold.gradient, everything.gradient, strict=True)))
    return log_likelihood, Weights(slope, gold_spans - share * all_spans), gold.gradient.log_rho


def _inference(batch: Batch, which: int, mirror: Mirror, limit: ComponentLimit) -> tuple[GaussianInference, Floats]:
    """Of the gold forests (0) or of all (1), with the gradient by the weights of spans."""
    seen, (mixtures, weights), potentials = (batch.gold, batch.all)[which], mirror.weights, batch.letters[which]
    spans = None if batch.spans is None else batch.spans[which]
    if spans is not None:
        potentials = potentials._replace(item=spans.weigh(weights))
    found = infer_seen(seen, mirror.components, mixtures, limit=limit, potentials=potentials)
    return found, weights if spans is None else spans.slope(found.posterior)
