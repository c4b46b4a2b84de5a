"""How accuracy and time depend on a constant of Gaussian-mixture grammars (the figures of Zhao, Zhang & Tu 2018).

    python -m bench.lveg_sweep TRAIN DEV --vary dim 1 2 3 4 6                 their figure 1, left
    python -m bench.lveg_sweep TRAIN DEV --vary components 1 2 4 6 8          their figure 1, right
    python -m bench.lveg_sweep TRAIN DEV --vary k_hard 5 10 20 50 0           their figure 2; 0 is exact
    ... [--epochs N] [--max-length N] [--rounds N] [--plot FILE.svg]

Prints, for each value, the best dev F1 of the mixtures alone and together with the pruner, CPU seconds an epoch, and
CPU milliseconds to parse a sentence.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import latree
from bench import svg
from latree.kinds.gm_lveg import GmLvegOptions
from latree.kinds.gm_lveg.model import GmLveg
from latree.kinds.lvg.model import Lvg
from latree.learning.loop import Progress, Training

Trees = list[latree.Tree]
PAPER = GmLvegOptions(dim=3, components=4, word_components=2, grow=0, looseness=1.0)  # what is varied begins here


class Row(NamedTuple):
    """What one value gives."""

    value: float
    alone: float
    joint: float
    epoch: float  # CPU seconds
    parse: float  # CPU milliseconds a sentence

    def __str__(self) -> str:
        return f"| {self.value:g} | {self.alone:.2f} | {self.joint:.2f} | {self.epoch:.2f} | {self.parse:.1f} |"


def f1(model: GmLveg, gold: Trees) -> float:
    guesses = [parse.tree for parse in model.parse_all([tree.words() for tree in gold])]
    return float(latree.score_trees(gold, guesses).to_json()["f1"])


class Watcher:
    """Scores each epoch both ways, and keeps the time that training took."""

    def __init__(self, gold: Trees) -> None:
        self.gold, self.alone, self.joint, self.parse = gold, 0.0, 0.0, 0.0
        self.epochs: list[float] = []
        self.started = 0.0

    def watch(self, progress: Progress) -> None:
        done, batches = progress.done, progress.parts
        if progress.model is not None:
            self.after_epoch(progress.model)
            return
        if done == 1:
            self.started = time.process_time()
        if done == batches:  # the first batch's own time is not seen: scale it in
            self.epochs.append((time.process_time() - self.started) * batches / max(batches - 1, 1))

    def after_epoch(self, model: GmLveg) -> None:
        model.joint = False
        start = time.process_time()
        self.alone = max(self.alone, f1(model, self.gold))
        self.parse = 1000 * (time.process_time() - start) / len(self.gold)
        model.joint = True
        self.joint = max(self.joint, f1(model, self.gold))


def sweep_row(pruner: Lvg, trees: list[latree.Tree], gold: Trees, options: GmLvegOptions, value: float) -> Row:
    watcher = Watcher(gold)
    how = Training(watcher.watch)
    GmLveg(options=options, pruner=pruner).fit(trees, how)
    return Row(value, watcher.alone, watcher.joint, min(watcher.epochs), watcher.parse)


def plot(rows: Sequence[Row], name: str, path: Path) -> None:
    """F1 alone (solid) and CPU seconds an epoch (dashed) against the value, as SVG."""
    width, height, edge = 480, 300, 40
    places = [edge + k * (width - 2 * edge) / max(len(rows) - 1, 1) for k in range(len(rows))]

    def line(values: list[float], style: str) -> str:
        low, high = min(values), max(values)
        ys = [height - edge - (v - low) / ((high - low) or 1) * (height - 2 * edge) for v in values]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(places, ys, strict=True))
        labels = "".join(svg.text(x, y - 6, f"{v:.2f}", 10) for x, y, v in zip(places, ys, values, strict=True))
        return f'<polyline fill="none" stroke="black" {style} points="{points}"/>{labels}'

    ticks = [svg.text(x, height - 12, f"{row.value:g}") for x, row in zip(places, rows, strict=True)]
    words = f"{name}: F1 (solid), CPU s an epoch (dashed)"
    lines = line([row.alone for row in rows], ""), line([row.epoch for row in rows], 'stroke-dasharray="4"')
    svg.write(path, width, height, [svg.text(width / 2, 16, words, 12), *ticks, *lines])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Print how accuracy and time depend on a constant.")
    parser.add_argument("train")
    parser.add_argument("dev")
    parser.add_argument("--vary", nargs="+", required=True, metavar="NAME VALUE...")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--max-length", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args(arguments)
    name, *values = options.vary
    trees = list(latree.read_trees(options.train))
    gold = list(latree.read_trees(options.dev, latree.LabelRules().for_scoring()))
    pruner = Lvg(rounds=options.rounds).fit(trees)
    print(f"| {name} | F1 alone | F1 with the pruner | CPU s an epoch | CPU ms to parse a sentence |")
    print("|---|---|---|---|---|")
    rows = []
    for value in map(int, values):
        varied = {"k_min": value, "k_max": value} if name == "k_hard" else {name: value}
        chosen = replace(PAPER, epochs=options.epochs, max_length=options.max_length, **varied)
        rows.append(sweep_row(pruner, trees, gold, chosen, value))
        print(rows[-1], flush=True)
    if options.plot is not None:
        plot(rows, name, options.plot)


if __name__ == "__main__":
    main()
