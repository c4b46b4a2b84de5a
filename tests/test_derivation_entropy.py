"""The entropy of derivations: against all derivations of a finite language, and against a closed form."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from latree.arrays import Floats
from latree.cli.warm import small_model
from latree.kinds.parser import Parser
from latree.kinds.pcfg.model import Pcfg
from latree.text.tree import Tree
from tests.command import SLEEPS, done, model
from tests.enumerate import derivations


def entropy(weights: Floats) -> float:
    shares = weights[weights > 0] / weights.sum()
    return -float(shares @ np.log(shares))


def trained(*trees: str) -> Pcfg:
    return Pcfg().fit([Tree.read(tree) for tree in trees])


def outcome_table(parser: Pcfg) -> Floats:
    """[outcomes, tags] P(word or class | tag)."""
    return np.stack([parser.predictor.words.outcomes(row) for row in np.eye(len(parser.grammar.tags))], 1)


def test_all_derivations_of_a_finite_language() -> None:
    parser = trained(
        "(ROOT (S (A a) (B b)))", "(ROOT (S (A a) (C (D d))))", "(ROOT (T (A a) (S (A b) (B b))))", "(ROOT (T (B b)))"
    )
    table = outcome_table(parser)
    weights: dict[tuple[int, ...], list[float]] = {}
    for length in (1, 2, 3):
        for sentence in itertools.product(range(len(table)), repeat=length):
            found = derivations(parser.grammar, parser.theta, table[list(sentence)])
            weights[sentence] = [one.weight for one in found]
    assert math.fsum(itertools.chain.from_iterable(weights.values())) == pytest.approx(1.0)
    for tokens in (["a", "b", "b"], ["b"], ["a", "d"]):
        numbers = [parser.lexicon.vocabulary.index(token) for token in tokens]
        told = parser.predictor.derivations.after(tokens)
        for k, value in enumerate(told):
            going_on = [one for sentence, each in weights.items() if list(sentence[:k]) == numbers[:k] for one in each]
            assert value == pytest.approx(entropy(np.array(going_on)), abs=1e-5)


def test_a_language_without_end() -> None:
    """A -> A A with probability p, else A -> t: 1 / (1 - 2p) nodes are expected, and a share of 1 - p has words."""
    parser = trained(*["(ROOT (A (t w)))"] * 3, "(ROOT (A (A (t w)) (A (t v))))")
    p = 1 / 6
    words = entropy(outcome_table(parser)[:, 0])
    expected = (entropy(np.array([p, 1 - p])) + (1 - p) * words) / (1 - 2 * p)
    assert parser.predictor.derivations.after([])[0] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("kind", ["pcfg", "lvg"])
def test_words_reduce_it_to_what_is_open_at_the_end(kind: str) -> None:
    parser = small_model(kind)
    assert isinstance(parser, Parser)
    told = parser.surprisal("the teacher sleeps.", reduction=True)
    first, *_, last = parser.predictor.derivations.after(told.tokens)
    reductions = [one.reduction for one in told]
    assert None not in reductions
    assert math.fsum(filter(None, reductions)) == pytest.approx(first - last)
    assert [one.reduction for one in parser.surprisal(SLEEPS.split())] == [None] * 4
    assert told.joined()[2].reduction == pytest.approx(math.fsum(filter(None, reductions[2:])))
    assert len(told.to_json()["reduction"]) == 4


def test_nothing_is_known_after_what_cannot_follow() -> None:
    told = trained("(ROOT (S (A a) (B b)))").surprisal(["a", "b", "a", "b"], reduction=True)
    assert [math.isnan(one.reduction or 0.0) for one in told] == [False, False, True, True]


def test_the_command_adds_a_column() -> None:
    header, *rows = done("surprisal", "-m", model("pcfg"), "--reduction", stdin=SLEEPS).lines
    assert header.split("\t")[-1] == "reduction"
    assert all(len(row.split("\t")) == len(header.split("\t")) for row in rows)
