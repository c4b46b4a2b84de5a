"""Reading times: what the surprisal of grammars says of them beyond length and frequency, and beyond trigrams.

    python -m bench.reading READING [--train TREES] [--rounds 4] [-m MODEL ...] [--reduction]

READING is a folder with `words.tsv`, a line a word as it was shown, with its reading time, counts of it, of its bigram
and of its trigram, and its first and last token; and with `trees.mrg`, the sentences.  Of --train a pcfg and an lvg are
trained; -m names models that are there already.

The baseline of log reading time is a linear model of length, log frequency and their product, of this word and the one
before, and of the log of its place; first words of sentences are left out.  Printed is what further predictors of both
words add: points of R^2 and thousandths of a nat of log-likelihood a word on the same words, with the p of a
likelihood-ratio test; and thousandths of a nat held out, by models of the other stories, with the p of a test that
flips the signs of sentences.

"marks" says whether a word ends in punctuation.  People read slowly there, and the surprisal of such a word has that of
a further token in it: what surprisal says of words, and not of their punctuation, is what it adds to marks.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

import latree
from latree.arrays import Floats, Longs
from latree.errors import LatreeError
from latree.kinds.surprisal import Surprisal, WordSurprisal

Rows = list[dict[str, str]]
FLIPS = 10_000


class Words(NamedTuple):
    """All words, and those of a regression; a row of predictors has a word's values, then those of the word before."""

    rows: Rows
    kept: NDArray[np.bool_]  # [rows] those with a word before them in their sentence, and counts
    time: Floats  # [kept] log milliseconds
    story: Longs  # [kept]
    sentence: Longs  # [kept]

    def with_previous(self, *columns: Floats) -> Floats:
        """[kept, 2 * columns] values of this word and of the one before."""
        table = np.stack(columns, 1)
        return np.hstack([table, np.roll(table, 1, axis=0)])[self.kept]


def read_words(path: Path) -> Words:
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    place = [(row["story"], row["sentence"]) for row in rows]
    follows = np.array([k > 0 and place[k] == place[k - 1] for k in range(len(rows))])
    counted = np.array([bool(row["c2"] or row["c3"]) for row in rows])
    kept = follows & counted & np.roll(counted, 1)
    story, sentence = (np.array([int(row[name]) for row in rows])[kept] for name in ("story", "sentence"))
    return Words(rows, kept, np.log([float(row["rt"]) for row in rows])[kept], story, sentence)


def numbers(rows: Rows, name: str) -> Floats:
    """A column of counts; what is missing is zero."""
    return np.array([float(row[name] or 0) for row in rows])


def baseline(words: Words) -> Floats:
    length = np.array([float(len(row["word"])) for row in words.rows])
    frequency = np.log(numbers(words.rows, "c1") + 1)
    place = np.log(numbers(words.rows, "zone"))[words.kept, None]
    return np.hstack([words.with_previous(length, frequency, length * frequency), place])


def trigrams(words: Words) -> Floats:
    """-log of smoothed relative frequencies of trigrams, of bigrams where there are none."""
    longer = np.array([bool(row["c3"]) for row in words.rows])
    count = np.where(longer, numbers(words.rows, "c3"), numbers(words.rows, "c2"))
    context = np.where(longer, numbers(words.rows, "c3_context"), numbers(words.rows, "c2_context"))
    return words.with_previous(-np.log((count + 0.1) / (context + 10)))


def marks(words: Words) -> Floats:
    """Whether a word ends in punctuation."""
    return words.with_previous(np.array([float(not row["word"][-1].isalnum()) for row in words.rows]))


# --- regressions


class Fit(NamedTuple):
    explained: float  # R^2
    likelihood: float  # log, on the words that it was fitted to
    held_out: Floats  # [words] log-likelihood of each by a model of the other stories


def _densities(table: Floats, times: Floats, train: NDArray[np.bool_], test: NDArray[np.bool_]) -> Floats:
    """log p of the times of test words by a linear model of the training words."""
    weights = np.linalg.lstsq(table[train], times[train], rcond=None)[0]
    variance = np.mean((times[train] - table[train] @ weights) ** 2)
    missed = times[test] - table[test] @ weights
    return np.asarray(-0.5 * (np.log(2 * np.pi * variance) + missed**2 / variance), np.float64)


def fit(words: Words, *predictors: Floats) -> Fit:
    """Fit a linear model of log reading times."""
    values = np.hstack(predictors)
    table = np.hstack([np.ones((len(values), 1)), (values - values.mean(0)) / (values.std(0) + 1e-9)])
    everything = np.ones(len(table), bool)
    missed = words.time - table @ np.linalg.lstsq(table, words.time, rcond=None)[0]
    held_out = np.empty(len(table))
    for story in np.unique(words.story):
        held_out[words.story == story] = _densities(table, words.time, words.story != story, words.story == story)
    likelihood = float(_densities(table, words.time, everything, everything).sum())
    return Fit(float(1 - missed.var() / words.time.var()), likelihood, held_out)


