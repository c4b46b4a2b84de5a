"""What several commands share: models by file, sentences from files."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import typer

from latree.cli.status import note, status_line
from latree.errors import LatreeError
from latree.kinds.registry import all_kinds, kind_named, load
from latree.text.formats import format_by_name, open_text, read_conllu, read_trees
from latree.text.sentences import paragraphs_in
from latree.text.standard_input import input_waiting
from latree.text.tokenize import Token, tokens_of

if TYPE_CHECKING:
    from latree.kinds.model import Model
    from latree.kinds.sentences import Sentence
    from latree.parallel import Jobs
    from latree.report.value import Report
    from latree.text.labels import LabelRules

T = TypeVar("T")


def names_of(trait: str) -> str:
    """The names of the kinds that have a trait, for help texts."""
    return ", ".join(name for name, kind in all_kinds().items() if getattr(kind, trait))


Splitter = Callable[[Iterable[str]], Iterator[Sequence[str]]]
InputFormat = Literal["text", "ptb", "conllu"]

MODEL = typer.Option(
    None,
    "-m",
    "--model",
    metavar="MODEL",
    help="The model: a file, or the name of one that comes with latree (`latree models`).  [default: english]",
)
MODELS = typer.Option(
    None,
    "-m",
    "--model",
    metavar="MODEL",
    help="The model: a file, or the name of one that comes with latree (`latree models`); several "
    f"({names_of('multiplies')}) choose together.  [default: english]",
)
INPUTS = typer.Argument(
    None,
    metavar="[FILE]...",
    help="Files to read; without any, or for -, what is typed or piped in.",
    show_default=False,
)
JOBS = typer.Option(
    1, "--jobs", min=1, metavar="N", help="Processes that share the work; the result is the same for any number."
)
CLUSTER = typer.Option(
    None,
    "--cluster",
    metavar="ADDRESS",
    help="Share the work on a Ray cluster instead: its address, or auto for the one that this machine is part of; the "
    "result is the same.",
)
OBJECTIVE = typer.Option(
    "max-rule",
    "--objective",
    help="What makes an analysis the best: max-rule, that each of its rules is likely (most accurate as a rule); "
    "max-rule-sum, that many of its rules are right; variational, that each rule is likely given its parent; mbr, that "
    "many of its phrases are right; viterbi, that it is the single likeliest derivation.",
)
ALONE = typer.Option(
    False,
    "--alone",
    help=f"For {names_of('joins_pruner')}: decide by the model alone, not together with the smaller one that prunes.",
)
DEVICE = typer.Option(
    None,
    "--device",
    metavar="NAME",
    help=f"For {names_of('needs')}: where the network reads sentences: cpu, cuda or mps.  [default: cpu]",
)
JSON = typer.Option(False, "--json", help="Write one JSON object a line, with probabilities.")
TOKENIZE = typer.Option(
    False,
    "--tokenize",
    help="The input is ordinary text: split it into sentences and words, as the model's treebank does.  With --json, "
    "offsets tell where each word begins and ends in the input, in characters.",
)
WRAPPED = typer.Option(
    False,
    "--wrapped",
    help="Ordinary text whose sentences go on from line to line; an empty line ends a paragraph.",
)
FORMAT = typer.Option(
    None,
    "--format",
    help="What the input holds: text with a sentence a line, trees in brackets (ptb), or conllu tables.  [default: as "
    "the file's name says, else text]",
)
TREEBANK_FORMAT = typer.Option(
    None, "--format", help="What the files hold: trees in brackets (ptb) or CoNLL-U tables; else told by their names."
)


QUIET = typer.Option(False, "--quiet", help="Say nothing but results and errors.")
LEDGER = typer.Option(
    None, "--resume", metavar="FILE", help="Keep what is done in this file; the same command goes on from there."
)


def max_length_option(default: int) -> Any:
    """Build the option that limits what is analysed; the limit is known to the models, which are not imported here."""
    help_text = "Longer sentences, in words, only get a stand-in, a flat tree or likely tags, and a message."
    return typer.Option(None, "--max-length", min=1, metavar="N", help=f"{help_text}  [default: {default}]")


PATIENCE = 2.0  # seconds of compilation after which the user is told
COMPILING = "compiling the kernels; the first time this takes some 20 seconds"
_TREE_OR_CONLLU = re.compile(r"\s*(?:(?P<ptb>\(\s*[^\s()]*\s*\()|(?P<conllu>\d+(?:-\d+)?\t.*\t))")


def load_model(path: Path | None, max_length: int | None = None) -> Model:
    """The named model, or the one that ships, with the user's limit."""
    with status_line(lambda: f"loading {path or 'the English grammar'}"):
        model = load(path)
    if max_length is not None:
        model.max_length = max_length
    return model


def load_together(paths: Sequence[Path] | None, max_length: int | None = None) -> Model:
    """The named model, or the product of several."""
    named: Sequence[Path | None] = paths or [None]
    models = [load_model(path, max_length) for path in named]
    if len(models) == 1:
        return models[0]
    from latree.kinds.product.model import together  # takes time to import, which other commands do without

    return together(models)


def leave_out_pruner(model: Any) -> None:
    """Have the model decide alone, as `--alone` asks."""
    if not kind_named(model.kind).joins_pruner:
        raise LatreeError(f"--alone is for {names_of('joins_pruner')}; this is a {model.kind}")
    model.joint = False


