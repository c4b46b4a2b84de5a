"""Grammars as text: what other programs read is what the model has."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from latree.exporters import export_grammar
from latree.exporters.listing import Listing
from latree.exporters.nltk_grammar import quoted, spelled
from latree.importers import import_grammar
from latree.kinds.lvg.model import Lvg
from latree.kinds.pcfg.model import Pcfg
from latree.kinds.registry import load
from latree.text.tree import Tree
from tests.command import latree, model, toy_trees


@pytest.fixture(scope="module", params=["pcfg", "lvg"])
def grammar(request: pytest.FixtureRequest) -> Any:
    return load(model(request.param))


def test_rules_are_listed_once_with_their_probabilities(grammar: Any) -> None:
    sums: dict[Any, float] = defaultdict(float)
    rules = list(Listing(grammar).rules())
    assert len(rules) == len({(rule.parent, rule.children) for rule in rules}) == np.count_nonzero(grammar.theta)
    for rule in rules:
        sums[rule.parent] += rule.probability
    assert list(sums.values()) == pytest.approx([1.0] * len(sums))


def test_words_have_the_probabilities_that_parsing_goes_by(grammar: Any) -> None:
    listing = Listing(grammar)
    words = list(listing.words())
    for tag, word, probabilities in words[::7]:
        read = grammar.read(["a", word]).subtypes[1]
        assert np.array_equal(probabilities, read[listing.columns(tag)])
    assert {word for _, word, _ in words} == set(grammar.lexicon.vocabulary)


def test_tables_have_a_line_a_rule_and_a_word(grammar: Any, tmp_path: Path) -> None:
    files = export_grammar(grammar, tmp_path / "my", "tsv")
    assert [path.name for path in files] == ["my.rules.tsv", "my.words.tsv"]
    rules, words = (
        list(csv.DictReader(path.read_text().splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)) for path in files
    )
    assert sum(float(row["probability"]) for row in rules) == pytest.approx(grammar.theta.sum())
    assert {row["word"] for row in words if row["unknown"] == "no"} == set(grammar.lexicon.vocabulary)
    assert all(float(row["probability"]) > 0 for row in words)


def test_nltk_reads_a_grammar_that_sums_to_one(grammar: Any, tmp_path: Path) -> None:
    nltk = pytest.importorskip("nltk")
    (path,) = export_grammar(grammar, tmp_path / "my", "nltk")
    read = nltk.PCFG.fromstring(path.read_text(encoding="utf-8"))
    names, listing = spelled(Listing(grammar)), Listing(grammar)
    assert str(read.start()) == names[0, 0]
    wanted = {
        (names[rule.parent], tuple(names[child] for child in rule.children)): rule.probability
        for rule in listing.rules()
    }
    found = {
        (str(one.lhs()), tuple(map(str, one.rhs()))): one.prob() for one in read.productions() if one.is_nonlexical()
    }
    assert found == pytest.approx(wanted)
    sums: dict[str, float] = defaultdict(float)
    for one in read.productions():
        sums[str(one.lhs())] += one.prob()
    assert list(sums.values()) == pytest.approx([1.0] * len(sums))


def test_nltk_finds_the_same_tree(tmp_path: Path) -> None:
    nltk = pytest.importorskip("nltk")
    grammar = load(model("pcfg"))
    (path,) = export_grammar(grammar, tmp_path / "my", "nltk")
    parser = nltk.ViterbiParser(nltk.PCFG.fromstring(path.read_text(encoding="utf-8")))
    words = ["the", "teacher", "sleeps", "."]
    (best,) = parser.parse(words)
    ours = grammar.parse(words, objective="viterbi").tree
    assert ours is not None
    assert best.leaves() == words
    assert [tree.label() for tree in best.subtrees() if tree.height() == 2][:2] == ours.tags()[:2]


def test_names_that_nltk_does_not_allow_are_spelled() -> None:
    trees = [Tree.read("(S (, ,) (NN a) (-LRB- b) (NP (NP c) ($ d)))")]
    names = spelled(Listing(Pcfg().fit(trees)))
    assert len(set(names.values())) == len(names)
    assert {"/<2C>", "-LRB-".replace("-L", "/-L"), "NP", "NP/tag", "/<24>", "/<40>S"} <= set(names.values())


@pytest.mark.parametrize(("word", "terminal"), [("a", "'a'"), ("n't", '"n\'t"'), ('"', "'\"'"), ("'\"", "\"'''\"")])
def test_words_are_quoted_as_nltk_reads_them(word: str, terminal: str) -> None:
    assert quoted(word) == terminal


def test_a_berkeley_grammar_comes_back(tmp_path: Path) -> None:
    trained = Lvg(rounds=2, unknown="english").fit(toy_trees("train")[:200])
    export_grammar(trained, tmp_path / "my", "berkeley")
    back = import_grammar(tmp_path / "my")
    assert {str(symbol) for symbol in back.grammar.symbols} == {str(symbol) for symbol in trained.grammar.symbols}
    assert sorted(back.size.tolist()) == sorted(trained.size.tolist())
    known = [tree for tree in toy_trees("train")[:200] if len(tree.words()) < 9]
    for tree in known[:10]:
        assert back.log_prob_tree(tree) == pytest.approx(trained.log_prob_tree(tree), abs=1e-3)


def test_symbols_that_text_cannot_tell_apart_are_refused(tmp_path: Path) -> None:
    twice = Pcfg().fit([Tree.read("(S (NN a) (NP (NP b) (NN c)))")])
    twice.save(tmp_path / "m")
    told = latree("export", "-m", tmp_path / "m", "-o", tmp_path / "x", "--format", "berkeley")
    assert (told.code, "NP: both a phrase and a tag" in told.err) == (1, True)
    assert latree("export", "-m", tmp_path / "m", "-o", tmp_path / "x").code == 0


def test_what_has_no_probabilities_is_not_exported(tmp_path: Path) -> None:
    told = latree("export", "-m", model("lvg-d"), "-o", tmp_path / "x")
    assert "rules of lvg, pcfg can be exported" in told.err
    missing = latree("export", "-m", model("pcfg"), "-o", tmp_path / "no" / "x")
    assert "does not exist" in missing.err
