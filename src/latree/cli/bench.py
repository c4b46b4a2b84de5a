"""latree bench: the speeds that this machine reaches."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import typer

from latree.cli import common
from latree.errors import LatreeError
from latree.inference.chart import chart_bytes
from latree.kinds.jobs import analyse_all
from latree.kinds.model import Model
from latree.kinds.parser import Parser
from latree.text.formats import Format, detect_format, open_text, read_conllu, read_trees
from latree.text.labels import LabelRules


def bench(
    treebank: str = typer.Argument(..., help="A file of trees or CoNLL-U, whose sentences are parsed or tagged."),
    model: Path = common.MODEL,
    form: Format = common.TREEBANK_FORMAT,
    device: str = common.DEVICE,
    jobs: int = typer.Option(2, "--jobs", min=1, help="Processes to time against one; 1: none."),
    lengths: str = typer.Option(
        "10,20,40,80,120,160,200", "--lengths", help="Sentence lengths, in words, for the table of how time grows."
    ),
    repeat: int = typer.Option(3, "--repeat", min=1, help="How often each thing is timed; the fastest counts."),
) -> None:
    """Reading, analysing, growth with sentence length, and several jobs, in CPU seconds of this process.

    Kernels are compiled and warm before anything is timed; the machine's load still shows in the figures.
    """
    if treebank == "-":
        raise LatreeError("the file is read more than once, so that standard input does not serve; name a file")
    sizes, form = _lengths(lengths), detect_format(treebank, form)
    loaded = common.load_model(model)
    if device is not None:
        common.use_device(loaded, device)
    loaded.max_length = max(loaded.max_length, *sizes)
    labels = getattr(loaded, "labels", None)
    sentences = list(common.read_sentences([treebank], form, split=None, labels=labels))
    with common.telling_of_compilation():
        list(loaded.analyse(sentences[:40]))
    _reading(treebank, form, repeat)
    rate = len(sentences) / _cpu(lambda: list(loaded.analyse(sentences)), repeat)
    words = sum(map(len, sentences)) / len(sentences)
    typer.echo(f"{loaded.kind}, one thread: {rate:.0f} sentences per CPU second ({rate * words:.0f} words)")
    if hasattr(loaded, "chart"):
        _growth(loaded, sentences, sizes, repeat)
    if jobs > 1:
        _jobs(loaded, sentences, jobs)
    typer.echo(f"largest memory of this process: {_peak_megabytes():.0f} MB")


def _lengths(text: str) -> list[int]:
    numbers = text.split(",")
    if not all(number.strip().isdecimal() and int(number) > 0 for number in numbers):
        raise typer.BadParameter(f"--lengths takes numbers of words with commas between them, found {text!r}")
    return [int(number) for number in numbers]


def _cpu(work: Callable[[], object], repeat: int) -> float:
    """CPU seconds of the fastest of some runs."""
    times = []
    for _ in range(repeat):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def _reading(treebank: str, form: Format, repeat: int) -> None:
    with open_text(treebank) as lines:
        megabytes = sum(len(line.encode()) for line in lines) / 1e6

    def read() -> object:
        return list(read_trees(treebank, LabelRules()) if form == "ptb" else read_conllu(treebank))

    typer.echo(f"reading and cleaning: {megabytes / _cpu(read, repeat):.1f} MB per CPU second")


def _growth(model: Parser | Any, sentences: Sequence[Sequence[str]], lengths: list[int], repeat: int) -> None:
    """Sentences of given lengths, cut from the running text, so that only the length differs."""
    text = [word for sentence in sentences for word in sentence]
    typer.echo("words  milliseconds  chart MB  milliseconds / (n/10)^3")
    for n in lengths:
        count = max(1, min(400 // n, len(text) // n))
        running = cycle(text)  # a text shorter than the sentence is gone through again
        cut = [list(islice(running, n)) for _ in range(count)]
        milliseconds = 1000 * _cpu(lambda cut=cut: list(model.analyse(cut)), repeat) / count  # type: ignore[misc]
        memory = chart_bytes(model.chart, n) / 1e6
        typer.echo(f"{n:5d}  {milliseconds:12.2f}  {memory:8.1f}  {milliseconds / (n / 10) ** 3:10.4f}")


def _jobs(model: Model, sentences: Sequence[Sequence[str]], jobs: int) -> None:
    """Throughput by the clock of one job and of several, each of which has as much to do; outputs compared."""
    timed = [*sentences] * (1 + 2000 // len(sentences))
    one, first = _steady_rate(model, timed, 1)
    several, second = _steady_rate(model, timed * jobs, jobs)
    same = "the same output" if first == second[: len(first)] else "DIFFERENT OUTPUT"
    typer.echo(
        f"{jobs} jobs: {several:.0f} sentences a second against {one:.0f} with one: x{several / one:.2f}, {same}"
    )


def _steady_rate(model: Model, sentences: Sequence[Sequence[str]], jobs: int) -> tuple[float, list[str]]:
    """Sentences a second in the second half, when all workers have started, and what became of all."""
    told, times = [], []
    for one in analyse_all(model, sentences, jobs, "max-rule"):
        told.append(str(one))
        times.append(time.perf_counter())
    half = len(times) // 2
    return (len(times) - half) / (times[-1] - times[half - 1]), told


def _peak_megabytes() -> float:
    if sys.platform == "win32":
        return float("nan")
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
