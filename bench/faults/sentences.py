"""Hostile sentences through every kind of model: what comes back must be honest, whatever the words.

    python -m bench.faults.sentences [--kinds KIND ...] [--count 300] [--seed 0] [--long 250 400]

A small model of every kind is trained on the toy treebank.  Sentences are made of its words, of words that nobody
expects (brackets, control characters, lone surrogates, very long ones), and of both.  Checked of each: the status is
told; the words of the tree are those of the input; probabilities lie between 0 and 1 and those of a list sum to no more
than 1; the best is the first of its list; log P(w) is the same whoever tells it.  A warning counts as a fault.  Then
sentences of 250 and 400 words: seconds, and what memory they need in a process of their own.
"""

from __future__ import annotations

import json
import math
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from functools import cache, partial
from itertools import pairwise
from typing import Any

import numpy as np

from bench.faults.frame import Campaign, Trial, options, run_inside, see, some, write_log
from latree.cli.warm import NAMES, is_tagger, small_model
from latree.data import toy
from latree.errors import LatreeError
from latree.inference.results import Analysis, Parse, Tagging
from latree.text.formats import read_trees

ROUNDING = 1e-9
CLOSE = 1e-6  # of log probabilities: closer ones are ranked by rounding
LISTED = 5
LONG = (250, 400)  # words
ODD = (
    *("(", ")", "-LRB-", "()", "((", "-NONE-", "", " ", "a b", "\t", "\n", "\r\n", "\0", "\x7f", "\x1b[31m", "\u2028"),
    *("\ud800", "\udfff", "\ud83d", "\ufeff", "\ufffe", "\u200d", "\u200f", "\u202e", "e\u0301", "\u0301", "\u0e33"),
    *(
        "\U0001f600",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        "\U0010ffff",
        "שלום",
        "مرحبا",
        "日本語",
        "İ",
        "ß",
        "ǅ",
    ),
    *("0", "1,000.5", "-1", "1e999", "nan", "٣", "½", "²", "9" * 400, "x" * 10_000, "A" * 300, "é" * 300, "-" * 300),
    *("_", "*", "#", "%", "\\", "'", '"', "``", "''", "...", "http://x.y/z", "UNK", "UNK-LC", "ROOT", "S", "@S"),
)


@cache
def words_of_toy() -> list[str]:
    return sorted({word for tree in read_trees(toy("train")) for word in tree.words()})


@cache
def toy_sentences() -> list[list[str]]:
    return [tree.words() for tree in read_trees(toy("dev"))]


# -- sentences


def known_words(rng: np.random.Generator) -> list[str]:
    """Words of the treebank in any order."""
    return [some(words_of_toy(), rng) for _ in range(int(rng.integers(1, 12)))]


def odd_words(rng: np.random.Generator) -> list[str]:
    return [some(ODD, rng) for _ in range(int(rng.integers(1, 6)))]


def spoilt(rng: np.random.Generator) -> list[str]:
    """A good sentence with odd words in places."""
    words = list(some(toy_sentences(), rng))
    for _ in range(int(rng.integers(1, 4))):
        words[int(rng.integers(len(words)))] = some(ODD, rng)
    return words


def repeated(rng: np.random.Generator) -> list[str]:
    return [some((*words_of_toy(), *ODD), rng)] * int(rng.integers(1, 25))


def scrambled(rng: np.random.Generator) -> list[str]:
    words = list(some(toy_sentences(), rng))
    rng.shuffle(words)
    return words


def unknown(rng: np.random.Generator) -> list[str]:
    """Words of random letters."""
    letters = "aeiouknrstAZ09-."
    sizes = [int(rng.integers(1, 9)) for _ in range(int(rng.integers(1, 10)))]
    return ["".join(some(letters, rng) for _ in range(size)) for size in sizes]


def plain(rng: np.random.Generator) -> list[str]:
    return list(some(toy_sentences(), rng))


MAKERS = (known_words, odd_words, spoilt, repeated, scrambled, unknown, plain)


# -- what is checked


def near(one: float, other: float) -> bool:
    return one == other or abs(one - other) <= ROUNDING * max(1.0, abs(one))


def check(model: Any, words: list[str]) -> None:
    """Everything that a model says of a sentence."""
    (best,) = model.analyse([words])
    listed = model.kbest(words, LISTED)
    for one in (best, *listed):
        _check_one(one, words)
    see(near(model.log_prob(words), best.log_marginal), f"log P(w) {model.log_prob(words)}, then {best.log_marginal}")
    _check_list(best, listed)
    _check_exact(model, words)
    _check_sample(model, words)
    for part in model.posteriors(words, 1e-3):
        for p in [part.probability] if isinstance(best, Parse) else part.values():
            see(0.0 <= p <= 1.0, f"a posterior of {p}")


