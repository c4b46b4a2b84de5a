"""How much of a treebank lies on disk, and how much memory is used, while a latent variable grammar is trained on it.

    python -m bench.treebank_size TREEBANK
    python -m bench.treebank_size TREEBANK --train

Prints trees, words, stretches, the megabytes of trees and of forests on disk, edges before and after equal subtrees are
shared, and CPU seconds until EM can begin.  With `--train` one round of few iterations follows instead: CPU seconds
until EM's first pass was done and in all, the most megabytes that were not mapped from files, and with those that were.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Event, Thread

import numpy as np

from latree import Lvg
from latree.inference.forest import Forest
from latree.learning.coded_trees import CodedTrees
from latree.learning.latent_treebank import LatentTreebank
from latree.learning.loop import Training
from latree.lexicon.words import Lexicon

MEGABYTE = 1 << 20
FEW = {"rounds": 1, "split_iterations": 10, "merge_iterations": 5, "smooth_iterations": 5}
POLL = 0.05  # seconds


class MostMemory(Thread):
    """Looks at how much memory this process has, of its own and with what is mapped from files."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.over, self.own, self.all = Event(), 0, 0

    def run(self) -> None:
        while not self.over.wait(POLL):
            status = Path("/proc/self/status").read_text(encoding="utf-8")
            kilobytes = {name: int(number) for name, number in re.findall(r"^(\w+):\s+(\d+) kB$", status, re.MULTILINE)}
            self.own, self.all = max(self.own, kilobytes["RssAnon"]), max(self.all, kilobytes["VmRSS"])


def train(path: str) -> None:
    """Print what a round of training takes."""
    memory, start, seconds = MostMemory(), time.process_time(), list[float]()
    memory.start()
    model = Lvg(**FEW)
    model.fit(model.read_treebank(path), Training(lambda _: seconds.append(time.process_time() - start)))
    memory.over.set()
    memory.join()
    print(f"first pass after {seconds[0]:.1f} CPU s, all {time.process_time() - start:.1f}")
    print(f"{memory.own / 1024:.0f} MB of its own, {memory.all / 1024:.0f} MB with mapped files")


def forest_bytes(forest: Forest) -> int:
    return sum(array.nbytes for array in forest if isinstance(array, np.ndarray))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Print how much of a treebank lies on disk.")
    parser.add_argument("treebank")
    parser.add_argument("--train", action="store_true")
    options = parser.parse_args(arguments)
    if options.train:
        train(options.treebank)
        return
    model = Lvg()
    data = CodedTrees.of(model.prepare_data(model.read_treebank(options.treebank)))
    grammar, _ = data.rules()
    lexicon = Lexicon.count(data.tagged(grammar), len(grammar.tags), "features")
    treebank = LatentTreebank.of(grammar, data, lexicon)
    recipes, build = treebank.shards.recipes, treebank.shards.build
    pieces = sum(16 * int(some.edges.sum()) + 12 * int(some.items.sum()) for some in recipes)
    forests = edges = shared = 0
    for stretch in map(build, recipes):
        forests += forest_bytes(stretch.forest) + forest_bytes(stretch.shared)
        edges, shared = edges + len(stretch.forest.rule), shared + len(stretch.shared.rule)
    print(f"{len(data)} trees, {treebank.words} words, {len(recipes)} stretches")
    print(f"trees {pieces / MEGABYTE:.1f} MB, forests {forests / MEGABYTE:.1f} MB; {edges} edges, {shared} shared")
    print(f"{time.process_time():.1f} CPU s")


if __name__ == "__main__":
    main()
