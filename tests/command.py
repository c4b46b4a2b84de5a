"""The command line for tests: run in this process or in one of its own, and toy models to run it on."""

from __future__ import annotations

import atexit
import io
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, NamedTuple
from unittest.mock import patch

import typer

from latree.cli import app, main
from latree.cli.common import COMPILING
from latree.data import toy
from latree.text.tree import Tree

latree_command: Any = typer.main.get_command(app)
INTERRUPTED = "latree: interrupted; what was printed before is complete\n"
SLEEPS = "the teacher sleeps ."
SLEEPS_TREE = "(ROOT (S (NP (DT the) (NN teacher)) (VP (VB sleeps)) (. .)))"


class Outcome(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


@contextmanager
def signals_as_before() -> Iterator[None]:
    """A command takes signals for its own, and when it is interrupted leaves with them ignored."""
    heard = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in heard.items():
            signal.signal(number, handler)


def latree(*arguments: str | Path, stdin: str = "") -> Outcome:
    """Run `latree ...` in this process, through `main` as the console script does."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    streams: dict[str, Any] = {"stdin": io.TextIOWrapper(io.BytesIO(stdin.encode())), "stdout": out, "stderr": err}
    code: Any = 0
    with signals_as_before(), patch.multiple(sys, argv=["latree", *map(str, arguments)], **streams):
        try:
            main()
        except SystemExit as leaving:
            code = leaving.code or 0
    texts = [stream.buffer.getvalue().decode() for stream in (out, err)]  # type: ignore[attr-defined]
    if arguments:
        assert_options_exist(texts[1], *map(str, arguments[:2]))
    # Kernels may be compiled at any test, whichever comes first.
    return Outcome(code, texts[0], texts[1].replace(f"latree: {COMPILING}\n", ""))


OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
COMMAND = re.compile(r"\blatree ([a-z]+)(?: ([a-z-]+))?")


def assert_options_exist(text: str, *command: str) -> None:
    """Check that a command speaks of no options but its own, and those of the commands that it names with them."""
    allowed = options_of(*command).union(*(options_of(*named) for named in COMMAND.findall(text)))
    assert set(OPTION.findall(text)) <= allowed, text


@cache
def options_of(name: str, kind: str = "") -> set[str]:
    """The options of a command, of `latree train KIND` for one, the hidden ones too; without a name those of all."""
    every = latree_command.commands
    commands = {name: every[name]} if name in every else {} if name else every
    found = {"--help", "--version"}
    for command in commands.values():
        loaded = command._load()
        inner = getattr(loaded, "commands", {})
        for one in [loaded] if not inner else [inner[kind]] if kind in inner else inner.values():
            found |= {option for parameter in one.params for option in parameter.opts}
    return found


def done(*arguments: str | Path, stdin: str = "") -> Outcome:
    """The same for a command that must go well, and without a word on standard error."""
    outcome = latree(*arguments, stdin=stdin)
    assert (outcome.code, outcome.err) == (0, ""), outcome.err
    return outcome


def process(*arguments: str | Path, stdin: int | IO[Any] = subprocess.PIPE, **options: Any) -> subprocess.Popen[str]:
    """Start `latree ...` as a process, with a group of its own; it hears Ctrl-C and requests to end even where the
    tests themselves were started in the background, where they may be ignored."""
    command: Sequence[str] = [sys.executable, "-m", "latree", *map(str, arguments)]
    pipe = subprocess.PIPE
    environment = os.environ | options.pop("env", {})
    with signals_as_before():
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        return subprocess.Popen(
            command,
            stdin=stdin,
            stdout=pipe,
            stderr=pipe,
            text=True,
            start_new_session=True,
            env=environment,
            **options,
        )


@cache
def folder() -> Path:
    """A folder that lasts as long as the tests."""
    kept = TemporaryDirectory(prefix="latree-test-")
    atexit.register(kept.cleanup)
    return Path(kept.name)


@cache
def model(kind: str) -> Path:
    """A model of the toy treebank, made once."""
    path = folder() / f"{kind}.latree"
    done("train", kind, toy("train"), "--dev", toy("dev"), "-o", path, "--quiet")
    return path


def toy_trees(part: str) -> list[Tree]:
    return [Tree.read(line) for line in toy(part).read_text(encoding="utf-8").splitlines()]


def write_conllu(path: Path, trees: Sequence[Tree], upos: bool = True) -> Path:
    """The words and tags of trees as CoNLL-U, the tags in both columns or in XPOS alone."""
    with path.open("w", encoding="utf-8") as file:
        for number, tree in enumerate(trees, start=1):
            file.write(f"# sent_id = {number}\n")
            for place, leaf in enumerate(tree.leaves(), start=1):
                tags = (leaf.label if upos else "_", leaf.label)
                file.write("\t".join([str(place), leaf.word or "", "_", *tags, *"_____"]) + "\n")
            file.write("\n")
    return path
