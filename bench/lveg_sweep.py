"""Figures 1 and 2 of Zhao, Zhang & Tu (2018): accuracy and time of Gaussian mixtures by one of their constants.

    python -m bench.lveg_sweep TRAIN DEV --figure dim            figure 1, left: 2 to 9 dimensions
    python -m bench.lveg_sweep TRAIN DEV --figure components     figure 1, right: 1 to 9 Gaussians a rule
    python -m bench.lveg_sweep TRAIN DEV --figure k-hard         figure 2: 10 to 80 Gaussians a message, and all (0)
    ... [--page FILE.html] [--values N...] [--seeds N...] [--epochs N] [--unmerged edges|all] [--rounds N] [--list N]
        [--subtypes] [--share N]

The other constants are the paper's (`latree train gm-lveg --paper`): training prunes by the treebank grammar, and dev
sentences are parsed with the constituents of the 200 best trees of an `lvg` of the same treebank.  Figure 2 is of
diagonal Gaussians, of training sentences of at most 20 words and dev sentences of at most 25.

Prints the best dev F1 of each seed, their mean and deviation, CPU seconds an epoch but for the first, which makes the
forests, and CPU milliseconds to parse a sentence.  With `--unmerged edges` mixtures are cut as the authors' program
does it: an epoch of figure 2 then takes hours.  With `--subtypes` that `lvg` says what is worth considering, in
training and parsing, which makes an epoch thirty times as fast, and steps are those of latree, 32 sentences each, with
epochs averaged; with `--share N` every Nth tree is trained on.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from types import MappingProxyType
from typing import Any, NamedTuple

import latree
from latree.files import write_atomically
from latree.kinds.gm_lveg import GmLvegOptions
from latree.kinds.gm_lveg.model import GmLveg
from latree.kinds.lvg.model import Lvg
from latree.learning.loop import Progress, Training
from latree.report.html import page
from latree.report.value import Column, Lines, Report, Table

Trees = list[latree.Tree]
Sentence = list[str] | latree.Listed
SUBTYPES = {"pruner": "lvg", "p_min": None, "looseness": 0.1, "batch": 32, "memory": 0.6}  # as latree has them


class Figure(NamedTuple):
    """What is varied, and what is not as in the paper's main experiment."""

    across: str
    values: Sequence[int]
    varied: tuple[str, ...]  # the options that have the value
    others: Mapping[str, Any] = MappingProxyType({})
    longest: int = 400  # words of a dev sentence


FIGURES = {
    "dim": Figure("dimensions", range(2, 10), ("dim",)),
    "components": Figure("Gaussians a rule", range(1, 10), ("components", "word_components")),
    "k-hard": Figure(
        "Gaussians a message at most",
        (*range(10, 90, 10), 0),
        ("k_min", "parse_k_min", "k_max"),
        {"covariance": "diagonal", "max_length": 20},
        25,
    ),
}


class Row(NamedTuple):
    """What one value gives, a number a seed."""

    value: int
    f1: tuple[float, ...]
    epoch: tuple[float, ...]  # CPU seconds
    parse: tuple[float, ...]  # CPU milliseconds a sentence

    @property
    def name(self) -> str:
        return str(self.value) if self.value else "all"

    @property
    def cells(self) -> tuple[str, ...]:
        spread = f" ± {stdev(self.f1):.2f}" if len(self.f1) > 1 else ""
        seeds = ", ".join(f"{one:.2f}" for one in self.f1)
        return (self.name, seeds, f"{mean(self.f1):.2f}{spread}", f"{mean(self.epoch):.2f}", f"{mean(self.parse):.1f}")


class Watcher:
    """Scores each epoch, and keeps the time that training took."""

    def __init__(self, sentences: Sequence[Sentence], gold: Trees) -> None:
        self.sentences, self.gold = sentences, gold
        self.f1, self.parse = 0.0, 0.0
        self.epochs: list[float] = []
        self.finished: float | None = None  # when the epoch before was scored

    def watch(self, progress: Progress) -> None:
        if progress.model is None:
            return
        start = time.process_time()
        if self.finished is not None:
            self.epochs.append(start - self.finished)
        guesses = [parse.tree for parse in progress.model.parse_all(self.sentences)]
        self.finished = time.process_time()
        self.parse = 1000 * (self.finished - start) / len(self.gold)
        self.f1 = max(self.f1, float(latree.score_trees(self.gold, guesses).to_json()["f1"]))


