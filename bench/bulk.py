"""Very many sentences into a folder: memory stays what it was, and shards cost little beside the parsing itself.

    python -m bench.bulk [--count 1000000] [--jobs 1] [--json] [--new] [-m MODEL] [--file FILE]

MODEL, by default a small `lvg` of the toy treebank, draws half of the sentences; the others are those of FILE, by
default the toy treebank's dev, again and again.  With --new each has a word that is nowhere else.  They go into ten
files, every other one gzipped, which `latree parse --output-dir` parses in a process of its own.  After every tenth of
them printed: the resident memory of the process and of its workers, and the sentences per CPU second of all of these
since the first tenth; beside it those of parsing alone (as `latree bench` has them), some after every tenth.  The trees
of the first shard are compared with those of `parse_all`.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import chain, cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

import latree
from latree.bulk.manifest import NAME
from latree.cli.warm import small_model
from latree.data import toy
from latree.text.binary import undo

FILES = 10
SHARDS = 100
STEPS = 10  # after which something is printed
DRAWN = 50_000  # sentences at most; they are then repeated
TIMED = 5_000  # sentences that are parsed alone after every step
PAUSE = 0.1  # seconds between looks at the manifest
TICKS = os.sysconf("SC_CLK_TCK")
MEGABYTES = os.sysconf("SC_PAGE_SIZE") / 2**20


# -- sentences


def drawn(model: Any, count: int) -> Iterator[list[str]]:
    rng = np.random.default_rng(0)
    for _ in range(count):
        yield undo(model.drawer.tree(rng)).words()


def sentences(model: Any, file: Path, count: int, new: bool) -> Iterator[list[str]]:
    """Drawn ones and those of a file by turns."""
    own = cycle(list(drawn(model, min(DRAWN, count))))
    others = cycle([tree.words() for tree in latree.read_trees(file, model.labels)])
    for number, words in enumerate(islice(chain.from_iterable(zip(own, others, strict=False)), count)):
        yield [*words, f"w{number}"] if new else words


def write(given: Iterator[list[str]], folder: Path, count: int) -> list[Path]:
    """Files of as many sentences each, every other one gzipped."""
    paths = [folder / f"part-{number}.txt{'.gz' * (number % 2)}" for number in range(FILES)]
    for number, path in enumerate(paths):
        size = count * (number + 1) // FILES - count * number // FILES
        with gzip.open(path, "wb", 1) if path.suffix == ".gz" else path.open("wb") as file:
            for words in islice(given, size):
                file.write(f"{' '.join(words)}\n".encode())
    return paths


# -- what a run takes


class Sample(NamedTuple):
    """How far a run is, and what it has used."""

    sentences: int
    cpu: float
    memory: list[float]  # MB of the process, and of each of its workers


def family(process: int) -> list[int]:
    """A process and those that it started."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii")
    return [process, *map(int, children.split())]


def sample(process: int, done: int) -> Sample:
    cpu, memory = 0.0, []
    for one in family(process):
        fields = Path(f"/proc/{one}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        cpu += (int(fields[11]) + int(fields[12])) / TICKS
        memory.append(int(fields[21]) * MEGABYTES)
    return Sample(done, cpu, memory)


def shards(folder: Path) -> list[dict[str, Any]]:
    """Those that are done, by the manifest."""
    path = folder / NAME
    lines = path.read_text(encoding="utf-8").split("\n")[1:-1] if path.exists() else []
    return [json.loads(line) for line in lines]


def watch(run: subprocess.Popen[bytes], folder: Path, count: int) -> Iterator[Sample]:
    """A sample after every step; the last shard's is taken before the process ends, if there is time."""
    step = 1
    while run.poll() is None:
        done = sum(shard["sentences"] for shard in shards(folder))
        if done >= count * step // STEPS:
            yield sample(run.pid, done)
            step = done * STEPS // count + 1
        time.sleep(PAUSE)


# -- what parsing alone takes


class Alone:
    """Parses some of the sentences again and again."""

    def __init__(self, model: Any, given: list[list[str]]) -> None:
        self.model, self.given, self.seconds, self.count = model, given, 0.0, 0
        list(model.analyse(given[:64]))  # whatever is to be compiled

    def rate(self) -> float:
        """Sentences a CPU second, of all the times that this was asked for."""
        begin = time.process_time()
        self.count += sum(1 for _ in self.model.analyse(self.given))
        self.seconds += time.process_time() - begin
        return self.count / self.seconds


def compare(model: Any, given: list[list[str]], shard: Path) -> None:
    """See that the trees of a shard are those of `parse_all`."""
    lines = shard.read_text(encoding="utf-8").splitlines()
    trees = [json.loads(line)["tree"] for line in lines] if shard.suffix == ".jsonl" else lines
    same = trees == [str(one) for one in model.parse_all(given[: len(trees)])]
    print(f"the first {len(trees)} trees are {'the same' if same else 'OTHERS'} as those of parse_all")


def run(model_path: Path, file: Path, folder: Path, options: argparse.Namespace) -> None:
    model, out = latree.load(model_path), folder / "out"
    paths = write(sentences(model, file, options.count, options.new), folder, options.count)
    size = max(1, options.count // SHARDS)
    with paths[0].open(encoding="utf-8") as lines:
        given = [line.split() for line in islice(lines, max(size, TIMED))]
    alone = Alone(model, given[:TIMED])
    command = [sys.executable, "-m", "latree", "parse", "-m", str(model_path), "--jobs", str(options.jobs)]
    more = ["--output-dir", str(out), "--shard", str(size), *["--json"] * options.json, *map(str, paths)]
    begin, first = time.monotonic(), None
    with subprocess.Popen([*command, *more]) as process:
        for now in watch(process, out, options.count):
            first = first or now
            cpu, rate = now.cpu - first.cpu, alone.rate()
            bulk = f"{(now.sentences - first.sentences) / cpu:6.0f} sentences a CPU second" if cpu else ""
            print(f"{now.sentences:9,d}: {' + '.join(f'{mb:.1f}' for mb in now.memory)} MB", end="; ")
            print(f"{bulk} ({rate:.0f} by parsing alone)", flush=True)
    found = shards(out)
    print(f"{sum(one['sentences'] for one in found):,} sentences, {time.monotonic() - begin:.0f} s", end="; ")
    print(f"{sum(one['recovered'] for one in found)} stand-ins, {sum(len(one['failed']) for one in found)} failures")
    compare(model, given, out / found[0]["output"])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Parse very many sentences into a folder.")
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--new", action="store_true", help="a new word in every sentence")
    parser.add_argument("-m", "--model", type=Path)
    parser.add_argument("--file", type=Path, default=toy("dev"))
    options = parser.parse_args(arguments)
    with TemporaryDirectory() as place:
        folder = Path(place)
        if options.model is None:
            small_model("lvg").save(folder / "model.latree")
        run(options.model or folder / "model.latree", options.file, folder, options)


if __name__ == "__main__":
    main()
