"""Surprisal: prefix probabilities against sums over all continuations, and probabilities that sum to one."""

from __future__ import annotations

import csv
import json
import math
from functools import cache
from pathlib import Path
from xml.dom import minidom

import numpy as np
import pytest

from latree.arrays import NONE, Floats, Longs
from latree.cli.warm import small_model
from latree.errors import LatreeError
from latree.inference.chart import fill_chart
from latree.inference.grammar import Grammar
from latree.inference.prefixes import Prefixes, PrefixGrammar, prefix_grammar
from latree.inference.subtypes import Cells, Layout
from latree.inference.sweep import inside_only
from latree.kinds.parser import Parser
from latree.kinds.product.model import Product
from latree.kinds.registry import load
from latree.kinds.surprisal import Surprisal
from latree.text.binary import Symbol
from latree.text.tokenize import Token
from tests.command import SLEEPS, done, latree, model, toy_trees
from tests.enumerate import random_grammar, weights_of
from tests.grammars import SEEDS, full_forest, random_tensors

LONGEST, SCALE = 9, 0.07  # words of the sentences that are summed up, and of weights, so that longer ones weigh little


class Case:
    """A random grammar with subtypes, whose trees grow thin with their size, and some words."""

    def __init__(self, seed: int, words: int = 3) -> None:
        rng = np.random.default_rng(seed)
        self.grammar, _ = random_grammar(rng, unary_steps=int(rng.integers(0, 3)))
        self.size: Longs = np.append(1, rng.integers(1, 3, len(self.grammar.symbols) - 1))
        self.theta = random_tensors(self.grammar, self.size, rng) * SCALE
        self.layout = Layout(self.grammar, self.size)
        self.emissions = rng.random((words, int(self.layout.tag_columns[-1]))) * 0.5

    @property
    def prefix_grammar(self) -> PrefixGrammar:
        return prefix_grammar(self.layout, Cells.of(self.theta))

    def inside(self, emissions: Floats) -> float:
        """The sum over all trees of a sentence, by the sweep over a forest of everything."""
        coarse = np.ones(len(self.grammar.rules)), np.ones((len(emissions), len(self.grammar.tags)))
        forest = full_forest(self.grammar, *coarse)
        if not len(forest.rule):
            return 0.0
        weights = weights_of(self.grammar, self.theta, emissions, self.size)
        return math.exp(float(inside_only(forest, weights, self.size)[0][0]))

    def continued(self, known: Floats) -> float:
        """The sum over all trees of sentences up to `LONGEST` that begin so; any word has a row of ones."""
        rest = np.ones((LONGEST, self.emissions.shape[1]))
        lengths = range(max(len(known), 1), LONGEST + 1)
        return math.fsum(self.inside(np.vstack([known, rest])[:length]) for length in lengths)


def read(case: Case) -> tuple[list[float], Prefixes]:
    """The probability of every word after those before it."""
    prefixes = Prefixes(case.prefix_grammar, len(case.emissions))
    return [prefixes.read(row) for row in case.emissions], prefixes


@cache
def cases() -> list[Case]:
    """Random grammars that derive sentences of some length."""
    made = (Case(seed) for seed in range(40))
    return [case for case in made if case.inside(case.emissions) > 0.0][: len(SEEDS)]


def test_there_are_enough_cases() -> None:
    assert len(cases()) == len(SEEDS)
    assert any(case.grammar.unary_steps > 0 for case in cases())


@pytest.mark.parametrize("number", SEEDS)
def test_prefixes_are_sums_over_all_continuations(number: int) -> None:
    case = cases()[number]
    mass = case.prefix_grammar.mass
    everything = case.continued(case.emissions[:0])
    missing = mass - everything  # what longer sentences weigh, at most
    assert -1e-12 < missing < 1e-3 * mass
    probs, _ = read(case)
    for k in range(1, len(probs) + 1):
        expected = case.continued(case.emissions[:k])
        assert expected - 1e-12 <= math.prod(probs[:k]) * mass <= expected + missing + 1e-12


@pytest.mark.parametrize("number", SEEDS)
def test_a_sentence_and_its_end_are_the_whole_of_its_trees(number: int) -> None:
    case = cases()[number]
    probs, prefixes = read(case)
    whole = math.prod(probs) * prefixes.end * case.prefix_grammar.mass
    assert whole == pytest.approx(case.inside(case.emissions), rel=1e-10)


