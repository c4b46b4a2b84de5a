"""How log-linear grammars are trained: the options, and one leg of the way uphill.

What is maximised is the sum of log P(T | w) less a penalty on delta, how far the weights are from where they began:
strength / 2 |delta|^2 by L-BFGS, or strength |delta| by OWL-QN, which leaves most of delta at zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize

from latree.arrays import NONE, Floats
from latree.errors import LatreeError
from latree.files import Arrays
from latree.kinds.examples import Example, by_length
from latree.kinds.gradient_trainee import LOG_P, GradientTrainee
from latree.kinds.jobs import Parcel
from latree.kinds.lvg_d import LvgDOptions
from latree.kinds.lvg_d.lattice_batch import LatticeBatch, log_likelihood_of_lattices
from latree.kinds.lvg_d.loglinear import LogLinear, log_likelihood
from latree.kinds.lvg_d.refinement import Refinement
from latree.kinds.lvg_d.start import grown, split_ports
from latree.learning.adam import Adam
from latree.learning.loop import Progress, Score, Watch
from latree.learning.owlqn import OwlQn
from latree.learning.shards import SHARDS, Shards, Sum, deal
from latree.lexicon.lexical_rules import LexicalRules

if TYPE_CHECKING:
    from latree.kinds.lvg_d.model import LoglinearModel
    from latree.parallel import Jobs

MEMORY = 10  # of L-BFGS

ValueAndGradient = Callable[[Floats], tuple[float, Floats]]


def log_likelihood_of_all(shards: Shards[Numbered], model: LogLinear, delta: Floats) -> tuple[float, Floats]:
    """Sum log P(T | w) over all sentences, and give its gradient with respect to delta."""
    value, slope = shards.sum(_log_likelihood, model, delta)
    return value, model.transposed @ slope


Numbered = dict[int, Any]  # some of the batches, forests or lattices


def build_batches(parcel: Parcel, groups: Sequence[tuple[int, Sequence[Example]]]) -> Numbered:
    """Make the forests of some groups of sentences, which have numbers."""
    return {number: parcel.model.batch(group) for number, group in groups}


def _log_likelihood(batches: Numbered, model: LogLinear, delta: Floats, only: int | None = None) -> Sum:
    """Of all these batches, which are of one type, or of one, where it is among them."""
    chosen = [batch for number, batch in batches.items() if only in (None, number)]
    are_lattices = isinstance(next(iter(batches.values())), LatticeBatch)
    by_type = log_likelihood_of_lattices if are_lattices else log_likelihood
    return by_type(chosen, model, model.weights(delta))


@dataclass(frozen=True)
class PenalisedLoss:
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


def fit_leg(objective: PenalisedLoss, delta: Floats, watch: Callable[[int], None] = lambda number: None) -> Floats:
    """Go some iterations further; `watch` sees how many are done, each of which may take several evaluations."""
    options = objective.options
    if options.penalty == "l1":
        optimiser = OwlQn(iterations=options.iterations)
        return optimiser.minimise(objective, delta, options.strength, lambda one: watch(one.number)).x
    limits, numbers = {"maxiter": options.iterations, "maxcor": MEMORY}, count(1)

    def see(x: Floats) -> None:
        watch(next(numbers))

    found = minimize(objective, delta, jac=True, method="L-BFGS-B", options=limits, callback=see)
    if not np.isfinite(found.fun):
        raise LatreeError("the likelihood or its gradient is no number any more; the last checkpoint is good")
    return np.asarray(found.x, np.float64)


def stochastic_passes(
    shards: Shards[Numbered],
    sizes: Sequence[int],
    model: LogLinear,
    delta: Floats,
    options: LvgDOptions,
    rng: np.random.Generator,
    watch: Watch,
) -> Floats:
    """Adam over batches of these sizes in random order: quick at first, and no substitute for what follows."""
    adam, delta = Adam(options.rate), delta.copy()
    for turn in range(options.stochastic):
        for done, k in enumerate(rng.permutation(len(sizes)).tolist(), start=1 + turn * len(sizes)):
            value, slope = shards.sum(_log_likelihood, model, delta, k)
            gradient = (model.transposed @ slope) / sizes[k] - options.ridge / sum(sizes) * delta
            moved = np.flatnonzero(gradient)
            adam.step("delta", delta, gradient[moved], moved)
            watch(Progress("batch", done, options.stochastic * len(sizes), value / sizes[k], LOG_P))
    return delta


class Legs(GradientTrainee):
    """Legs of the way uphill; at several scales, from zero, some before every split.  The best of the last is kept."""

    unit = "leg"
    model: LoglinearModel
    shards: Shards[Numbered] | None = None

    @property
    def steps(self) -> int:
        return self.stages * self.model.options.epochs

    @property
    def stages(self) -> int:
        """How often all legs are gone through: before any split, and after each."""
        options = self.model.options
        splits = options.scales and options.start == "zero"
        return 1 + (self.model.pruner.history.rounds if splits else 0)

    def counts(self, number: int) -> bool:
        """Before the last split nothing counts."""
        return number > (self.stages - 1) * self.model.options.epochs

    def start(self, examples: Sequence[Example], rng: np.random.Generator) -> None:
        model, options, usable = self.model, self.model.options, self.usable(examples)
        tagged = [list(zip(one.words, one.tags, strict=True)) for one in usable]
        scheme, tags = model.pruner.lexicon.scheme, len(model.grammar.tags)
        model.lexical = LexicalRules.of(tagged, scheme, tags, 0, options.joined)
        if options.scales:
            self._start_at_several_scales()
        else:
            model.size, model.model = model.pruner.size, model.structure(model.pruner.size)
            noise = options.noise if options.start == "zero" else 0.0
            model.delta = noise * rng.standard_normal(model.model.parameters)
        if options.spans:
            self._add_spans(usable)
        self.examples = usable

    def _start_at_several_scales(self) -> None:
        """From zero nothing is divided yet; else what the generative grammar tells apart."""
        model, options = self.model, self.model.options
        if options.start == "zero":
            model.size = np.ones(len(model.grammar.symbols), np.int64)
            model.tree = Refinement.whole(len(model.grammar.rules) + len(model.lexical.tag))
            model.node_start = np.zeros(model.tree.nodes)
        else:
            if (model.pruner.size[1:] != 1 << model.pruner.history.rounds).any():
                raise LatreeError("several scales begin at a grammar with a fixed number of subtypes, none merged")
            model.size = model.pruner.size
            model.tree, start = grown(model.pruner, model.lexical, options.floor, options.gain)
            model.node_start = start.astype(np.float32).astype(np.float64)  # as a file keeps it
        model.model, model.delta = model.structure(model.size), np.zeros(model.tree.nodes)

    def go_on(self, examples: Sequence[Example], state: Arrays) -> None:
        self.model.delta = state["delta"]
        self.model.prepare()
        self.examples = self.usable(examples)

    def _add_spans(self, examples: Sequence[Example]) -> None:
        model = self.model
        features = model.find_spans(examples)
        model.delta = np.append(model.delta, np.zeros(len(features.key)))
        model.model = model.structure(model.size)

    @property
    def most_processes(self) -> int:
        return SHARDS

    def open(self, jobs: Jobs) -> None:
        self.model.prepare()
        groups = by_length(self.examples, self.model.options.batch)
        self.sizes = [len(group) for group in groups]
        self.shards = Shards(deal(list(enumerate(groups))), partial(build_batches, Parcel(self.model)), jobs)
        self.shards.make()

    def close(self) -> None:
        if self.shards is not None:
            self.shards.close()

    def step(self, number: int, rng: np.random.Generator, watch: Watch) -> Progress:
        model, first = self.model, (number - 1) % self.model.options.epochs == 0
        if first and number > 1:
            divide(model, rng)
        if first:
            assert self.shards is not None
            model.delta = stochastic_passes(
                self.shards, self.sizes, model.model, model.delta, model.options, rng, watch
            )
        reached = self._leg(watch)
        iterations = model.options.iterations
        return Progress(f"{len(self.examples)} sentences", iterations, iterations, reached, LOG_P)

    def _leg(self, watch: Watch) -> float:
        """Return the highest mean of log P(T | w) on the way."""
        assert self.shards is not None
        model, done, reached, iterations = self.model, 0, -np.inf, self.model.options.iterations

        def see(value: float) -> None:
            nonlocal reached
            reached = max(reached, value / len(self.examples))
            watch(Progress("iteration", done, iterations, value / len(self.examples), LOG_P))

        def step_on(number: int) -> None:
            nonlocal done
            done = number

        objective = PenalisedLoss(partial(log_likelihood_of_all, self.shards, model.model), model.options, see)
        model.delta = fit_leg(objective, model.delta, step_on)
        model.prepare()
        return reached

    def state(self) -> Arrays:
        return self.learned()

    def learned(self) -> Arrays:
        return {"delta": self.model.delta}

    def adopt(self, learned: Arrays) -> None:
        self.model.delta = learned["delta"]

    def finish(self, score: Score | None, best: float) -> None:
        """Drop nodes that came to nothing, and round weights as a file keeps them."""
        model = self.model
        if model.tree is not None:
            collapse(model)
            model.model = model.structure(model.size)
        model.delta = model.delta.astype(np.float32).astype(np.float64)
        model.prepare()


def divide(model: LoglinearModel, rng: np.random.Generator) -> None:
    """Divide the nodes that matter, after those that do not are dropped."""
    collapse(model)
    assert model.tree is not None
    productions, spans = np.split(model.delta, [model.productions()])
    matter = (model.node_start + productions != 0) | (model.tree.parent == NONE)
    model.size = np.where(np.arange(len(model.size)) == 0, 1, 2 * model.size)
    before, model.tree = model.tree.nodes, model.tree.divided(matter, split_ports(model.grammar, model.lexical))
    fresh = model.options.noise * rng.standard_normal(model.tree.nodes - before)
    model.node_start = np.append(model.node_start, np.zeros(len(fresh)))
    model.delta = np.concatenate([productions, fresh, spans])
    model.model = model.structure(model.size)


def collapse(model: LoglinearModel) -> None:
    """Drop the nodes whose parameters are zero."""
    assert model.tree is not None
    productions, spans = np.split(model.delta, [model.productions()])
    alive = model.tree.kept(model.node_start + productions)
    model.tree, model.node_start = model.tree.restricted(alive), model.node_start[alive]
    model.delta = np.append(productions[alive], spans)
