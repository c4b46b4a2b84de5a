"""Several kinds of parsers on several treebanks, each beside the grammar with subtypes that prunes for it.

    python -m bench.kinds DIRECTORY... [--kinds "gm-lveg spans=true" "lvg-d spans=true" "cvg folds=1"] [--seeds 1]
                          [--rounds 4] [--labels SET=PRESET ...]

Each directory has train.mrg.gz (or train.mrg), dev.mrg and maybe test.mrg; kinds and their options are those of `latree
train`.  The grammar is trained once for all kinds.  Prints, as soon as it is known, strict F1 / exact match / tags of a
part by each, a row a treebank, seed, part and parser; then CPU seconds of training, and means where there are several
seeds.  What is trained by gradient is as it was best on the first 500 sentences of dev.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.parsing import members, option_values, read_part, score
from latree.cli.kind_options import options_from
from latree.kinds.registry import kind_named, model_class
from latree.learning.loop import Training

KINDS = ("gm-lveg spans=true", "lvg-d spans=true", "cvg folds=1")
CHOSEN_BY = 500  # sentences of dev, for what is trained by gradient
DEFAULT = "penn"

Figures = tuple[float, float, float]


def make(recipe: str, seed: int, labels: str, **arguments: Any) -> Any:
    """A model that is not trained, of a recipe such as `lvg-d spans=true`."""
    name, *given = recipe.split()
    chosen = option_values(given) | {"seed": seed, "labels": labels}
    return model_class(name)(options_from(kind_named(name), chosen, tags=False), **arguments)


def trained(options: argparse.Namespace, directory: Path, seed: int, labels: str) -> Iterator[tuple[Any, float]]:
    """The grammar and what it prunes for, with the CPU seconds that each took by itself."""
    train, grammar = read_part(directory, "train"), make(f"lvg rounds={options.rounds}", seed, labels)
    chosen_by = read_part(directory, "dev", grammar)[:CHOSEN_BY]
    best = Training(score=lambda model: score(model, chosen_by).f1)
    start = time.process_time()
    yield grammar.fit(train), time.process_time() - start
    for recipe in options.kinds:
        start = time.process_time()
        model = make(recipe, seed, labels, pruner=grammar).fit(train, best)
        yield model, time.process_time() - start


def rows(model: Any, directory: Path) -> Iterator[tuple[str, str, Figures]]:
    """What a model has by itself and together with its pruner, by part and name."""
    own = [(name, one) for name, one in members(model) if one is not getattr(model, "pruner", None)]
    for part in ("dev", "test"):
        if (directory / f"{part}.mrg").exists():
            gold = read_part(directory, part, model)
            for name, one in own:
                found = score(one, gold)
                yield part, name, (found.f1_strict, found.exact_strict, found.tags)


def print_treebank(directory: Path, options: argparse.Namespace, labels: str) -> None:
    table: dict[tuple[str, str], list[Figures]] = {}
    for seed in range(options.seeds):
        for model, seconds in trained(options, directory, seed, labels):
            for part, name, figures in rows(model, directory):
                table.setdefault((part, name), []).append(figures)
                told = " / ".join(f"{figure:.2f}" for figure in figures)
                print(f"| {directory.name} | {seed} | {part} | {name} | {told} | {seconds:.0f} |", flush=True)
    if options.seeds > 1:
        print_means(directory.name, table)


def print_means(name: str, table: dict[tuple[str, str], list[Figures]]) -> None:
    for (part, kind), figures in table.items():
        f1, exact, tags = np.mean(figures, axis=0)
        spread = np.std([one[0] for one in figures], ddof=1)
        print(f"| {name} | mean | {part} | {kind} | {f1:.2f} ± {spread:.2f} / {exact:.2f} / {tags:.2f} | |", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Print scores of several kinds of parsers on several treebanks.")
    parser.add_argument("directories", nargs="+", type=Path)
    parser.add_argument("--kinds", nargs="*", default=KINDS, help="each with its options, as NAME=VALUE")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--labels", nargs="*", default=[], help="label presets, as SET=PRESET")
    options = parser.parse_args(arguments)
    presets = dict(pair.split("=") for pair in options.labels)
    print("| treebank | seed | part | parser | F1 / exact / tags | training CPU s |")
    print("|---|---|---|---|---|---|")
    for directory in options.directories:
        print_treebank(directory, options, presets.get(directory.name, DEFAULT))


if __name__ == "__main__":
    main()
