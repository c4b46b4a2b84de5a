"""Training of Gaussian-mixture grammars (Zhao, Zhang & Tu 2018, section 3.3).

What is raised is the sum over sentences of log P(T | w) = log Z of the gold tree's forest - log Z of the pruned forest
(eqn 11), whose gradient is the difference of two gradients of the same kind (eqn 25).  A generative training also
raises log P(T, w), where the sum over all sentences stands in for that over the trees of one (`generative`).

Forests are made once, put together in batches of sentences of like length, and kept; an epoch takes the batches in a
new order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
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
from latree.kinds.examples import Example, by_length
from latree.kinds.gm_lveg import GmLvegOptions
from latree.kinds.gm_lveg.generative import Normaliser
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
from latree.kinds.gradient_trainee import LOG_P, GradientTrainee
from latree.kinds.jobs import Parcel
from latree.kinds.span_features import Spans
from latree.learning.adam import Adam
from latree.learning.loop import Progress, Score, Watch
from latree.learning.shards import Shards, Sum
from latree.lexicon.lexical_rules import LexicalRules

if TYPE_CHECKING:
    from latree.kinds.gm_lveg.model import GaussianModel
    from latree.parallel import Jobs


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


@dataclass
class BatchParts:
    """One part of every batch, None where a batch has fewer parts."""

    batches: list[Batch | None]
    components: Components  # that the batches have room for

    def fit(self, components: Components) -> list[Batch | None]:
        """The batches with room for these components."""
        if components is not self.components:
            self.batches = [batch and batch.resized(components) for batch in self.batches]
            self.components = components
        return self.batches


def build_parts(parcel: Parcel, groups: Sequence[Sequence[Example]]) -> BatchParts:
    """Make the forests of a part of every batch."""
    model = parcel.model
    return BatchParts([model.batch(group) if group else None for group in groups], model.components)


def rows_of_parts(parts: BatchParts, mirror: Mirror) -> list[Rows | None]:
    """The parameters that the parts of batches have a say in."""
    return [batch and batch.rows(mirror.components) for batch in parts.fit(mirror.components)]


def gradient_of_part(parts: BatchParts, mirror: Mirror, number: int, rows: Rows, now: Sequence[Floats]) -> Sum:
    """What is raised, but for sums over all sentences, of a part of a batch; its gradient by the batch's parameters,
    which are `now` like this, end to end; and how often each component is expected in the gold trees."""
    rows.put(now, mirror.weights)
    batch = parts.fit(mirror.components)[number]
    if batch is None:
        return 0.0, np.zeros(sum(part.size for part in now) + len(rows.components))
    log_likelihood, slope, count = gradient(batch, mirror)
    return log_likelihood, np.concatenate([*(part.ravel() for part in rows.of(slope)), count[rows.components]])


def gradient(batch: Batch, mirror: Mirror) -> tuple[float, Weights, Floats]:
    """The sum of log P(T | w), its gradient, that of the gold forests less that of all, and the components' expected
    number of tokens in the gold ones.

    So much as training is generative, what is said of all is left out: sums over all sentences take its place.  With a
    limit on components log Z of all trees is too low, and log P(T | w) may be above 0.
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


