"""The toy treebank's hidden subtypes: some are found again.  The bounds leave room for what rounding makes of EM."""

from __future__ import annotations

import math

import pytest
from bench.planted import (
    LEXICON,
    OPTIONS,
    ROUNDS,
    hidden_subtypes,
    known_words_only,
    nats_a_word,
    pairs_by_category,
    read,
    sample,
    v_measure,
    weighted_v_measure,
    without_subtypes,
)

from latree import Pcfg, Tree
from latree.kinds.lvg.model import Lvg


def test_v_measure() -> None:
    same = [(0, "b"), (1, "a"), (0, "b"), (2, "c")]
    assert v_measure(same) == pytest.approx(100)
    assert v_measure([(k % 2, name) for k, name in enumerate("aabb")]) == pytest.approx(0)
    # Two hidden subtypes in one learned: homogeneity 1 - H(hidden | learned) / H(hidden), completeness 1.
    lumped = [(0, "a"), (0, "b"), (1, "c"), (1, "c")]
    hidden, given = 1.5 * math.log(2), 0.5 * math.log(2)
    assert v_measure(lumped) == pytest.approx(100 * 2 * (1 - given / hidden) / (2 - given / hidden))
    assert weighted_v_measure({"A": same, "B": [(0, "x"), (1, "x")]}) == pytest.approx(100)  # B has nothing to find


def test_hidden_trees() -> None:
    tree = Tree.read("(ROOT (S[main] (NP[sg] (NN[name] Rosa)) (VP[sg] (VB[sg] sings) (RB[not] not))))")
    assert str(without_subtypes(tree)) == "(ROOT (S (NP (NN Rosa)) (VP (VB sings) (RB not))))"
    assert hidden_subtypes(tree)[1] == ("NP", 0, 1, "NP[sg]")
    assert hidden_subtypes(tree)[-3:] == [("VP", 1, 3, "VP[sg]"), ("S", 0, 3, "S[main]"), ("ROOT", 0, 3, "ROOT")]
    for part in ("train", "test"):
        assert [without_subtypes(one) for one in read(part, hidden=True)] == read(part)
    assert all(5 <= len(one.words()) <= 25 for one in sample(20))


def test_planted_subtypes_are_found() -> None:
    hidden, test = read("train", hidden=True), read("test")
    train = read("train")
    model, plain = Lvg(rounds=ROUNDS, lexicon=LEXICON, options=OPTIONS).fit(train), Pcfg().fit(train)
    pairs = pairs_by_category(model, hidden)
    assert sum(map(len, pairs.values())) == sum(len(tree.subtrees()) - 1 for tree in train)
    assert weighted_v_measure(pairs) > 50
    known = known_words_only(test, train)
    assert 90 < len(known) < len(test)
    learned, unsplit = nats_a_word(model, known), nats_a_word(plain, known)
    assert learned.impossible < len(known) / 5  # EM gives up some cells
    assert unsplit.impossible == 0
    assert learned.excess < unsplit.excess / 2
