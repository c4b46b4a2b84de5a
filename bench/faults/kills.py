"""Trainings killed at random moments and taken up again: the model file must be the same to the last byte.

    python -m bench.faults.kills [--trainings NAME ...] [--count 100] [--seed 0]

Every training that has checkpoints is run on the toy treebank, once in peace; then again and again in a process of its
own that is killed (kill -9, else SIGTERM or SIGINT) after a random time and resumed, until it ends.  `train best` is
left out: what it does depends on the clock.  Then full disks, which must leave the old model and be told, and readers
that go away in the midst of a command.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from bench.faults.frame import Campaign, Trial, options, run_inside, see, write_log
from latree.cli import main as latree
from latree.data import toy
from latree.kinds.registry import load
from latree.text.formats import read_trees

EM = ("--split-iterations", "8", "--smooth-iterations", "3")
TRAININGS: dict[str, tuple[str, ...]] = {
    "lvg": ("lvg", "dev.mrg", "--rounds", "3", "--merge-iterations", "4", *EM),
    "lvg-tagger": ("lvg", "dev.conllu", "--subtypes", "8", *EM),
    "variational": ("lvg", "dev.mrg", "--estimator", "variational", "--truncation", "4"),
    "lvg-d": ("lvg-d", "dev.mrg", "--rounds", "2", "--epochs", "2", "--iterations", "4", "--dev", "test.mrg"),
    "lvg-d-tagger": ("lvg-d", "dev.conllu", "--subtypes", "2", "--epochs", "2", "--iterations", "4"),
    "gm-lveg": ("gm-lveg", "dev.mrg", "--rounds", "2", "--epochs", "3", "--dim", "2", "--dev", "test.mrg"),
    "gm-lveg-tagger": ("gm-lveg", "dev.conllu", "--epochs", "3", "--dim", "2", "--components", "2"),
    "svs": ("svs", "dev.mrg", "--clusters", "3", "--refine", "12"),
    "cvg": ("cvg", "dev.mrg", "--rounds", "2", "--epochs", "3", "--folds", "2", "--list", "5", "--dev", "test.mrg"),
}
SIGNALS = (*(signal.SIGKILL,) * 4, signal.SIGTERM, signal.SIGINT)
CODES = {signal.SIGKILL: -signal.SIGKILL, signal.SIGTERM: 128 + signal.SIGTERM, signal.SIGINT: 128 + signal.SIGINT}
EARLIEST = 0.05  # seconds after which a command hears signals
SMALL_DISK = "8k"
READERS: tuple[tuple[str, ...], ...] = (
    ("parse", "-m", "model", "many.mrg"),
    ("parse", "-m", "model", "many.mrg", "--json"),
    ("parse", "-m", "model", "many.mrg", "--draw"),
    ("tokenize", "many.mrg"),
    ("draw", "many.mrg"),
    ("show", "-m", "model"),
    ("eval", "many.mrg", "many.mrg", "--json"),
)


# -- commands in processes of their own, which need not import or compile anything again


class Command(NamedTuple):
    """A command that runs: its process, and where it writes its messages."""

    process: int
    messages: Path

    def wait(self) -> int:
        """The exit code, or less the signal that ended it; a traceback is none of its ways."""
        _, status = os.waitpid(self.process, 0)
        told = self.messages.read_text(encoding="utf-8")
        see("Traceback" not in told and "Exception ignored" not in told, told[-300:])
        return os.waitstatus_to_exitcode(status)

    def ended(self) -> bool:
        return os.waitid(os.P_PID, self.process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def start(
    folder: Path, *arguments: str, output: int | None = None, prepare: Callable[[], None] | None = None
) -> Command:
    """Start `latree ...` in a folder."""
    messages = folder / "messages"
    process = os.fork()
    if process == 0:
        _be(folder, arguments, messages, output, prepare)
    return Command(process, messages)


def _be(
    folder: Path, arguments: Sequence[str], messages: Path, output: int | None, prepare: Callable[[], None] | None
) -> None:
    """Run a command, and end as it does."""
    code = 70
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        os.chdir(folder)
        told = os.open(messages, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(told, 2)
        os.dup2(told if output is None else output, 1)
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115 (that of before knows another file)
        sys.argv = ["latree", *arguments]
        if prepare is not None:
            prepare()
        latree()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        code = _flushed(code)
        os._exit(code)


def _flushed(code: int) -> int:
    """Write what waits, as Python does at its end; 120 where that cannot be."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        return code or 120
    return code