def use_device(model: Any, name: str) -> None:
    """Have the model's network compute where `--device` says."""
    if "device" not in model.run_options:
        raise LatreeError(f"--device is for {names_of('needs')}; this is a {model.kind}")
    model.device = name


def check_folder(path: Path | None) -> None:
    """See that a file can be written, where there is to be one, before the work begins."""
    if path is not None and not path.parent.is_dir():
        raise LatreeError(f"{path}: the folder {path.parent} does not exist")


def write_page(report: Report, path: Path, quiet: bool = False) -> None:
    """Write a report to a file, as a page for a browser."""
    from latree.files import write_atomically
    from latree.report.html import page

    write_atomically(path, page(report).encode())
    if not quiet:
        note(f"written to {path}")


def paths_to_read(inputs: Sequence[str] | None) -> Iterator[str]:
    """The inputs, one by one, where they are typed with a word that it is the user's turn."""
    for path in inputs or ["-"]:
        if path == "-" and sys.stdin.isatty():
            note("reading from the terminal; Ctrl-D ends it")
        yield path


def read_sentences(
    inputs: Sequence[str] | None, form: InputFormat | None, *, split: Splitter | None, labels: LabelRules | None
) -> Iterator[Sequence[str]]:
    """The words of every sentence of every input: lines of text, or the words of trees or of CoNLL-U."""
    for path in paths_to_read(inputs):
        chosen = form or format_of(path)
        if chosen == "text":
            yield from _text_sentences(path, split or tokenised_lines)
        elif chosen == "ptb":
            yield from (tree.words() for tree in read_trees(path, labels))
        else:
            yield from (list(sentence.words) for sentence in read_conllu(path))


def format_of(path: str) -> InputFormat:
    """Trees or CoNLL-U by the name's ending, else plain text."""
    return format_by_name(path) or "text"


def tokenised_lines(lines: Iterable[str]) -> Iterator[list[str]]:
    """A sentence a line, its tokens separated by spaces."""
    return map(tokens_of, lines)


def splitter(model: Model, tokenize: bool, wrapped: bool) -> Splitter | None:
    """What splits ordinary text as the model's treebank does; None where the text is split already."""
    if wrapped and not tokenize:
        raise LatreeError("--wrapped is for ordinary text; add --tokenize")
    if not tokenize:
        return None
    style = model.lexicon.style

    def split(lines: Iterable[str]) -> Iterator[list[Token]]:
        for sentences in paragraphs_in(lines, wrapped=wrapped, style=style):
            # An empty line stays empty: whoever writes it sees what the lines before it gave.
            for sentence in sentences or [[]]:
                yield [token.unescaped() for token in sentence]

    return split


def _text_sentences(path: str, split: Splitter) -> Iterator[Sequence[str]]:
    with open_text(path) as lines:
        yield from split(_suspected(path, lines))


def _suspected(path: str, lines: Iterable[str]) -> Iterator[str]:
    """Hand lines of text on; where the first looks like something else, say so."""
    asked = False
    for line in lines:
        if not asked and not line.isspace():
            asked = True
            if other := _TREE_OR_CONLLU.match(line):
                note(f"{path}: read as plain text, but looks otherwise; is it --format {other.lastgroup}?")
        yield line


def resuming_command() -> str:
    """The command that goes on with what this one was doing."""
    words = [word for word in sys.argv[1:] if word != "--resume"]
    return shlex.join(["latree", *words, "--resume"])


def workers(jobs: int, cluster: str | None) -> Jobs:
    """Who shares the work: so many processes, or a cluster."""
    if cluster is None:
        return jobs
    if jobs != 1:
        raise typer.BadParameter("--cluster has as many workers as there are cores; --jobs has no effect with it")
    from latree.cluster import Cluster

    found = Cluster(cluster)
    note(f"{found.size} workers on the cluster")
    return found


def analyse(
    model: Model, inputs: Sequence[str] | None, sentences: Iterable[Sentence], jobs: Jobs, objective: Any
) -> Generator[Any, None, None]:
    """The best analysis of every sentence, in batches; from standard input, of what has come."""
    from latree.kinds.jobs import analyse_all
    from latree.kinds.sentences import batches

    if "-" in (inputs or ["-"]) and (jobs == 1 or sys.stdin.isatty()):
        # Whoever writes a line is waiting for its result, not for the other lines of a batch.
        for batch in batches(sentences, input_waiting):
            yield from model.analyse(batch, objective)
    else:
        yield from analyse_all(model, sentences, jobs, objective)


@contextmanager
def telling_of_compilation(quiet: bool = False) -> Iterator[None]:
    """Where kernels are compiled in here for more than a moment, say so, once; on a terminal, also for how long."""
    if quiet:
        yield
        return
    from numba.core import event

    begun: list[float] = []
    depth, told = 0, False

    def line() -> str:
        past = monotonic() - begun[0] if depth else 0.0
        return f"latree: {COMPILING}: {past:.0f} s" if past >= PATIENCE else ""

    class Teller(event.Listener):  # type: ignore[misc]
        def on_start(self, event: Any) -> None:
            nonlocal depth
            begun.append(monotonic())
            depth += 1

        def on_end(self, event: Any) -> None:
            nonlocal depth, told
            if not told and line() and not sys.stderr.isatty():
                told = True
                note(COMPILING)
            depth -= 1

    with event.install_listener("numba:compile", Teller()), status_line(line):
        yield


def emit(line: str) -> None:
    """Print a result at once, so that a pipe sees it, and in one piece, so that an interrupt does not cut it."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
