"""Scores of one kind of parser over several seeds, beside its pruner, in products, and by the size of the treebank.

    python -m bench.parsing KIND DIRECTORY [OPTION=VALUE ...] [--seeds 3] [--first-seed 0] [--parts dev test]
                            [--products] [--shares 8 4 2 1] [--strict]

KIND and the options are those of `latree train`, as in `rounds=4 spans=true`; the directory has train.mrg.gz (or
train.mrg), dev.mrg and test.mrg.  Prints F1 / F1 of sentences up to 40 words / exact match of every part, a row a seed
with the number of all its subtypes, then means and, of F1, the standard deviation; with --strict strict F1 / exact
match / tags, of all sentences and words.  What is trained by gradient is as
it was best on dev.  Of a model with a pruner that parses too, the pruner has a column; where the two decide together,
"alone" is the model without it.  With --products: the model times the grammar of the next seed, its pruner or another
of its kind, and two such grammars.  With --shares a table for each, of models trained on every eighth tree, every
fourth, and so on.
"""

from __future__ import annotations

import argparse
import ast
import time
from collections.abc import Iterator, Sequence
from copy import copy
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import latree
from latree.cli.kind_options import options_from, settings_of
from latree.kinds.parser import Parser
from latree.kinds.product.model import Product
from latree.kinds.registry import kind_named, model_class
from latree.learning.loop import Training

Trees = list[latree.Tree]
SHORT = 40  # words: papers tell of sentences up to here apart


class Score(NamedTuple):
    """Of one part."""

    f1: float
    short: float  # F1 of short sentences
    exact: float
    f1_strict: float
    exact_strict: float
    tags: float  # of all words


SHOWN = ("f1", "short", "exact")
SHOWN_STRICT = ("f1_strict", "exact_strict", "tags")


def option_values(pairs: Sequence[str]) -> dict[str, Any]:
    """The options that a user wrote as NAME=VALUE."""
    return {name.replace("-", "_"): _value(text) for name, text in (pair.split("=", 1) for pair in pairs)}


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text.capitalize() if text in ("true", "false") else text)
    except (SyntaxError, ValueError):
        return text


def part_paths(directory: Path, part: str) -> tuple[Path, ...]:
    """Where a part may lie."""
    return directory / f"{part}.mrg.gz", directory / f"{part}.mrg"


def read_part(directory: Path, part: str, parser: Any = None) -> Trees:
    """The trees of a part, for training or, with a parser, for scoring it."""
    path = next(path for path in part_paths(directory, part) if path.exists())
    return list(latree.read_trees(path, None if parser is None else parser.labels.for_scoring()))


def score(parser: Any, gold: Trees) -> Score:
    guesses = [parse.tree for parse in parser.parse_all([tree.words() for tree in gold])]
    scores = latree.score_trees(gold, guesses).to_json()
    short = [number for number, tree in enumerate(gold) if len(tree.words()) <= SHORT]
    of_short = latree.score_trees([gold[number] for number in short], [guesses[number] for number in short])
    of_all = (scores[name] for name in ("f1_strict", "exact_strict", "tag_accuracy_all"))
    return Score(scores["f1"], of_short.to_json()["f1"], scores["exact"], *of_all)


def members(model: Any) -> Iterator[tuple[str, Any]]:
    """The model and what there is of it that parses by itself, with the names of their columns."""
    pruner = getattr(model, "pruner", None)
    if isinstance(pruner, Parser):
        yield pruner.kind, pruner
    if kind_named(model.kind).joins_pruner:
        alone = copy(model)
        alone.joint = False
        yield f"{model.kind} alone", alone
    yield model.kind, model


def products(models: Sequence[Any], number: int) -> Iterator[tuple[str, Any]]:
    """A model times the grammar of the next seed, and the two seeds' grammars."""
    grammars = [getattr(model, "pruner", model) for model in models]
    following = grammars[(number + 1) % len(models)]
    if models[number] is not grammars[number]:
        yield f"{models[number].kind} x {following.kind}", Product([following, models[number]])
    yield f"{following.kind} x {following.kind}", Product([grammars[number], following])


