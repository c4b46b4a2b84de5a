"""Training that follows the gradient of log P(T | w), on forests that a pruner leaves."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from latree.errors import LatreeError
from latree.files import Arrays
from latree.kinds.examples import Example
from latree.learning.checkpoint import Standing, fingerprint
from latree.learning.loop import Score, Trainee, Training

if TYPE_CHECKING:
    from latree.parallel import Jobs

PRUNING = "pruning the treebank"
LOG_P = "log P(T|w) a sentence"  # what is raised


class GradientTrainee(Trainee):
    """A model that follows the gradient of log P(T | w); the best step on held-out data is kept."""

    keeps_best = True

    def __init__(self, model: Any, data: list[Any]) -> None:
        """`data` is as `prepare_data` makes it."""
        self.model, self.data = model, data

    def fingerprint(self) -> str:
        return fingerprint(line.encode("utf-8", "surrogatepass") for line in self.model.lines(self.data))

    def begin(self, rng: np.random.Generator, training: Training) -> None:
        """Train the pruner where need be, and begin with its grammar."""
        self.model.fit_pruner(self.data, training.inside("pruner"))
        self.model.adopt(self.model.pruner)
        training.announce(PRUNING)
        with self._started_ahead(training.jobs) as jobs:
            self.start(self.model.examples(self.data), rng)
            self.open(jobs)

    def resume(self, standing: Standing, training: Training) -> None:
        self.model.restore(standing.header, standing.model)
        self.model.prepare()
        training.announce(PRUNING)
        with self._started_ahead(training.jobs) as jobs:
            self.go_on(self.model.examples(self.data), standing.arrays)
            self.open(jobs)

    @property
    def most_processes(self) -> int:
        """How many can share the work."""
        return 1

    def _started_ahead(self, jobs: Jobs) -> AbstractContextManager[Jobs]:
        """Have processes begin, which takes a second, while this one lays out what they will work on."""
        if jobs == 1 or self.most_processes == 1:
            return nullcontext(jobs)
        from latree.parallel import started_ahead  # takes time to import, which training by one process does without

        return started_ahead(jobs, self.most_processes, type(self).__module__)

    def choose_joint(self, score: Score | None, best: float) -> None:
        """At the end, decide together with the pruner where held-out data say that this is better than the best alone;
        where there are none, if it has subtypes."""
        model = self.model
        if not model.joint_by_score or model.options.alone:
            return
        if score is None:
            model.joint = bool((model.bottom.widths() > 1).any())
            return
        model.joint, about = True, dict(model.training)
        if score(model) <= best:
            model.joint, model.training = False, about

    def usable(self, examples: Sequence[Example]) -> list[Example]:
        """Leave out sentences that are too long to be trained on."""
        most = self.model.options.max_length
        usable = [one for one in examples if len(one.words) <= most]
        if not usable:
            raise LatreeError(f"no sentence of the treebank has at most {most} words; raise --max-length")
        return usable

    @abstractmethod
    def start(self, examples: Sequence[Example], rng: np.random.Generator) -> None:
        """Make a model that nothing has been learned of, and what its training needs."""

    @abstractmethod
    def go_on(self, examples: Sequence[Example], state: Arrays) -> None:
        """Make what the training needs, as it was."""

    def open(self, jobs: Jobs) -> None:
        """Start so many processes, where a training can use several."""
