"""The command line when something is wrong, is interrupted, or is waited for."""

from __future__ import annotations

import errno
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import NoReturn

import pytest
from numba.core import event

from latree import model_file
from latree.cli import common
from latree.data import toy
from latree.models import load
from tests.command import SLEEPS, SLEEPS_TREE, Outcome, done, latree, model, process, toy_trees, write_conllu

INTERRUPTED = "latree: interrupted; what was printed before is complete\n"


def assert_told(outcome: Outcome, message: str, code: int = 1) -> None:
    assert (outcome.code, outcome.out) == (code, "")
    assert message in outcome.err
    assert "Traceback" not in outcome.err


# --- files


@pytest.mark.parametrize("command", [["parse"], ["tag"], ["show"], ["bench", toy("dev")]])
def test_no_model_named(command: list[str | Path]) -> None:
    assert_told(latree(*command), "latree: no model named: give -m FILE (make one with `latree train`)\n")


def test_missing_files(tmp_path: Path) -> None:
    missing = tmp_path / "missing.mrg"
    complaint = f"latree: {missing}: cannot be read: No such file or directory\n"
    assert_told(latree("parse", "-m", model("pcfg"), missing), complaint)
    assert_told(latree("tag", "-m", model("hmm"), missing), complaint)
    assert_told(latree("eval", toy("dev"), missing), complaint)
    assert_told(latree("train", "pcfg", missing, "-o", tmp_path / "m"), complaint)
    assert_told(latree("parse", "-m", missing), f"latree: {missing}: no such model file\n")
    assert not (tmp_path / "m").exists()


def test_malformed_brackets_are_told_by_place(tmp_path: Path) -> None:
    path = tmp_path / "bad.mrg"
    path.write_text(f"{SLEEPS_TREE}\n(ROOT (S (NP (DT the) cat)))\n")
    complaint = f"latree: {path}:2:23: word 'cat' beside a bracket; give every word its own tag\n"
    assert_told(latree("train", "pcfg", path, "-o", tmp_path / "m"), complaint)
    assert_told(latree("parse", "-m", model("pcfg"), path), complaint)
    assert_told(latree("eval", path, path), complaint)


def test_models_that_are_none(tmp_path: Path) -> None:
    assert_told(latree("parse", "-m", model("hmm")), f"latree: {model('hmm')}: a hmm model tags but does not parse")
    whole, damaged = model("pcfg").read_bytes(), tmp_path / "damaged"
    for data in (whole[: len(whole) // 2], whole[:-1], b"", b"nonsense" * 100):
        damaged.write_bytes(data)
        assert_told(latree("parse", "-m", damaged), f"latree: {damaged}: not a latree model, or cut short")
    damaged.write_bytes(whole.replace(b'\\"symbols\\"', b'\\"symbolx\\"'))
    assert_told(latree("parse", "-m", damaged), f"latree: {damaged}: the pcfg model is damaged")


def test_output_that_cannot_be_written_is_told_before_training(tmp_path: Path) -> None:
    missing = tmp_path / "no" / "m"
    assert_told(latree("train", "pcfg", toy("train"), "-o", missing), f"the folder {missing.parent} does not exist")
    assert_told(latree("train", "pcfg", toy("train"), "-o", tmp_path), "this is a directory; name a file")


def test_a_full_disk_leaves_the_old_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m"
    done("train", "hmm", toy("dev"), "-o", path, "--quiet")
    before = path.read_bytes()

    def full(_: int) -> NoReturn:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        assert_told(
            latree("train", "hmm", toy("train"), "-o", path), f"{path}: cannot be written: No space left on device"
        )
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["m"]


def test_a_bad_dev_file_costs_neither_training_nor_model(tmp_path: Path) -> None:
    path, table = tmp_path / "m", write_conllu(tmp_path / "dev.conllu", toy_trees("dev"))
    for dev, complaint in ((tmp_path / "no", "cannot be read"), (table, "CoNLL-U has no trees to score a pcfg on")):
        assert_told(latree("train", "pcfg", toy("train"), "--dev", dev, "-o", path), f"latree: {dev}: {complaint}")
        assert not path.exists()
    bad = tmp_path / "bad.mrg"
    bad.write_text("(S (NN")
    assert_told(latree("train", "pcfg", toy("dev"), "--dev", bad, "-o", path, "--quiet"), f"{bad}:1:1: ")
    assert load(path).training["data"] == ["dev.mrg"]  # the model is there, only unscored


def test_conllu_for_a_parser_and_columns_from_a_pipe(tmp_path: Path) -> None:
    table = write_conllu(tmp_path / "a.conllu", toy_trees("dev"))
    assert_told(latree("train", "pcfg", table, "-o", tmp_path / "m"), "`latree train hmm` trains a tagger")
    piped = latree("train", "hmm", "-", "--format", "conllu", "-o", tmp_path / "m", stdin=table.read_text())
    assert_told(piped, "name the column: --column upos or xpos")


# --- the command line itself


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "lvgx", toy("dev"), "-o", "m"], "lvgx"),
        (["train", "hmm", toy("dev"), "-o", "m", "--vertical", "2"], "--vertical is for pcfg; hmm has no use for it"),
        (["train", "pcfg", toy("dev"), "-o", "m", "--column", "xpos"], "--column is for hmm; pcfg has no use for it"),
        (["train", "pcfg", toy("dev")], "--output"),
        (["parse", "--jobs", "0"], "--jobs"),
        (["parse", "--objective", "best"], "--objective"),
        (["bench", toy("dev"), "--lengths", "10,x"], "--lengths takes numbers of words"),
        (["bench", toy("dev"), "--lengths", "0"], "--lengths takes numbers of words"),
        (["nonsense"], "nonsense"),
    ],
)
def test_usage(arguments: list[str | Path], message: str) -> None:
    assert_told(latree(*arguments), message, code=2)


