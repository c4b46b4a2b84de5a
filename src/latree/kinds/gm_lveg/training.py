"""Discriminative training of Gaussian-mixture grammars (Zhao, Zhang & Tu 2018, section 3.3).

What is raised is the sum over sentences of log P(T | w) = log Z of the gold tree's forest - log Z of the pruned forest
(eqn 11), whose gradient is the difference of two gradients of the same kind (eqn 25).  Forests are made once, put
together in batches of sentences of like length, and kept; an epoch takes the batches in a new order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from latree.arrays import NONE, Floats, Longs, ranges
from latree.errors import LatreeError
from latree.files import Arrays, part_of
from latree.inference.gaussian.limits import NO_LIMIT, ComponentLimit
from latree.inference.gaussian.mixtures import Components, Mixtures
from latree.inference.gaussian.seen import Seen, infer_seen, rules_in, with_sizes
from latree.inference.gaussian.sweeps import GaussianInference
from latree.inference.potentials import NO_POTENTIALS, Potentials
from latree.kinds.gm_lveg import GmLvegOptions
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
from latree.kinds.gm_lveg.start import make_components
from latree.kinds.pruned import LOG_P, Example, GradientTrainee
from latree.kinds.span_features import Spans
from latree.learning.adam import Adam
from latree.learning.loop import Progress, Score, Watch
from latree.lexicon.lexical_rules import LexicalRules

if TYPE_CHECKING:
    from latree.kinds.gm_lveg.model import GaussianModel


def component_limit(options: GmLvegOptions, *, parsing: bool = False, gold: bool = False) -> ComponentLimit:
    """The limit on the components of messages, in training or in parsing.

    Of a single tree they are few, and never pruned, unless equal ones are kept apart.
    """
    if gold and options.apart is None:
        return NO_LIMIT
    k_min = options.k_min if options.parse_k_min is None or not parsing else options.parse_k_min
    return ComponentLimit(k_min, options.k_max, float(options.theta))


LEAST_LOG_RHO = float(np.log(1e-10))


class Batch(NamedTuple):
    """Some sentences' forests, as mixtures see them, and which parameters they have a say in."""

    gold: Seen
    all: Seen
    sentences: int
    components: Longs
    slots: Longs
    spans: tuple[Spans, Spans] | None = None  # of gold and all
    letters: tuple[Potentials, Potentials] = (NO_POTENTIALS, NO_POTENTIALS)  # the same

    @classmethod
    def of(cls, gold: Seen, all_: Seen, sentences: int, components: Components) -> Batch:
        rules = np.union1d(rules_in(gold), rules_in(all_))
        touched = ranges(components.first[rules], components.size[rules])
        slots = np.unique(components.slot[touched])
        return cls(gold, all_, sentences, touched, slots[slots != NONE])

    def resized(self, components: Components) -> Batch:
        """Make room for other numbers of components in the rules."""
        gold, all_ = (with_sizes(seen, components.size) for seen in (self.gold, self.all))
        batch = Batch.of(gold, all_, self.sentences, components)
        return batch._replace(spans=self.spans, letters=self.letters)


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


class Learner:
    """Weights on their way."""

    def __init__(self, components: Components, weights: Weights, options: GmLvegOptions) -> None:
        self.components, self.weights, self.options = components, weights, options
        self.adam = Adam(options.rate)
        self.mean: Weights | None = None  # of the weights after each epoch, the recent ones weighing more
        # Expected tokens of the components in the gold trees, this epoch.
        self.count = np.zeros_like(weights.mixtures.log_rho)

    def average(self) -> Weights:
        """Take the weights as they are into the running mean."""
        before = self.weights if self.mean is None else self.mean
        self.mean = before.mixed(self.weights, self.options.memory)
        return self.mean

    def epoch(self, batches: Sequence[Batch], rng: np.random.Generator, watch: Watch) -> float:
        """Mean log P(T | w) of the sentences, each as its batch found it."""
        total, sentences = 0.0, 0
        self.count[:] = 0.0
        for done, k in enumerate(rng.permutation(len(batches)), start=1):
            total += self.step(batches[k])
            sentences += batches[k].sentences
            watch(Progress("batch", done, len(batches), total / sentences, LOG_P))
        return total / sentences

    def step(self, batch: Batch) -> float:
        """One step along the gradient of a batch; the sum of log P(T | w) before it."""
        log_likelihood, gradient = self.gradient(batch)
        mixtures, most = self.weights.mixtures, self.options.clip
        for name, rows in (("log_rho", batch.components), ("mean", batch.slots), ("log_sd", batch.slots)):
            slope = np.clip(getattr(gradient.mixtures, name) / batch.sentences, -most, most)
            self.adam.step(name, getattr(mixtures, name), slope, rows)
        if batch.spans is not None:
            slope = gradient.spans / batch.sentences
            self.adam.step("spans", self.weights.spans, slope, np.flatnonzero(slope))
        np.maximum(mixtures.log_rho, LEAST_LOG_RHO, out=mixtures.log_rho)
        np.clip(mixtures.log_sd, self.options.least_log_sd, self.options.most_log_sd, out=mixtures.log_sd)
        return log_likelihood

    def gradient(self, batch: Batch) -> tuple[float, Weights]:
        """The sum of log P(T | w), and its gradient: that of the gold forests less that of all.

        With a limit on components log Z of all trees is too low, and log P(T | w) may be above 0.
        """
        gold, gold_spans = self._inference(batch, 0, component_limit(self.options, gold=True))
        everything, all_spans = self._inference(batch, 1, component_limit(self.options))
        self.count += gold.gradient.log_rho
        log_likelihood = float((gold.log_z - everything.log_z).sum())
        gradient = Mixtures(*(a - b for a, b in zip(gold.gradient, everything.gradient, strict=True)))
        if not np.isfinite(log_likelihood) or not all(np.isfinite(part).all() for part in gradient):
            raise LatreeError("the likelihood or its gradient is no number any more; the last checkpoint is good")
        return log_likelihood, Weights(gradient, gold_spans - all_spans)

    def _inference(self, batch: Batch, which: int, limit: ComponentLimit) -> tuple[GaussianInference, Floats]:
        """Of the gold forests (0) or of all (1), with the gradient by the weights of spans."""
        seen, (mixtures, weights), potentials = (batch.gold, batch.all)[which], self.weights, batch.letters[which]
        spans = None if batch.spans is None else batch.spans[which]
        if spans is not None:
            potentials = potentials._replace(item=spans.weigh(weights))
        found = infer_seen(seen, self.components, mixtures, limit=limit, potentials=potentials)
        return found, weights if spans is None else spans.slope(found.posterior)

    def grow(self, rng: np.random.Generator, options: GrowthOptions = GROWTH) -> Weights:
        """Split, merge and drop components (`lveg_growth`), those of the running mean too, which is returned.

        Moments go with the components.
        """
        before, slopes = self.components, self.adam.squares("mean")
        into = equals(before, self.weights.mixtures, options.alike)
        copies = how_many_of_each(before, gains(before, slopes), self.count, into, options)
        grown = regrow(before, copies)
        self.weights, self.mean = (
            weights._replace(mixtures=grown.weights(absorb(before, weights.mixtures, into)))
            for weights in (self.weights, self.mean or self.weights)
        )
        self.adam.take("log_rho", grown.source)
        for name in ("mean", "log_sd"):
            self.adam.take(name, grown.slot_source)
        move_apart(grown, self.weights.mixtures, slopes, options.apart, rng)
        self.components, self.count = grown.components, np.zeros(len(grown.source))
        return self.mean


