"""Models from end to end: treebank in, analyses out, on the toy treebank and on sentences that nobody expects."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

from latree import (
    Binarization,
    Hmm,
    LabelRules,
    LatreeError,
    Parse,
    Pcfg,
    Tagging,
    Tree,
    load,
    read_trees,
)
from latree.data import toy
from latree.inference.results import OBJECTIVES
from tests.command import toy_trees

SHORT = ["you", "like", "these", "books", "."]
ODD = ["\u200b", "\xa0", "\ud800", "\U0001f469\u200d\U0001f680", "e\u0301", "\ufb01", "\u202eabc", "１２３", "a\tb"]


def part(name: str) -> list[Tree]:
    return list(read_trees(toy(name), LabelRules()))


@pytest.fixture(scope="module")
def dev() -> list[Tree]:
    return part("dev")


@pytest.fixture(scope="module")
def parser() -> Pcfg:
    return Pcfg().fit(part("train"))


@pytest.fixture(scope="module")
def tagger() -> Hmm:
    return Hmm().fit((tree.words(), tree.tags()) for tree in part("train"))


def outline(parse: Parse) -> tuple[str, float, float]:
    return str(parse), parse.log_joint, parse.log_marginal


# -- parsers


@pytest.mark.parametrize(
    "binarization",
    [
        Binarization(),
        Binarization("left"),
        Binarization(vertical=2, horizontal=1),
        Binarization("left", vertical=3, horizontal=-1),
    ],
)
def test_the_toy_treebank(dev: list[Tree], binarization: Binarization, tmp_path: Path) -> None:
    model = Pcfg(binarization=binarization).fit(part("train"))
    parses = list(model.parse_all(tree.words() for tree in dev))
    assert {parse.status for parse in parses} == {"ok"}
    assert [list(parse.tokens) for parse in parses] == [tree.words() for tree in dev]
    for tree, best in zip(dev, model.parse_all((tree.words() for tree in dev), objective="viterbi"), strict=True):
        assert best.log_joint >= model.log_prob_tree(tree) - 1e-9  # nothing is likelier than the best
    for parse in parses:
        assert parse.tree is not None
        assert model.log_prob_tree(parse.tree) == pytest.approx(parse.log_joint)
        assert parse.log_joint < parse.log_marginal < 0
        assert 0 < parse.probability < 1
    path = tmp_path / "model"
    model.save(path)
    again = load(path)
    assert isinstance(again, Pcfg)
    assert again.binarization == binarization
    assert list(again.parse_all(tree.words() for tree in dev)) == parses


def test_ten_plain_trees_are_parsed_back() -> None:
    plain = {"ROOT", "S", "NP", "VP", "ADVP", "DT", "NN", "PRP", "VB", "MD", "RB", "."}
    trees = [tree for tree in part("train") if {node.label for node in tree.subtrees()} <= plain][:10]
    model = Pcfg().fit(trees)
    for objective in OBJECTIVES:
        assert [parse.tree for parse in model.parse_all((t.words() for t in trees), objective=objective)] == trees
    assert all(model.tag(tree.words()) == tree.tags() for tree in trees)


def test_an_exhaustive_list_sums_to_one(parser: Pcfg) -> None:
    listed = parser.kbest(SHORT, 10_000, "viterbi")
    assert 1000 < len(listed) < 10_000
    assert len({str(parse) for parse in listed}) == len(listed)
    assert math.fsum(parse.probability for parse in listed) == pytest.approx(1)
    scores = [parse.log_joint for parse in listed]
    assert scores == pytest.approx(sorted(scores, reverse=True))
    head = parser.kbest(SHORT, 10, "viterbi")
    assert [parse.log_joint for parse in head] == pytest.approx(scores[:10])
    assert math.fsum(parse.probability for parse in head) < 1
    assert parser.parse(SHORT, "viterbi").log_joint == pytest.approx(scores[0])
    # A phrase is as likely as the trees that have it.
    expected: dict[tuple[str, int, int], float] = {}
    for parse in listed:
        assert parse.tree is not None
        for phrase in set(parse.tree.spans()):
            expected[phrase] = expected.get(phrase, 0.0) + parse.probability
    found = {c[:3]: c.probability for c in parser.posteriors(SHORT, least=0.01)}
    assert found == pytest.approx({phrase: p for phrase, p in expected.items() if p >= 0.01}, rel=1e-3)
    assert {c[:3]: c.probability for c in head[3].constituents} == pytest.approx(
        {phrase: expected[phrase] for phrase in {c[:3] for c in head[3].constituents}}, rel=1e-3
    )


def test_log_prob_tree(parser: Pcfg, dev: list[Tree]) -> None:
    assert parser.log_prob_tree(Tree.read("(ROOT (S (DT the) (DT the) (S (. .))))")) == -math.inf
    assert parser.log_prob_tree(Tree.read("(ROOT (S (XX the)))")) == -math.inf
    with pytest.raises(LatreeError, match="no words"):
        parser.log_prob_tree(Tree.read("(ROOT (S (-NONE- *)))"))
    gold = dev[0]
    decorated = Tree.read(str(gold).replace("(NP", "(NP-SBJ").replace("(ROOT", "("))
    assert parser.log_prob_tree(decorated) == parser.log_prob_tree(gold) > -math.inf
    assert parser.log_prob_tree(gold) <= parser.log_prob(gold.words())


def test_samples(parser: Pcfg) -> None:
    drawn = [parser.sample(seed=seed) for seed in range(10)]
    assert [outline(parse) for parse in drawn] == [outline(parser.sample(seed=seed)) for seed in range(10)]
    assert len({str(parse) for parse in drawn}) > 1
    for parse in drawn:
        assert parse.tree is not None
        assert tuple(parse.tree.words()) == parse.tokens
        assert parse.log_joint == pytest.approx(parser.log_prob_tree(parse.tree))
        assert -math.inf < parse.log_joint <= parse.log_marginal
    given = [parser.sample(SHORT, seed=seed) for seed in range(40)]
    assert [outline(parse) for parse in given] == [outline(parser.sample(SHORT, seed=seed)) for seed in range(40)]
    assert {parse.tokens for parse in given} == {tuple(SHORT)}
    best = parser.parse(SHORT, "viterbi")
    share = sum(parse.tree == best.tree for parse in given) / 40
    assert abs(share - best.probability) < 4 * math.sqrt(0.25 / 40)


def test_parsing_streams(parser: Pcfg) -> None:
    assert next(parser.parse_all(itertools.repeat(SHORT))).status == "ok"


# -- sentences that nobody expects


def test_too_many_words(parser: Pcfg) -> None:
    model = Pcfg().fit(part("train")[:20])
    model.max_length = 10
    words = ["the"] * 10
    assert model.parse(words).status == "ok"
    parse = model.parse([*words, "book"])
    assert parse.status == "failed"
    assert parse.reason.startswith("11 words; the limit is 10")
    assert parse.tree is not None
    assert parse.tree.words() == [*words, "book"]
    assert set(parse.tree.tags()[:10]) == {"DT"}
    assert parser.max_length > 10


def test_what_the_grammar_does_not_derive() -> None:
    model = Pcfg().fit([Tree.read("(ROOT (S (NN dogs) (VB run)))")])
    parse = model.parse(["dogs", "(", "run"])
    assert parse.status == "recovered"
    assert "the grammar derives no" in parse.reason
    assert str(parse) in ("(ROOT (S (NN dogs) (NN -LRB-) (VB run)))", "(ROOT (S (NN dogs) (VB -LRB-) (VB run)))")
    assert parse.log_joint == parse.log_marginal == model.log_prob(parse.tokens) == -math.inf
    assert math.isnan(parse.probability)
    assert model.posteriors(parse.tokens) == []
    assert [one.status for one in model.kbest(parse.tokens, 3)] == ["recovered"]
    assert model.sample(parse.tokens, seed=0).status == "recovered"


def test_unknown_words_take_their_place(parser: Pcfg) -> None:
    parse = parser.parse(["the", "flibber", "quoxes", "the", "zorp", "."])
    assert parse.status == "ok"
    assert str(parse) == "(ROOT (S (NP (DT the) (NN flibber)) (VP (VB quoxes) (NP (DT the) (NN zorp))) (. .)))"


def test_parentheses_are_words(parser: Pcfg) -> None:
    tokens = ["the", "(teacher)", "works", ")", "."]
    parse = parser.parse(tokens)
    assert parse.tree is not None
    assert parse.tree.words() == tokens
    assert "-LRB-teacher-RRB-" in str(parse)
    assert Tree.read(str(parse)).words() == tokens


@pytest.mark.parametrize("word", ODD, ids=ascii)
def test_odd_characters(parser: Pcfg, tagger: Hmm, word: str) -> None:
    tokens = ["the", word, "works", "."]
    parse = parser.parse(tokens)
    assert parse.status == "ok"
    assert parse.tree is not None
    assert parse.tree.words() == tokens
    assert parse.tree.tags() == ["DT", "NN", "VB", "."]
    assert tagger.tag(tokens) == ["DT", "NN", "VB", "."]


def test_odd_characters_survive_a_file(tmp_path: Path) -> None:
    odd = [word for word in ODD if word.strip() == word]
    trees = [Tree("ROOT", [Tree("S", [Tree("NN", word=word), Tree("VB", word="is")])]) for word in odd]
    model = Pcfg().fit(trees)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.lexicon.vocabulary == model.lexicon.vocabulary
    assert [again.parse(tree.words()).tree for tree in trees] == trees  # type: ignore[attr-defined]


@pytest.mark.parametrize("model", ["parser", "tagger"])
def test_when_nothing_survives_pruning_the_sentence_is_analysed_all_the_same(
    model: str, request: pytest.FixtureRequest, dev: list[Tree], monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen: Pcfg | Hmm = request.getfixturevalue(model)
    sentences = [tuple(tree.words()) for tree in dev]
    exact = [chosen.kbest(words, 1, "viterbi")[0] for words in sentences]
    monkeypatch.setattr(chosen, "threshold", 0.999)
    for found, best in zip(chosen.analyse(sentences, "viterbi"), exact, strict=True):
        words = found.tree.words() if isinstance(found, Parse) and found.tree else found.tokens
        assert (found.status, tuple(words)) == ("ok", best.tokens)
        assert found.log_joint <= best.log_joint + 1e-9
    assert chosen.sample(sentences[1], seed=0).status == "ok"


def test_a_sentence_too_ambiguous_for_the_threshold() -> None:
    """All binary trees of 300 words are alike: no phrase of middling width reaches any usual threshold."""
    model = Pcfg().fit([Tree.read("(ROOT (S (S (NN a)) (S (NN a))))")])
    parses = list(model.parse_all([["a"] * 2, ["a"] * 300, ["a"]]))
    assert [len(parse.tree.words()) for parse in parses if parse.tree] == [2, 300, 1]


# -- training


def test_trees_from_nltk() -> None:
    nltk = pytest.importorskip("nltk")
    tree = Tree.from_nltk(nltk.Tree.fromstring("(S (NP-SBJ (NNP Rosa)) (VP (VBZ sings)))"))
    assert str(Pcfg().fit([tree]).parse(["Rosa", "sings"])) == "(ROOT (S (NP (NNP Rosa)) (VP (VBZ sings))))"


def test_nothing_to_train_on() -> None:
    with pytest.raises(LatreeError, match="no trees with words"):
        Pcfg().fit([Tree.read("(S (-NONE- *T*))")])
    with pytest.raises(LatreeError, match="no sentences with words"):
        Hmm().fit([([], [])])


def test_how_a_model_came_about_is_kept(tmp_path: Path) -> None:
    model = Pcfg(labels=LabelRules.named("raw")).fit(part("dev"))
    model.training = {"command": "train", "f1": 93.4}
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.training == model.training
    assert again.labels == model.labels  # type: ignore[attr-defined]


# -- taggers


def names(tagging: Tagging) -> list[str]:
    return list(tagging.tags)


def test_tagging_the_toy_treebank(tagger: Hmm, dev: list[Tree], tmp_path: Path) -> None:
    sentences = [tree.words() for tree in dev]
    taggings = list(tagger.tag_all(sentences))
    assert tagger.tag(sentences[0]) == names(taggings[0])
    index = {symbol.label: i for i, symbol in enumerate(tagger.grammar.tags)}
    for tagging in taggings:
        log_joint = tagger.log_prob_tags(tagging.tokens, [index[tag] for tag in tagging.tags])
        assert tagging.log_joint == pytest.approx(log_joint)
        assert log_joint <= tagging.log_marginal
    tagger.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert isinstance(again, Hmm)
    assert list(again.tag_all(sentences)) == taggings
    two = list(tagger.tag_all(sentences, jobs=2))
    assert [str(tagging) for tagging in two] == [str(tagging) for tagging in taggings]
    assert [one.log_joint for one in two] == pytest.approx([one.log_joint for one in taggings], rel=1e-13)


def test_the_weights_of_a_tiny_tagger() -> None:
    """The probabilities of a bigram model by hand: Witten-Bell over two tags and the end of the sentence."""
    model = Hmm().fit([(["a", "b"], ["s", "t"]), (["a"], ["s"])])
    # Bigrams: start-s 2, s-t 1, s-end 1, t-end 1; shares: s 2/5, t 1/5, end 2/5.
    assert model.chain.start == pytest.approx(np.array([2 + 2 / 5, 1 / 5]) / (2 + 3 / 5))
    assert model.chain.step == pytest.approx(np.array([[2 * 2 / 5, 1 + 2 / 5], [2 / 5, 1 / 5]]) / [[4], [2]])
    assert model.chain.stop == pytest.approx(np.array([(1 + 4 / 5) / 4, (1 + 2 / 5) / 2]))


def test_tag_posteriors_and_lists(tagger: Hmm) -> None:
    words = ["you", "like", "flibber"]
    rows = tagger.posteriors(words, least=0.0)
    assert [sum(row.values()) for row in rows] == pytest.approx([1, 1, 1])
    assert all(list(row.values()) == sorted(row.values(), reverse=True) for row in rows)
    listed = tagger.kbest(words, 10_000, "viterbi")
    assert len({tagging.tags for tagging in listed}) == len(listed) > 100
    assert math.fsum(tagging.probability for tagging in listed) == pytest.approx(1)
    for i, row in enumerate(rows):
        for tag, probability in row.items():
            total = math.fsum(tagging.probability for tagging in listed if tagging.tags[i] == tag)
            assert total == pytest.approx(probability, abs=1e-12)
    assert listed[0].confidences == pytest.approx([row[tag] for row, tag in zip(rows, listed[0].tags, strict=True)])
    likely = [{tag for tag, probability in row.items() if probability >= 0.5} for row in rows]
    assert [set(row) for row in tagger.posteriors(words, least=0.5)] == likely
    head = tagger.kbest(words, 7, "viterbi")
    assert [one.log_joint for one in head] == pytest.approx([one.log_joint for one in listed[:7]])
    assert tagger.tag(words, "viterbi") == names(listed[0])


def test_tag_samples(tagger: Hmm) -> None:
    drawn = [tagger.sample(seed=seed) for seed in range(10)]
    assert drawn == [tagger.sample(seed=seed) for seed in range(10)]
    assert len({str(tagging) for tagging in drawn}) > 1
    assert all(len(one.tokens) == len(one.tags) and one.log_joint <= one.log_marginal for one in drawn)
    given = [tagger.sample(SHORT, seed=seed) for seed in range(40)]
    assert given == [tagger.sample(SHORT, seed=seed) for seed in range(40)]
    assert {tagging.tokens for tagging in given} == {tuple(SHORT)}
    best = tagger.kbest(SHORT, 1, "viterbi")[0]
    share = sum(one.tags == best.tags for one in given) / 40
    assert abs(share - best.probability) < 4 * math.sqrt(0.25 / 40)


def test_sentences_a_tagger_does_not_expect(tagger: Hmm) -> None:
    empty, long = tagger.tag_all([[], ["the"] * 5000])
    assert (empty.status, empty.tags, str(empty)) == ("empty", (), "")
    assert tagger.posteriors([]) == []
    assert (long.status, len(long.tags)) == ("ok", 5000)
    assert math.isfinite(long.log_joint)
    small = Hmm().fit([(["a", "b"], ["s", "t"])])
    small.max_length = 2
    failed = small.tag_all([["a", "b", "a"]])
    assert [(one.status, names(one)) for one in failed] == [("failed", ["s", "t", "s"])]
    assert str(tagger.sample([], seed=0)) == ""


def test_long_lists_begin_with_the_best() -> None:
    """Also where few trees survive, and the forest of the list is another than that of the best."""
    model = Pcfg().fit(toy_trees("train")[:60])
    for tree in toy_trees("dev")[:60]:
        best, first = model.parse(tree.words()), model.kbest(tree.words(), 50)[0]
        assert first.tree == best.tree or first.log_joint == pytest.approx(best.log_joint, abs=1e-6)
