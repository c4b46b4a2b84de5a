"""What the vectors of structured vectorial semantics tell apart.

    python -m bench.svs_vectors TRAIN DEV [--headwords 5000] [--clusters 30] [--refine 0] [--phrases N] [--seed S]

Every constituent of the dev trees of at most --words words has a vector.  Prints the mean similarity of pairs of the
same category and of different ones, how often a constituent's nearest neighbour is of its category (and how often a
random one is), and the neighbours of some phrases.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

import latree
from latree.arrays import Floats
from latree.kinds.svs import SvsOptions
from latree.kinds.svs.model import Svs


class Phrase(NamedTuple):
    """A constituent of some tree."""

    text: str
    label: str
    posterior: Floats


def phrases(model: Svs, trees: Sequence[latree.Tree], words: int) -> list[Phrase]:
    """All short constituents, each text and label once."""
    by_text: dict[tuple[str, str], Phrase] = {}
    for tree in trees:
        tokens = tree.words()
        try:
            vectors = model.vectors(tree)
        except latree.LatreeError:
            continue  # a tree that the grammar does not derive
        for one in vectors:
            text = " ".join(tokens[one.start : one.end])
            if 1 < one.end - one.start <= words:
                by_text.setdefault((text, one.label), Phrase(text, one.label, one.posterior))
    return list(by_text.values())


def report(bank: list[Phrase], shown: int, rng: np.random.Generator) -> None:
    roots = np.sqrt(np.stack([one.posterior for one in bank]))
    alike = roots @ roots.T
    np.fill_diagonal(alike, np.nan)
    same = np.array([one.label for one in bank])[:, None] == np.array([one.label for one in bank])[None, :]
    print(f"{len(bank)} constituents")
    print(f"similarity: same category {np.nanmean(alike[same]):.3f}, others {np.nanmean(alike[~same]):.3f}")
    nearest = np.nanargmax(alike, 1)
    chance = (same.sum(1) - 1).mean() / (len(bank) - 1)
    print(f"nearest of the same category: {same[np.arange(len(bank)), nearest].mean():.3f}, by chance {chance:.3f}")
    for k in rng.choice(len(bank), shown, replace=False):
        order = np.argsort(-np.nan_to_num(alike[k], nan=-1.0))[:5]
        close = "; ".join(f"{bank[j].text} ({bank[j].label} {alike[k, j]:.2f})" for j in order)
        print(f"- {bank[k].text} ({bank[k].label}): {close}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Print what the vectors of constituents tell apart.")
    parser.add_argument("train")
    parser.add_argument("dev")
    parser.add_argument("--headwords", type=int, default=5000)
    parser.add_argument("--clusters", type=int, default=30)
    parser.add_argument("--refine", type=int, default=0)
    parser.add_argument("--words", type=int, default=6)
    parser.add_argument("--phrases", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    settings = SvsOptions(headwords=options.headwords, clusters=options.clusters, refinements=options.refine)
    model = Svs(options=settings, seed=options.seed).fit(latree.read_trees(options.train))
    bank = phrases(model, list(latree.read_trees(options.dev, latree.LabelRules())), options.words)
    report(bank, options.phrases, np.random.default_rng(options.seed))


if __name__ == "__main__":
    main()
