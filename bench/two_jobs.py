"""What a second process brings to training, by the clock.

    python -m bench.two_jobs DIRECTORY [--kinds "lvg rounds=4" "gm-lveg spans=true epochs=6" ...] [--times 2]

The directory has train.mrg.gz (or train.mrg); kinds and their options are those of `latree train`.  One job and two
take turns.  Kinds that have a pruner get one `lvg`, which is trained before and does not count.  Prints the seconds of
each turn and how many times as fast two are, by the fastest; stops where two make another file than one.  Nothing else
should run.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from bench.kinds import DEFAULT, make
from bench.parsing import read_part
from latree.kinds.lvg.model import Lvg
from latree.kinds.registry import kind_named
from latree.learning.loop import Training

KINDS = (
    "lvg rounds=4",
    "lvg rounds=5",
    "lvg rounds=6",
    "gm-lveg spans=true epochs=6",
    "lvg-d spans=true",
)


def fit(recipe: str, trees: Sequence[Any], pruner: Any, jobs: int) -> tuple[float, bytes]:
    """Seconds, and the model's file."""
    model = make(recipe, 0, DEFAULT, pruner)
    start = time.perf_counter()
    model.fit(trees, Training(jobs=jobs))
    taken = time.perf_counter() - start
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.latree"
        model.save(path)
        return taken, path.read_bytes()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Print what a second process brings to training.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--kinds", nargs="+", default=KINDS)
    parser.add_argument("--times", type=int, default=2)
    options = parser.parse_args(arguments)
    trees = list(read_part(options.directory, "train"))

    @cache
    def grammar() -> Lvg:
        return Lvg(rounds=4).fit(trees)

    print("| | one job, s | two jobs, s | |\n|---|---|---|---|")
    for recipe in options.kinds:
        pruner = grammar() if kind_named(recipe.split()[0]).pruners else None
        turns = [(fit(recipe, trees, pruner, 1), fit(recipe, trees, pruner, 2)) for _ in range(options.times)]
        if len({content for turn in turns for _, content in turn}) > 1:
            raise SystemExit(f"{recipe}: the files differ")
        one, two = ([seconds for seconds, _ in column] for column in zip(*turns, strict=True))
        cells = " | ".join(", ".join(f"{seconds:.1f}" for seconds in column) for column in (one, two))
        print(f"| `{recipe}` | {cells} | {min(one) / min(two):.2f} |", flush=True)


if __name__ == "__main__":
    main()
