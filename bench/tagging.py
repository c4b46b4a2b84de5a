"""Accuracy of taggers with n subtypes a tag, on several tagging sets.

    python -m bench.tagging DIRECTORY... [--subtypes N] [--unknown neutral|single] [--part test]

Each directory has train.conllu.gz (or train.conllu) and test.conllu.  Prints token / sentence accuracy for
n = 1 (the plain HMM), 2, 4, ... N, and CPU seconds of training.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import latree
from latree.models.hmm import Hmm
from latree.models.lvg_tagger import LvgTagger
from latree.models.subtyped import Training, doublings
from latree.models.tagger import Tagger

Sentences = list[tuple[tuple[str, ...], tuple[str, ...]]]


def read(directory: Path, part: str) -> Sentences:
    path = next(p for p in (directory / f"{part}.conllu.gz", directory / f"{part}.conllu") if p.exists())
    return [(tuple(words), tuple(tags)) for words, tags in latree.read_tagged(path)]


def accuracy(model: Tagger, gold: Sentences) -> str:
    found = [(one.tokens, one.tags) for one in model.tag_all([words for words, _ in gold])]
    scores = latree.score_tags(gold, found).to_json()
    return f"{scores['token']:.2f} / {scores['sentence']:.2f}"


def row(directory: Path, subtypes: int, unknown: str, part: str) -> str:
    train, gold = read(directory, "train"), read(directory, part)
    start = time.process_time()
    cells = [accuracy(Hmm(unknown=unknown).fit(train), gold)]
    how = Training(after_round=lambda model, number: cells.append(accuracy(model, gold)))
    LvgTagger(subtypes=subtypes, unknown=unknown).fit(train, how)
    return f"| {directory.name} | {' | '.join(cells)} | {time.process_time() - start:.0f} |"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Print accuracies of taggers by the number of subtypes.")
    parser.add_argument("directories", nargs="+", type=Path)
    parser.add_argument("--subtypes", type=int, default=16)
    parser.add_argument("--unknown", default="neutral")
    parser.add_argument("--part", default="test")
    options = parser.parse_args(arguments)
    columns = " | ".join(f"n = {2**k}" for k in range(doublings(options.subtypes) + 1))
    print(f"| set | {columns} | CPU s |")
    print("|---" * (doublings(options.subtypes) + 3) + "|")
    for directory in options.directories:
        print(row(directory, options.subtypes, options.unknown, options.part), flush=True)


if __name__ == "__main__":
    main()
