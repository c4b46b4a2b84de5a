"""The demonstration: train on the treebank that ships with the package, parse what was never seen, draw, score."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from shutil import get_terminal_size


@contextmanager
def step(title: str) -> Iterator[None]:
    """Say what is being done and how long it took."""
    print(f"{title} ...", flush=True)
    start = time.perf_counter()
    yield
    print(f"    {time.perf_counter() - start:.1f} seconds\n", flush=True)


def main() -> None:
    with step("Importing latree"):
        import latree
        from latree.data import toy
        from latree.draw import draw
        from latree.models.pcfg import Pcfg
        from latree.score import render_trees, score_trees

    with step("Training a PCFG on the toy treebank"):
        parser = Pcfg().fit(latree.read_trees(toy("train")))
        print(f"    {len(parser.grammar.rules)} rules, {len(parser.lexicon.vocabulary)} words")

    test = list(latree.read_trees(toy("test"), parser.labels))
    sentences = [tree.words() for tree in test]
    with step("Compiling the kernels, once (later runs find them on disk)"):
        parser.parse(sentences[0])

    with step(f"Parsing {len(test)} sentences never seen in training"):
        parses = list(parser.parse_all(sentences))

    width = get_terminal_size().columns if sys.stdout.isatty() else 110
    for parse in sorted(parses, key=lambda parse: len(parse.tokens))[20:80:20]:
        assert parse.tree is not None
        print(f"P(tree | words) = {parse.probability:.3f}, log P(words) = {parse.log_marginal:.2f}")
        print(draw(parse.tree, width), end="\n\n")

    from rich.console import Console

    print("Scores on the test part")
    Console(width=max(width, 90)).print(render_trees(score_trees(test, [parse.tree for parse in parses])))
    print("Next: latree train pcfg YOUR-TREES.mrg -o model.latree; latree parse -m model.latree --draw")


if __name__ == "__main__":
    main()