def _check_one(one: Analysis, words: list[str]) -> None:
    see(one.tokens == tuple(words), "other tokens")
    see((one.status == "ok") == (one.reason == ""), f"{one.status} because {one.reason!r}")
    see((one.status == "ok") == math.isfinite(one.log_marginal), f"{one.status} with log P(w) {one.log_marginal}")
    if one.status == "ok":
        see(0.0 <= one.probability <= 1.0 + ROUNDING, f"a probability of {one.probability!r}")
    if isinstance(one, Parse):
        see(one.tree is not None and one.tree.words() == words, "other words in the tree")
        parts: Sequence[float] = [part.probability for part in one.constituents]
    else:
        assert isinstance(one, Tagging)
        see(len(one.tags) == len(words), "other words in the tagging")
        parts = one.confidences
    see(all(0.0 <= p <= 1.0 for p in parts), "a part's probability")
    json.dumps(one.to_json(), allow_nan=False)
    str(one)


def _check_list(best: Analysis, listed: Sequence[Analysis]) -> None:
    see(len({str(one) for one in listed}) == len(listed), "listed twice")
    if best.status == "ok":
        total = math.fsum(one.probability for one in listed)
        see(total <= 1.0 + ROUNDING, f"a list's probabilities sum to {total!r}")
    first = listed[0]
    see(first.status == best.status, f"{best.status}, then {first.status}")
    tied = abs(first.log_joint - best.log_joint) < CLOSE
    see(str(first) == str(best) or tied, f"the best is not the first: {best.log_joint}, then {first.log_joint}")


def _check_exact(model: Any, words: list[str]) -> None:
    """Lists by probability, where there are any, are in its order."""
    if model.certifies:
        found = [one.log_joint for one in model.kbest(words, LISTED, "viterbi")]
        see(all(one >= other - ROUNDING for one, other in pairwise(found)), "not in order")


def _check_sample(model: Any, words: list[str]) -> None:
    try:
        drawn = model.sample(words, seed=0)
    except LatreeError:  # some kinds cannot
        return
    _check_one(drawn, words)


def trials(names: Sequence[str], count: int, seed: int) -> Iterator[Trial]:
    """Sentences by number, the same for every kind."""
    for name in names:
        model = small_model(name)
        for number in range(count):
            rng = np.random.default_rng([seed, number])
            maker = some(MAKERS, rng)
            words = maker(rng)
            yield Trial(name, f"{number} {maker.__name__} {ascii(words)[:100]}", partial(check, model, words))


# -- long sentences


def measure(name: str, count: int) -> None:
    """Print what one long sentence takes here, after a short one, which compiles."""
    model, rng = small_model(name), np.random.default_rng(count)
    list(model.analyse([words_of_toy()[:5]]))
    words = [some(words_of_toy(), rng) for _ in range(count)]
    begin = time.process_time()
    (found,) = model.analyse([words])
    seconds = time.process_time() - begin
    _check_one(found, words)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{name}, {count} words: {found.status}, {seconds:.1f} CPU seconds, {peak:.0f} MB")


def run(names: Sequence[str], count: int, seed: int) -> Campaign:
    """The campaign of some kinds in a process of its own."""
    return run_inside("bench.faults.sentences", "--count", count, "--seed", seed, "--kinds", *names)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = options("Analyse sentences that nobody expects.", 300)
    parser.add_argument("--kinds", nargs="+", default=NAMES)
    parser.add_argument("--long", type=int, nargs="*", default=LONG)
    parser.add_argument("--measure", action="store_true")
    given = parser.parse_args(arguments)
    if given.measure:
        measure(given.kinds[0], given.long[0])
        return
    if given.inside is not None:
        warnings.simplefilter("error")
        write_log(trials(given.kinds, given.count, given.seed), given.inside)
        return
    for name in given.kinds:
        if given.count:
            print(f"{name}{' (tags)' * is_tagger(name)}: {run([name], given.count, given.seed).told()}", flush=True)
        for words in given.long:
            command = [sys.executable, "-m", "bench.faults.sentences", "--measure", "--long", str(words), "--kinds"]
            subprocess.run([*command, name], check=False)


if __name__ == "__main__":
    main()
