"""What `latree train` does between its options and its model file: reads the data, fits, scores."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from latree.cli import common
from latree.errors import LatreeError

if TYPE_CHECKING:
    from latree.kinds.lvg.split_merge import Progress
    from latree.kinds.model import ForestModel
    from latree.learning.adam import EpochReport
    from latree.learning.checkpoint import Checkpoint
    from latree.text.formats import Column, Format, TaggedSentence
    from latree.text.tree import Tree


Dev = Callable[[Any], dict[str, Any]] | None


@dataclass(frozen=True)
class Plan:
    """What `latree train` is to do with a model, whatever its kind."""

    output: Path  # the model file to write
    about: dict[str, Any]  # what its header says of how it came about, beside the command
    dev: str | None = None  # a file to score on
    form: Format | None = None  # that file's format; else by its name
    resume: bool = False  # go on from the checkpoint of a training cut short
    quiet: bool = False
    jobs: int = 1


def run(model: Any, data: Iterable[Any], plan: Plan) -> None:
    """Fit a model, score it, and write it to its file."""
    started, quiet, score = time.process_time(), plan.quiet, _dev_score(plan)
    data = common.with_progress(data, "reading", quiet)
    if plan.resume and model.continues is None and not quiet:
        common.note(f"a {model.kind} trains in one pass: there is nothing to resume, training from the start")
    with common.telling_of_compilation(quiet):
        model = _fit(model, data, score, plan)
    model.training |= {"command": shlex.join(["latree", *sys.argv[1:]]), **plan.about}
    model.save(plan.output)  # before the dev score, which is not worth losing a model for
    if model.continues is not None:
        _checkpoint_path(plan).unlink(missing_ok=True)
    if not quiet:
        if getattr(model.options, "estimator", "em") == "variational":
            common.note(f"subtypes used, of {model.options.prior.truncation} at most: {used_subtypes(model)}")
        common.note(f"{_size(model)}; {time.process_time() - started:.1f} CPU seconds; written to {plan.output}")
    if score is not None and model.continues is None:
        model.training["dev"] = score(model)
        model.save(plan.output)


def _checkpoint_path(plan: Plan) -> Path:
    return plan.output.with_name(f"{plan.output.name}.checkpoint")


def _size(model: ForestModel[Any]) -> str:
    grammar = model.grammar
    return (
        f"{model.kind}: {len(grammar.symbols)} symbols, {len(grammar.rules)} rules, "
        f"{len(model.lexicon.vocabulary)} words"
    )


def _dev_score(plan: Plan) -> Dev:
    """How a model is scored on the dev file, for its header; None where there is no such file."""
    dev = plan.dev
    if dev is None:
        return None
    return lambda model: {"data": Path(dev).name, **score_dev(model, dev, plan.form, plan.jobs, plan.quiet)}


def _fit(model: Any, data: Any, dev: Dev, plan: Plan) -> Any:
    """Fit as the kind of model wants it."""
    if model.continues is None:
        return _fit_concepts(model, data, plan.quiet) if model.kind == "svs" else model.fit(data)
    from latree.learning.checkpoint import Checkpoint

    checkpoint = Checkpoint(_checkpoint_path(plan), model.identity())
    if plan.resume and not checkpoint.path.exists():
        common.note(f"{checkpoint.path}: no checkpoint there; training from the start")
    fit = _fit_in_rounds if model.continues == "rounds" else _fit_in_epochs
    return fit(model, data, dev, checkpoint, plan)


def _fit_concepts(model: Any, data: Any, quiet: bool) -> Any:
    """Fit in one go; on a terminal EM over the trees is followed by a line that changes."""
    shown = not quiet and sys.stderr.isatty()

    def watch(done: int, iterations: int, log_likelihood: float) -> None:
        if shown:
            line = f"EM over the trees {done}/{iterations}, log-likelihood {log_likelihood:.1f}"
            print(f"\r\033[K{line}" + "\r\033[K" * (done == iterations), end="", file=sys.stderr, flush=True)

    return model.fit(data, watch)


def _fit_in_rounds(model: Any, data: Any, dev: Dev, checkpoint: Checkpoint, plan: Plan) -> Any:
    """Fit by split and merge, scoring every round."""
    from latree.kinds.lvg.subtyped import Training

    def score(model: Any) -> None:
        if dev is not None:
            model.training["dev"] = dev(model)

    reporter = Reporter(model.options.planned_rounds, plan.quiet, score)
    return model.fit(data, Training(reporter.watch, reporter.after_round, checkpoint, plan.resume))


def _fit_in_epochs(model: Any, data: Any, dev: Dev, checkpoint: Checkpoint, plan: Plan) -> Any:
    """Fit by gradient; the best epoch on dev is kept."""
    from latree.kinds.pruned import GradientTraining

    def score(model: Any) -> float:
        scores = dev(model) if dev is not None else {}
        value: float = scores["f1"] if "f1" in scores else scores["token"]
        if value > model.training.get("dev", {}).get("best", -1.0):
            model.training["dev"] = {**scores, "best": value}
        return value

    reporter, chosen = (
        EpochReporter(model.stages * model.options.epochs, plan.quiet),
        score if dev is not None else None,
    )
    how = GradientTraining(reporter.watch, reporter.after_epoch, chosen, checkpoint, plan.resume, plan.jobs)
    return model.fit(data, how)


def read_all_trees(paths: Sequence[str], form: Format | None, kind: str) -> Iterator[Tree]:
    """The trees of all files, none of which may be CoNLL-U."""
    from latree.text.formats import detect_format, read_trees

    for path in paths:
        if detect_format(path, form) != "ptb":
            raise LatreeError(f"{path}: CoNLL-U has no trees to train a {kind} on; `latree train hmm` trains a tagger")
    return (tree for path in paths for tree in read_trees(path))


def read_all_tagged(paths: Sequence[str], form: Format | None, column: Column) -> Iterator[TaggedSentence]:
    """The tagged sentences of all files."""
    return (sentence for path in paths for sentence in read_tagged_any(path, form, column))


def choose_column(paths: Sequence[str], form: Format | None, column: Column | None) -> Column:
    """The column that a tagger learns: as the user says, else the one that the first CoNLL-U file fills."""
    from latree.text.formats import detect_format

    tables = [path for path in paths if detect_format(path, form) == "conllu"]
    return column or (_filled_column(tables[0]) if tables else "xpos")


def _filled_column(path: str) -> Literal["upos", "xpos"]:
    from latree.text.formats import read_conllu

    if path == "-":
        raise LatreeError("standard input can be read only once; name the column: --column upos or xpos")
    return "upos" if any(sentence.fills("upos") for sentence in read_conllu(path)) else "xpos"


def read_tagged_any(path: str, form: Format | None, column: Literal["upos", "xpos"] | None) -> Iterator[TaggedSentence]:
    """Tagged sentences from CoNLL-U, or from the leaves of trees."""
    from latree.text.formats import TaggedSentence, detect_format, read_tagged, read_trees
    from latree.text.labels import LabelRules

    if detect_format(path, form) == "conllu":
        yield from read_tagged(path, column)
    else:
        trees = read_trees(path, LabelRules())
        yield from (TaggedSentence(tuple(tree.words()), tuple(tree.tags())) for tree in trees)


def score_dev(model: ForestModel[Any], dev: str, form: Format | None, jobs: int, quiet: bool) -> dict[str, float]:
    """Score on a held-out file; the figures go into the model's header."""
    from latree.kinds.parser import Parser
    from latree.scoring.score import score_tags, score_trees

    if isinstance(model, Parser):
        from latree.text.formats import read_trees

        gold = list(read_trees(dev, model.labels.for_scoring()))
        analyses = model.parse_all((tree.words() for tree in gold), jobs)
        with common.telling_of_compilation(quiet):
            parses = list(common.with_progress(analyses, "parsing dev", quiet, len(gold)))
        scores = score_trees(gold, [one.tree if one.status == "ok" else None for one in parses]).to_json()
        names = ["f1", "f1_strict", "exact", "tag_accuracy", "sentences", "skipped", "failed"]
    else:
        tagged = list(read_tagged_any(dev, form, model.column))  # type: ignore[attr-defined]
        found = model.tag_all((words for words, _ in tagged), jobs)  # type: ignore[attr-defined]
        with common.telling_of_compilation(quiet):
            taggings = list(common.with_progress(found, "tagging dev", quiet, len(tagged)))
        predicted = [(one.tokens, one.tags) for one in taggings]
        scores = score_tags(tagged, predicted, set(model.lexicon.vocabulary)).to_json()
        names = ["token", "sentence", "known", "unknown", "sentences"]
    picked = {name: scores[name] for name in names}
    if not quiet:
        figures = ", ".join(f"{k} {v:.2f}" if isinstance(v, float) else f"{k} {v}" for k, v in picked.items())
        common.note(f"dev ({Path(dev).name}): {figures}")
    return picked