# -- trainings


def command_of(name: str, *more: str) -> tuple[str, ...]:
    return ("train", *TRAININGS[name], "-o", "model", *more)


class Peace(NamedTuple):
    """A training that nobody disturbed: its model file, and how long it took."""

    model: bytes
    seconds: float


def in_peace(name: str, folder: Path) -> Peace:
    """Train twice: the first time kernels are read, or compiled."""
    for _ in range(2):
        begin = time.monotonic()
        command = start(folder, *command_of(name))
        see(command.wait() == 0, command.messages.read_text(encoding="utf-8"))
    return Peace((folder / "model").read_bytes(), time.monotonic() - begin)


def disturbed(name: str, folder: Path, peace: Peace, rng: np.random.Generator) -> int:
    """Train, kill and resume until it ends; returns how often it was killed."""
    kills = 0
    model, checkpoint = folder / "model", folder / "model.checkpoint"
    model.unlink(missing_ok=True)
    checkpoint.unlink(missing_ok=True)
    while True:
        command = start(folder, *command_of(name, *(["--resume"] if kills else [])))
        number = SIGNALS[int(rng.integers(len(SIGNALS)))]
        time.sleep(EARLIEST + rng.random() * peace.seconds)
        if command.ended():
            break
        os.kill(command.process, number)
        code = command.wait()
        kills += 1
        see(code in (CODES[number], 0), f"{number.name} ended it with {code}")
        see(not model.exists() or model.read_bytes() == peace.model, f"after {number.name} the model is another")
        if checkpoint.exists():
            load(checkpoint)
        if code == 0:
            return kills
    see(command.wait() == 0, command.messages.read_text(encoding="utf-8")[-300:])
    see(model.read_bytes() == peace.model, f"after {kills} kills the model is another")
    see(not checkpoint.exists(), "the checkpoint is still there")
    return kills


def training_trials(names: Sequence[str], count: int, seed: int, folder: Path) -> Iterator[Trial]:
    """Disturb trainings in turn, until there were so many kills; those of each are told in a trial of their own."""
    peaces = {name: in_peace(name, folder) for name in names}
    rng, kills, number = np.random.default_rng(seed), 0, 0

    def disturb(name: str) -> None:
        nonlocal kills
        kills += disturbed(name, folder, peaces[name], rng)

    while kills < count:
        name = names[number % len(names)]
        number += 1
        yield Trial(name, f"run {number} after {kills} kills", partial(disturb, name))
    print(f"{kills} kills in {number} trainings")


# -- full disks, and readers that go


@contextmanager
def small_disk(folder: Path) -> Iterator[Path | None]:
    """A disk that is soon full, where one may be mounted."""
    place = folder / "disk"
    place.mkdir()
    mounted = os.system(f"mount -t tmpfs -o size={SMALL_DISK} tmpfs {place} 2>/dev/null") == 0
    try:
        yield place if mounted else None
    finally:
        if mounted:
            os.system(f"umount {place}")