def trained_models(options: argparse.Namespace, train: Trees) -> list[Any]:
    """A model a seed; one where nothing is random."""
    kind, models = kind_named(options.kind), list[Any]()
    values = option_values(options.options)
    for seed in seeds_of(options) if "seed" in settings_of(kind) else [None]:
        model: Any = model_class(kind.name)(options_from(kind, {**values, "seed": seed}, tags=False))
        models.append(fit(model, options.directory, train))
    return models


def seeds_of(options: argparse.Namespace) -> range:
    return range(options.first_seed, options.first_seed + options.seeds)


def fit(model: Any, directory: Path, train: Trees) -> Any:
    """Train a model; what is trained by gradient is kept as it was best on dev."""
    dev = read_part(directory, "dev", model)
    by_gradient = hasattr(model, "pruner")  # others are not chosen by a score, and scoring takes time
    return model.fit(train, Training(score=(lambda one: score(one, dev).f1_strict) if by_gradient else None))


def print_table(options: argparse.Namespace, train: Trees) -> None:
    start = time.process_time()
    models = trained_models(options, train)
    seconds = (time.process_time() - start) / len(models)
    golds = {part: read_part(options.directory, part, models[0]) for part in options.parts}
    shown, rows = SHOWN_STRICT if options.strict else SHOWN, list[list[list[float]]]()
    for number, (seed, model) in enumerate(zip(seeds_of(options), models, strict=False)):  # one where nothing is random
        columns = [*members(model), *(products(models, number) if options.products else ())]
        scores = {f"{part}: {name}": score(parser, gold) for part, gold in golds.items() for name, parser in columns}
        if not rows:
            print(f"{len(train)} trees, {seconds:.0f} CPU seconds a training\n")
            print(f"| | {' | '.join(scores)} |\n{'|---' * (len(scores) + 1)}|")
        rows.append([[getattr(one, name) for name in shown] for one in scores.values()])
        cells = (" / ".join(f"{number:.2f}" for number in cell) for cell in rows[-1])
        print(f"| seed {seed}{width(model)} | {' | '.join(cells)} |", flush=True)
    if len(rows) > 1:
        print(f"| mean | {' | '.join(means(rows))} |")
    print(flush=True)


def width(model: Any) -> str:
    """How many subtypes the model's grammar has, or its pruner's, where there are any."""
    counts = getattr(model, "pruner", model).subtype_counts()
    return "" if counts is None else f", {counts.sum()} subtypes"


def means(rows: Sequence[Sequence[Sequence[float]]]) -> Iterator[str]:
    """The last row of a table: for every column the means, and the deviation of F1."""
    scores = np.array(rows)
    for mean, deviation in zip(scores.mean(0), scores[:, :, 0].std(0, ddof=1), strict=True):
        yield f"{mean[0]:.2f} ± {deviation:.2f} / {mean[1]:.2f} / {mean[2]:.2f}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Print scores of a kind of parser over several seeds.")
    parser.add_argument("kind")
    parser.add_argument("directory", type=Path)
    parser.add_argument("options", nargs="*", help="of the training, as NAME=VALUE")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--parts", nargs="*", default=["dev"])
    parser.add_argument("--products", action="store_true")
    parser.add_argument("--shares", nargs="*", type=int, default=[1], help="train on every so manieth tree")
    parser.add_argument("--strict", action="store_true")
    options = parser.parse_args(arguments)
    for part in ("train", *options.parts):  # before hours of training, not after them
        if not any(path.exists() for path in part_paths(options.directory, part)):
            parser.error(f"{options.directory} has no {part}.mrg, and no {part}.mrg.gz")
    for share in options.shares:
        print_table(options, read_part(options.directory, "train")[::share])


if __name__ == "__main__":
    main()