@pytest.mark.parametrize("share", [0.6, 0.999, 1.0])
@pytest.mark.parametrize("number", SEEDS)
def test_what_may_follow_sums_to_one(number: int, share: float) -> None:
    """Of a proper grammar, though many of its trees never end; and where rules have lost some of their weight."""
    case, theta = cases()[number], cases()[number].theta.copy()
    case.layout.normalise(theta)
    prefixes = Prefixes(prefix_grammar(case.layout, Cells.of(share * theta)), len(case.emissions))
    for row in [*case.emissions, None]:
        assert prefixes.tags.min() >= 0.0
        assert prefixes.tags.sum() + prefixes.end == pytest.approx(1.0, abs=1e-6)
        if row is not None:
            prefixes.read(row)


def branching(split: float) -> PrefixGrammar:
    return weighed_branching(split, 1.0 - split)


def weighed_branching(split: float, stop: float) -> PrefixGrammar:
    """ROOT -> A, A -> A A and A -> t with these weights."""
    symbols = Symbol("root", "ROOT"), Symbol("phrase", "A"), Symbol("tag", "t")
    grammar = Grammar(symbols, np.array([(1, 1, 1), (0, 1, NONE), (1, 2, NONE)], np.int32), 1)
    weights = np.array([split, 1.0, stop])
    return prefix_grammar(Layout(grammar, np.ones(3, np.int64)), Cells.of(weights))


def test_trees_without_end_have_no_share() -> None:
    assert branching(0.3).mass == pytest.approx(1.0, abs=1e-12)
    assert branching(0.5).mass == pytest.approx(1.0, abs=1e-6)  # where Newton's method is slowest
    assert branching(0.7).mass == pytest.approx(3 / 7, abs=1e-12)  # Z = 0.7 Z^2 + 0.3
    for split in (0.3, 0.7):  # given that they end, both are the same grammar
        prefixes = Prefixes(branching(split), 2)
        assert prefixes.read(np.ones(1)) == pytest.approx(1.0)
        assert prefixes.end == pytest.approx(0.7)


def test_long_sentences_do_not_drift() -> None:
    prefixes = Prefixes(branching(0.4), 120)
    probs = [prefixes.read(np.full(1, 1e-9)) for _ in range(120)]
    assert max(probs) <= 1e-9 * (1 + 1e-9)
    assert 0.0 < prefixes.end < 1.0
    assert prefixes.tags.sum() + prefixes.end == pytest.approx(1.0, abs=1e-9)


def test_grammars_without_probabilities_are_refused() -> None:
    with pytest.raises(LatreeError, match="no sentence at all"):
        weighed_branching(1.0, 0.0)
    with pytest.raises(LatreeError, match="no finite weight"):
        weighed_branching(1.0, 1.0)  # Z = Z^2 + 1


# -- models

KINDS = ("pcfg", "lvg")
PREFIX = SLEEPS.split()[:2]


def parser(kind: str) -> Parser:
    made = small_model(kind)
    assert isinstance(made, Parser)
    return made


@pytest.mark.parametrize("kind", KINDS)
def test_words_are_outcomes_of_their_tags(kind: str) -> None:
    words = parser(kind).predictor.words
    lexicon, columns = words.lexicon, words.lexicon.tags
    table = np.stack([words.outcomes(row) for row in np.eye(columns)], 1)  # [outcomes, columns]
    assert table.min() >= 0.0
    np.testing.assert_allclose(table.sum(0), 1.0, atol=1e-12)
    for number, word in enumerate(lexicon.vocabulary):
        np.testing.assert_allclose(words.emissions(word, False), table[number], atol=1e-15)
    for word, first in (("glimp", False), ("Glimped", True), ("3.14", False), ("\u20ac", False)):
        row = len(lexicon.vocabulary) + lexicon.class_row(word, first)
        np.testing.assert_allclose(words.emissions(word, first), table[row], atol=1e-15)


@pytest.mark.parametrize("kind", KINDS)
def test_next_words_sum_to_one_word_by_word(kind: str) -> None:
    one = parser(kind)
    following = one.predictor.following(PREFIX)
    assert following.sum() == pytest.approx(1.0, abs=1e-12)
    words = [one.surprisal([*PREFIX, word])[len(PREFIX)].surprisal for word in one.lexicon.vocabulary]
    classes = following[len(words) : -1]
    end = one.surprisal(PREFIX).end
    assert math.fsum(map(math.exp, np.negative(words))) + classes.sum() + math.exp(-end) == pytest.approx(1.0, abs=1e-9)
    np.testing.assert_allclose(np.exp(np.negative(words)), following[: len(words)], rtol=1e-9)


