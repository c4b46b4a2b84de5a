"""Latent variable grammars, or structured vectorial semantics, on several treebanks.

    python -m bench.treebanks DIRECTORY... [--rounds N] [--concepts] [--labels SET=PRESET ...]

Each directory has train.mrg.gz (or train.mrg) and dev.mrg.  Prints dev F1, exact match, subtypes (or concepts, of all
categories together), CPU seconds of training and sentences parsed a CPU second, after the last round.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import latree
from latree.kinds.lvg.model import Lvg
from latree.kinds.svs.model import Svs

DEFAULT = "penn"


def row(directory: Path, model: Lvg | Svs) -> str:
    path = next(p for p in (directory / "train.mrg.gz", directory / "train.mrg") if p.exists())
    start = time.process_time()
    model.fit(latree.read_trees(path))
    trained = time.process_time()
    gold = list(latree.read_trees(directory / "dev.mrg", model.labels.for_scoring()))
    guesses = [parse.tree for parse in model.parse_all([tree.words() for tree in gold])]
    parsed = time.process_time()
    scores = latree.score_trees(gold, guesses).to_json()
    figures = f"{scores['f1']:.2f} | {scores['exact']:.2f} | {int(model.widths().sum())} | {trained - start:.1f}"
    return f"| {directory.name} | {figures} | {len(gold) / (parsed - trained):.0f} |"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Print scores of grammars with subtypes on several treebanks.")
    parser.add_argument("directories", nargs="+", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--concepts", action="store_true", help="structured vectorial semantics")
    parser.add_argument("--labels", nargs="*", default=[], help="label presets, as SET=PRESET")
    options = parser.parse_args(arguments)
    presets = dict(pair.split("=") for pair in options.labels)
    print("| treebank | dev F1 | exact | subtypes | training CPU s | sentences parsed a CPU s |")
    print("|---|---|---|---|---|---|")
    for directory in options.directories:
        labels = latree.LabelRules.named(presets.get(directory.name, DEFAULT))
        model = Svs(labels=labels) if options.concepts else Lvg(rounds=options.rounds, labels=labels)
        print(row(directory, model), flush=True)


if __name__ == "__main__":
    main()
