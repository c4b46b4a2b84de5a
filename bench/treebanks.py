"""One kind of parser on several treebanks.

    python -m bench.treebanks DIRECTORY... [--kind lvg] [--options rounds=3 ...] [--labels SET=PRESET ...]

Each directory has train.mrg.gz (or train.mrg) and dev.mrg; kind and options are those of `latree train`, by default lvg
with three rounds.  Prints dev F1, exact match, the widths of all categories together (subtypes or concepts), CPU
seconds of training and sentences parsed a CPU second.  What is trained by gradient is as it was best on dev.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import latree
from bench.parsing import fit, option_values, read_part
from latree.cli.kind_options import options_from
from latree.kinds.registry import kind_named, model_class

DEFAULT = "penn"


def row(directory: Path, model: Any) -> str:
    start = time.process_time()
    fit(model, directory, read_part(directory, "train"))
    trained = time.process_time()
    gold = read_part(directory, "dev", model)
    guesses = [parse.tree for parse in model.parse_all([tree.words() for tree in gold])]
    parsed = time.process_time()
    scores, subtypes = latree.score_trees(gold, guesses).to_json(), model.subtype_counts()
    width = "" if subtypes is None else int(subtypes.sum())
    figures = f"{scores['f1']:.2f} | {scores['exact']:.2f} | {width} | {trained - start:.1f}"
    return f"| {directory.name} | {figures} | {len(gold) / (parsed - trained):.0f} |"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Print scores of a kind of parser on several treebanks.")
    parser.add_argument("directories", nargs="+", type=Path)
    parser.add_argument("--kind", default="lvg")
    parser.add_argument("--options", nargs="*", help="of the training, as NAME=VALUE  [default: rounds=3 for lvg]")
    parser.add_argument("--labels", nargs="*", default=[], help="label presets, as SET=PRESET")
    options = parser.parse_args(arguments)
    presets, kind = dict(pair.split("=") for pair in options.labels), kind_named(options.kind)
    given = options.options if options.options is not None else ["rounds=3"] if kind.name == "lvg" else []
    print("| treebank | dev F1 | exact | subtypes | training CPU s | sentences parsed a CPU s |")
    print("|---|---|---|---|---|---|")
    for directory in options.directories:
        labels = {"labels": presets.get(directory.name, DEFAULT)}
        chosen = options_from(kind, option_values(given) | labels, tags=False)
        print(row(directory, model_class(kind.name)(chosen)), flush=True)


if __name__ == "__main__":
    main()
