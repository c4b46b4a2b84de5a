"""latree rank: unannotated sentences in, the same out in the order in which to annotate them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import typer

from latree.cli import common, experiments
from latree.cli.status import note, with_progress
from latree.experiments.doubts import Doubts
from latree.experiments.ranking import OVERHEAD, Ranked, rank_sentences


def rank(
    inputs: list[str] = common.INPUTS,
    model: Path = common.MODEL,
    most: int = typer.Option(None, "--most", min=1, metavar="N", help="Write only so many.  [default: all]"),
    overhead: float = typer.Option(
        OVERHEAD,
        "--overhead",
        min=0,
        metavar="WORDS",
        help="What annotating a sentence costs beside its words; with 1000, short and long ones cost the same.",
    ),
    json_lines: bool = typer.Option(False, "--json", help="Write one JSON object a line."),
    tokenize: bool = common.TOKENIZE,
    wrapped: bool = common.WRAPPED,
    form: common.InputFormat = common.FORMAT,
    resume: Path = common.LEDGER,
    jobs: int = common.JOBS,
    cluster: str = common.CLUSTER,
    quiet: bool = common.QUIET,
) -> None:
    """Put sentences into the order in which annotating them teaches a model most: rank, score, number, words.

    First come those where the model expects most errors for their length; pairs of words that sentences before them
    have too count less, so that near-copies are not the first.  The number is the sentence's place in the input.
    """
    chosen = common.load_model(model)
    split = common.splitter(chosen, tokenize, wrapped)
    labels = getattr(chosen, "labels", None)
    sentences = list(common.read_sentences(inputs, form, split=split, labels=labels))
    experiments.check_folders(resume)

    def watch(doubts: Iterable[Doubts], total: int) -> Iterator[Doubts]:
        return with_progress(doubts, "sentences", quiet, total)

    with experiments.telling_how_to_go_on(resume, quiet):
        workers = common.workers(jobs, cluster)
        found = rank_sentences(chosen, sentences, most, overhead=overhead, jobs=workers, resume=resume, watch=watch)
    for one in found:
        common.emit(json.dumps(one.to_json(), ensure_ascii=False) if json_lines else _line(one))
    left_out = sum(len(words) > chosen.max_length for words in sentences)
    if left_out and not quiet:
        note(f"{left_out} of {len(sentences)} sentences have more than {chosen.max_length} words, and are left out")


def _line(one: Ranked) -> str:
    return f"{one.rank}\t{one.score:.4f}\t{one.number}\t{' '.join(one.tokens)}"
