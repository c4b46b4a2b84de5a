"""Sentences that a grammar with subtypes can hardly derive, or not at all."""

from __future__ import annotations

import numpy as np
import pytest

from latree.cli.warm import small_model
from latree.inference.results import Parse
from latree.kinds.analyses import searches
from latree.kinds.lvg import LvgOptions
from latree.kinds.lvg.model import Lvg
from latree.kinds.search import NOTHING, Attempt, Trouble
from latree.kinds.unsplit import REASON
from latree.lexicon.options import LexiconOptions
from latree.text.tree import Tree
from tests.command import toy_trees

# With `w v` the likeliest A is P and the likeliest B is Q, but no tree has both.
PARTS = [("P", "R")] * 3 + [("P", "S")] * 3 + [("Q", "Q")] * 4
CHOICES = [Tree.read(f"(ROOT (S (A ({a} w)) (B ({b}{b} v))))") for a, b in PARTS]
TOLD = [Tree.read(f"(ROOT (S (A ({a} {a.lower()})) (B ({b}{b} {b.lower()}))))") for a, b in PARTS]  # by their words
STRICT = LexiconOptions(known=0.0, frequent=0.0)  # a word has the tags that it was seen with


def correlated(trees: list[Tree]) -> Lvg:
    """Subtypes that say which parts go together: one of A and B for each of the three pairs."""
    options = LvgOptions(subtypes=4, rule_smoothing=0.0, word_smoothing=0.0, lexicon=STRICT, unknown="neutral")
    model = Lvg(options).fit(trees)
    layout, grammar, pairs = model.layout, model.grammar, list(dict.fromkeys(PARTS))
    theta = np.zeros_like(model.theta)
    for rule, (parent, left, right) in enumerate(grammar.rules.tolist()):
        names = [str(grammar.symbols[k]) if k >= 0 else "" for k in (parent, left, right)]
        tensor = layout.tensor(theta, rule)
        if names[0] == "ROOT":
            tensor[:] = 1.0
        for k, (a, b) in enumerate(pairs):
            if names == ["S", "A", "B"]:
                tensor[:, k, k] = PARTS.count((a, b)) / len(PARTS)
            if names[:2] in (["A", a], ["B", b + b]):
                tensor[k] = 1.0
    model.theta = theta
    layout.normalise(model.theta)
    model._levels.clear()
    model.prepare()
    return model


@pytest.mark.parametrize("objective", ["max-rule", "max-rule-sum", "variational", "mbr"])
def test_the_best_tree_is_one_that_can_be(objective: str) -> None:
    model = correlated(CHOICES)
    parse = model.parse(["w", "v"], objective)  # type: ignore[arg-type]
    assert parse.status == "ok"
    assert parse.log_joint > -np.inf
    assert parse.tree in CHOICES
    listed = model.kbest(["w", "v"], 9)
    assert {one.tree for one in listed} == set(CHOICES)
    assert sum(one.probability for one in listed) == pytest.approx(1.0)


def test_without_its_subtypes_it_would_be_another() -> None:
    """What is tested above is not so by itself: rule by rule the best tree is none of the treebank."""
    model = correlated(CHOICES)
    a, b = (max(set(column), key=column.count) for column in zip(*PARTS, strict=True))
    assert (a, b) not in PARTS
    assert model.log_prob_tree(Tree.read(f"(ROOT (S (A ({a} w)) (B ({b}{b} v))))")) == -np.inf


def test_a_sentence_that_subtypes_cannot_derive_has_the_tree_of_the_unsplit_grammar() -> None:
    model = correlated(TOLD)
    assert model.parse(["p", "r"]).status == "ok"
    parse = model.parse(["p", "q"])
    assert (parse.status, parse.reason) == ("recovered", REASON)
    assert parse.tree == Tree.read("(ROOT (S (A (P p)) (B (QQ q))))")
    assert model.kbest(["p", "q"], 2)[0].tree == parse.tree
    assert model.sample(["p", "q"], seed=0).tree == parse.tree


def test_a_stand_in_has_no_probabilities() -> None:
    """They would be another grammar's: the model itself says that the words have none."""
    model = correlated(TOLD)
    assert model.log_prob(["p", "r"]) == pytest.approx(model.parse(["p", "r"]).log_marginal)
    for parse in (model.parse(["p", "q"]), model.sample(["p", "q"], seed=0), *model.kbest(["p", "q"], 2)):
        assert parse.log_joint == parse.log_marginal == model.log_prob(["p", "q"]) == -np.inf
        assert np.isnan(parse.probability)
        assert parse.constituents == ()


@pytest.mark.parametrize("name", ["gm-lveg", "gm-lveg-tagger", "lvg-d", "lvg-d-tagger"])
def test_a_pruner_that_stands_in_lends_no_probabilities(name: str) -> None:
    model, words = small_model(name), toy_trees("dev")[0].words()
    whole = next(model.analyse([words]))
    assert whole.status == "ok"
    nothing = Trouble("recovered", "nothing")
    found = model.stand_in(tuple(words), nothing)
    assert (found.status, found.tokens) == ("recovered", whole.tokens)
    assert "this is the pruner's analysis" in found.reason
    assert found.log_joint == found.log_marginal == -np.inf
    assert not (found.constituents if isinstance(found, Parse) else found.confidences)


def test_what_no_grammar_derives_is_flat() -> None:
    parse = correlated(TOLD).parse(["q", "p", "r"])
    assert (parse.status, parse.reason) == ("recovered", NOTHING.reason)
    assert parse.tree is not None
    assert parse.tree.tags() == ["QQ", "P", "RR"] or parse.tree.tags() == ["Q", "P", "RR"]
    assert parse.log_joint == -np.inf


def test_pruning_is_given_up_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    model = correlated(TOLD)
    attempt = model.attempt(["p", "r"])
    assert isinstance(attempt, Attempt)
    assert len(list(searches(model, attempt, model.threshold, (1.0, 1e-2, 0.0)))) == 3
    monkeypatch.setattr("latree.kinds.analyses.MANY_EDGES", 1)
    assert len(list(searches(model, attempt, model.threshold, (1.0, 1e-2, 0.0)))) == 1