def listed(parser: Lvg, gold: Trees, k: int) -> list[latree.Listed]:
    """The sentences with the k best trees of a parser."""
    ranked = (parser.kbest(tree.words(), k) for tree in gold)
    return [latree.Listed(best[0].tokens, tuple(one.tree for one in best if one.tree is not None)) for best in ranked]


def measure(trees: Trees, watcher: Watcher, options: GmLvegOptions, pruner: Lvg | None = None) -> Watcher:
    GmLveg(options, pruner=pruner).fit(trees, Training(watcher.watch))
    return watcher


def in_row(value: int, runs: Sequence[Watcher]) -> Row:
    columns = ((run.f1, mean(run.epochs or [float("nan")]), run.parse) for run in runs)
    return Row(value, *zip(*columns, strict=True))


def report(figure: Figure, rows: Sequence[Row], facts: tuple[tuple[str, str], ...]) -> Report:
    names = tuple(row.name for row in rows)
    plots = (
        Lines("F1 on dev", figure.across, "F1", names, ((0, "best epoch, each seed", tuple(row.f1 for row in rows)),)),
        Lines("Training", figure.across, "CPU s", names, ((1, "an epoch", tuple(row.epoch for row in rows)),)),
    )
    heads = (figure.across, "F1 of each seed", "F1", "CPU s an epoch", "CPU ms to parse a sentence")
    table = Table(tuple(Column(head) for head in heads), tuple(row.cells for row in rows))
    return Report("GM-LVeG by " + figure.across, facts, (*plots, table))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Print how accuracy and time depend on a constant.")
    parser.add_argument("train")
    parser.add_argument("dev")
    parser.add_argument("--figure", choices=FIGURES, required=True)
    parser.add_argument("--values", type=int, nargs="+", help="in place of the paper's")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--unmerged", choices=["no", "edges", "all"], default="no")
    parser.add_argument("--rounds", type=int, default=4, help="of the grammar whose best trees list constituents")
    parser.add_argument("--list", type=int, default=200, help="how many of its best trees")
    parser.add_argument("--subtypes", action="store_true", help="prune by that grammar, not by the treebank's rules")
    parser.add_argument("--share", type=int, default=1, help="train on every so manieth tree")
    parser.add_argument("--page", type=Path, help="an HTML file for the plots")
    given = parser.parse_args(arguments)
    figure = FIGURES[given.figure]
    trees = list(latree.read_trees(given.train))[:: given.share]
    dev = latree.read_trees(given.dev, latree.LabelRules().for_scoring())
    gold = [tree for tree in dev if len(tree.words()) <= figure.longest]
    seeds = given.seeds if given.subtypes else [0]  # lists are made by one grammar
    grammars = {seed: Lvg(rounds=given.rounds, seed=seed).fit(trees) for seed in seeds}
    sentences: list[Sentence] = [tree.words() for tree in gold]
    if not given.subtypes:
        sentences = [*listed(grammars[0], gold, given.list)]
    print(f"| {figure.across} | F1 of each seed | F1 | CPU s an epoch | CPU ms to parse a sentence |")
    print("|---|---|---|---|---|")
    rows = []
    same = {"paper": True, "epochs": given.epochs, "unmerged": given.unmerged, **figure.others}
    same |= SUBTYPES if given.subtypes else {}
    for value in given.values or figure.values:
        changes = same | dict.fromkeys(figure.varied, value)
        chosen = [GmLvegOptions().given(changes | {"seed": seed}, tags=False) for seed in given.seeds]
        pruners = [grammars[seed] if given.subtypes else None for seed in given.seeds]
        runs = (measure(trees, Watcher(sentences, gold), *one) for one in zip(chosen, pruners, strict=True))
        rows.append(in_row(value, list(runs)))
        print(f"| {' | '.join(rows[-1].cells)} |", flush=True)
    if given.page is not None:
        facts = (("trained on", given.train), ("dev", given.dev), ("seeds", " ".join(map(str, given.seeds))))
        write_atomically(given.page, page(report(figure, rows, facts)).encode())


if __name__ == "__main__":
    main()
