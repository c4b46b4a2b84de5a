"""What `latree train` does between its options and its model file: reads the data, fits, scores."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from latree.cli import common
from latree.cli.status import duration, note, status_line, with_progress
from latree.cli.time_left import TimeLeft
from latree.errors import LatreeError, interrupts_plain
from latree.files import Header
from latree.learning.checkpoint import Checkpoint
from latree.learning.loop import Progress, Training
from latree.text.formats import (
    Column,
    Format,
    TaggedSentence,
    detect_format,
    read_conllu,
    read_tagged,
    read_trees,
)
from latree.text.tree import Tree

if TYPE_CHECKING:
    from latree.kinds.model import Model
    from latree.parallel import Jobs

T = TypeVar("T")


@dataclass(frozen=True)
class Plan:
    """What `latree train` is to do with a model, whatever its kind."""

    output: Path  # the model file to write
    about: Header  # what its header says of how it came about, beside the command
    dev: str | None = None  # a file to score on
    form: Format | None = None  # that file's format; else by its name
    resume: bool = False  # go on from the checkpoint of a training cut short
    quiet: bool = False
    jobs: Jobs = 1
    constituents: str | None = None  # lists of trees that the dev sentences are limited to


_SAME_MODEL = {"--jobs": 2, "--cluster": 2, "--resume": 1, "--quiet": 1}  # options that change no model: words of each


def command() -> str:
    """The command that this is, but for what changes nothing of the model."""
    kept, rest = ["latree"], sys.argv[1:]
    while rest:
        name, _, value = rest[0].partition("=")
        words = 0 if name not in _SAME_MODEL else 1 if value else _SAME_MODEL[name]
        kept += [] if words else rest[:1]
        rest = rest[words or 1 :]
    return shlex.join(kept)


def run(model: Model, data: Iterable[Any], plan: Plan) -> None:
    """Fit a model, score it, and write it to its file."""
    started, reporter = time.process_time(), Reporter(plan.quiet)
    score = None if plan.dev is None else partial(_score, reporter, plan)
    checkpoint = Checkpoint(plan.output.with_name(f"{plan.output.name}.checkpoint"), model.identity())
    with common.telling_of_compilation(plan.quiet):
        _fit(
            model,
            data,
            Training(reporter.watch, score, checkpoint, plan.resume, plan.jobs, reporter.announce),
            reporter,
        )
    model.training |= {"command": command(), **plan.about}
    try:
        if score is not None and "dev" not in model.training:
            score(model)
    finally:  # a score is not worth losing a model for
        model.save(plan.output)
        checkpoint.remove()
    if not plan.quiet:
        if getattr(model.options, "estimator", "em") == "variational":
            note(f"subtypes used, of {model.options.prior.truncation} at most: {used_subtypes(model)}")
        for choice in choices(model.training):
            note(choice)
        seconds = time.process_time() - started
        note(f"{model.kind}: {model.size_told()}; {seconds:.1f} CPU seconds; written to {plan.output}")


def choices(about: Header) -> Iterator[str]:
    """Tell what held-out data have decided, as a model's header has it."""
    if steps := about.get("steps"):
        yield f"the best on dev, which is kept, is {steps['unit']} {steps['kept']} of {len(steps['scores'])}"
    if pruning := about.get("pruning"):
        before, less = pruning["scores"]
        outcome = "which it does from now on" if pruning["less"] else "which is not worth the time"
        yield f"pruning less takes dev from {before:.2f} to {less:.2f}, {outcome}"


def _fit(model: Model, data: Iterable[Any], training: Training, reporter: Reporter) -> None:
    """Fit a model; after Ctrl-C say how to go on."""
    assert training.checkpoint is not None
    path = training.checkpoint.path
    resumes = training.resume and path.exists()
    if training.resume and not resumes and not reporter.quiet:
        note(f"{path}: no checkpoint there; training from the start")
    try:
        with interrupts_plain(), status_line(reporter.line, reporter.quiet):
            model.fit(reporter.reading(data), training)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_interrupted(path, resumes or reporter.steps > 0)) from None


def _interrupted(checkpoint: Path, is_good: bool) -> str:
    """Say what a user can do after Ctrl-C."""
    if is_good:
        return f"interrupted; {checkpoint} is kept; to go on: {common.resuming_command()}"
    return "interrupted before anything was finished that a training could go on from"


def _score(reporter: Reporter, plan: Plan, model: Model) -> float:
    """Score a model on the dev file, to choose by (`held_out.figure`); the figures go into its header."""
    assert plan.dev is not None
    with reporter.paused():
        figures = score_dev(model, plan)
    model.training["dev"] = {"data": Path(plan.dev).name, **figures}
    return figures["f1_strict"] if "f1_strict" in figures else figures["token"]


def read_all_trees(paths: Sequence[str], form: Format | None, kind: str) -> Iterator[Tree]:
    """The trees of all files, none of which may be CoNLL-U."""
    for path in paths:
        if detect_format(path, form) != "ptb":
            raise LatreeError(f"{path}: CoNLL-U has no trees to train a {kind} on; `latree train hmm` trains a tagger")
    return (tree for path in paths for tree in read_trees(path))


