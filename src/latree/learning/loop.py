"""One loop for everything that is trained in steps: rounds of split and merge, epochs, legs, iterations of EM.

The loop owns the order: begin, or go on from a checkpoint; then, step after step, what the step does, a checkpoint,
word to whoever watches, and where there is held-out data the score on it, of which the best may be kept.  What is
trained says what a step is (`Trainee`).  A training inside another, of a pruner, goes through a loop of its own.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from latree.errors import LatreeError
from latree.files import Arrays, Header, part_of
from latree.learning.checkpoint import Checkpoint, Standing

if TYPE_CHECKING:
    from latree.parallel import Jobs

ROUNDING = 1e-7  # of the objective, or of one where that is less


class Progress(NamedTuple):
    """Where a training stands: within a step, or after one, when `model` is there."""

    stage: str  # what the step is doing, as "split"; after it, what came of it
    done: int  # parts of this stage
    parts: int
    value: float  # of the objective
    objective: str = "log-likelihood"
    unit: str = "step"  # what a step is called
    growth: float = 1.0  # how much longer a step is expected to take than the one before
    step: int = 1
    steps: int = 1
    inside: str = ""  # what is trained where that is part of a model, as "pruner"
    model: Any = None  # as it is after the step

    def place(self) -> str:
        """Name the step among all."""
        inside = f"{self.inside}: " if self.inside else ""
        return f"{inside}{self.unit} {self.step} of {self.steps}"

    def reached(self) -> str:
        """Tell the value of the objective."""
        digits = 1 if abs(self.value) >= 1000 else 3
        return f"{self.objective} {self.value:.{digits}f}"


Watch = Callable[[Progress], None]
Score = Callable[[Any], float]


@dataclass(frozen=True)
class Training:
    """How a training is watched, scored and kept; the same for every kind of model."""

    watch: Watch = lambda progress: None
    score: Score | None = None  # of a model on held-out data: the higher, the better
    checkpoint: Checkpoint | None = None
    resume: bool = False  # go on from the checkpoint, where there is one
    jobs: Jobs = 1  # processes, where a training can use several, or a cluster
    announce: Callable[[str], None] = lambda stage: None  # hears what begins that takes time and is no part of a step
    enough: Callable[[], bool] = lambda: False  # asked before every step but the first, whether to leave it at that

    def inside(self, part: str) -> Training:
        """How a part of the model is trained: it is not scored, and shares the checkpoint's file."""
        checkpoint = self.checkpoint and replace(self.checkpoint, part=part)
        return replace(
            self,
            watch=lambda one: self.watch(one._replace(inside=part)),
            score=None,
            checkpoint=checkpoint,
            announce=lambda stage: self.announce(f"{part}: {stage}"),
            enough=lambda: False,
        )


def after_steps(see: Watch) -> Watch:
    """Make a watch that sees only what came of whole steps."""
    return lambda progress: see(progress) if progress.model is not None else None


class Trainee(ABC):
    """A model in training, as the loop sees it."""

    unit: ClassVar[str] = "step"
    growth: ClassVar[float] = 1.0  # how much longer a step takes than the one before, about
    scored: ClassVar[bool] = True  # whether every step is scored on held-out data, where there is any
    patience: ClassVar[int | None] = None  # steps after the best that are taken where that is kept; None: all
    keeps_best: bool = False  # whether the step of the best score is kept in the end, else the last
    model: Any

    @property
    @abstractmethod
    def steps(self) -> int:
        """How many steps there are; asked for after the beginning."""

    @abstractmethod
    def fingerprint(self) -> str:
        """What tells the treebank from others."""

    @abstractmethod
    def begin(self, rng: np.random.Generator, training: Training) -> None:
        """Get ready for the first step; parts of the model are trained here (`Training.inside`)."""

    @abstractmethod
    def resume(self, standing: Standing, training: Training) -> None:
        """Get ready for the step after the one that a checkpoint was written after."""

    @abstractmethod
    def step(self, number: int, rng: np.random.Generator, watch: Watch) -> Progress:
        """Take the step of this number, from 1; the model can then be used.  Return what came of it."""

    @abstractmethod
    def state(self) -> Arrays:
        """Return what the next step needs beside the model."""

    def counts(self, number: int) -> bool:
        """Tell whether a step can be the best."""
        return True

    def learned(self) -> Arrays:
        """Return, of a model whose best step is kept, what `adopt` makes it so again: copies, or never changed."""
        return {}

    def adopt(self, learned: Arrays) -> None:  # noqa: B027
        """Make the model what it was after an earlier step."""

    def finish(self, score: Score | None, best: float) -> None:  # noqa: B027
        """Make the model ready after its last step, or after the best was adopted, which had this score."""

    def close(self) -> None:  # noqa: B027
        """Give back what was opened, after an error too."""


