"""The guesser: its optimum, what it learns, and how the lexicon spreads its opinion over subtypes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from latree import Tree
from latree.kinds.gm_lveg.model import GmLvegTagger
from latree.kinds.lvg_d.model import LvgDTagger
from latree.lexicon.guesser import Guesser, _table, features
from latree.lexicon.log_linear import PENALTY, fit, seen_pairs
from latree.lexicon.options import LexiconOptions
from latree.lexicon.signatures import Token
from latree.lexicon.words import Lexicon

VERB, NOUN, OTHER = 0, 1, 2
STEMS = [f"{a}{b}" for a in "bcdfhjklmn" for b in "ae"]


def nothing_known(word: str) -> bool:
    return False


def rare_tokens() -> list[Token]:
    """Words in -ting are verbs; words in -rag are nouns, but for those that begin with un-."""
    verbs = [(f"{stem}ting", False, VERB) for stem in STEMS]
    nouns = [(f"{stem}rag", False, NOUN) for stem in STEMS]
    return verbs + nouns + [(f"un{stem}rag", False, OTHER) for stem in STEMS]


def lexicon(options: LexiconOptions | None = None) -> Lexicon:
    often = [("the", OTHER)] * 30
    return Lexicon.count([often, *([(word, tag)] for word, _, tag in rare_tokens())], 3, "features", options)


def test_features_of_a_word() -> None:
    shown = features("Ex-Sailors", False, nothing_known)
    assert {
        "shape capital-dash",
        "length 8",
        "-s",
        "-ailors",
        "capital -ors",
        "e-",
        "ex-s-",
        "ex -",
        "- sailors",
    } <= set(shown)
    assert "-sailors" not in shown
    assert features("", False, nothing_known)  # an empty word has some too


def test_weights_are_a_stationary_point_of_the_penalised_likelihood() -> None:
    """Of the weights of pairs that were seen; the others are zero."""
    tokens = rare_tokens()
    shown = [features(word, first, nothing_known) for word, first, _ in tokens]
    table = _table(shown, sorted({feature for row in shown for feature in row}))
    counts = np.eye(3)[[tag for *_, tag in tokens]]
    pairs = seen_pairs(table, csr_array(counts))
    seen = np.repeat(np.arange(table.shape[1]), np.diff(pairs.start)), pairs.column
    assert_array_equal(np.transpose(seen), np.argwhere(table.T @ counts))
    weights = np.zeros((table.shape[1], 3))
    weights[seen] = fit(table, csr_array(counts), pairs)
    odds = np.exp(table @ weights)
    slope = table.T @ (odds / odds.sum(1, keepdims=True) - counts) + PENALTY * weights
    assert np.abs(slope[seen]).max() < 1e-2 * len(tokens) ** 0.5


def test_endings_and_beginnings_weigh_in_together() -> None:
    guesser = Guesser.learn(rare_tokens(), 3, nothing_known)
    for word, tag in (("zoting", VERB), ("zorag", NOUN), ("unzorag", OTHER)):
        guess = guesser.guess(word, False, nothing_known)
        assert_allclose(guess.sum(), 1.0)
        assert int(np.argmax(guess)) == tag


def test_an_unknown_word_has_the_tags_of_the_guess() -> None:
    words = lexicon()
    assert words.guesser is not None
    guess = words.guesser.guess("unzorag", False, words.is_known)
    assert_allclose(words.tag_given_word("unzorag"), guess)
    assert_allclose(words.emissions(["the", "unzorag"])[1], guess / words.tag_count)


def test_a_rare_word_is_drawn_to_the_guess_and_a_frequent_one_is_not() -> None:
    words = lexicon(LexiconOptions(guessed=2.0))
    assert words.guesser is not None
    guess = words.guesser.guess("barag", False, words.is_known)
    assert_allclose(words.tag_given_word("barag"), (np.eye(3)[NOUN] + 2.0 * guess) / 3.0)
    assert_allclose(words.tag_given_word("the"), replace(words, guesser=None).tag_given_word("the"))


def test_subtypes_of_a_tag_are_told_apart_by_the_class() -> None:
    """With each tag's counts spread over two columns, a tag keeps its probability and its columns their proportion."""
    whole, share = lexicon(), np.array([0.25, 0.75])
    assert whole.guesser is not None
    split = replace(
        whole,
        word_ptr=2 * whole.word_ptr,
        pair_tag=(2 * whole.pair_tag[:, None] + np.arange(2)).ravel(),
        pair_count=(whole.pair_count[:, None] * share).ravel(),
        signature_count=(whole.signature_count[:, :, None] * share).reshape(len(whole.signatures), -1),
        tag_columns=2 * whole.tag_columns,
    )
    for word in ("zorag", "barag", "the"):
        by_tag = split.tag_given_word(word).reshape(3, 2)
        assert_allclose(by_tag.sum(1), whole.tag_given_word(word))
        assert_allclose(by_tag, by_tag.sum(1, keepdims=True) * share)


def test_a_file_keeps_the_guesser_to_the_bit() -> None:
    words = lexicon()
    again = Lexicon.from_arrays(words.to_arrays(), words.header())
    sentence = ["the", "barag", "unzorag", "X-1"]
    assert_array_equal(again.emissions(sentence), words.emissions(sentence))


def test_what_is_handed_out_can_be_changed() -> None:
    """A caller's changes to P(t|w) do not reach the tables that it comes from."""
    for words in (lexicon(), replace(lexicon(), guesser=None)):
        before = words.tag_given_word("zorag")
        words.tag_given_word("zorag")[:] = 7
        assert_array_equal(words.tag_given_word("zorag"), before)


def test_no_rare_words_no_guesser() -> None:
    words = Lexicon.count([[("the", 0)] * 30], 1, "features", LexiconOptions(rare=3))
    assert words.guesser is None
    assert words.emissions(["unheard"])[0, 0] > 0


def test_letters_beyond_the_class() -> None:
    """Times what the class says, their odds are what the guesser says."""
    words = lexicon()
    assert words.guesser is not None
    for word in ("wating", "unworag"):
        by_class = words._signature_posterior[words.class_row(word, False)]
        product = by_class * np.exp(words.beyond_class(word, False))
        assert_allclose(product / product.sum(), words.guesser.guess(word, False, words.is_known), rtol=1e-6)
    assert not replace(words, guesser=None).beyond_class("wating", False).any()


@pytest.mark.parametrize("make", [lambda: GmLvegTagger(epochs=1), lambda: LvgDTagger(epochs=1, iterations=2)])
def test_letters_of_words_that_go_by_their_class_are_factors(make: Callable[[], Any], dev: list[Tree]) -> None:
    """With and without them, log P(T, w) differs by the letters of the words."""
    model = make().fit(dev)
    known, tags = dev[0].words()[0], range(len(model.grammar.tags))
    first = [symbol.label for symbol in model.grammar.tags].index(dev[0].tags()[0])
    letters = model.letters([known, "zzxing"])
    assert not letters[0].any()
    assert letters[1].any()
    with_letters = np.array([model.log_prob_tags([known, "zzxing"], [first, tag]) for tag in tags])
    model.heeds_letters = False
    model.prepare()
    without = np.array([model.log_prob_tags([known, "zzxing"], [first, tag]) for tag in tags])
    possible = np.isfinite(without)
    assert possible.any()
    assert_allclose(with_letters[possible] - without[possible], letters[1][possible], atol=1e-9)
