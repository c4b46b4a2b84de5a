"""What campaigns of faults share: choices by seed, what came of each thing tried, and a process of its own with a log.

A campaign tries things by number; what the nth is follows from the seed and n alone, so that a fault can be had again
by itself.  Things are tried in a process of its own, since the worst of faults ends it; the log then tells at what.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, TypeVar

import numpy as np

from latree.errors import LatreeError

T = TypeVar("T")
WORKED, REFUSED = "worked", "refused"
SHOWN = 20  # faults
ONE_THREAD = {"OMP_NUM_THREADS": "1"}  # torch's threads wait for each other, which takes ten times what they are for


def some(values: Sequence[T], rng: np.random.Generator) -> T:
    """One of some values."""
    return values[int(rng.integers(len(values)))]


def outcome(act: Callable[[], object]) -> str:
    """What trying something comes to."""
    try:
        act()
    except (LatreeError, MemoryError):  # both of which commands tell in a line
        return REFUSED
    except Exception as error:
        return " ".join(f"{type(error).__name__}: {error}".split())[:300]
    return WORKED


class WrongError(Exception):
    """What happened should not have."""


def see(good: bool, what: str) -> None:
    """Take note of what should be so."""
    if not good:
        raise WrongError(what)


class Trial(NamedTuple):
    """Something to try: where it belongs, what is done, and how."""

    group: str
    what: str
    act: Callable[[], object]


def write_log(trials: Iterable[Trial], log: Path) -> None:
    """Try one thing after another; a line of the log is what is done, and then what came of it."""
    with log.open("w", encoding="utf-8", errors="backslashreplace") as file:
        for group, what, act in trials:
            print(group, " ".join(what.split()), sep="\t", end="\t", file=file, flush=True)
            print(outcome(act), file=file, flush=True)


class Campaign(NamedTuple):
    """How often what came of things, what should not have, and what the process printed of its own."""

    results: Counter[str]
    wrong: list[str]
    printed: str = ""

    def told(self) -> str:
        """All of it in a few lines."""
        counts = ", ".join(f"{count:,} {what}" for what, count in self.results.items())
        return "\n".join([counts, *(f"  {line}" for line in (*self.printed.splitlines(), *self.wrong[:SHOWN]))])


def run_inside(module: str, *arguments: object, more: Mapping[str, str] = {}) -> Campaign:
    """Run a campaign in a process of its own, with `more` in its environment, where the module's `main` is given
    --inside and a log to write."""
    with TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        command = [sys.executable, "-m", module, "--inside", str(log), *map(str, arguments)]
        ended = subprocess.run(command, capture_output=True, text=True, env=os.environ | ONE_THREAD | dict(more))
        lines = log.read_text(encoding="utf-8").split("\n") if log.exists() else []
    rows = [(*line.split("\t"), "the process ended")[:3] for line in lines if line]
    results = Counter(what if what in (WORKED, REFUSED) else "wrong" for _, _, what in rows)
    wrong = [f"{group}: {done}: {what}" for group, done, what in rows if what not in (WORKED, REFUSED)]
    if ended.returncode != 0:
        wrong.append(f"the process ended with {ended.returncode}\n{ended.stderr[-2000:]}")
    return Campaign(results, wrong, ended.stdout)


def options(about: str, count: int) -> argparse.ArgumentParser:
    """The options of every campaign."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    return parser
