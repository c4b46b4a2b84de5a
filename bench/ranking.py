"""Whether sentences that `latree rank` puts first teach a grammar more than others.

    python -m bench.ranking TRAIN DEV [--start N] [--sizes 500 1000 2000] [--runs 3] [--orders random ranked]

Begins with some random trees, has their grammar rank the other sentences of the treebank, adds the trees of the first
ones, trains again, and so on.  Prints F1 on dev by the number of trees, those of a random order among them, and beside
it that of random trees of as many words: a longer sentence teaches more, and costs more.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, NamedTuple

import numpy as np

import latree
from latree.experiments.doubts import doubts_of_all
from latree.experiments.held_out import figure, score
from latree.experiments.ranking import rank_sentences
from latree.experiments.tasks import Ledger, key_of, run_tasks
from latree.kinds.lvg.model import Lvg
from latree.text.tree import Tree

Sentences = Sequence[Sequence[str]]
LONGEST = 80  # words of a sentence that is ranked


class Treebank(NamedTuple):
    """What all runs share."""

    train: list[Tree]
    words: list[list[str]]
    dev: list[Tree]
    rounds: int

    @classmethod
    def read(cls, train: str, dev: str, rounds: int) -> Treebank:
        labels = latree.LabelRules()
        pairs = ((tree, labels.clean(tree)) for tree in latree.read_trees(train))
        kept = [(tree, clean.words()) for tree, clean in pairs if clean is not None and len(clean.words()) <= LONGEST]
        return cls([tree for tree, _ in kept], [words for _, words in kept], list(latree.read_trees(dev)), rounds)

    def grammar(self, chosen: Sequence[int], seed: int) -> Lvg:
        return Lvg(rounds=self.rounds, seed=seed).fit([self.train[k] for k in chosen])

    def f1(self, grammar: Lvg) -> float:
        return figure(score(grammar, self.dev))

    def size(self, chosen: Sequence[int]) -> int:
        """How many words some trees have."""
        return sum(len(self.words[k]) for k in chosen)


class Run(NamedTuple):
    """A simulation."""

    order: str  # of ORDERS
    seed: int
    sizes: tuple[int, ...]  # of which the first trees are random


# -- orders: places of sentences, those to annotate first before the others


def at_random(grammar: Lvg, sentences: Sentences, most: int) -> list[int]:
    """As they come, which is a random order."""
    return list(range(most))


def ranked(grammar: Lvg, sentences: Sentences, most: int) -> list[int]:
    """As `latree rank` has them."""
    return [one.number - 1 for one in rank_sentences(grammar, sentences, most)]


def same_cost(grammar: Lvg, sentences: Sentences, most: int) -> list[int]:
    """As `latree rank` has them where short and long sentences cost the same."""
    return [one.number - 1 for one in rank_sentences(grammar, sentences, most, overhead=1000.0)]


def by_errors(grammar: Lvg, sentences: Sentences, most: int) -> list[int]:
    """By expected errors a word alone, near-copies or not."""
    doubts = [sum(one.errors) / len(one.errors) for one in doubts_of_all(grammar, sentences)]
    return sorted(range(len(doubts)), key=lambda k: -doubts[k])[:most]


def longest(grammar: Lvg, sentences: Sentences, most: int) -> list[int]:
    """By length alone."""
    return sorted(range(len(sentences)), key=lambda k: -len(sentences[k]))[:most]


ORDERS: dict[str, Callable[[Lvg, Sentences, int], list[int]]]
ORDERS = {"random": at_random, "ranked": ranked, "same-cost": same_cost, "by-errors": by_errors, "longest": longest}


def simulate(data: Treebank, run: Run) -> list[dict[str, float]]:
    """A row a size: words and F1 of chosen trees, and those of random ones of as many words."""
    order = np.random.default_rng(run.seed).permutation(len(data.train)).tolist()
    chosen, rows = order[: run.sizes[0]], []
    for size, following in pairwise((*run.sizes, 0)):
        grammar = data.grammar(chosen, run.seed)
        row = {"trees": size, "words": data.size(chosen), "f1": data.f1(grammar)}
        rows.append(row | _random_of_words(data, order, row, run.seed))
        if following:
            rest = [k for k in order if k not in set(chosen)]
            places = ORDERS[run.order](grammar, [data.words[k] for k in rest], following - size)
            chosen = chosen + [rest[k] for k in places]
    return rows


def _random_of_words(data: Treebank, order: list[int], row: dict[str, float], seed: int) -> dict[str, float]:
    """Random trees of as many words as those of a row; where these are random, the same trees."""
    sums = accumulate(len(data.words[k]) for k in order)
    part = order[: sum(total <= row["words"] for total in sums)]
    f1 = row["f1"] if len(part) == row["trees"] else data.f1(data.grammar(part, seed))
    return {"random_trees": len(part), "random_f1": f1}


# -- the table


def table(results: dict[Run, list[dict[str, float]]]) -> Iterator[str]:
    """Means over runs, and standard deviations of F1."""
    yield "| order | trees | words | F1 | random trees of as many words | F1 |"
    yield "|---" * 6 + "|"
    for order in dict.fromkeys(run.order for run in results):
        runs = [rows for run, rows in results.items() if run.order == order]
        for same in zip(*runs, strict=True):
            cells = [order, *(_cell(name, [row[name] for row in same]) for name in same[0])]
            yield f"| {' | '.join(cells)} |"


def _cell(name: str, values: list[float]) -> str:
    if not name.endswith("f1"):
        return f"{fmean(values):,.0f}"
    return f"{fmean(values):.2f}" + (f" ± {stdev(values):.2f}" if len(values) > 1 else "")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Print what ranked sentences teach, and random ones.")
    parser.add_argument("train")
    parser.add_argument("dev")
    parser.add_argument("--start", type=int, default=250)
    parser.add_argument("--sizes", type=int, nargs="*", default=[500, 1000, 2000])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--orders", nargs="*", choices=list(ORDERS), default=["random", "ranked"])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--resume", type=Path, help="keep what is done in this file, and go on from there")
    options: Any = parser.parse_args(arguments)
    sizes = (options.start, *options.sizes)
    runs = [Run(order, seed, sizes) for seed in range(options.runs) for order in options.orders]
    data = (options.train, options.dev, options.rounds)
    keys = {key_of(data, run): run for run in runs}
    found = run_tasks(simulate, keys, options.jobs, Ledger(options.resume), Treebank.read, *data)
    for line in table(dict(zip(runs, found, strict=True))):
        print(line)


if __name__ == "__main__":
    main()
