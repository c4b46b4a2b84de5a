"""How well an English model parses and tags texts of several kinds, and how fast.

    python -m bench.english DATA [-m MODEL] [--most 300]

DATA holds the treebanks (constituency/en-gum and so on).  Only development parts are read, and the set of genres that
en-gum keeps apart.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import latree
from latree.data import shipped

TREEBANKS = {
    "gum": "constituency/en-gum/dev.mrg",
    "gum, other genres": "constituency/en-gum/ood-test.mrg",
    "questions": "constituency/en-questionbank/dev.mrg",
    "newspaper": "constituency/en-wsj/dev.mrg",
    "stories": "reading/natural-stories/trees.mrg",
    "biology": "constituency/en-craft/dev.mrg",
}
TAGGED = {"web": "tagging/en-ewt/dev.conllu"}


def tree_scores(model: Any, path: Path, most: int | None = None) -> dict[str, float]:
    """F1 and tag accuracy as `latree eval` has them, and sentences a CPU second."""
    gold = list(latree.read_trees(path, model.labels.for_scoring()))[:most]
    start = time.process_time()
    parses = list(model.parse_all([tree.words() for tree in gold]))
    seconds = time.process_time() - start
    scores = latree.score_trees(gold, [parse.tree for parse in parses]).to_json()
    return {"f1": scores["f1"], "tags": scores["tag_accuracy"], "speed": len(gold) / seconds}


def tag_scores(model: Any, path: Path, most: int | None = None) -> dict[str, float]:
    """The share of right Penn tags."""
    gold = list(latree.read_tagged(path, "xpos"))[:most]
    right = [tags for _, tags in gold]
    start = time.process_time()
    guessed = [_tags(analysis) for analysis in model.analyse([words for words, _ in gold])]
    seconds = time.process_time() - start
    hits = sum(a == b for one, other in zip(right, guessed, strict=True) for a, b in zip(one, other, strict=True))
    return {"tags": 100 * hits / sum(map(len, right)), "speed": len(gold) / seconds}


def _tags(analysis: Any) -> Sequence[str]:
    tags: Sequence[str] = analysis.tree.tags() if hasattr(analysis, "tree") else analysis.tags
    return tags


def all_scores(model: Any, data: Path, most: int | None = None) -> dict[str, dict[str, float]]:
    """The scores of every set."""
    model.parse(["Compile", "first", "."])
    trees = {name: tree_scores(model, data / path, most) for name, path in TREEBANKS.items()}
    return trees | {name: tag_scores(model, data / path, most) for name, path in TAGGED.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("-m", "--model", default="english")
    parser.add_argument("--most", type=int, help="sentences of a set at most")
    given = parser.parse_args()
    path = shipped().get(given.model, Path(given.model))
    print(f"{path.name}, {path.stat().st_size / 1e6:.2f} MB")
    for name, scores in all_scores(latree.load(path), given.data, given.most).items():
        f1 = f"{scores['f1']:6.2f}" if "f1" in scores else "      "
        print(f"{name:18} F1 {f1}  tags {scores['tags']:5.2f}  {scores['speed']:4.0f} sentences a CPU second")


if __name__ == "__main__":
    main()