def read_all_tagged(paths: Sequence[str], form: Format | None, column: Column) -> Iterator[TaggedSentence]:
    """The tagged sentences of all files."""
    return (sentence for path in paths for sentence in read_tagged(path, column, form))


def choose_column(paths: Sequence[str], form: Format | None, column: Column | None) -> Column:
    """The column that a tagger learns: as the user says, else the one that the first CoNLL-U file fills."""
    tables = [path for path in paths if detect_format(path, form) == "conllu"]
    return column or (_filled_column(tables[0]) if tables else "xpos")


def _filled_column(path: str) -> Literal["upos", "xpos"]:
    if path == "-":
        raise LatreeError("standard input can be read only once; name the column: --column upos or xpos")
    return "upos" if any(sentence.fills("upos") for sentence in read_conllu(path)) else "xpos"


def score_dev(model: Model, plan: Plan) -> dict[str, float]:
    """Score on a held-out file; the figures go into the model's header."""
    from latree.cli.constituents import with_lists
    from latree.kinds.parser import Parser
    from latree.scoring.score import score_tags, score_trees

    dev, jobs, quiet = str(plan.dev), plan.jobs, plan.quiet
    if isinstance(model, Parser):
        gold = list(read_trees(dev, model.labels.for_scoring()))
        words = (tree.words() for tree in gold)
        lists = plan.constituents
        analyses = model.parse_all(words if lists is None else with_lists(words, lists, model.labels), jobs)
        with common.telling_of_compilation(quiet):
            parses = list(with_progress(analyses, "parsing dev", quiet, len(gold)))
        scores = score_trees(gold, [one.tree if one.status == "ok" else None for one in parses]).to_json()
        names = ["f1", "f1_strict", "exact", "tag_accuracy", "sentences", "skipped", "failed"]
    else:
        tagged = list(read_tagged(dev, model.column, plan.form))  # type: ignore[attr-defined]
        found = model.tag_all((words for words, _ in tagged), jobs)  # type: ignore[attr-defined]
        with common.telling_of_compilation(quiet):
            taggings = list(with_progress(found, "tagging dev", quiet, len(tagged)))
        predicted = [(one.tokens, one.tags) for one in taggings]
        scores = score_tags(tagged, predicted, set(model.lexicon.vocabulary)).to_json()
        names = ["token", "sentence", "known", "unknown", "sentences"]
    picked = {name: scores[name] for name in names}
    if not quiet:
        figures = ", ".join(f"{k} {v:.2f}" if isinstance(v, float) else f"{k} {v}" for k, v in picked.items())
        note(f"dev ({Path(dev).name}): {figures}")
    return picked


def used_subtypes(model: Any) -> str:
    """How many subtypes each symbol has, symbols with as many together."""
    by_size: dict[int, list[str]] = {}
    for symbol, size in zip(model.grammar.symbols, model.size.tolist(), strict=True):
        by_size.setdefault(size, []).append(str(symbol))
    return "; ".join(f"{size}: {' '.join(by_size[size])}" for size in sorted(by_size, reverse=True))


class Reporter:
    """Shows where a training stands: a line that changes on a terminal, and everywhere a line a step."""

    def __init__(self, quiet: bool) -> None:
        self.quiet, self.steps, self.cpu = quiet, 0, time.process_time()
        self.latest: Progress | None = None  # None outside steps
        self.stage = ""  # what goes on there; nothing where something else is shown
        self.since, self.time_left = time.perf_counter(), TimeLeft()

    def reading(self, data: Iterable[T]) -> Iterator[T]:
        """Count what is read, after which the treebank is made ready."""
        yield from with_progress(data, "reading", self.quiet)
        self.announce("preparing the treebank")

    def announce(self, stage: str) -> None:
        """Take in what begins that is no part of a step."""
        self.latest, self.stage, self.since = None, stage, time.perf_counter()
        self.time_left.begin()

    def watch(self, progress: Progress) -> None:
        """Take in a progress, and tell what came of a whole step."""
        self.time_left.see(progress)
        self.latest = progress
        if progress.model is not None:
            self.steps += 1
            if not self.quiet:
                seconds = time.process_time() - self.cpu
                outcome = f"{progress.stage}, {progress.reached()}"
                note(f"{progress.place()}: {outcome}, {seconds:.1f} CPU seconds of training so far")

    def line(self) -> str:
        """Tell where the training stands."""
        latest = self.latest
        if latest is None:
            return self.stage and f"{self.stage}, {duration(time.perf_counter() - self.since)}"
        left = self.time_left.seconds()
        guess = "" if left is None else f", about {duration(left)} left"
        return f"{latest.place()}, {latest.stage} {latest.done}/{latest.parts}, {latest.reached()}{guess}"

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave out the time that scoring takes, which is no part of the training and shows its own progress."""
        cpu, wall, self.latest, self.stage = time.process_time(), time.perf_counter(), None, ""
        yield
        self.cpu += time.process_time() - cpu
        self.time_left.leave_out(time.perf_counter() - wall)