def train(trainee: Trainee, training: Training, seed: int) -> None:
    """Take all steps, or those that a training cut short has left."""
    try:
        _Loop(trainee, training, np.random.default_rng(seed)).run()
    finally:
        trainee.close()


@dataclass(frozen=True)
class _Best:
    """The best step so far."""

    score: float = -math.inf
    step: int = 0
    learned: Arrays = field(default_factory=dict)
    about: Header = field(default_factory=dict)  # what the model said of its training then


@dataclass
class _Loop:
    trainee: Trainee
    training: Training
    rng: np.random.Generator
    treebank: str = ""  # its fingerprint
    done: int = 0  # steps
    judged: int = 0  # the last step that was scored
    scores: list[float] = field(default_factory=list)  # of every step
    best: _Best = field(default_factory=_Best)

    def run(self) -> None:
        self._start()
        self.training.announce("training")
        if self.judged < self.done:  # the training was cut short while it was scored
            self._judge()
        while self.done < self.trainee.steps and not self._is_late():
            outcome = self.trainee.step(self.done + 1, self.rng, self._tell)
            self.done += 1
            self._write()
            self._tell(outcome._replace(model=self.trainee.model), self.done)
            self._judge()
        if self.best.learned:
            self.trainee.adopt(self.best.learned)
            chosen = {"unit": self.trainee.unit, "kept": self.best.step, "scores": self.scores}
            self.trainee.model.training = self.best.about | {"steps": chosen}
        self.trainee.finish(self.training.score, self.best.score)

    def _start(self) -> None:
        checkpoint, standing = self.training.checkpoint, None
        if checkpoint is not None:
            self.treebank = self.trainee.fingerprint()
            standing = checkpoint.read(self.treebank) if self.training.resume else None
        if checkpoint is None or standing is None:
            self.trainee.begin(self.rng, self.training)
            return
        with checkpoint.faults_told():
            self._go_on(standing)

    def _go_on(self, standing: Standing) -> None:
        """Be as the training was when the checkpoint was written."""
        self.done, self.rng, self.judged = standing.done, standing.rng, standing.notes["judged"]
        notes = standing.notes
        self.scores = notes["scores"]
        self.best = _Best(notes["score"], notes["best"], part_of("best.", standing.arrays), notes["about"])
        self.trainee.model.training |= standing.header["training"]
        self.trainee.resume(replace(standing, arrays=part_of("state.", standing.arrays)), self.training)

    def _is_late(self) -> bool:
        """Whether so many steps in a row were no better that none is expected to be, or there is no time for more."""
        patience = self.trainee.patience
        if self.done and self.training.enough():
            return True
        return patience is not None and self.best.step > 0 and self.done >= self.best.step + patience

    def _tell(self, progress: Progress, number: int | None = None) -> None:
        trainee = self.trainee
        step, steps = number or self.done + 1, trainee.steps
        self.training.watch(progress._replace(unit=trainee.unit, growth=trainee.growth, step=step, steps=steps))

    def _judge(self) -> None:
        """Score the model, and keep it where it is the best so far."""
        if self.training.score is None or not self.trainee.scored:
            return
        model, score = self.trainee.model, self.training.score(self.trainee.model)
        self.judged = self.done
        self.scores.append(round(score, 4))
        if self.trainee.keeps_best and self.trainee.counts(self.done) and score > self.best.score:
            self.best = _Best(score, self.done, self.trainee.learned(), dict(model.training))
        self._write()

    def _write(self) -> None:
        if self.training.checkpoint is None:
            return
        arrays = {f"state.{name}": array for name, array in self.trainee.state().items()}
        arrays |= {f"best.{name}": array for name, array in self.best.learned.items()}
        best = {"score": self.best.score, "best": self.best.step, "about": self.best.about}
        notes = {"judged": self.judged, "scores": self.scores, **best}
        standing = Standing(self.done, self.rng, arrays, notes)
        self.training.checkpoint.write(self.trainee.model, self.treebank, standing)


def check_climb(before: float, now: float, where: str, *, what: str = "log-likelihood", rising: bool = True) -> None:
    """Check what EM promises, whatever it fits: the objective never falls.

    A fall, or a number that is none, is a fault of the program, which must not end in a model.
    """
    if not math.isfinite(now):
        raise LatreeError(f"the {what} became {now} ({where}); the last checkpoint, if there is one, is good")
    if rising and now < before - ROUNDING * max(abs(before), 1.0):
        raise LatreeError(f"the {what} fell from {before} to {now} ({where}); please report this")