def sign_test(words: Words, gains: Floats) -> float:
    """p of a mean gain as high as this if those of whole sentences had either sign."""
    by_sentence = np.bincount(np.unique(words.sentence, return_inverse=True)[1], gains)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (FLIPS, len(by_sentence)))
    return float((1 + (signs @ by_sentence >= by_sentence.sum()).sum()) / (FLIPS + 1))


def gain(words: Words, below: Sequence[Floats], added: Floats) -> str:
    """The cells of a table: what some predictors add to others."""
    low, high = fit(words, *below), fit(words, *below, added)
    difference = high.likelihood - low.likelihood
    p, gains = chi2.sf(2 * difference, added.shape[1]), high.held_out - low.held_out
    points, nats, out = 100 * (high.explained - low.explained), difference / len(gains), gains.mean()
    return f"{points:+.2f} | {1000 * nats:.2f} | {p:.1g} | {1000 * out:+.2f} | {sign_test(words, gains):.1g}"


# --- surprisals


class Measured(NamedTuple):
    """A grammar's values [all rows of words], and words a CPU second."""

    surprisal: Floats
    lexical: Floats
    syntactic: Floats
    entropy: Floats
    reduction: Floats | None  # of the entropy of derivations, where it is asked for; less than none counts as none
    unknown: int  # tokens
    speed: float


def measure(model: latree.Parser, trees: Path, rows: Rows, reduction: bool = False) -> Measured:
    """Sum up the surprisals of every word's tokens."""
    sentences = [tree.words() for tree in latree.read_trees(trees, model.labels)]
    model.surprisal(sentences[0])  # kernels and tables
    start = time.process_time()
    told = [model.surprisal(sentence) for sentence in sentences]
    speed = sum(map(len, sentences)) / (time.process_time() - start)
    tokens = [_tokens(told[int(row["sentence"]) - 1], row) for row in rows]
    return Measured(
        np.array([sum(one.surprisal for one in word) for word in tokens]),
        np.array([sum(one.lexical for one in word) for word in tokens]),
        np.array([sum(one.syntactic for one in word) for word in tokens]),
        np.array([word[0].entropy for word in tokens]),
        _reductions(model, told, rows) if reduction else None,
        sum(one.unknown for sentence in told for one in sentence),
        speed,
    )


def _reductions(model: latree.Parser, told: Sequence[Surprisal], rows: Rows) -> Floats:
    """By how much every word lowers the entropy of derivations (Hale 2006)."""
    reduced = [model.predictor.with_reduction(one) for one in told]
    words = [_tokens(reduced[int(row["sentence"]) - 1], row) for row in rows]
    return np.maximum([sum(one.reduction or 0.0 for one in word) for word in words], 0.0)


def _tokens(told: Surprisal, row: dict[str, str]) -> tuple[WordSurprisal, ...]:
    """Those of which a word consists."""
    return told.words[int(row["first_token"]) - 1 : int(row["last_token"])]


def models(options: argparse.Namespace) -> Iterator[tuple[str, latree.Parser]]:
    if options.train is not None:
        yield "pcfg", latree.Pcfg().fit(options.train)
        yield f"lvg, {options.rounds} rounds", latree.Lvg(rounds=options.rounds).fit(options.train)
    for name in options.model:
        model = latree.load(name)
        if not isinstance(model, latree.Parser):
            raise LatreeError(f"{name}: a {model.kind} does not parse")
        yield name, model


def added_by(found: Measured) -> dict[str, list[Floats]]:
    """Predictors by what a row of the table calls them."""
    parts = {
        "surprisal": [found.surprisal],
        "lexical, syntactic": [found.lexical, found.syntactic],
        "surprisal, entropy": [found.surprisal, found.entropy],
    }
    if found.reduction is not None:
        parts |= {"reduction": [found.reduction], "surprisal, reduction": [found.surprisal, found.reduction]}
    return parts


def print_rows(words: Words, options: argparse.Namespace) -> None:
    base, grams, ends = baseline(words), trigrams(words), marks(words)
    below = {"": [base], "trigrams": [base, grams], "marks": [base, ends], "both": [base, ends, grams]}
    print(f"| marks | | {gain(words, [base], ends)} | | |")
    print(f"| trigrams | | {gain(words, [base], grams)} | | |")
    print(f"| trigrams | marks | {gain(words, [base, ends], grams)} | | |")
    for name, model in models(options):
        found = measure(model, options.reading / "trees.mrg", words.rows, options.reduction)
        for part, columns in added_by(found).items():
            for to, known in below.items():
                cells = gain(words, known, words.with_previous(*columns))
                print(f"| {name}: {part} | {to} | {cells} | {found.unknown} | {found.speed:.0f} |", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reading", type=Path)
    parser.add_argument("--train", type=Path)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("-m", "--model", action="append", default=[])
    parser.add_argument("--reduction", action="store_true", help="of the entropy of derivations, too")
    options = parser.parse_args(arguments)
    words = read_words(options.reading / "words.tsv")
    explained = fit(words, baseline(words)).explained
    print(f"{len(words.time)} words; baseline: R^2 {100 * explained:.2f} %\n")
    print(
        "| added | to the baseline and | points of R^2 | mnats a word | p | held out | p | unknown | words a second |"
    )
    print("|" + "---|" * 9)
    print_rows(words, options)


if __name__ == "__main__":
    main()