def used_subtypes(model: Any) -> str:
    """How many subtypes each symbol has, symbols with as many together."""
    by_size: dict[int, list[str]] = {}
    for symbol, size in zip(model.grammar.symbols, model.size.tolist(), strict=True):
        by_size.setdefault(size, []).append(str(symbol))
    return "; ".join(f"{size}: {' '.join(by_size[size])}" for size in sorted(by_size, reverse=True))


class Reporter:
    """Shows where a training in rounds stands: a line that changes on a terminal, a line a round elsewhere."""

    def __init__(self, rounds: int, quiet: bool, score: Any) -> None:
        self.rounds, self.quiet, self.score = rounds, quiet, score
        self.number, self.started, self.took = 1, time.perf_counter(), 0.0
        self.cpu = time.process_time()
        self.reached = ""

    def watch(self, progress: Progress) -> None:
        objective = "lower bound" if progress.stage == "variational" else "log-likelihood"
        self.reached = f"{objective} {progress.log_likelihood:.1f}"
        if self.quiet or not sys.stderr.isatty():
            return
        line = (
            f"round {self.number} of {self.rounds}, {progress.stage} {progress.iteration}/{progress.iterations}, "
            f"{self.reached}{self._left()}"
        )
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)

    def _left(self) -> str:
        """A guess at the time left: a round takes about twice as long as the one before."""
        if not self.took:
            return ""
        left = sum(self.took * 2**k for k in range(1, self.rounds - self.number + 2))
        left -= time.perf_counter() - self.started
        return f", about {max(left, 0):.0f} s left"

    def after_round(self, model: Any, number: int) -> None:
        self.took, self.number = time.perf_counter() - self.started, number + 1
        if not self.quiet:
            clear = "\r\033[K" if sys.stderr.isatty() else ""
            print(clear, end="", file=sys.stderr)
            common.note(
                f"round {number} of {self.rounds}: {int(model.size.sum())} subtypes, "
                f"{self.reached}, {time.process_time() - self.cpu:.1f} CPU seconds of training so far"
            )
        before = time.process_time()
        self.score(model)
        self.cpu += time.process_time() - before  # scoring is no part of the training
        self.started = time.perf_counter()