class Learner:
    """Weights on their way."""

    def __init__(
        self, components: Components, weights: Weights, options: GmLvegOptions, normaliser: Normaliser | None = None
    ) -> None:
        """Where training is generative, the normaliser sums over all sentences."""
        self.mirror, self.options, self.normaliser = Mirror(components, weights, options), options, normaliser
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

    @property
    def raised(self) -> str:
        """Name what is raised."""
        if self.normaliser is None:
            return LOG_P
        return f"{self.options.generative:g} log P(T,w) + {1 - self.options.generative:g} log P(T|w) a sentence"

    def average(self) -> Weights:
        """Take the weights as they are into the running mean."""
        before = self.weights if self.mean is None else self.mean
        self.mean = self.normalised(before.mixed(self.weights, self.options.memory))
        return self.mean

    def normalised(self, weights: Weights) -> Weights:
        """Let P(T, w) sum to one, where training is generative."""
        if self.normaliser is None:
            return weights
        return weights._replace(mixtures=self.normaliser.normalised(self.components, weights.mixtures))

    def _rows(self, batches: Batches) -> list[Rows]:
        """The parameters that each batch has a say in: all that any tree of training uses, where all sentences are
        summed over; what was not seen keeps the share that it has."""
        if self.normaliser is None:
            return batches.rows(self.mirror)
        seen = np.append(np.ones(len(self.normaliser.grammar.rules), bool), ~self.normaliser.lexical.is_unseen)
        return [Rows.of_rules(np.flatnonzero(seen), self.components)] * len(batches.sizes)

    def epoch(self, batches: Batches, rng: np.random.Generator, watch: Watch) -> float:
        """Mean of what is raised over the sentences, each as its batch found it."""
        total, sentences, sizes = 0.0, 0, batches.sizes
        self.count[:] = 0.0
        rows = self._rows(batches)
        for done, k in enumerate(rng.permutation(len(sizes)).tolist(), start=1):
            total += self.step(batches, k, rows[k])
            sentences += sizes[k]
            watch(Progress("batch", done, len(sizes), total / sentences, self.raised))
        return total / sentences

    def step(self, batches: Batches, number: int, rows: Rows) -> float:
        """One step along the gradient of a batch; the sum of what is raised before it."""
        mass = None if self.normaliser is None else self.normaliser.settle(self.components, self.weights.mixtures)
        now = rows.of(self.weights)
        log_likelihood, flat = batches.shards.sum(gradient_of_part, self.mirror, number, rows, now)
        if not np.isfinite(log_likelihood) or not np.isfinite(flat).all():
            raise LatreeError("the likelihood or its gradient is no number any more; the last checkpoint is good")
        *slopes, count = np.split(flat, np.cumsum([part.size for part in now]))
        self.count[rows.components] += count
        size = batches.sizes[number]
        means = [slope.reshape(part.shape) / size for slope, part in zip(slopes, now, strict=True)]
        if mass is not None:
            share, expected = self.options.generative, rows.of(Weights(mass.gradient()))
            means = [mean - share * slope for mean, slope in zip(means, expected, strict=True)]
            log_likelihood -= share * size * mass.log_z
        self._move(rows, means)
        return log_likelihood

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
        """Split, merge and drop components (`lveg_growth`), those of the running mean too, which is returned.

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


class Batches:
    """Sentences of like length together, a step each, in parts that several processes share; to be closed."""

    def __init__(self, model: GaussianModel, examples: Sequence[Example], jobs: Jobs) -> None:
        groups, parts = by_length(examples, model.options.batch), model.options.parts
        self.sizes = [len(group) for group in groups]
        recipes = [[group[k::parts] for group in groups] for k in range(min(parts, max(self.sizes)))]
        self.shards = Shards(recipes, partial(build_parts, Parcel(model)), jobs)
        self._rows: tuple[Components, list[Rows]] | None = None

    def rows(self, mirror: Mirror) -> list[Rows]:
        """The parameters that each batch has a say in; found anew where there are other components."""
        if self._rows is None or self._rows[0] is not mirror.components:
            by_part = zip(*self.shards.each(rows_of_parts, mirror), strict=True)
            found = [Rows.union([rows for rows in parts if rows is not None]) for parts in by_part]
            self._rows = mirror.components, found
        return self._rows[1]


class Epochs(GradientTrainee):
    """Passes over the treebank, some of which are followed by growth."""

    unit = "epoch"
    model: GaussianModel
    batches: Batches | None = None

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
        start = Weights(model.mixtures, model.span_weights)
        self.learner = Learner(model.components, start, model.options, model.normaliser)
        self._show(self.learner.normalised(start))
        self.examples = usable

    def go_on(self, examples: Sequence[Example], state: Arrays) -> None:
        model = self.model
        now = Weights.from_arrays(part_of("now.", state))
        self.learner = Learner(model.components, now, model.options, model.normaliser)
        self.learner.adam.restore(part_of("adam.", state))
        self.learner.mean, self.learner.count = Weights.from_arrays(part_of("mean.", state)), state["count"]
        self._show(self.learner.mean)
        self.examples = self.usable(examples)

    def open(self, jobs: Jobs) -> None:
        self.batches = Batches(self.model, self.examples, jobs)
        self.batches.rows(self.learner.mirror)

    def close(self) -> None:
        if self.batches is not None:
            self.batches.shards.close()

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
        assert self.batches is not None
        log_likelihood, steps = self.learner.epoch(self.batches, rng, watch), len(self.batches.sizes)
        self._show(self.learner.average())
        return Progress(f"{len(self.examples)} sentences", steps, steps, log_likelihood, self.learner.raised)

    def _grow(self, rng: np.random.Generator) -> None:
        self._show(self.learner.grow(rng))
        self.model.components = self.learner.components

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
