"""The command as a process: interrupts, pipes, terminals, what it imports, and the wait for kernels."""

from __future__ import annotations

import os
import pty
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

import pytest
from numba.core import event

from latree import cli
from latree.cli import common
from latree.data import toy
from tests.command import INTERRUPTED, SLEEPS, SLEEPS_TREE, done, model, process, signals_as_before


@contextmanager
def endless_input() -> Iterator[int]:
    """The end of a pipe into which sentences are written until nobody reads them."""
    source, sink = os.pipe()

    def feed() -> None:
        with suppress(BrokenPipeError):
            while True:
                os.write(sink, f"{SLEEPS}\n".encode() * 8)
        os.close(sink)

    feeder = threading.Thread(target=feed)
    feeder.start()
    try:
        yield source
    finally:
        os.close(source)
        feeder.join()


def group_is_gone(group: int) -> bool:
    for _ in range(100):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


# Ctrl-C goes to all processes, as a terminal sends it; a system's request to end goes to the command alone.
ENDS = [(os.killpg, signal.SIGINT, 130), (os.kill, signal.SIGTERM, 143)]


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize(("send", "number", "code"), ENDS, ids=["Ctrl-C", "a request to end"])
def test_an_interrupt(send: Callable[[int, int], None], number: int, code: int, jobs: str) -> None:
    with endless_input() as source, process("parse", "-m", model("pcfg"), "--jobs", jobs, stdin=source) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        lines = [running.stdout.readline() for _ in range(100)]
        send(running.pid, number)
        lines += running.stdout.readlines()
        assert (running.wait(20), running.stderr.read()) == (code, INTERRUPTED)
    assert set(lines) == {f"{SLEEPS_TREE}\n"}
    assert group_is_gone(running.pid)


def test_an_interrupt_while_workers_start() -> None:
    with process("parse", "-m", model("pcfg"), "--jobs", "2") as running:
        assert running.stdin is not None
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdin.write(f"{SLEEPS}\n" * 80)  # more than two batches: the second goes to a worker
        running.stdin.flush()
        lines = [running.stdout.readline() for _ in range(32)]
        time.sleep(0.1)
        os.killpg(running.pid, signal.SIGINT)
        lines += running.stdout.readlines()
        assert (running.wait(20), running.stderr.read()) == (130, INTERRUPTED)
    assert set(lines) == {f"{SLEEPS_TREE}\n"}
    assert group_is_gone(running.pid)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_impatience_is_no_fault(jobs: str) -> None:
    with endless_input() as source, process("parse", "-m", model("pcfg"), "--jobs", jobs, stdin=source) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline() == f"{SLEEPS_TREE}\n"
        for _ in range(3):
            os.killpg(running.pid, signal.SIGINT)
            time.sleep(0.01)
        running.stdout.read()
        assert (running.wait(20), running.stderr.read()) == (130, INTERRUPTED)
    assert group_is_gone(running.pid)


