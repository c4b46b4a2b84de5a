"""What is shown of how far a command is, and the guess at the time that is left."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from latree.cli import status
from latree.cli.status import Count, duration, status_line
from latree.cli.time_left import TimeLeft
from latree.cli.training import Reporter
from latree.data import toy
from latree.learning.loop import Progress
from tests.command import SLEEPS, SLEEPS_TREE, model

Stages = list[tuple[str, int, float]]  # of a step: name, parts, seconds of each part


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def guesses(steps: list[Stages], growth: float = 1.0) -> Iterator[tuple[float, float | None]]:
    """The time that is left, and the guess at it, after each part of each step of a training."""
    clock = Clock()
    left = TimeLeft(clock)
    whole = sum(parts * seconds for stages in steps for _, parts, seconds in stages)
    for number, stages in enumerate(steps, start=1):
        for stage, parts, seconds in stages:
            for done in range(1, parts + 1):
                clock.now += seconds
                left.see(Progress(stage, done, parts, 0.0, growth=growth, step=number, steps=len(steps)))
                yield whole - clock.now, left.seconds()
        left.see(Progress("", 1, 1, 0.0, growth=growth, step=number, steps=len(steps), model=object()))


@given(st.integers(1, 6), st.integers(1, 20), st.floats(0.01, 100), st.sampled_from([1.0, 1.25, 2.0]))
def test_the_guess_is_right_where_steps_grow_evenly(steps: int, parts: int, seconds: float, growth: float) -> None:
    even: list[Stages] = [[("batch", parts, seconds * growth**k)] for k in range(steps)]
    for truth, guess in guesses(even, growth):
        assert guess == pytest.approx(truth, abs=1e-6 * seconds * 2**steps)


def test_the_guess_at_several_stages_is_right_after_the_first_step() -> None:
    """Stages of unlike length, as those of split and merge, and a step longer than the one before."""
    rounds: list[Stages] = [[("split", 20, s), ("merge", 10, s / 2), ("smooth", 5, s)] for s in (1.0, 1.5, 2.25, 3.375)]
    parts = 35
    for truth, guess in list(guesses(rounds, 1.5))[parts:]:
        assert guess == pytest.approx(truth)


def test_the_guess_gets_over_a_step_that_takes_longer_than_expected() -> None:
    """It never stands still at nothing while parts are to come."""
    legs: list[Stages] = [[("iteration", 10, 1.0)], [("iteration", 10, 5.0)]]
    for truth, guess in list(guesses(legs))[:-1]:
        assert guess is not None
        assert guess > 0
        assert guess >= 0.1 * truth


def test_a_stage_that_ends_early_is_not_waited_for() -> None:
    early: list[Stages] = [[("split", 20, 1.0), ("smooth", 5, 1.0)], [("split", 3, 1.0), ("smooth", 5, 1.0)]]
    truth, guess = list(guesses(early))[-1]
    assert (truth, guess) == pytest.approx((0.0, 0.0))


def test_nothing_is_guessed_before_anything_is_done() -> None:
    left = TimeLeft(Clock())
    left.see(Progress("iteration", 0, 20, 0.0, steps=3))
    assert left.seconds() is None


def test_what_scoring_takes_is_left_out() -> None:
    clock = Clock()
    left = TimeLeft(clock)
    for done in (1, 2):
        clock.now += 5.0
        left.see(Progress("batch", done, 2, 0.0, steps=2))
    left.see(Progress("", 2, 2, 0.0, steps=2, model=object()))
    clock.now += 100.0
    left.leave_out(100.0)
    clock.now += 5.0
    left.see(Progress("batch", 1, 2, 0.0, step=2, steps=2))
    assert left.seconds() == pytest.approx(5.0)


def test_counts_tell_speed_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr("latree.cli.status.time.perf_counter", clock)
    count, endless = Count("parsing dev", 1001), Count("sentences")
    assert (count.line(), endless.line()) == ("parsing dev: 0 of 1,001", "")
    clock.now = 30.0  # for which kernels were compiled
    for number in range(501):
        clock.now += 0.02 * (number > 0)
        count.add()
        endless.add()
    assert count.line() == "parsing dev: 501 of 1,001, 50 a second, about 10 s left"
    assert endless.line() == "sentences: 501, 50 a second"


@pytest.mark.parametrize(("seconds", "told"), [(0.0, "1 s"), (99.4, "99 s"), (130.0, "2 min"), (9000.0, "2.5 h")])
def test_times_as_people_say_them(seconds: float, told: str) -> None:
    assert duration(seconds) == told


def test_nothing_is_shown_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    def never() -> str:
        raise AssertionError

    with status_line(never):
        pass
    assert capsys.readouterr().err == ""


def test_what_takes_time_before_training_is_named() -> None:
    reporter = Reporter(quiet=True)
    assert reporter.line() == ""
    assert list(reporter.reading([1, 2])) == [1, 2]
    assert reporter.line() == "preparing the treebank, 1 s"
    reporter.announce("pruning the treebank")
    assert reporter.line() == "pruning the treebank, 1 s"
    reporter.watch(Progress("iteration", 0, 20, -1.5, "log P", unit="leg", steps=3))
    assert reporter.line() == "leg 1 of 3, iteration 0/20, log P -1.500"
    with reporter.paused():
        assert reporter.line() == ""  # scoring shows its own


# -- on a terminal

QUICK = "from latree.cli import main, status; status.TICK = 0.001; main()"


def on_terminal(
    *arguments: str | Path, out: Callable[[int], int] = lambda terminal: subprocess.PIPE
) -> tuple[str, str]:
    """What a command writes to standard output, and to a terminal as standard error."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", QUICK, *map(str, arguments)]
    with subprocess.Popen(command, stdin=theirs, stdout=out(theirs), stderr=theirs, text=True) as running:
        os.close(theirs)
        told = b""
        while True:
            try:
                told += os.read(ours, 1 << 16)
            except OSError:  # the other end is closed
                break
        written = running.stdout.read() if running.stdout else ""
    os.close(ours)
    assert running.returncode == 0, told
    return written, told.decode()


@pytest.mark.parametrize("command", ["parse", "tag"])
def test_a_terminal_is_told_how_far_a_file_is(command: str, tmp_path: Path) -> None:
    text = tmp_path / "a.txt"
    text.write_text(f"{SLEEPS}\n" * 500)
    written, told = on_terminal(command, "-m", model("pcfg"), text)
    assert written == (f"{SLEEPS_TREE}\n" if command == "parse" else "the/DT teacher/NN sleeps/VB ./.\n") * 500
    assert "a second" in told
    assert told.endswith(status.CLEAR)


def test_results_on_the_terminal_are_not_disturbed(tmp_path: Path) -> None:
    text = tmp_path / "a.txt"
    text.write_text(f"{SLEEPS}\n" * 50)
    _, told = on_terminal("parse", "-m", model("pcfg"), text, out=lambda terminal: terminal)
    assert "a second" not in told


def test_a_training_tells_a_terminal_how_far_it_is(tmp_path: Path) -> None:
    sizes = ["--rounds", "2", "--split-iterations", "20"]
    _, told = on_terminal("train", "lvg", toy("train"), "--dev", toy("dev"), *sizes, "-o", tmp_path / "m")
    for words in ("reading: ", "round 1 of 2, split ", "round 2 of 2, smooth ", " left", "parsing dev: "):
        assert words in told
