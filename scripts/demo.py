"""The demonstration: the English grammar that ships, then a grammar trained on the toy treebank, with its scores."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from shutil import get_terminal_size
from typing import Any


@contextmanager
def step(title: str) -> Iterator[None]:
    """Say what is being done and how long it took."""
    print(f"{title} ...", flush=True)
    start = time.perf_counter()
    yield
    print(f"    {time.perf_counter() - start:.1f} seconds\n", flush=True)


def show(parse: Any, drawing: str) -> None:
    print(f"P(tree | words) = {parse.probability:.3f}, log P(words) = {parse.log_marginal:.2f}")
    print(drawing, end="\n\n")


def main() -> None:
    with step("Importing latree"):
        import latree
        from latree.data import toy
        from latree.kinds.lvg.model import Lvg
        from latree.scoring.score import render_trees, score_trees
        from latree.text.draw import draw

    width = get_terminal_size().columns if sys.stdout.isatty() else 110
    with step("Loading the English grammar that ships, and compiling the kernels, once (later runs find them on disk)"):
        english: Any = latree.load()
        parse = english.parse(["The", "mice", "were", "fed", "a", "high", "fat", "diet", "for", "two", "weeks", "."])
    show(parse, draw(parse.tree, width))

    with step("Training a grammar with hidden subtypes on the toy treebank: three rounds of split and merge"):
        parser = Lvg(rounds=3).fit(latree.read_trees(toy("train")))
        print(f"    {len(parser.grammar.rules)} rules, {int(parser.size.sum())} subtypes of {len(parser.size)} symbols")

    test = list(latree.read_trees(toy("test"), parser.labels.for_scoring()))
    sentences = [tree.words() for tree in test]

    with step(f"Parsing {len(test)} sentences never seen in training"):
        parses = list(parser.parse_all(sentences))

    for parse in sorted(parses, key=lambda parse: len(parse.tokens))[20:80:20]:
        assert parse.tree is not None
        show(parse, draw(parse.tree, width))

    from rich.console import Console

    print("Scores on the test part")
    Console(width=max(width, 90)).print(render_trees(score_trees(test, [parse.tree for parse in parses])))
    print("Next: latree train lvg YOUR-TREES.mrg -o model.latree; latree parse -m model.latree --draw")


if __name__ == "__main__":
    main()
