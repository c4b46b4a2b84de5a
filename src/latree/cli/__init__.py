"""The command line: a table of commands, whose modules are imported when they are called.

Nothing but typer is imported here: `latree --help` must be quick.
"""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from latree.errors import LatreeError, interrupts_plain


class Command(NamedTuple):
    """A command of `latree`, or a group of commands."""

    module: str
    name_there: str  # of the function, or of the group
    summary: str
    example: str


COMMANDS = {
    "train": Command("train", "app", "Train a model on a treebank.", "latree train lvg train.mrg -o my.latree"),
    "parse": Command("parse", "parse", "Parse sentences.", "latree parse --tokenize story.txt > story.mrg"),
    "tag": Command("tag", "tag", "Tag the words of sentences.", "latree tag -m my.latree story.conllu"),
    "surprisal": Command(
        "surprisal",
        "surprisal",
        "Tell how surprising every word is after those before it.",
        "latree surprisal --tokenize --words story.txt > story.tsv",
    ),
    "tokenize": Command(
        "tokenize", "tokenize", "Split text into sentences and tokens.", "latree tokenize story.txt > story.tokens"
    ),
    "draw": Command("draw", "draw", "Draw trees.", "latree draw trees.mrg -o trees.svg"),
    "eval": Command("evaluate", "evaluate", "Score trees or tags.", "latree eval gold.mrg parsed.mrg --by-label"),
    "calibrate": Command(
        "calibrate",
        "calibrate",
        "Make a parser's probabilities mean what they say.",
        "latree calibrate -m my.latree dev.mrg -o calibrated.latree",
    ),
    "compare": Command("compare", "compare", "Compare models on a treebank.", "latree compare gold.mrg -m a -m b"),
    "cv": Command(
        "cv", "cv", "Cross-validate on a treebank.", 'latree cv train.mrg --recipe pcfg --recipe "lvg --rounds 3"'
    ),
    "curve": Command(
        "curve",
        "curve",
        "Tell how accuracy grows with the treebank.",
        "latree curve train.mrg --dev dev.mrg --plot curve.svg",
    ),
    "rank": Command(
        "rank", "rank", "Tell which sentences to annotate first.", "latree rank -m my.latree story.txt --most 100"
    ),
    "check": Command(
        "check", "check", "Find likely errors in a treebank.", "latree check my.mrg --trust good.mrg --html check.html"
    ),
    "show": Command("show", "show", "Show what a model has learned.", "latree show --symbol NP"),
    "models": Command("models", "models", "List the models that come with latree.", "latree models --json"),
    "serve": Command("serve", "serve", "Serve a page and a JSON API.", "latree serve -m my.latree --port 8000"),
    "import": Command(
        "import_", "import_", "Make a model of a Berkeley grammar.", "latree import eng_sm6.gr -o my.latree"
    ),
    "export": Command(
        "export",
        "export",
        "Write rules and words as text.",
        "latree export -m my.latree --format nltk -o my",
    ),
    "warm": Command("warm", "warm", "Compile everything ahead.", "latree warm"),
    "bench": Command("bench", "bench", "Measure the speeds of this machine.", "latree bench dev.mrg --jobs 4"),
}
STYLE: dict[str, Any] = {"add_completion": False, "pretty_exceptions_enable": False, "rich_markup_mode": None}


class Deferred(TyperCommand):
    """Stands for a command until it is called."""

    def __init__(self, name: str, command: Command) -> None:
        super().__init__(name=name, help=command.summary)
        self.command = command

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Import the command, and go on with that."""
        return self._load().make_context(info_name, args, parent, **extra)

    def _load(self) -> Any:
        wanted = getattr(import_module(f"{__name__}.{self.command.module}"), self.command.name_there)
        if not isinstance(wanted, typer.Typer):
            function, wanted = wanted, typer.Typer(**STYLE)
            wanted.command(self.name, epilog=f"Example: {self.command.example}")(function)
        return typer.main.get_command(wanted)


class Commands(TyperGroup):
    """All commands, none of them imported; what goes wrong in any of them is told here."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = {name: Deferred(name, command) for name, command in COMMANDS.items()}

    def invoke(self, ctx: Any) -> Any:
        with _faults_told():
            return super().invoke(ctx)


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example: echo 'The cat sat on the mat .' | latree parse --draw",
    **STYLE | {"add_completion": True},
)


