"""Training of Gaussian-mixture grammars: epochs, each of which takes the batches in a new order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from latree.files import Arrays, part_of
from latree.kinds.examples import Example
from latree.kinds.gm_lveg.batches import Batches
from latree.kinds.gm_lveg.learner import Learner
from latree.kinds.gm_lveg.objective import objective_of
from latree.kinds.gm_lveg.start import make_components
from latree.kinds.gm_lveg.training import Weights
from latree.kinds.gradient_trainee import GradientTrainee
from latree.learning.loop import Progress, Score, Watch
from latree.lexicon.lexical_rules import LexicalRules

if TYPE_CHECKING:
    from latree.kinds.gm_lveg.model import GaussianModel
    from latree.parallel import Jobs


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
        self.learner = self._learner(start)
        self._show(self.learner.objective.normalised(model.components, start))
        self.examples = usable

    def go_on(self, examples: Sequence[Example], state: Arrays) -> None:
        self.learner = self._learner(Weights.from_arrays(part_of("now.", state)))
        self.learner.adam.restore(part_of("adam.", state))
        self.learner.mean, self.learner.count = Weights.from_arrays(part_of("mean.", state)), state["count"]
        self._show(self.learner.mean)
        self.examples = self.usable(examples)

    def _learner(self, weights: Weights) -> Learner:
        model = self.model
        objective = objective_of(model.options.generative, model.normaliser)
        return Learner(model.components, weights, model.options, objective)

    @property
    def most_processes(self) -> int:
        return self.model.options.parts

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
        return Progress(f"{len(self.examples)} sentences", steps, steps, log_likelihood, self.learner.objective.name)

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
        rounded = {name: part.astype(np.float32).astype(np.float64) for name, part in self._shown.to_arrays().items()}
        self._show(Weights.from_arrays(rounded))
        self.choose_joint(score, best)