def test_names_that_do_not_exist(tmp_path: Path) -> None:
    assert_told(latree("train", "pcfg", toy("dev"), "-o", tmp_path / "m", "--labels", "pen"), "expected one of penn, ")
    assert_told(latree("train", "pcfg", toy("dev"), "-o", tmp_path / "m", "--unknown", "x"), "'x'")
    assert_told(latree("show", "-m", model("pcfg"), "--symbol", "XP"), "no category 'XP'; it has ")
    assert_told(latree("bench", "-", "-m", model("pcfg")), "name a file")


@pytest.mark.parametrize(
    ("fault", "message", "code"),
    [
        (KeyboardInterrupt(), INTERRUPTED, 130),
        (MemoryError(), "latree: out of memory; try --max-length or fewer --jobs\n", 1),
        (OSError(errno.EIO, "Input/output error"), "latree: Input/output error\n", 1),
    ],
)
def test_other_faults(monkeypatch: pytest.MonkeyPatch, fault: BaseException, message: str, code: int) -> None:
    def fail(path: str) -> NoReturn:
        raise fault

    monkeypatch.setattr(model_file, "load", fail)
    outcome = latree("show", "-m", "m")
    assert outcome == Outcome(code, "", message)


# --- processes: interrupts, pipes, terminals


def feed_forever(running: subprocess.Popen[str]) -> None:
    """Sentences into standard input, until nobody reads them."""

    def feed() -> None:
        assert running.stdin is not None
        try:
            while True:
                running.stdin.write(f"{SLEEPS}\n" * 8)
                running.stdin.flush()
        except (BrokenPipeError, ValueError):
            pass

    threading.Thread(target=feed, daemon=True).start()


def group_is_gone(group: int) -> bool:
    for _ in range(100):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interrupt(jobs: str) -> None:
    with process("parse", "-m", model("pcfg"), "--jobs", jobs) as running:
        feed_forever(running)
        assert running.stdout is not None
        assert running.stderr is not None
        lines = [running.stdout.readline() for _ in range(100)]
        os.killpg(running.pid, signal.SIGINT)  # to all of them, as a terminal does
        lines += running.stdout.readlines()
        assert (running.wait(20), running.stderr.read()) == (130, INTERRUPTED)
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
def test_a_reader_that_goes(jobs: str) -> None:
    with process("parse", "-m", model("pcfg"), "--jobs", jobs) as running:
        feed_forever(running)
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline() == f"{SLEEPS_TREE}\n"
        running.stdout.close()
        assert (running.wait(20), running.stderr.read()) == (0, "")
    assert group_is_gone(running.pid)


def test_a_pipe_waits_for_a_batch_and_no_longer() -> None:
    with process("tag", "-m", model("hmm")) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        running.stdin.write(f"{SLEEPS}\n" * 33)
        running.stdin.flush()
        lines = [running.stdout.readline() for _ in range(32)]  # while the input is still open
        running.stdin.close()
        assert [*lines, *running.stdout] == ["the/DT teacher/NN sleeps/VB ./.\n"] * 33


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
    with process("tag", "-m", model("hmm"), "--separator", "→", env=locale, encoding="utf-8") as running:
        out, err = running.communicate("眠る teacher\n", 20)
    assert (err, out.split()[1]) == ("", "teacher→NN")
    assert out.startswith("眠る→")


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
    errors = []
    for _ in range(2):
        with process("tag", "-m", model("hmm"), env={"NUMBA_CACHE_DIR": str(tmp_path)}) as running:
            out, err = running.communicate(f"{SLEEPS}\n", 120)
        assert out == "the/DT teacher/NN sleeps/VB ./.\n"
        errors.append(err)
    assert errors == [f"latree: {common.COMPILING}\n", ""]