_INTERRUPTED = 130  # the exit code of Ctrl-C


class _Signals:
    """Ctrl-C, and the request to end that a system sends (SIGTERM): both leave nothing behind.

    What comes within a second of another is the same impatience, and must not break into the clearing up.
    """

    code = _INTERRUPTED  # of the process, by what ended it

    def __init__(self) -> None:
        self.last, self.numbers = -float("inf"), list[signal.Signals]()

    def install(self) -> None:
        """Take both, but for what the caller has us ignore, as a shell does for what runs in the background."""
        self.numbers = [one for one in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(one) != signal.SIG_IGN]
        for number in self.numbers:
            signal.signal(number, self._take)

    def ignore(self) -> None:
        """Leave in peace: what comes while Python clears up would end the process another way."""
        for number in self.numbers:
            signal.signal(number, signal.SIG_IGN)

    def _take(self, number: int, frame: object) -> None:
        before, self.last = self.last, time.monotonic()
        if self.last - before > 1.0:
            self.code = 128 + number
            raise KeyboardInterrupt


_signals = _Signals()


class _Closed(io.StringIO):
    """Stands for a standard input that is not there."""

    def fileno(self) -> int:
        raise LatreeError("standard input is closed; name a file")


def _open_streams() -> None:
    """See that there are standard streams, where the caller closed one."""
    sys.stderr = sys.stderr or io.StringIO()
    sys.stdin = sys.stdin or _Closed()
    if sys.stdout is None:
        _leave("standard output is closed")


@contextmanager
def _faults_told() -> Iterator[None]:
    """Tell faults that the user can mend in one line.  This lies inside typer, which has its own ways."""
    try:
        with interrupts_plain():
            yield
    except LatreeError as error:
        _leave(str(error))
    except KeyboardInterrupt as interrupt:
        _signals.ignore()
        _leave(str(interrupt) or "interrupted; what was printed before is complete", _signals.code)
    except BrokenPipeError:
        # The reader (head, less) has gone: leave quietly, and keep Python from flushing into the void.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except MemoryError:
        _leave("out of memory; shorter sentences or fewer processes need less")
    except OSError as error:
        reason = error.strerror or str(error)
        _leave(reason if error.filename is None else f"{error.filename}: {reason}")


def _leave(message: str, code: int = 1) -> NoReturn:
    print(f"latree: {message}", file=sys.stderr)
    sys.exit(code)


def _version(wanted: bool) -> None:
    if wanted:
        from latree import __version__

        typer.echo(f"latree {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Parse and tag with grammars that learn subtypes of categories, and train such grammars.

    `latree COMMAND --help` tells more about a command.
    """


def main() -> None:
    """Run the command.  Exit codes: 0 done, 1 the input or a file is at fault, 2 the command line is, 130 Ctrl-C, 143
    a request to end."""
    _signals.install()
    _open_streams()
    # A command's start makes many objects, nearly none of them garbage: a tenth of its time went into looking for it.
    gc.set_threshold(100_000)
    # One thread for matrix products: sentences are spread over --jobs instead.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    warnings.showwarning = lambda message, *_: print(f"latree: {message}", file=sys.stderr)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")  # as the input is, whatever the locale
    try:
        app()
    except SystemExit as end:
        if end.code == _INTERRUPTED:  # while a command was looked up, where typer takes any interrupt for Ctrl-C
            sys.exit(_signals.code)
        raise