def test_a_sentence_has_the_probability_that_the_chart_gives_it() -> None:
    one = parser("pcfg")
    words = one.predictor.words
    for tree in toy_trees("dev")[:10]:
        tokens = tree.words()
        emissions = np.stack([words.emissions(word, k == 0) for k, word in enumerate(tokens)])
        log_z = fill_chart(one.chart, emissions).log_z
        assert one.surprisal(tokens).log_prob == pytest.approx(log_z - math.log(one.predictor.grammar.mass), abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_parts_and_entropy(kind: str) -> None:
    one = parser(kind)
    outcomes = len(one.predictor.following([]))
    for tree in toy_trees("dev")[:10]:
        for word in one.surprisal([*tree.words(), "glimp"][-8:]):
            if math.isfinite(word.surprisal):
                assert word.lexical + word.syntactic == pytest.approx(word.surprisal)
                assert min(word.lexical, word.syntactic) >= 0.0
                assert 0.0 <= word.entropy <= math.log(outcomes)
                assert word.unknown == (not one.lexicon.is_known(word.word))
    following = one.predictor.following(PREFIX)
    entropy = -math.fsum(p * math.log(p) for p in following if p > 0)
    assert one.surprisal(SLEEPS.split())[2].entropy == pytest.approx(entropy)


def test_the_syntactic_part_is_of_tags_that_a_word_was_seen_with() -> None:
    one = parser("pcfg")
    prefixes = Prefixes(one.predictor.grammar, 3)
    tokens = SLEEPS.split()
    for k, token in enumerate(tokens[:2]):
        prefixes.read(one.predictor.words.emissions(token, k == 0))
    seen = {
        tag
        for tree in toy_trees("train")[:60]
        for leaf in tree.leaves()
        for tag in [leaf.label]
        if leaf.word == tokens[2]
    }
    names = [tag.label for tag in one.grammar.tags]
    expected = sum(prefixes.tags[names.index(tag)] for tag in seen)
    assert one.surprisal(tokens)[2].syntactic == pytest.approx(-math.log(expected))


def test_words_between_spaces_are_sums() -> None:
    one = parser("pcfg")
    told = one.surprisal("the teacher sleeps.")
    assert told.tokens == ("the", "teacher", "sleeps", ".")
    joined = told.joined()
    assert joined.tokens == ("the", "teacher", "sleeps.")
    assert joined[2].surprisal == pytest.approx(told[2].surprisal + told[3].surprisal)
    assert joined[2].entropy == told[2].entropy
    assert isinstance(joined[2].word, Token)
    assert joined.log_prob == pytest.approx(told.log_prob)
    with pytest.raises(LatreeError, match="split already"):
        one.surprisal(SLEEPS.split()).joined()


def test_tables_are_made_anew_with_the_model() -> None:
    one = parser("lvg")
    before = one.predictor
    assert one.predictor is before
    one.prepare()
    assert one.predictor is not before


@pytest.mark.parametrize("kind", ["lvg-d", "gm-lveg", "svs", "cvg"])
def test_other_kinds_say_that_they_cannot(kind: str) -> None:
    with pytest.raises(LatreeError, match=f"of a lvg or pcfg; this is a {kind}"):
        parser(kind).surprisal(SLEEPS.split())


def test_products_say_that_they_cannot() -> None:
    with pytest.raises(LatreeError, match="this is a product"):
        Product([parser("lvg"), parser("lvg")]).surprisal(SLEEPS.split())


# -- the command


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))


def test_a_line_a_word(tmp_path: Path) -> None:
    outcome = done("surprisal", "-m", model("pcfg"), stdin=f"{SLEEPS}\n\n{SLEEPS}\n")
    assert outcome.lines[0].split("\t")[:4] == ["sentence", "token", "word", "surprisal"]
    rows = table(outcome.out)
    assert [(row["sentence"], row["token"], row["word"]) for row in rows] == [
        (number, str(place), word) for number in "13" for place, word in enumerate(SLEEPS.split(), start=1)
    ]
    one = load(model("pcfg"))
    assert isinstance(one, Parser)
    for row, word in zip(rows, one.surprisal(SLEEPS.split()), strict=False):
        for name in ("surprisal", "lexical", "syntactic", "entropy"):
            assert float(row[name]) == pytest.approx(getattr(word, name), abs=1e-5)
    trees = tmp_path / "a.mrg"
    trees.write_text("( (S (NP-SBJ (DT the) (NN teacher)) (VP (VB sleeps) (NP (-NONE- *))) (. .)) )\n")
    assert table(done("surprisal", "-m", model("pcfg"), trees).out) == rows[:4]


