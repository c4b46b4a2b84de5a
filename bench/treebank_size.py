"""How much of a treebank lies on disk while a latent variable grammar is trained on it.

    python -m bench.treebank_size TREEBANK

Prints trees, words, stretches, the megabytes of trees and of forests on disk, edges before and after equal subtrees are
shared, and CPU seconds until EM can begin.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np

from latree import Lvg
from latree.inference.forest import Forest
from latree.learning.coded_trees import CodedTrees
from latree.learning.latent_treebank import LatentTreebank
from latree.lexicon.words import Lexicon

MEGABYTE = 1 << 20


def forest_bytes(forest: Forest) -> int:
    return sum(array.nbytes for array in forest if isinstance(array, np.ndarray))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Print how much of a treebank lies on disk.")
    parser.add_argument("treebank")
    model = Lvg()
    data = CodedTrees.of(model.prepare_data(model.read_treebank(parser.parse_args(arguments).treebank)))
    grammar, _ = data.rules()
    lexicon = Lexicon.count(data.tagged(grammar), len(grammar.tags), "features")
    treebank = LatentTreebank.of(grammar, data, lexicon)
    recipes, build = treebank.shards.recipes, treebank.shards.build
    pieces = sum(16 * int(some.edges.sum()) + 12 * int(some.items.sum()) for some in recipes)
    forests = edges = shared = 0
    for stretch in map(build, recipes):
        forests += forest_bytes(stretch.forest) + forest_bytes(stretch.shared)
        edges, shared = edges + len(stretch.forest.rule), shared + len(stretch.shared.rule)
    print(f"{len(data)} trees, {treebank.words} words, {len(recipes)} stretches")
    print(f"trees {pieces / MEGABYTE:.1f} MB, forests {forests / MEGABYTE:.1f} MB; {edges} edges, {shared} shared")
    print(f"{time.process_time():.1f} CPU s")


if __name__ == "__main__":
    main()
