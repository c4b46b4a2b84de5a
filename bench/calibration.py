"""How far probabilities can be trusted, before and after a temperature is learned (`latree calibrate`).

    python -m bench.calibration DATA --models FOLDER [--sets en-wsj en-craft] [--kinds lvg gm-lveg product] [--most N]

DATA holds the treebanks (constituency/en-wsj and so on).  FOLDER keeps the models: what is not there is trained first.
Each half of the development trees is measured with the temperature that the other half asks for.  Errors are expected
calibration errors in per cent: of the constituents of best trees, of all constituents of 0.05 or more, of whole trees.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import latree
from latree.diagnosis.calibration import Calibration
from latree.diagnosis.temperature import at_temperature, learn_temperature
from latree.text.tree import Tree

TRAINED: dict[str, Callable[[], Any]] = {
    "lvg": lambda: latree.Lvg(rounds=4),
    "gm-lveg": lambda: latree.GmLveg(spans=True),
}
HEAD = "set | model | F1 | F1 after | T | best | after | all | after | trees | after"


def model_of(kind: str, data: Path, folder: Path) -> Any:
    """A model of a treebank: a product of the others, or one from its file, where there is none trained for it."""
    if kind == "product":
        return latree.Product([model_of(one, data, folder) for one in TRAINED])
    path = folder / f"{data.name}-{kind}.latree"
    if not path.exists():
        TRAINED[kind]().fit(data / "train.mrg.gz").save(path)
    return latree.load(path)


def f1(model: Any, gold: Sequence[Tree]) -> float:
    """How right the best trees are."""
    parses = model.parse_all([tree.words() for tree in gold])
    return float(latree.score_trees(gold, [parse.tree for parse in parses]).to_json()["f1"])


def errors(found: Calibration) -> list[float]:
    return [100 * one.error for one in (found.best, found.likely, found.tree)]


def row(kind: str, data: Path, folder: Path, most: int | None) -> str:
    """A row of the table."""
    model = model_of(kind, data, folder)
    learned = learn_temperature(model, list(latree.read_trees(data / "dev.mrg", model.labels))[:most])
    gold = list(latree.read_trees(data / "dev.mrg", model.labels.for_scoring()))[:most]
    warm = at_temperature(model, learned.temperature)
    scores = f1(model, gold), f1(warm, gold)
    pairs = zip(errors(learned.before), errors(learned.after), strict=True)
    halves = " and ".join(f"{one:.2f}" for one in learned.halves)
    figures = [*(f"{one:.2f}" for one in scores), halves, *(f"{one:.2f}" for pair in pairs for one in pair)]
    return f"| {data.name} | {kind} | {' | '.join(figures)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description="Print calibration errors before and after a temperature is learned.")
    parser.add_argument("data", type=Path)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=["en-wsj", "en-craft"])
    parser.add_argument("--kinds", nargs="+", default=[*TRAINED, "product"], choices=[*TRAINED, "product"])
    parser.add_argument("--most", type=int, help="development trees of a set at most")
    given = parser.parse_args()
    print(f"| {HEAD} |\n{'|---' * (HEAD.count('|') + 1)}|")
    for name in given.sets:
        for kind in given.kinds:
            print(row(kind, given.data / "constituency" / name, given.models, given.most), flush=True)


if __name__ == "__main__":
    main()
