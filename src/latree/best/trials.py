"""One trial: a model of some kind and options, trained, scored on dev, and kept in a file of its own."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from latree import files
from latree.experiments.held_out import figure, score
from latree.files import Header
from latree.kinds.registry import TAGGER, kind_named, load, model_class
from latree.learning.checkpoint import Checkpoint, fingerprint
from latree.learning.loop import Progress, Training
from latree.options import changed
from latree.text.formats import Column, Format, read_tagged, read_trees
from latree.text.labels import PRESETS, LabelRules

if TYPE_CHECKING:
    from latree.parallel import Jobs

SAMPLE = 500  # dev sentences that choices are made by, at most: scoring takes time that training could use


@dataclass(frozen=True)
class Task:
    """What is to be learned, and from what."""

    treebank: tuple[str, ...]  # files
    dev: str
    folder: Path  # of the trials' models
    form: Format | None = None  # of the files; else by their names
    column: Column | None = None  # of tagged sentences that a tagger learns; None: trees, and a parser
    labels: LabelRules = PRESETS["penn"]
    seed: int = 0  # that those of trials are counted from

    @cached_property
    def fingerprint(self) -> str:
        """What tells the data from others."""
        return fingerprint(Path(path).read_bytes() for path in (*self.treebank, self.dev))


@dataclass(frozen=True)
class Trial:
    """A model to be trained."""

    name: str  # for people, and of its file
    kind: str  # as in `latree train KIND`
    changes: Mapping[str, Any] = field(default_factory=dict)  # options that are not the defaults; a dot before fields
    pruner: str | None = None  # the trial whose model prunes for this one

    def file(self, folder: Path) -> Path:
        return folder / f"{self.name.replace(' ', '-')}.latree"

    def identity(self, task: Task) -> str:
        """What makes a model one of this trial."""
        changes = dict(self.changes) | {"from seed": task.seed}
        parts = [self.kind, changes, self.pruner, task.labels.to_json(), task.column, task.fingerprint]
        return fingerprint([json.dumps(parts, sort_keys=True).encode()])


class Outcome(NamedTuple):
    """What came of a trial."""

    trial: Trial
    score: float  # strict F1 or tokens on a sample of dev, in per cent
    seconds: float  # of the training
    scoring: float  # seconds of one scoring
    steps: Header  # of a training whose best step is kept: its scores


class Data:
    """What a worker keeps: the treebank, and a sample of dev."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.train = [one for path in task.treebank for one in self._read(path)]
        every = list(self._read(task.dev))
        size = min(len(every), SAMPLE)
        self.dev = [every[k * len(every) // size] for k in range(size)]

    def _read(self, path: str) -> Any:
        task = self.task
        return read_trees(path) if task.column is None else read_tagged(path, task.column, task.form)

    def score(self, model: Any, jobs: Jobs = 1) -> float:
        """Strict F1 or token accuracy on the sample, in per cent; a parse that failed has no brackets."""
        return figure(score(model, self.dev, jobs))


class Clock:
    """Tells a training when it has had its time: when the next step would not end before."""

    def __init__(self, seconds: float) -> None:
        self.started = self.last = time.monotonic()
        self.seconds, self.expected = seconds, 0.0  # of the next step

    def watch(self, progress: Progress) -> None:
        if progress.model is not None:
            now = time.monotonic()
            self.expected, self.last = progress.growth * (now - self.last), now

    def enough(self) -> bool:
        return time.monotonic() + self.expected > self.started + self.seconds


def run(data: Data, trial: Trial, seconds: float) -> Outcome:
    """Train the model of a trial in about so many seconds, score it, and write it; what was begun is gone on with."""
    task, started, clock = data.task, time.monotonic(), Clock(seconds)
    model, path = make(trial, task), trial.file(task.folder)
    checkpoint = Checkpoint(path.with_suffix(".checkpoint"), model.identity())
    score = data.score if is_scored(model) else None
    model.fit(data.train, Training(clock.watch, score, checkpoint, resume=True, enough=clock.enough))
    trained = time.monotonic()
    result = data.score(model)
    times = (trained - started, time.monotonic() - trained)
    outcome = Outcome(trial, result, *times, model.training.get("steps", {}))
    model.training["trial"] = {"identity": trial.identity(task), **outcome._asdict(), "trial": trial.name}
    model.save(path)
    checkpoint.remove()
    return outcome


def make(trial: Trial, task: Task) -> Any:
    """The untrained model of a trial."""
    tags, kind = task.column is not None, kind_named(trial.kind)
    start: Any = kind.trained_options.for_tagger() if tags else kind.trained_options()
    common: dict[tuple[str, ...], Any] = {("column",): task.column} if tags else {("labels",): task.labels}
    changes = {tuple(name.split(".")): value for name, value in trial.changes.items()}
    options = changed(start, common | changes)
    options = changed(options, {("seed",): options.seed + task.seed})
    pruner = {} if trial.pruner is None else {"pruner": load(Trial(trial.pruner, "").file(task.folder))}
    name = f"{trial.kind}{TAGGER}" if tags and kind.parser is not None else trial.kind
    return model_class(name)(options, **pruner)


def is_scored(model: Any) -> bool:
    """Whether a training goes by what it scores: of others, only what comes of them is scored."""
    return hasattr(model, "pruner") or getattr(model.options, "seeks_rounds", False)


def earlier(trial: Trial, task: Task) -> Outcome | None:
    """What came of the same trial before; None where its model is not there."""
    path = trial.file(task.folder)
    if not path.exists():
        return None
    header, _ = files.load(path)
    record = header["training"]["trial"]
    if record["identity"] != trial.identity(task):
        return None
    return Outcome(trial, record["score"], record["seconds"], record["scoring"], record["steps"])
