"""Discriminative training of Gaussian-mixture grammars (Zhao, Zhang & Tu 2018, section 3.3).

What is raised is the sum over sentences of log P(T | w) = log Z of the gold tree's forest - log Z of the pruned forest
(eqn 11), whose gradient is the difference of two gradients of the same kind (eqn 25).  Forests are made once, put
together in batches of sentences of like length, and kept; an epoch takes the batches in a new order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from latree.arrays import NONE, Longs
from latree.errors import LatreeError
from latree.inference.gaussian.limits import ComponentLimit
from latree.inference.gaussian.mixtures import Components, Mixtures
from latree.inference.gaussian.slots import SlotForest, resized
from latree.inference.gaussian.sweeps import gaussian_infer
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
from latree.learning.adam import Adam, Watch

Covariance = Literal["diagonal", "spherical"]


@dataclass(frozen=True)
class LvegOptions:
    """The constants of the model and its training.

    Rate and rare words are the paper's.  The paper's dimension is 3, and its components 4; here components are few at
    first and grow.  Batches are smaller, for smaller treebanks; the start is exactly the treebank's grammar unless
    `alpha` is given (the paper's is 8); epochs are averaged.
    """

    dim: int = 8  # d, of the latent vectors
    components: int = 1  # K_r of the grammar's rules, at first
    word_components: int = 1  # K_r of lexical rules, at first
    grow: int = 2  # after each of so many epochs rules get or lose components, see `lveg_growth`
    start: Literal["treebank", "subtypes"] = "treebank"  # see `lveg_start`; with subtypes d and K_r are as these say
    start_rounds: int = 3  # of the grammar with subtypes
    covariance: Covariance = "spherical"
    alpha: float | None = None  # rho = alpha P(r) at first; None: such that the grammar begins as the treebank PCFG
    spread: float = 0.05  # means begin within this of zero
    epochs: int = 10
    batch: int = 32  # sentences
    rate: float = 0.01
    memory: float = 0.6  # what is scored and kept is a running mean over epochs: this share of it is the mean before
    clip: float = 5.0  # no part of a batch's mean gradient exceeds this
    rare: int = 1  # words with at most this many tokens go by their class
    looseness: float = 0.1  # forests to train on are pruned at the pruner's thresholds times this
    max_length: int = 50  # longer sentences are not trained on
    least_log_sd: float = -2.0  # standard deviations stay between exp(-2) and exp(2): none collapses
    most_log_sd: float = 2.0
    k_min: int = 0  # with k_max and theta: how many components a message keeps, see `ComponentLimit`
    k_max: int = 0  # 0: all, and everything is exact; the paper's are 40, 50 and 0.35, to parse 20, 50 and 0.35
    theta: float = 1.0  # so that k_max alone is the paper's k_hard

    def __post_init__(self) -> None:
        if not 0 <= self.k_min <= self.k_max:
            raise LatreeError(f"k_min, {self.k_min}, must lie between 0 and k_max, {self.k_max}")
        if not 0 <= self.theta <= 1:
            raise LatreeError(f"theta, {self.theta}, must lie between 0 and 1")

    @property
    def limit(self) -> ComponentLimit:
        """Of the components of messages in forests of all trees; a single tree's are few, and never pruned."""
        return ComponentLimit(self.k_min, self.k_max, float(self.theta))

    @property
    def wide(self) -> int:
        """Numbers in a Gaussian's log standard deviation."""
        vectors = self.start_rounds if self.start == "subtypes" else self.dim
        return vectors if self.covariance == "diagonal" else 1

    def grows_after(self, epoch: int) -> bool:
        """Subtypes have been split and merged already."""
        return self.start == "treebank" and epoch <= self.grow

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


LEAST_LOG_RHO = float(np.log(1e-10))


class Batch(NamedTuple):
    """Some sentences' forests, as slots see them, and which parameters they have a say in."""

    gold: SlotForest
    all: SlotForest
    sentences: int
    components: Longs
    slots: Longs

    @classmethod
    def of(cls, gold: SlotForest, all_: SlotForest, components: Components) -> Batch:
        rules = np.unique(np.concatenate([side for f in (gold, all_) for side in (f.side_rule, f.side_word)]))
        rules = rules[rules != NONE]
        first, size = components.first[rules], components.size[rules]
        touched = np.repeat(first - (np.cumsum(size) - size), size) + np.arange(size.sum())
        slots = np.unique(components.slot[touched])
        return cls(gold, all_, len(gold.root), touched, slots[slots != NONE])

    def resized(self, components: Components) -> Batch:
        """The same sentences where rules have other numbers of components."""
        return Batch.of(resized(self.gold, components.size), resized(self.all, components.size), components)


class Learner:
    """Weights on their way."""

    def __init__(self, components: Components, weights: Mixtures, options: LvegOptions) -> None:
        self.components, self.weights, self.options = components, weights, options
        self.adam = Adam(options.rate)
        self.mean: Mixtures | None = None  # of the weights after each epoch, the recent ones weighing more
        self.count = np.zeros_like(weights.log_rho)  # expected tokens of the components in the gold trees, this epoch

    def average(self) -> Mixtures:
        """Take the weights as they are into the running mean."""
        before = self.weights if self.mean is None else self.mean
        share = self.options.memory
        self.mean = Mixtures(*(share * a + (1 - share) * b for a, b in zip(before, self.weights, strict=True)))
        return self.mean

    def epoch(self, batches: Sequence[Batch], rng: np.random.Generator, watch: Watch) -> float:
        """Mean log P(T | w) of the sentences, each as its batch found it."""
        total, sentences = 0.0, 0
        self.count[:] = 0.0
        for done, k in enumerate(rng.permutation(len(batches)), start=1):
            total += self.step(batches[k])
            sentences += batches[k].sentences
            watch(done, len(batches), total / sentences)
        return total / sentences

    def step(self, batch: Batch) -> float:
        """One step along the gradient of a batch; the sum of log P(T | w) before it."""
        log_likelihood, gradient = self.gradient(batch)
        for name, rows in (("log_rho", batch.components), ("mean", batch.slots), ("log_sd", batch.slots)):
            slope = np.clip(getattr(gradient, name) / batch.sentences, -self.options.clip, self.options.clip)
            self.adam.step(name, getattr(self.weights, name), slope, rows)
        np.maximum(self.weights.log_rho, LEAST_LOG_RHO, out=self.weights.log_rho)
        np.clip(self.weights.log_sd, self.options.least_log_sd, self.options.most_log_sd, out=self.weights.log_sd)
        return log_likelihood

    def gradient(self, batch: Batch) -> tuple[float, Mixtures]:
        """The sum of log P(T | w), and its gradient: that of the gold forests less that of all.

        With a limit on components log Z of all trees is too low, and log P(T | w) may be above 0.
        """
        gold = gaussian_infer(batch.gold, self.components, self.weights)
        everything = gaussian_infer(batch.all, self.components, self.weights, limit=self.options.limit)
        self.count += gold.gradient.log_rho
        log_likelihood = float((gold.log_z - everything.log_z).sum())
        gradient = Mixtures(*(a - b for a, b in zip(gold.gradient, everything.gradient, strict=True)))
        if not np.isfinite(log_likelihood) or not all(np.isfinite(part).all() for part in gradient):
            raise LatreeError("the likelihood or its gradient is no number any more; the last checkpoint is good")
        return log_likelihood, gradient

    def grow(self, rng: np.random.Generator, options: GrowthOptions = GROWTH) -> Mixtures:
        """Split, merge and drop components (`lveg_growth`), those of the running mean too, which is returned.

        Moments go with the components.
        """
        before, slopes = self.components, self.adam.squares("mean")
        into = equals(before, self.weights, options.alike)
        copies = how_many_of_each(before, gains(before, slopes), self.count, into, options)
        grown = regrow(before, copies)
        self.weights, self.mean = (
            grown.weights(absorb(before, weights, into)) for weights in (self.weights, self.mean or self.weights)
        )
        self.adam.take("log_rho", grown.source)
        for name in ("mean", "log_sd"):
            self.adam.take(name, grown.slot_source)
        move_apart(grown, self.weights, slopes, options.apart, rng)
        self.components, self.count = grown.components, np.zeros(len(grown.source))
        return self.mean
