"""What several commands share: models by file, sentences from files."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from latree.errors import LatreeError

if TYPE_CHECKING:
    from latree.labels import LabelRules
    from latree.models.base import ForestModel
    from latree.results import Analysis

InputFormat = Literal["text", "ptb", "conllu"]
Objective = Literal["max-rule", "max-rule-sum", "viterbi"]

MODEL = typer.Option(None, "-m", "--model", help="A model file that `latree train` wrote.")
INPUTS = typer.Argument(None, help="Files; without any, or for '-', standard input.", show_default=False)
JOBS = typer.Option(1, "--jobs", min=1, help="Processes to spread the sentences over.")
MAX_LENGTH = typer.Option(None, "--max-length", min=1, help="Longer sentences are not tried, and flagged.")
OBJECTIVE = typer.Option("max-rule", "--objective", help="What the best analysis maximises.")
JSON = typer.Option(False, "--json", help="One JSON object a line.")
TOKENIZE = typer.Option(False, "--tokenize", help="The input is running text: split off punctuation and clitics.")
FORMAT = typer.Option(None, "--format", help="Format of the input; else by file name, plain text by default.")


def load_model(path: Path | None, max_length: int | None = None) -> ForestModel[Any]:
    """The named model, with the user's limit."""
    from latree.models import load

    if path is None:
        raise LatreeError("no model named: give -m FILE (make one with `latree train`)")
    model = load(path)
    if max_length is not None:
        model.max_length = max_length
    return model


def note(message: str) -> None:
    """Tell the user something without disturbing standard output."""
    print(f"latree: {message}", file=sys.stderr)


def read_sentences(
    inputs: Sequence[str] | None, form: InputFormat | None, *, tokenize: bool, labels: LabelRules | None
) -> Iterator[list[str]]:
    """The words of every sentence of every input: lines of text, or the words of trees or of CoNLL-U."""
    for path in inputs or ["-"]:
        chosen = form or format_of(path)
        if chosen == "text":
            yield from _text_sentences(path, tokenize)
        elif chosen == "ptb":
            from latree.treebank import read_trees

            yield from (tree.words() for tree in read_trees(path, labels))
        else:
            from latree.treebank import read_conllu

            yield from (list(sentence.words) for sentence in read_conllu(path))


def format_of(path: str) -> InputFormat:
    """Trees or CoNLL-U by the name's ending, else plain text."""
    from latree.treebank import format_by_name

    return format_by_name(path) or "text"


def _text_sentences(path: str, tokenize: bool) -> Iterator[list[str]]:
    from latree.tokenize import tokens_of
    from latree.treebank import open_text

    with open_text(path) as lines:
        for line in lines:
            yield tokens_of(line, split=tokenize)


class Tally:
    """Reports what was not plainly done, sentence by sentence, and sums it up at the end."""

    def __init__(self) -> None:
        self.sentences = 0
        self.troubled = 0

    def watch(self, analyses: Iterable[Any]) -> Iterator[Any]:
        for analysis in analyses:
            self.see(analysis)
            yield analysis

    def see(self, analysis: Analysis) -> None:
        self.sentences += 1
        if analysis.status in ("recovered", "failed"):
            self.troubled += 1
            note(f"sentence {self.sentences}: {analysis.status}: {analysis.reason}; a stand-in is given")

    def close(self) -> None:
        if self.troubled:
            note(f"{self.troubled} of {self.sentences} sentences have a stand-in")


def with_progress(items: Iterable[Any], title: str, quiet: bool, total: int | None = None) -> Iterable[Any]:
    """The same items, with a progress bar on the terminal's standard error."""
    if quiet or not sys.stderr.isatty():
        return items
    from rich.console import Console
    from rich.progress import track

    return track(items, title, total=total, console=Console(stderr=True), transient=True)


def emit(line: str) -> None:
    """Print a result at once, so that a pipe sees it and an interrupt loses nothing."""
    print(line, flush=True)
