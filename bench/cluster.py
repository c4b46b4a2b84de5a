"""What a Ray cluster costs beside processes of one machine: training and parsing, by the clock and in CPU seconds.

    python -m bench.cluster TREES DEV [--rounds 4] [--copies 40] [--times 3]

`latree train lvg` on TREES, and `latree parse` of the sentences of DEV, so many times over, with `--jobs 4` and with
`--cluster`: two machines of two workers each, both of them this one.  The two take turns, and their files must be the
same.  Starting workers counts, starting the cluster does not.  Stretches of the treebank are so short that all four
have some.  CPU seconds are those of the command and of all workers, and apart from them those of Ray's own processes:
where other programs run on the machine, they tell more than the clock.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from subprocess import Popen
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from bench.machines import NO_RAY, children, cpu_seconds, descendants, has_ray, machines, title, works
from latree.text.formats import read_trees

POLL = 0.2  # seconds
MESSAGES = "messages"
# As `latree`, with stretches of so many words as is said first.
PROGRAM = """
import sys
from latree.learning import latent_treebank
latent_treebank.WORDS_A_STRETCH = int(sys.argv.pop(1))
from latree.cli import main
main()
"""


class Cost(NamedTuple):
    """What a command took."""

    clock: float
    work: float  # CPU seconds of the command and of workers
    around: float  # and of the cluster's other processes


class Meter:
    """The CPU seconds of all that this process has started before; what a worker has used is lost when it ends, so they
    are looked at often."""

    def __init__(self) -> None:
        self.cluster = children(os.getpid())
        self.before = self._used()
        self.after = dict(self.before)
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._look_often)
        self.thread.start()

    def _used(self) -> dict[int, tuple[float, bool]]:
        """What every process has used so far, and whether it is a worker."""
        processes = [one for root in self.cluster for one in (root, *descendants(root))]
        named = [one for one in processes if title(one)]  # what has ended has no name
        return {one: (cpu_seconds(one), works(one)) for one in named}

    def _look_often(self) -> None:
        while not self.ended.wait(POLL):
            for one, (used, work) in self._used().items():
                before, worked = self.after.get(one, (0.0, False))
                self.after[one] = max(before, used), worked or work

    def stop(self) -> tuple[float, float]:
        """What workers have used since, and what others have."""
        self.ended.set()
        self.thread.join()
        since = [(used - self.before.get(one, (0.0,))[0], work) for one, (used, work) in self.after.items()]
        return sum(used for used, work in since if work), sum(used for used, work in since if not work)


def measured(folder: Path, arguments: Sequence[str]) -> Cost:
    """Run the program in a folder."""
    meter, begin = Meter(), time.monotonic()
    with (folder / MESSAGES).open("wb") as told:
        command = Popen([sys.executable, "-c", PROGRAM, *arguments], cwd=folder, stdout=told, stderr=told)
    _, status, used = os.wait4(command.pid, 0)  # with the processes that it has started and waited for
    command.returncode = os.waitstatus_to_exitcode(status)
    clock = time.monotonic() - begin
    workers, around = meter.stop()
    if command.returncode != 0:
        raise SystemExit((folder / MESSAGES).read_text(encoding="utf-8", errors="replace"))
    return Cost(clock, used.ru_utime + used.ru_stime + workers, around)


def written(folder: Path) -> tuple[bytes, ...]:
    """All files of a folder but the messages."""
    return tuple(one.read_bytes() for one in sorted(folder.rglob("*")) if one.is_file() and one.name != MESSAGES)


def compare(what: str, ways: Sequence[list[str]], command: list[str], folder: Path, times: int) -> None:
    """Run a command both ways in turn, and print what they took."""
    costs, files = [list[Cost]() for _ in ways], set[tuple[bytes, ...]]()
    for _ in range(times):
        for taken, way in zip(costs, ways, strict=True):
            with TemporaryDirectory(dir=folder) as place:
                taken.append(measured(Path(place), [*command, *way]))
                files.add(written(Path(place)))
    one, other = (Cost(*np.mean(taken, axis=0)) for taken in costs)
    cells = [*one[:2], *other[:2], other.around, other.clock / one.clock, other.work / one.work]
    same = "the same" if len(files) == 1 else "**other**"
    print(f"| {what} | {' | '.join(f'{cell:.2f}' for cell in cells)} | {same} |", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Compare a Ray cluster with processes.")
    parser.add_argument("trees")
    parser.add_argument("dev")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--copies", type=int, default=40)
    parser.add_argument("--times", type=int, default=3)
    options = parser.parse_args(arguments)
    if not has_ray():
        raise SystemExit(NO_RAY)
    trees = str(Path(options.trees).resolve())
    words = sum(len(tree.words()) for tree in read_trees(trees))
    sentences = [tree.words() for tree in read_trees(options.dev)] * options.copies
    with TemporaryDirectory() as place, machines(worker_niceness=0) as cluster:  # Ray's own is 15
        folder, ways = Path(place), (["--jobs", "4"], ["--cluster", cluster.address])
        text, model = folder / "text", str(folder / "model")
        text.write_text("".join(f"{' '.join(one)}\n" for one in sentences), encoding="utf-8")
        train = [str(words // 6), "train", "lvg", trees, "--rounds", str(options.rounds)]
        measured(folder, [*train, "-o", model])  # which also compiles kernels, if they are not yet
        print(f"{words} words to train on, {len(sentences)} sentences to parse; means of {options.times}\n")
        print("| | `--jobs 4`: s | CPU s | cluster: s | CPU s | Ray's own CPU s | ratio: s | CPU s | files |")
        print("|---" * 9 + "|", flush=True)
        compare("train", ways, [*train, "-o", "model"], folder, options.times)
        parse = [str(words), "parse", "-m", model, "--output-dir", "trees", str(text)]
        compare("parse", ways, parse, folder, options.times)


if __name__ == "__main__":
    main()