def test_an_interrupt_that_the_caller_ignores() -> None:
    """As of a command in the background of a script: Ctrl-C is for what is in front."""
    command = f"trap '' INT; exec {sys.executable} -m latree parse -m {model('pcfg')}"
    with subprocess.Popen(["sh", "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        for _ in range(2):
            running.stdin.write(f"{SLEEPS}\n")
            running.stdin.flush()
            assert running.stdout.readline() == f"{SLEEPS_TREE}\n"
            running.send_signal(signal.SIGINT)
        running.stdin.close()
        assert running.wait(20) == 0


@pytest.mark.parametrize(
    ("closed", "message"), [("<&-", "standard input is closed; name a file"), (">&-", "standard output is closed")]
)
def test_a_stream_that_is_closed(closed: str, message: str) -> None:
    command = f"{sys.executable} -m latree parse -m {model('pcfg')} {closed}"
    ended = subprocess.run(["sh", "-c", command], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, "", f"latree: {message}\n")


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_reader_that_goes(jobs: str) -> None:
    with endless_input() as source, process("parse", "-m", model("pcfg"), "--jobs", jobs, stdin=source) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline() == f"{SLEEPS_TREE}\n"
        running.stdout.close()
        assert (running.wait(20), running.stderr.read()) == (0, "")
    assert group_is_gone(running.pid)


@pytest.mark.parametrize(("code", "given", "told"), [(143, 130, 143), (130, 130, 130), (143, 1, 1)])
def test_a_request_to_end_while_a_command_is_looked_up(
    monkeypatch: pytest.MonkeyPatch, code: int, given: int, told: int
) -> None:
    """There typer tells every interrupt as Ctrl-C."""

    def app() -> NoReturn:
        sys.exit(given)

    monkeypatch.setattr(cli, "app", app)
    monkeypatch.setattr(cli._signals, "code", code)
    with signals_as_before(), pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == told


@pytest.mark.parametrize("command", ["show", "eval"])
def test_a_reader_of_tables_that_goes(command: str) -> None:
    arguments = ("-m", model("pcfg")) if command == "show" else (toy("dev"), toy("dev"))
    with process(command, *arguments) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        assert (running.wait(60), running.stderr.read()) == (0, "")


def test_a_pipe_waits_for_a_batch_and_no_longer() -> None:
    with process("tag", "-m", model("hmm")) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        for lines in (1, 2, 40, 1):  # each answered while the input is still open
            running.stdin.write(f"{SLEEPS}\n" * lines)
            running.stdin.flush()
            assert [running.stdout.readline() for _ in range(lines)] == ["the/DT teacher/NN sleeps/VB ./.\n"] * lines
        running.stdin.close()
        assert running.stdout.read() == ""


@pytest.mark.parametrize("options", [[], ["--jobs", "2"], ["--kbest", "1"]])
def test_a_typed_sentence_is_answered_at_once(options: list[str]) -> None:
    ours, theirs = pty.openpty()
    with process("parse", "-m", model("pcfg"), *options, stdin=theirs) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        os.write(ours, f"{SLEEPS}\n".encode())
        assert running.stdout.readline() == f"{SLEEPS_TREE}\n"
        os.write(ours, b"\x04")  # Ctrl-D
        assert running.wait(20) == 0
        assert "latree: reading from the terminal; Ctrl-D ends it\n" in running.stderr.read()
    os.close(ours)
    os.close(theirs)


def test_output_is_utf8_whatever_the_locale() -> None:
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
    with process("tag", "-m", model("hmm"), env=locale, encoding="utf-8") as running:
        out, err = running.communicate("眠る teacher\n", 20)
    assert (err, out.split()[1]) == ("", "teacher/NN")
    assert out.startswith("眠る/")


def test_what_is_light_stays_light() -> None:
    show = "import sys, latree.cli as c\ntry: c.main()\nexcept SystemExit: pass\nprint(*sys.modules, file=sys.stderr)"
    for arguments, heavy in (
        (["--help"], {"numba", "numpy", "scipy", "rich.console", "conllu"}),
        (["eval", str(toy("dev")), str(toy("dev"))], {"numba", "numpy", "scipy"}),
    ):
        command = [sys.executable, "-c", show, *arguments]
        ran = subprocess.run(command, capture_output=True, text=True, check=True)
        assert "latree.cli" in ran.stderr.split()
        assert not heavy & set(ran.stderr.split())


# --- compilation


def test_compilation_is_told_once_and_only_when_it_takes_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(common, "PATIENCE", 0.05)
    for seconds, compiles, quiet, told in (
        (0.3, 2, False, 1),
        (0.3, 0, False, 0),
        (0.0, 2, False, 0),
        (0.3, 1, True, 0),
    ):
        with common.telling_of_compilation(quiet):
            for _ in range(compiles):
                with event.trigger_event("numba:compile"):
                    time.sleep(seconds)
            time.sleep(0 if compiles else seconds)
        time.sleep(0.1)
        assert capsys.readouterr().err == f"latree: {common.COMPILING}\n" * told


def test_the_first_run_on_a_machine_tells_and_the_second_does_not(tmp_path: Path) -> None:
    done("tag", "-m", model("hmm"), stdin=SLEEPS)
    cache = tmp_path / "cache"  # of all kernels but one, so that the test need not wait for all of them
    shutil.copytree(os.environ["NUMBA_CACHE_DIR"], cache, ignore=shutil.ignore_patterns("trellis*", "*.tmp.*"))
    run = "from latree.cli import common, main; common.PATIENCE = 0; main()"
    command = [sys.executable, "-c", run, "tag", "-m", str(model("hmm"))]
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    for message in (f"latree: {common.COMPILING}\n", ""):
        ran = subprocess.run(command, input=SLEEPS, capture_output=True, text=True, check=True, env=environment)
        assert (ran.stdout, ran.stderr) == ("the/DT teacher/NN sleeps/VB ./.\n", message)