class Epochs(GradientTrainee):
    """Passes over the treebank, some of which are followed by growth."""

    unit = "epoch"
    model: GaussianModel

    @property
    def steps(self) -> int:
        return self.model.options.epochs

    def start(self, examples: Sequence[Example], rng: np.random.Generator) -> None:
        model, scheme = self.model, self.model.pruner.lexicon.scheme
        tagged = [list(zip(one.words, one.tags, strict=True)) for one in examples]
        model.lexical = LexicalRules.of(tagged, scheme, len(model.grammar.tags), model.options.rare)
        model.prepare()
        usable = self.usable(examples)
        model.components, model.mixtures = model.start(rng)
        if model.options.spans:
            model.span_weights = np.zeros(len(model.find_spans(usable).key))
        self.learner = Learner(model.components, Weights(model.mixtures, model.span_weights), model.options)
        self.batches = model.batches(usable)

    def go_on(self, examples: Sequence[Example], state: Arrays) -> None:
        model = self.model
        self.learner = Learner(model.components, Weights.from_arrays(part_of("now.", state)), model.options)
        self.learner.adam.restore(part_of("adam.", state))
        self.learner.mean, self.learner.count = Weights.from_arrays(part_of("mean.", state)), state["count"]
        self._show(self.learner.mean)
        self.batches = model.batches(self.usable(examples))

    def _show(self, weights: Weights) -> None:
        """Have the model parse with these weights."""
        self.model.mixtures, self.model.span_weights = weights

    @property
    def _shown(self) -> Weights:
        return Weights(self.model.mixtures, self.model.span_weights)

    def state(self) -> Arrays:
        learner = self.learner
        parts = {
            "now": learner.weights.to_arrays(),
            "mean": self._shown.to_arrays(),
            "adam": learner.adam.to_arrays(),
        }
        named = {f"{name}.{key}": array for name, part in parts.items() for key, array in part.items()}
        return named | {"count": learner.count}

    def step(self, number: int, rng: np.random.Generator, watch: Watch) -> Progress:
        if number > 1 and self.model.options.grows_after(number - 1):
            self._grow(rng)
        log_likelihood = self.learner.epoch(self.batches, rng, watch)
        self._show(self.learner.average())
        sentences = sum(batch.sentences for batch in self.batches)
        return Progress(f"{sentences} sentences", len(self.batches), len(self.batches), log_likelihood, LOG_P)

    def _grow(self, rng: np.random.Generator) -> None:
        self._show(self.learner.grow(rng))
        self.model.components = self.learner.components
        self.batches = [batch.resized(self.learner.components) for batch in self.batches]

    def learned(self) -> Arrays:
        """The running mean, which is made anew after every epoch, and how many components each rule has."""
        return {"size": self.model.components.size, **self._shown.to_arrays()}

    def adopt(self, learned: Arrays) -> None:
        model = self.model
        model.components = make_components(model.grammar, model.lexical, learned["size"])
        self._show(Weights.from_arrays(learned))

    def finish(self, score: Score | None, best: float) -> None:
        """Round weights as a file keeps them, so that a model is the same before and after; try the joint model."""
        model = self.model
        rounded = {name: part.astype(np.float32).astype(np.float64) for name, part in self._shown.to_arrays().items()}
        self._show(Weights.from_arrays(rounded))
        if model.joint_by_score and not model.options.alone and score is not None:
            model.joint, about = True, dict(model.training)
            if score(model) <= best:
                model.joint, model.training = False, about