def test_json_a_sentence() -> None:
    told = json.loads(done("surprisal", "-m", model("pcfg"), "--json", stdin=SLEEPS).out)
    assert told["tokens"] == SLEEPS.split()
    assert {"surprisal", "lexical", "syntactic", "entropy", "unknown", "end", "status"} <= set(told)
    assert len(told["surprisal"]) == 4
    empty = json.loads(done("surprisal", "-m", model("pcfg"), "--json", stdin="\n").out)
    assert (empty["status"], empty["tokens"], empty["end"]) == ("empty", [], None)


def test_words_as_the_text_has_them() -> None:
    text = "the teacher sleeps. The girl reads a book.\n"
    tokens = table(done("surprisal", "-m", model("pcfg"), "--tokenize", stdin=text).out)
    words = table(done("surprisal", "-m", model("pcfg"), "--tokenize", "--words", stdin=text).out)
    assert [row["word"] for row in words] == text.split()
    assert [row["token"] for row in words] == [*"123", *"12345"]
    total = [sum(float(row["surprisal"]) for row in rows) for rows in (tokens, words)]
    assert total[0] == pytest.approx(total[1], abs=1e-4)
    outcome = latree("surprisal", "-m", model("pcfg"), "--words", stdin=text)
    assert (outcome.code, outcome.err) == (1, "latree: --words is for ordinary text; add --tokenize\n")


def test_a_picture_of_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a.svg"
    outcome = latree("surprisal", "-m", model("pcfg"), "--plot", path, stdin=f"{SLEEPS}\n")
    assert (outcome.code, outcome.err) == (0, f"latree: written to {path}\n")
    picture = minidom.parse(str(path))
    bars = [one for one in picture.getElementsByTagName("rect") if one.getAttribute("class")]
    assert len(bars) == 2 * 4
    for text, complaint in ((f"{SLEEPS}\n" * 2, "the input has more"), ("\n", "the input has none")):
        assert complaint in latree("surprisal", "-m", model("pcfg"), "--plot", path, stdin=text).err


def test_what_cannot_follow_is_told(tmp_path: Path) -> None:
    trees, path = tmp_path / "two.mrg", tmp_path / "two.latree"
    trees.write_text("(ROOT (S (A a) (B b)))\n" * 3)  # a grammar of sentences of two words
    done("train", "pcfg", trees, "-o", path, "--quiet")
    outcome = latree("surprisal", "-m", path, stdin="a b a b\na b\n")
    numbers = [row["surprisal"] for row in table(outcome.out)]
    assert numbers[2:4] == ["Inf", "NA"]
    assert all(math.isfinite(float(number)) for number in [*numbers[:2], *numbers[4:]])
    assert (outcome.code, outcome.err) == (
        0,
        "latree: sentence 1: failed: no sentence of the grammar begins with its first 3 words; no number is given\n"
        "latree: 1 of 2 sentences have no number\n",
    )
    told = json.loads(latree("surprisal", "-m", path, "--json", stdin="a b a b\n").out)
    assert (told["status"], told["surprisal"][2:], told["end"]) == ("failed", [None, None], None)


def test_long_sentences_are_left_out() -> None:
    outcome = latree("surprisal", "-m", model("pcfg"), "--max-length", "3", stdin=f"{SLEEPS}\n")
    assert [row["surprisal"] for row in table(outcome.out)] == ["NA"] * 4
    assert "4 words; the limit is 3 (--max-length)" in outcome.err


@pytest.mark.parametrize("kind", ["hmm", "svs"])
def test_other_models_are_refused_in_a_line(kind: str) -> None:
    outcome = latree("surprisal", "-m", model(kind), stdin=SLEEPS)
    assert (outcome.code, outcome.out) == (1, "")
    assert "pcfg" in outcome.err
    assert outcome.err.count("\n") == 1


def test_results_can_be_gone_through() -> None:
    told = parser("pcfg").surprisal(SLEEPS.split())
    assert isinstance(told, Surprisal)
    assert [one.word for one in told] == SLEEPS.split()
    assert len(told) == 4
