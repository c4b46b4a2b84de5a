"""What a model of structured vectorial semantics says of itself, and the vectors that it gives constituents."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from latree import LabelRules, LatreeError, Svs, Tree
from latree.inference.forest import UnknownRuleError
from latree.kinds.report import Ask
from latree.kinds.svs import SvsOptions
from latree.kinds.svs.derivations import all_derivations
from latree.kinds.svs.report import Concepts, report
from latree.report.html import page
from latree.text.heads import HeadRules
from tests.command import SLEEPS_TREE, toy_trees
from tests.pages import Reader


@pytest.fixture(scope="module")
def model() -> Svs:
    return Svs(options=SvsOptions(headwords=40, clusters=3), seed=1).fit(toy_trees("train"))


@pytest.fixture(scope="module")
def concepts(model: Svs) -> Concepts:
    return Concepts(model)


# --- concepts


def test_words_of_concepts_are_distributions(concepts: Concepts) -> None:
    assert concepts.share.sum() == pytest.approx(1)
    for concept in range(3):
        told = concepts.headwords(concept, 1000)
        assert sum(share for _, share in told) + concepts.others(concept) == pytest.approx(1)
        assert [share for _, share in told] == sorted((share for _, share in told), reverse=True)


def test_concepts_by_bayes(concepts: Concepts) -> None:
    """P(h) comes back from P(i) and P(h | i)."""
    words = [word.lower() for tree in toy_trees("train") for word in tree.words()]
    mixed = 0.0
    for concept in range(3):
        told = dict(concepts.headwords(concept, 1000))
        mixed += float(concepts.share[concept]) * told.get("the", 0.0)
    assert mixed == pytest.approx(words.count("the") / len(words))


def test_a_headword_is_its_concept_where_nothing_is_clustered() -> None:
    plain = Concepts(Svs(options=SvsOptions(headwords=20, clusters=0)).fit(toy_trees("dev")))
    words = plain.model.headwords.words
    assert [plain.headwords(k, 5) for k in range(3)] == [[(word, 1.0)] for word in words[:3]]
    assert (plain.headwords(20, 5), plain.others(20)) == ([], 1.0)
    assert ("heads", "penn") in report(plain.model, Ask()).facts


# --- categories


@pytest.mark.parametrize("name", ["NP", "@NP", "VB", "ROOT"])
def test_shares_of_categories(concepts: Concepts, name: str) -> None:
    symbols = concepts.find(name)
    assert concepts.shares(symbols).sum() == pytest.approx(1)


def test_counts_of_categories(concepts: Concepts) -> None:
    gold = sum(label == "PP" for tree in toy_trees("train") for label, _, _ in tree.spans())
    assert concepts.total(concepts.find("PP")) == pytest.approx(gold)


def test_rules_of_a_category_sum_to_one(concepts: Concepts) -> None:
    symbols = [s for s in concepts.find("NP") if concepts.grammar.symbols[s].kind == "phrase"]
    rules = concepts.contrasts(symbols, 1000)
    assert len(rules) == len({children for children, _ in rules})
    np.testing.assert_allclose(sum(by_concept for _, by_concept in rules), 1.0)
    assert np.ptp(rules[0][1]) >= np.ptp(rules[-1][1])
    assert concepts.contrasts(symbols, 2)[0][0] == rules[0][0]


def test_words_of_tags(concepts: Concepts) -> None:
    tags = concepts.find("DT")
    assert sum(share for _, share in concepts.words(tags, 0, 1000)) == pytest.approx(1)
    assert concepts.words(concepts.find("NP"), 0, 5) == []


# --- the page


def test_the_page_has_concepts_and_every_category(model: Svs, concepts: Concepts) -> None:
    read = Reader(page(report(model, Ask(3, every=True))))
    assert set(read.ids) == {f"c{group[0]}" for group in concepts.labels}
    assert sorted(symbol for group in concepts.labels for symbol in group) == list(range(len(model.grammar.symbols)))
    assert {"headwords", "others"} <= set(read.texts)


# --- vectors


def test_a_vector_for_every_constituent(model: Svs) -> None:
    for parse in model.parse_all(tree.words() for tree in toy_trees("dev")[:20]):
        assert parse.tree is not None
        vectors = model.vectors(parse.tree)
        assert sorted(vector[:3] for vector in vectors) == sorted([*parse.tree.spans()][1:])
        for vector in vectors:
            assert vector.posterior.sum() == pytest.approx(1)
            assert vector.inside.sum() == pytest.approx(1)


def test_all_heads_are_more_than_one(model: Svs) -> None:
    """The probability of all derivations is at least that of the head rules' own."""
    for tree in toy_trees("train")[:20]:
        forest, words = model.tree_forest(tree)
        assert model.log_prob_tree(tree) >= model.log_inside(forest, model.read(words))[0] - 1e-9