class EpochReporter:
    """Shows where a training in epochs stands."""

    def __init__(self, epochs: int, quiet: bool) -> None:
        self.epochs, self.quiet, self.number = epochs, quiet, 1
        self.started, self.cpu = time.perf_counter(), time.process_time()

    def watch(self, done: int, batches: int, log_likelihood: float) -> None:
        if done == 1:
            self.started = time.perf_counter()
        if self.quiet or not sys.stderr.isatty():
            return
        took = (time.perf_counter() - self.started) / max(done - 1, 1)
        left = took * (batches * (self.epochs - self.number + 1) - done)
        line = f"epoch {self.number} of {self.epochs}, batch {done}/{batches}, log P(T|w) {log_likelihood:.3f}"
        print(f"\r\033[K{line}, about {left:.0f} s left", end="", file=sys.stderr, flush=True)

    def after_epoch(self, model: Any, report: EpochReport) -> None:
        self.number = report.epoch + 1
        if not self.quiet:
            print("\r\033[K" if sys.stderr.isatty() else "", end="", file=sys.stderr)
            common.note(
                f"epoch {report.epoch} of {self.epochs}: log P(T|w) {report.log_likelihood:.3f} a sentence "
                f"({report.sentences} sentences), {time.process_time() - self.cpu:.1f} CPU seconds so far"
            )
