"""How the cost of training a latent variable grammar grows with the treebank and with rounds.

    python -m bench.growth TREEBANK [--rounds N] [--shares 0.125 0.25 0.5 1] [--sample N]

Prints CPU seconds after each round (reading and setting up included) and the most memory used, for parts of the
treebank; with `--sample`, also for so many sentences drawn from the grammar of the whole treebank.  Each row is a
process of its own.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

import latree
from latree.kinds.lvg.model import Lvg
from latree.learning.loop import Training, after_steps
from latree.text.binary import undo

T = TypeVar("T")


def train(path: str, share: float, rounds: int, save: str | None) -> str:
    """A row of the table."""
    lengths = [len(tree.words()) for tree in latree.read_trees(path)]  # none of the trees stays: memory is training's
    lengths = lengths[: round(share * len(lengths))]
    start, seconds = time.process_time(), list[float]()
    how = Training(after_steps(lambda _: seconds.append(time.process_time() - start)))
    model = Lvg(rounds=rounds).fit(islice(latree.read_trees(path), len(lengths)), how)
    if save is not None:
        model.save(save)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    cells = " | ".join(f"{second:.0f}" for second in seconds)
    return f"| {len(lengths)} | {sum(lengths)} | {int(model.size.sum())} | {cells} | {memory:.0f} |"


def draw(model_path: str, count: int, path: str) -> None:
    """A treebank of sentences drawn from a model."""
    model, rng = latree.load(model_path), np.random.default_rng(0)
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{undo(model.drawer.tree(rng))}\n" for _ in range(count))


def alone(function: Callable[..., T], *arguments: Any) -> T:
    """Call in a process of its own, so that memory is that of this call."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Print how the cost of training grows.")
    parser.add_argument("treebank")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--shares", type=float, nargs="*", default=[0.125, 0.25, 0.5, 1.0])
    parser.add_argument("--sample", type=int, help="also train on so many sentences drawn from the last grammar")
    options = parser.parse_args(arguments)
    columns = " | ".join(f"round {number}" for number in range(1, options.rounds + 1))
    print(f"| sentences | words | subtypes | CPU s: {columns} | MB |")
    print("|---" * (options.rounds + 4) + "|")
    with tempfile.TemporaryDirectory() as folder:
        model = str(Path(folder) / "model.latree")
        for share in options.shares:
            print(alone(train, options.treebank, share, options.rounds, model), flush=True)
        if options.sample:
            drawn = str(Path(folder) / "drawn.mrg")
            alone(draw, model, options.sample, drawn)
            print(alone(train, drawn, 1.0, options.rounds, None), flush=True)


if __name__ == "__main__":
    main()
