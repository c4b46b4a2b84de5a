"""Several kinds of parsers on several treebanks, each beside the grammar with subtypes that prunes for it.

    python -m bench.kinds DIRECTORY... [--kinds "lvg rounds=4" "gm-lveg spans=true" "lvg-d spans=true" "cvg folds=1"]
                          [--seeds 0 1 2] [--labels SET=PRESET ...]
    python -m bench.kinds --rows FILE...

Each directory has train.mrg.gz (or train.mrg), dev.mrg and maybe test.mrg; kinds and their options are those of `latree
train`.  An `lvg` that was trained prunes for the kinds behind it.  Prints, as soon as it is known, strict F1 / exact
match / tags of a part by each, a row a treebank, seed, part and parser, with the CPU seconds of training, the widths of
all categories together (subtypes or concepts) and the sentences that are parsed and scored a CPU second; then tables of
their means, F1 with its deviation over the seeds.  `--rows` makes the tables of rows that were printed before, by
however many runs.  Below each: on how many treebanks a parser is above the `lvg` of the same seeds (the first parser
where there is none), and by how much.
What is trained by gradient, or for as many rounds as help (`rounds=auto`), is as it was best on the first 500 sentences
of dev.  Several recipes of one kind, such as "lvg rounds=4" and "lvg rounds=4 fine=auto", have a column each.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.parsing import members, option_values, read_part, score
from latree.best.trials import is_scored
from latree.cli.kind_options import options_from, settings_of
from latree.kinds.registry import kind_named, model_class
from latree.learning.loop import Training

KINDS = ("lvg rounds=4", "gm-lveg spans=true", "lvg-d spans=true", "cvg folds=1")
CHOSEN_BY = 500  # sentences of dev, for what is trained by gradient
DEFAULT = "penn"
BASE = "lvg"  # prunes for others, which are compared with it
NAMES = "treebank", "seed", "part", "parser", "F1 / exact / tags", "training CPU s", "subtypes", "sentences a CPU s"
COLUMNS = f"| {' | '.join(NAMES)} |\n{'|---' * len(NAMES)}|"

Figures = tuple[float, float, float]
Row = tuple[str, int, str, str, Figures]  # treebank, seed, part, parser
BySeed = dict[int, Figures]
Cells = defaultdict[tuple[str, str], BySeed]  # by treebank and parser


def make(recipe: str, seed: int, labels: str, pruner: Any) -> Any:
    """A model that is not trained, of a recipe such as `lvg-d spans=true`."""
    name, *given = recipe.split()
    kind, chosen = kind_named(name), option_values(given) | {"labels": labels}
    if "seed" in settings_of(kind):
        chosen["seed"] = seed
    prunes = {"pruner": pruner} if pruner is not None and pruner.kind in kind.pruners else {}
    return model_class(name)(options_from(kind, chosen, tags=False), **prunes)


def trained(options: argparse.Namespace, directory: Path, seed: int, labels: str) -> Iterator[tuple[Any, str, float]]:
    """A model of every kind, with its recipe and the CPU seconds that it took by itself."""
    train, grammar = read_part(directory, "train"), None
    for recipe in options.kinds:
        model = make(recipe, seed, labels, grammar)
        start = time.process_time()
        model.fit(train, chosen_by(model, directory))
        yield model, recipe, time.process_time() - start
        if model.kind == BASE:
            grammar = model


def chosen_by(model: Any, directory: Path) -> Training:
    """What is trained by gradient, or for as many rounds as help, is kept as it was best on a part of dev."""
    if not is_scored(model):
        return Training()
    gold = read_part(directory, "dev", model)[:CHOSEN_BY]
    return Training(score=lambda one: score(one, gold).f1_strict)


def scored_parts(model: Any, directory: Path) -> Iterator[tuple[str, Figures, float]]:
    """What a model has on each part that is there, and the sentences that are parsed and scored a CPU second."""
    for part in ("dev", "test"):
        if (directory / f"{part}.mrg").exists():
            gold = read_part(directory, part, model)
            start = time.process_time()
            found = score(model, gold)
            rate = len(gold) / (time.process_time() - start)
            yield part, (found.f1_strict, found.exact_strict, found.tags), rate


def rows(directory: Path, options: argparse.Namespace, labels: str) -> Iterator[Row]:
    """Train and score, a model by itself and together with its pruner; print each row as soon as it is known."""
    for seed in options.seeds:
        for model, recipe, seconds in trained(options, directory, seed, labels):
            widths = model.subtype_counts()
            width = "" if widths is None else str(widths.sum())
            several = sum(other.split()[0] == model.kind for other in options.kinds) > 1
            for own_name, one in members(model):
                if one is not getattr(model, "pruner", None):
                    name = own_name.replace(model.kind, recipe, 1) if several else own_name
                    for part, figures, rate in scored_parts(one, directory):
                        yield tell_row((directory.name, seed, part, name, figures), seconds, width, rate)


def tell_row(row: Row, seconds: float, made_of: str, rate: float) -> Row:
    """Print a row; it is also what is returned."""
    treebank, seed, part, name, figures = row
    told = " / ".join(f"{figure:.2f}" for figure in figures)
    print(f"| {treebank} | {seed} | {part} | {name} | {told} | {seconds:.0f} | {made_of} | {rate:.0f} |", flush=True)
    return row


def read_rows(path: Path) -> Iterator[Row]:
    """The rows that a run printed."""
    for line in path.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) > 4 and cells[1].isdigit():
            f1, exact, tags = (float(figure) for figure in cells[4].split("/"))
            yield cells[0], int(cells[1]), cells[2], cells[3], (f1, exact, tags)


def print_tables(found: Iterable[Row]) -> None:
    """Means over the seeds, a table a part."""
    parts: dict[str, Cells] = {}
    for treebank, seed, part, name, figures in found:
        parts.setdefault(part, defaultdict(dict))[treebank, name][seed] = figures
    for part, cells in parts.items():
        print_table(part, cells)


def print_table(part: str, cells: Cells) -> None:
    """A row a treebank, a column a parser; below, what each has beyond the grammar that prunes."""
    treebanks, names = sorted({treebank for treebank, _ in cells}), list(dict.fromkeys(name for _, name in cells))
    print(f"\n| {part} | {' | '.join(f'`{name}`' for name in names)} |")
    print(f"|---|{'---|' * len(names)}")
    for treebank in treebanks:
        print(f"| {treebank} | {' | '.join(mean_of(cells[treebank, name]) for name in names)} |")
    means = (np.mean([f1_of(cells[treebank, name]) for treebank in treebanks]) for name in names)
    print(f"| mean of {len(treebanks)} | {' | '.join(f'{mean:.2f}' for mean in means)} |\n")
    base = next((name for name in names if name.split()[0] == BASE), names[0])
    for name in names:
        pairs = [(cells[treebank, name], cells[treebank, base]) for treebank in treebanks]
        gains = [gain_of(mine, theirs) for mine, theirs in pairs if mine.keys() & theirs.keys()]
        if gains and name != base:
            print_gains(name, base, gains)


def gain_of(mine: BySeed, theirs: BySeed) -> float:
    """How much F1 one parser has beyond another, over the seeds that both have."""
    return float(np.mean([mine[seed][0] - theirs[seed][0] for seed in mine.keys() & theirs.keys()]))


def print_gains(name: str, base: str, gains: Sequence[float]) -> None:
    above = sum(gain > 0 for gain in gains)
    print(f"{name}: above `{base}` on {above} of {len(gains)} treebanks, by {np.mean(gains):.2f} on average")


def f1_of(by_seed: BySeed) -> float:
    return float(np.mean([f1 for f1, _, _ in by_seed.values()])) if by_seed else np.nan


def mean_of(by_seed: BySeed) -> str:
    if not by_seed:
        return ""
    _, exact, tags = np.mean(list(by_seed.values()), axis=0)
    spread = f" ± {np.std([f1 for f1, _, _ in by_seed.values()], ddof=1):.2f}" if len(by_seed) > 1 else ""
    return f"{f1_of(by_seed):.2f}{spread} / {exact:.2f} / {tags:.2f}"


def arguments_of(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> argparse.Namespace:
    """What a user says, with the options that every table of treebanks has."""
    parser.add_argument("directories", nargs="*", type=Path)
    parser.add_argument("--rows", nargs="+", type=Path, help="print tables of what these runs printed")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--labels", nargs="*", default=[], help="label presets, as SET=PRESET")
    return parser.parse_args(arguments)


def labelled(options: argparse.Namespace) -> Iterator[tuple[Path, str]]:
    """Each treebank with its label preset."""
    presets = dict(pair.split("=") for pair in options.labels)
    return ((directory, presets.get(directory.name, DEFAULT)) for directory in options.directories)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Print scores of several kinds of parsers on several treebanks.")
    parser.add_argument("--kinds", nargs="*", default=KINDS, help="each with its options, as NAME=VALUE")
    options = arguments_of(parser, arguments)
    if options.rows:
        print_tables(row for path in options.rows for row in read_rows(path))
        return
    print(COLUMNS)
    print_tables(row for directory, labels in labelled(options) for row in rows(directory, options, labels))


if __name__ == "__main__":
    main()
