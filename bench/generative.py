"""Mixtures trained on log P(T, w), on log P(T|w), and on both: how they parse, and how well they predict words.

    python -m bench.generative DIRECTORY [OPTION=VALUE ...] [--weights 0 0.1 0.5 1] [--seeds 3] [--share 8]

The directory has train.mrg.gz (or train.mrg) and dev.mrg; options are those of `latree train gm-lveg`.  Prints F1 on
dev, by the mixtures alone and together with their pruner, and log P(w) a word, in nats: of dev, over the forests that
the pruner leaves, which are the same for all models.  Words are the outcomes of the mixtures' lexical rules, frequent
words and classes of others, for the pruner and the treebank grammar too.  Means over the seeds, with the deviation of
each; with --share, models are trained on every so manieth tree.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench.parsing import Trees, fit, members, option_values, read_part, score
from latree.arrays import NONE, Floats
from latree.cli.kind_options import options_from
from latree.inference.forest import Forest
from latree.inference.reading import Emissions
from latree.kinds.gm_lveg.model import GmLveg
from latree.kinds.lvg.model import Lvg
from latree.kinds.registry import kind_named
from latree.lexicon.lexical_rules import UNSEEN

Figures = tuple[float, float, float]  # F1 alone and together, log P(w) a word
LogProb = Callable[[Forest, Sequence[str]], float]


class Held(NamedTuple):
    """Held-out sentences, with the forests that a pruner leaves of them."""

    words: list[list[str]]
    forests: list[Forest]

    @classmethod
    def of(cls, model: GmLveg, trees: Trees) -> Held:
        pairs = [(tree.words(), model.searched(tree.words())) for tree in trees]
        found = [(words, search.forest) for words, search in pairs if search is not None]
        return cls(*(list(part) for part in zip(*found, strict=True)))

    def nats_a_word(self, log_prob: LogProb) -> float:
        total = sum(log_prob(forest, words) for words, forest in zip(self.words, self.forests, strict=True))
        return total / sum(map(len, self.words))


def of_mixtures(model: GmLveg) -> LogProb:
    return lambda forest, words: float(model.log_inside(forest, model.read(words))[0])


def of_subtypes(lvg: Lvg, model: GmLveg) -> LogProb:
    """By a grammar with subtypes, whose words are the outcomes of a model."""
    table = emissions(lvg, model)

    def log_prob(forest: Forest, words: Sequence[str]) -> float:
        rows = np.stack([row(table, model, word, place == 0) for place, word in enumerate(words)])
        return float(lvg.log_inside(forest, Emissions(lvg.read(words).tags, rows))[0])

    return log_prob


def emissions(lvg: Lvg, model: GmLveg) -> list[Floats]:
    """P(outcome | subtype) [subtypes] of every lexical rule; it sums to one over the outcomes."""
    lexical = model.lexical
    values, lengths = lvg.lexical_emissions(lexical, lvg.history.rounds)
    values = values * np.repeat(np.where(lexical.is_unseen, UNSEEN, 1.0), lengths)
    parts = np.split(values, np.cumsum(lengths)[:-1])
    total = [np.zeros(width) for width in lvg.size[lvg.grammar.first_tag :]]
    for part, tag, outcomes in zip(parts, lexical.tag, lexical.outcomes, strict=True):
        total[tag] += outcomes * part
    return [part / total[tag] for part, tag in zip(parts, lexical.tag, strict=True)]


def row(table: Sequence[Floats], model: GmLveg, word: str, first: bool) -> Floats:
    """[subtypes of all tags] P(word | subtype)."""
    rules = model.lexical.rules_of_outcome(word, first)
    widths = [len(table[int(np.flatnonzero(model.lexical.tag == tag)[0])]) for tag in range(len(rules))]
    parts = (np.zeros(width) if rule == NONE else table[rule] for rule, width in zip(rules, widths, strict=True))
    return np.concatenate(list(parts))


def made(options: argparse.Namespace, seed: int, pruner: Any, **more: Any) -> GmLveg:
    values = {**option_values(options.options), "seed": seed, **more}
    read: Any = options_from(kind_named("gm-lveg"), values, tags=False)
    return GmLveg(read, pruner=pruner)


def rows(options: argparse.Namespace, seed: int) -> Iterator[tuple[str, Figures]]:
    """The lines of a seed's table."""
    train = read_part(options.directory, "train")[:: options.share]
    dev = read_part(options.directory, "dev", made(options, seed, None))
    lvg = fit(made(options, seed, None).make_pruner(), options.directory, train)
    start = GmLveg(made(options, seed, lvg, generative=1.0).options, pruner=lvg, epochs=0, spread=0.0).fit(train)
    held = Held.of(start, dev)
    yield "treebank grammar", (np.nan, np.nan, held.nats_a_word(of_mixtures(start)))
    yield "`lvg`", (score(lvg, dev).f1, np.nan, held.nats_a_word(of_subtypes(lvg, start)))
    for weight in options.weights:
        model = fit(made(options, seed, lvg, generative=weight), options.directory, train)
        alone, together = (score(one, dev).f1 for _, one in members(model) if one is not lvg)
        yield f"{weight:g}", (alone, together, held.nats_a_word(of_mixtures(model)) if weight else np.nan)


def mean_of(figures: Floats, places: int) -> str:
    if np.isnan(figures).any():
        return ""
    spread = f" ± {np.std(figures, ddof=1):.{places}f}" if len(figures) > 1 else ""
    return f"{np.mean(figures):.{places}f}{spread}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Print F1 and log P(w) of generative and discriminative mixtures.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("options", nargs="*", help="of the training, as NAME=VALUE")
    parser.add_argument("--weights", nargs="*", type=float, default=[0.0, 0.1, 0.5, 1.0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--share", type=int, default=1)
    options = parser.parse_args(arguments)
    print("| `--generative` | alone | together | log P(w) a word |\n|---|---|---|---|")
    for lines in zip(*(rows(options, seed) for seed in range(options.seeds)), strict=True):  # all seeds, row by row
        alone, together, nats = np.array([figures for _, figures in lines]).T
        print(f"| {lines[0][0]} | {mean_of(alone, 2)} | {mean_of(together, 2)} | {mean_of(nats, 3)} |", flush=True)


if __name__ == "__main__":
    main()