def test_heads_that_the_rules_would_not_choose() -> None:
    """A parser may find a tree by heads that the head rules would not choose; it has vectors all the same."""
    trees = [Tree.read("(ROOT (S (NP (DT a) (NN b)) (VP (VB c))))")] * 12
    model = Svs(options=SvsOptions(headwords=3, clusters=2, least=1)).fit(trees)
    before = model.vectors(trees[0])
    other = HeadRules.parse(["S left NP", "NP left DT"], "other", "<other>")
    model.binarization = replace(model.binarization, heads=other)  # type: ignore[call-arg]
    with pytest.raises(UnknownRuleError):
        model.tree_forest(trees[0])
    for old, new in zip(before, model.vectors(trees[0]), strict=True):
        assert old[:3] == new[:3]
        np.testing.assert_allclose(old.posterior, new.posterior)
        np.testing.assert_allclose(old.inside, new.inside)


def test_a_root_over_several_constituents() -> None:
    trees = [Tree.read("(ROOT (NP (NN a)) (VP (VB c)) (. .))")] * 12
    model = Svs(options=SvsOptions(headwords=3, clusters=2, least=1), labels=LabelRules.named("raw")).fit(trees)
    every = all_derivations(trees[0], model.grammar, model.binarization)  # type: ignore[arg-type]
    assert every is not None
    assert len(every.forest.rule) == len(model.tree_forest(trees[0])[0].rule)


def test_no_vectors_without_a_derivation(model: Svs) -> None:
    with pytest.raises(LatreeError, match="does not derive"):
        model.vectors(Tree.read("(ROOT (XX (YY the) (ZZ teacher)))"))
    with pytest.raises(LatreeError, match="no words"):
        model.vectors(Tree.read("(ROOT (S (-NONE- *)))"))


# --- likeness


def test_similarity(model: Svs) -> None:
    a, b = np.array([0.5, 0.5, 0.0]), np.array([0.0, 0.5, 0.5])
    assert Svs.similarity(a, a) == pytest.approx(1)
    assert Svs.similarity(a, b) == Svs.similarity(b, a) == pytest.approx(0.5)  # sum of sqrt(p q)
    assert Svs.similarity([1, 0, 0], [0, 0, 1]) == 0
    top = model.sentence_vector(Tree.read(SLEEPS_TREE))
    assert top[:3] == ("S", 0, 4)
    assert Svs.similarity(top, top.posterior) == pytest.approx(1)


def test_neighbours(model: Svs) -> None:
    trees = toy_trees("train")[:15]
    bank = [(" ".join(t.words()[v.start : v.end]), v) for t in trees for v in model.vectors(t)]
    text, vector = bank[3]
    found = model.neighbours(vector, bank, 5)
    assert len(found) == 5
    assert found[0].similarity == pytest.approx(1)
    assert [one.similarity for one in found] == sorted((one.similarity for one in found), reverse=True)
    assert text in [one.text for one in model.neighbours(vector, bank, len(bank))]
