"""The demonstration: everyday English with the grammar that ships, then a grammar trained on the toy treebank."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from shutil import get_terminal_size

from rich.console import Console

import latree
from latree.data import toy
from latree.kinds.model import Model
from latree.scoring.score import render_trees

EVERYDAY = "The cat sat on the mat. Where did you leave the keys? My sister, who lives in Leeds, doesn't drink coffee."
AMBIGUOUS = "I saw the man with the telescope."
WIDTH = get_terminal_size().columns if sys.stdout.isatty() else 100


@contextmanager
def step(title: str) -> Iterator[None]:
    """Say what is being done and how long it took."""
    print(f"-- {title} ...", flush=True)
    start = time.perf_counter()
    yield
    print(f"   ({time.perf_counter() - start:.1f} seconds)\n", flush=True)


def show_everyday(parser: Model) -> None:
    """Draw a few sentences."""
    for parse in parser.parse_all(EVERYDAY):
        print(f"P(tree | words) = {parse.probability:.2f}")
        print(parse.draw(), end="\n\n")


def show_ambiguous(parser: Model) -> None:
    """List the best trees of one sentence, and which constituents are sure."""
    best = parser.kbest(AMBIGUOUS, 3)
    for parse in best:
        print(f"{parse.probability:.3f}  {parse.tree}")
    phrases = [one for one in best[0].constituents if 1 < one.end - one.start < len(best[0].tokens)]
    for title, chosen in (("surest", max), ("least sure", min)):
        phrase = chosen(phrases, key=lambda one: one.probability)
        words = " ".join(best[0].tokens[phrase.start : phrase.end])
        print(f"{title}: {phrase.label} over '{words}', probability {phrase.probability:.3f}")


def train_and_score() -> None:
    """Train on 600 trees, and parse 100 others."""
    parser = latree.Lvg(rounds=3).fit(latree.read_trees(toy("train")))
    test = list(latree.read_trees(toy("test"), parser.labels.for_scoring()))
    parses = list(parser.parse_all([tree.words() for tree in test]))
    scores = latree.score_trees(test, [parse.tree for parse in parses])
    Console(width=max(WIDTH, 100)).print(render_trees(scores))


def main() -> None:
    with step("Loading the English grammar; the first time its kernels are compiled, later they are found on disk"):
        english = latree.load()
        english.parse("Hello.")
    with step("Everyday sentences"):
        show_everyday(english)
    with step(f"The three best trees of '{AMBIGUOUS}', with their probabilities"):
        show_ambiguous(english)
    with step("Training a grammar with hidden subtypes on the toy treebank, and scoring it on sentences kept apart"):
        train_and_score()
    print("Next: latree parse --tokenize --draw; latree train lvg YOUR-TREES.mrg -o model.latree")


if __name__ == "__main__":
    main()