def _limit_files(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def files_too_large(folder: Path) -> None:
    """No file may be as large as the model: the old one stays, and it is said why."""
    old = (folder / "model").read_bytes()
    command = start(folder, "train", "pcfg", "train.mrg", "-o", "model", prepare=partial(_limit_files, len(old) // 2))
    see(command.wait() == 1, "it did not fail")
    see("cannot be written" in command.messages.read_text(encoding="utf-8"), "it is not told")
    see((folder / "model").read_bytes() == old, "the old model is not what it was")


def disk_full(folder: Path, disk: Path) -> None:
    """A disk without room for the model: the old file stays, with nothing beside it."""
    (disk / "model").write_bytes(b"old")
    command = start(folder, "train", "pcfg", "train.mrg", "-o", str(disk / "model"))
    see(command.wait() == 1, "it did not fail")
    see("No space left" in command.messages.read_text(encoding="utf-8"), "it is not told")
    see([path.name for path in disk.iterdir()] == ["model"], "something is left on the disk")
    see((disk / "model").read_bytes() == b"old", "the old model is not what it was")


def nowhere_to_write(folder: Path, arguments: Sequence[str]) -> None:
    """Standard output goes to a disk that is full."""
    output = os.open("/dev/full", os.O_WRONLY)
    command = start(folder, *arguments, output=output)
    os.close(output)
    see(command.wait() in (1, 120), "it did not fail")
    see("No space left" in command.messages.read_text(encoding="utf-8"), "it is not told")


def reader_goes(folder: Path, arguments: Sequence[str], after: int) -> None:
    """Who reads the output has enough after so many bytes."""
    read, write = os.pipe()
    command = start(folder, *arguments, output=write, prepare=partial(os.close, read))
    os.close(write)
    if after:
        os.read(read, after)
    os.close(read)
    code = command.wait()
    see(code == 0, f"it ended with {code}: {command.messages.read_text(encoding='utf-8')[-300:]}")


def other_trials(folder: Path) -> Iterator[Trial]:
    """Full disks and closed pipes."""
    yield Trial("disk", "files too large", partial(files_too_large, folder))
    with small_disk(folder) as disk:
        if disk is not None:
            yield Trial("disk", "full", partial(disk_full, folder, disk))
    for arguments in READERS:
        yield Trial("output", f"{' '.join(arguments)} > /dev/full", partial(nowhere_to_write, folder, arguments))
        for after in (0, 1, 5000):
            what = f"{' '.join(arguments)} | head -c {after}"
            yield Trial("pipe", what, partial(reader_goes, folder, arguments, after))


def prepare(folder: Path) -> None:
    """The toy treebank, as trees and as tables, and a model."""
    for part in ("train", "dev", "test"):
        trees = list(read_trees(toy(part)))
        (folder / f"{part}.mrg").write_text("".join(f"{tree}\n" for tree in trees), encoding="utf-8")
        tables = [
            "".join(f"{k}\t{leaf.word}\t_\t{leaf.label}\t_\t_\t_\t_\t_\t_\n" for k, leaf in enumerate(tree.leaves(), 1))
            for tree in trees
        ]
        (folder / f"{part}.conllu").write_text("\n".join(tables) + "\n", encoding="utf-8")
    (folder / "many.mrg").write_text((folder / "train.mrg").read_text(encoding="utf-8") * 3, encoding="utf-8")


def run(names: Sequence[str], count: int, seed: int) -> Campaign:
    """The campaign in a process of its own."""
    return run_inside("bench.faults.kills", "--count", count, "--seed", seed, "--trainings", *names)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = options("Kill trainings and resume them.", 100)
    parser.add_argument("--trainings", nargs="+", choices=list(TRAININGS), default=list(TRAININGS))
    given = parser.parse_args(arguments)
    if given.inside is None:
        print(f"kills: {run(given.trainings, given.count, given.seed).told()}")
        return
    with TemporaryDirectory() as place:
        folder = Path(place)
        prepare(folder)
        see(start(folder, "train", "pcfg", "train.mrg", "-o", "model").wait() == 0, "no model to begin with")

        def all_trials() -> Iterator[Trial]:
            yield from other_trials(folder)
            yield from training_trials(given.trainings, given.count, given.seed, folder)

        write_log(all_trials(), given.inside)


if __name__ == "__main__":
    main()
