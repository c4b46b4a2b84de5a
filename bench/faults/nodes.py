"""Machines of a cluster that fail in the midst of training and of parsing: the same bytes, and every sentence once.

    python -m bench.faults.nodes [--count 20] [--seed 0]

A Ray cluster of two machines with two workers each, all of them this one.  Trainings of four kinds and runs of `latree
parse --output-dir` take turns, each of which was done in peace by one process before.  While one runs, all processes of
the second machine are killed at a random moment, and another machine comes, before or after that; up to three times a
run, until trainings and bulk runs had --count kills each.  A kill counts where workers died of it, and the command went
on.  A command that does not end in time is a fault, as are other bytes than in peace.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from bench.faults import kills
from bench.faults.frame import Campaign, Trial, options, run_inside, see, write_log
from bench.machines import ATTENTIVE, CORES, NO_RAY, has_ray, machines, take_away, workers_of
from latree.text.formats import read_trees

TRAININGS = ("lvg", "gm-lveg", "lvg-d", "svs")
BULK = "bulk"
COPIES = 100  # of the toy treebank's dev part, to be parsed
SHARD = 100  # sentences
AT_MOST = 3  # kills in a run
LIMIT = 600.0  # seconds after which a command hangs
OFTEN = 10  # runs in which there should have been a kill
POLL = 0.2  # seconds
# Stretches of treebanks so short that every worker has some.
PROGRAM = """
from latree.learning import latent_treebank
latent_treebank.WORDS_A_STRETCH = 200
from latree.cli import main
main()
"""


class Command:
    """A command in a process of its own, which must end in time."""

    def __init__(self, folder: Path, arguments: Sequence[str]) -> None:
        self.messages = folder / "messages"
        with self.messages.open("wb") as told:
            command = [sys.executable, "-c", PROGRAM, *arguments]
            self.process = subprocess.Popen(command, cwd=folder, stdout=told, stderr=told)
        self.until = time.monotonic() + LIMIT

    def ends_within(self, seconds: float) -> bool:
        """Wait so long, or for its end."""
        try:
            self.process.wait(min(seconds, max(self.until - time.monotonic(), 0.0)))
        except subprocess.TimeoutExpired:
            if time.monotonic() >= self.until:
                self.stop()
                see(False, f"no end after {LIMIT:.0f} s: {self.told()}")
            return False
        return True

    def succeed(self) -> None:
        """Wait for its end, which must be a good one."""
        self.ends_within(LIMIT)
        code = self.process.returncode
        see(code == 0, f"it ended with {code}: {self.told()}")

    def told(self) -> str:
        return self.messages.read_text(encoding="utf-8", errors="replace")[-300:]

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


# -- what is done, and what comes of it


def arguments_of(name: str) -> tuple[str, ...]:
    if name == BULK:
        return ("parse", "-m", "parser", "--json", "--output-dir", BULK, "--shard", str(SHARD), "many.txt")
    return kills.command_of(name)


def results(name: str, folder: Path) -> dict[str, bytes]:
    """The files that a command has written, by their names."""
    paths = sorted((folder / BULK).iterdir()) if name == BULK else [folder / "model"]
    return {path.name: path.read_bytes() for path in paths}


def remove_results(folder: Path) -> None:
    shutil.rmtree(folder / BULK, ignore_errors=True)
    (folder / "model").unlink(missing_ok=True)


def check_sentences(files: dict[str, bytes], count: int) -> None:
    """Every sentence is there, once."""
    rows = [json.loads(line) for name in sorted(files) if name != "manifest.jsonl" for line in files[name].splitlines()]
    see([row["sentence"] for row in rows] == list(range(1, count + 1)), "sentences are missing, or there twice")


def prepare(folder: Path) -> int:
    """Treebanks, a parser, and very many sentences, whose number is returned."""
    kills.prepare(folder)
    Command(folder, ("train", *kills.TRAININGS["lvg"], "-o", "parser")).succeed()
    trees = read_trees(folder / "dev.mrg")
    lines = [" ".join(tree.words()) for tree in trees] * COPIES
    (folder / "many.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return len(lines)


# -- a cluster that loses machines


class Peace(NamedTuple):
    """What comes of a command that nobody disturbs, and how long workers are at it."""

    files: dict[str, bytes]
    seconds: float


class Stand:
    """A cluster, the folder that commands run in, and the kills so far, of trainings and bulk runs."""

    def __init__(self, cluster: Any, folder: Path, sentences: int) -> None:
        self.cluster, self.folder, self.sentences = cluster, folder, sentences
        self.kills: Counter[str] = Counter()
        self.lost = self.runs = 0  # workers, runs

    @property
    def second(self) -> Any:
        """The machine that is not the head, or one of them."""
        return min(self.cluster.worker_nodes, key=lambda machine: machine.unique_id)

    def start(self, name: str, *more: str) -> Command:
        remove_results(self.folder)
        return Command(self.folder, (*arguments_of(name), *more))

    def start_on_cluster(self, name: str) -> Command:
        return self.start(name, "--cluster", self.cluster.address)

    def in_peace(self, name: str) -> Peace:
        """Done by one process, and on the cluster: the same."""
        self.start(name).succeed()
        files = results(name, self.folder)
        command = self.start_on_cluster(name)
        see(self.has_workers(command), f"{name}: no workers on the second machine")
        begin = end = time.monotonic()
        while not command.ends_within(POLL):
            end = time.monotonic() if workers_of(self.second) else end
        command.succeed()
        see(results(name, self.folder) == files, f"{name}: other results on the cluster")
        return Peace(files, end - begin)

    def has_workers(self, command: Command) -> bool:
        """Wait until the second machine has workers; False if the command ends before."""
        while not workers_of(self.second):
            if command.ends_within(POLL):
                return False
        return True

    def disturb(self, name: str, peace: Peace, rng: np.random.Generator) -> None:
        """Do the same while machines are taken away."""
        command = self.start_on_cluster(name)
        self.runs += 1
        for _ in range(AT_MOST):
            if not self.has_workers(command) or command.ends_within(rng.random() * peace.seconds):
                break
            self.replace_second(command, BULK if name == BULK else "training", before=rng.random() < 0.5)
        command.succeed()
        files = results(name, self.folder)
        if name == BULK:
            check_sentences(files, self.sentences)
        see(files == peace.files, f"other results than in peace: {sorted(files)}")

    def replace_second(self, command: Command, group: str, *, before: bool) -> None:
        """Take a machine away; another comes before or after that."""
        doomed = self.second
        if before:
            self.cluster.add_node(num_cpus=CORES)
        workers = workers_of(doomed)
        take_away(self.cluster, doomed)
        if workers and not command.ends_within(POLL):
            self.kills[group] += 1
            self.lost += len(workers)
        if not before:
            self.cluster.add_node(num_cpus=CORES)


def trials(stand: Stand, count: int, seed: int) -> Iterator[Trial]:
    """Trainings and bulk runs in turn, until both had their kills."""
    peaces = {name: stand.in_peace(name) for name in (*TRAININGS, BULK)}
    print("seconds in peace:", ", ".join(f"{name} {one.seconds:.1f}" for name, one in peaces.items()), flush=True)
    names = {"training": cycle(TRAININGS), BULK: cycle([BULK])}
    for number in range(OFTEN * count):
        for group in [one for one in names if stand.kills[one] < count]:
            name, rng = next(names[group]), np.random.default_rng([seed, number, group == BULK])
            act = partial(stand.disturb, name, peaces[name], rng)
            yield Trial(name, f"run {number} after {stand.kills[group]} kills", act)
    for group in names:
        yield Trial(group, f"{stand.kills[group]} kills", partial(see, stand.kills[group] >= count, "too few kills"))
    told = ", ".join(f"{stand.kills[group]} of {group}" for group in names)
    print(f"kills: {told}; {stand.lost} workers died in {stand.runs} runs")


def run(count: int, seed: int) -> Campaign:
    """The campaign in a process of its own."""
    return run_inside("bench.faults.nodes", "--count", count, "--seed", seed)


def main(arguments: Sequence[str] | None = None) -> None:
    given = options("Take machines of a cluster away.", 20).parse_args(arguments)
    if not has_ray():
        print(f"nodes: left out. {NO_RAY}")
    elif given.inside is None:
        print(f"nodes: {run(given.count, given.seed).told()}")
    else:
        with TemporaryDirectory() as place, machines(**ATTENTIVE) as cluster:
            folder = Path(place)
            write_log(trials(Stand(cluster, folder, prepare(folder)), given.count, given.seed), given.inside)


if __name__ == "__main__":
    main()
