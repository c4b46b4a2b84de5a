"""The lexicon: the formulas by hand on a toy, mass everywhere, storage."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from safetensors.numpy import load, save

import latree.lexicon.kept_rows
from latree.errors import LatreeError
from latree.lexicon.options import LexiconOptions
from latree.lexicon.signatures import SCHEMES
from latree.lexicon.words import Lexicon, likelihood, smooth

D, N, V = 0, 1, 2

# the: 3 D; dog: 2 N; saw: 1 N, 1 V; barked: 1 V.   c_T = D 3, N 3, V 2
TOY = [
    [("the", D), ("dog", N), ("saw", V), ("the", D), ("saw", N)],
    [("the", D), ("dog", N), ("barked", V)],
]
RARE_1 = LexiconOptions(rare=1)  # the one rare token is barked: p_u = V
RARE_2 = LexiconOptions(rare=2)  # dog, dog, saw, saw, barked: p_u = N 3/5, V 2/5

sentences = st.lists(
    st.lists(st.tuples(st.text(max_size=6).filter(lambda word: "\n" not in word), st.integers(0, 2)), min_size=1),
    min_size=1,
    max_size=5,
)


def toy(scheme: str = "english", options: LexiconOptions = RARE_2) -> Lexicon:
    return Lexicon.count(TOY, 3, scheme, options)


def test_counts() -> None:
    lexicon = toy()
    assert lexicon.vocabulary == ("the", "dog", "saw", "barked")
    assert_array_equal(lexicon.word_ptr, [0, 1, 2, 4, 5])
    assert_array_equal(lexicon.pair_tag, [D, N, N, V, V])
    assert_array_equal(lexicon.pair_count, [3, 2, 1, 1, 1])
    assert_array_equal(lexicon.word_count, [3, 2, 2, 1])
    assert_array_equal(lexicon.tag_count, [3, 3, 2])
    assert lexicon.signatures == ("UNK-LC", "UNK-LC-ed")
    assert_array_equal(lexicon.signature_count, [[0, 3, 1], [0, 0, 1]])
    assert_allclose(lexicon.unseen, [0, 3 / 5, 2 / 5])


def test_known_word() -> None:
    lexicon = toy()
    # P(t|saw) = (c + 0.1 p_u) / (2 + 0.1)
    posterior = np.array([0, 1 + 0.06, 1 + 0.04]) / 2.1
    assert_allclose(lexicon.tag_given_word("saw"), posterior)
    assert_allclose(lexicon.emissions(["saw"])[0], posterior * 2 / [3, 3, 2])


def test_frequent_word_is_hardly_smoothed() -> None:
    options = LexiconOptions(rare=2, known=0.1, frequent=0.0001, often=2)
    lexicon = toy(options=options)  # "the" has three tokens, more than `often`
    assert_allclose(lexicon.tag_given_word("the"), np.array([3, 0.00006, 0.00004]) / 3.0001)
    assert_allclose(lexicon.tag_given_word("dog"), np.array([0, 2.06, 0.04]) / 2.1)


def test_unknown_word_by_its_signature() -> None:
    lexicon = toy()
    # UNK-LC-ed: c_TS = V 1, c_S = 1;  P(t|s) = (c_TS + 0.5 p_u) / 1.5;  P(w|t) = P(t|s) / c_T
    posterior = np.array([0, 0.3, 1.2]) / 1.5
    assert_allclose(lexicon.tag_given_word("walked"), posterior)
    assert_allclose(lexicon.emissions(["walked"])[0], posterior / [3, 3, 2])


def test_signature_never_seen_is_the_tags_of_rare_words() -> None:
    lexicon = toy()
    assert lexicon.signature("1990") == "UNK-NUM"
    assert_allclose(lexicon.tag_given_word("1990"), [0, 3 / 5, 2 / 5])
    assert_allclose(lexicon.emissions(["1990"])[0], [0, 1 / 5, 1 / 5])


def test_signature_depends_on_the_position() -> None:
    lexicon = toy()
    assert lexicon.signature("Dog", first=True) == "UNK-INITC-KNOWNLC"
    assert lexicon.signature("Dog") == "UNK-CAPS"
    rows = lexicon.emissions(["Saw", "walked", "Saw"])
    assert_array_equal(rows[0], lexicon.emissions(["Saw"])[0])
    assert_array_equal(rows[1], lexicon.emissions(["x", "walked"])[1])


def test_without_rare_words_the_tags_of_all_words_stand_in() -> None:
    lexicon = toy(options=LexiconOptions(rare=0))
    assert lexicon.signatures == ()
    assert_allclose(lexicon.tag_given_word("unheard"), [3 / 8, 3 / 8, 2 / 8])


def test_zero_stays_zero() -> None:
    lexicon = toy(options=RARE_1)
    assert_allclose(lexicon.unseen, [0, 0, 1])
    assert_array_equal(lexicon.emissions(["the", "dog"])[:, [D, N]] > 0, [[True, False], [False, True]])
    assert_array_equal(lexicon.emissions(["unheard"]) > 0, [[False, False, True]])


def test_unused_tag_emits_nothing() -> None:
    lexicon = Lexicon.count(TOY, 5, "english", RARE_2)
    assert not lexicon.emissions(["the", "unheard"])[:, 3:].any()


def test_no_smoothing_at_all_still_leaves_mass() -> None:
    lexicon = toy(options=LexiconOptions(rare=2, known=0.0, frequent=0.0, unknown=0.0))
    assert_allclose(lexicon.tag_given_word("the"), [1, 0, 0])
    assert_allclose(lexicon.tag_given_word("1990"), [0, 3 / 5, 2 / 5])


def test_known_words_of_a_tag_sum_to_one_without_smoothing() -> None:
    lexicon = toy(options=LexiconOptions(known=0.0, frequent=0.0))
    assert_allclose(lexicon.emissions(lexicon.vocabulary).sum(axis=0), 1.0)


def test_formulas() -> None:
    rng = np.random.default_rng(1)
    counts, prior, tag_count = rng.random((5, 3)), rng.random(3), rng.random(3)
    posterior = smooth(counts, prior, 0.3)
    emission = likelihood(posterior, 7.0, tag_count)
    for item in range(5):
        expected = (counts[item] + 0.3 * prior) / (counts[item].sum() + 0.3)
        assert_allclose(posterior[item], expected)
        assert_allclose(emission[item], expected * 7.0 / tag_count)


def test_rows_are_the_same_when_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["the", "dog", "saw", "unheard"]
    lexicon = toy()
    cold = lexicon.emissions(words)
    assert_array_equal(lexicon.emissions(words), cold)
    monkeypatch.setattr(latree.lexicon.kept_rows, "MOST_BYTES", 0)
    assert_array_equal(toy().emissions(words), cold)


def test_rows_belong_to_the_caller() -> None:
    lexicon = toy()
    before = lexicon.emissions(["the", "unheard"])
    lexicon.emissions(["the", "unheard"])[:] = 7
    for word in ("the", "unheard"):
        lexicon.tag_given_word(word)[:] = 7
    assert_array_equal(lexicon.emissions(["the", "unheard"]), before)


def test_real_parentheses_are_words() -> None:
    lexicon = Lexicon.count([[("(", D), ("dog", N), (")", D)]], 2)
    assert lexicon.is_known("(")
    assert not lexicon.is_known("-LRB-")


def test_empty_sentence() -> None:
    assert toy().emissions([]).shape == (0, 3)


def test_sample_word() -> None:
    lexicon, rng = toy(), np.random.default_rng(0)
    drawn = [lexicon.sample_word(N, rng) for _ in range(3000)]
    assert set(drawn) == {"dog", "saw"}
    assert abs(drawn.count("dog") / 3000 - 2 / 3) < 0.04
    assert {lexicon.sample_word(D, rng) for _ in range(20)} == {"the"}


def test_sample_word_of_an_unused_tag() -> None:
    with pytest.raises(ValueError, match="tag 3 has no words"):
        Lexicon.count(TOY, 4).sample_word(3, np.random.default_rng(0))


@pytest.mark.parametrize(("data", "message"), [([], "no tagged words"), ([[("a\nb", 0)]], "line break")])
def test_faulty_training_data(data: list[Any], message: str) -> None:
    with pytest.raises(LatreeError, match=message):
        Lexicon.count(data, 1)


@given(sentences, st.sampled_from(sorted(SCHEMES)), st.integers(0, 3), st.lists(st.text(max_size=6), max_size=4))
def test_every_word_has_mass_before_and_after_storage(data: Any, scheme: str, rare: int, new: list[str]) -> None:
    lexicon = Lexicon.count(data, 3, scheme, LexiconOptions(rare=rare))
    words = [word for sentence in data for word, _ in sentence] + new
    rows = lexicon.emissions(words)
    assert np.isfinite(rows).all()
    assert (rows >= 0).all()
    assert (rows.sum(axis=1) > 0).all()
    assert_allclose([lexicon.tag_given_word(word).sum() for word in words], 1.0)
    header = json.loads(json.dumps(lexicon.header()))
    again = Lexicon.from_arrays(lexicon.to_arrays(), header)
    assert again.vocabulary == lexicon.vocabulary
    assert again.signatures == lexicon.signatures
    assert_array_equal(again.emissions(words), rows)


@pytest.mark.parametrize("rare", [0, 2])
def test_arrays_fit_a_model_file(rare: int) -> None:
    lexicon = toy(scheme="neutral", options=LexiconOptions(rare=rare))
    arrays = load(save(lexicon.to_arrays()))
    assert arrays["vocabulary"].tobytes() == b"the\ndog\nsaw\nbarked\n"
    words = ["the", "unheard", "of"]
    again = Lexicon.from_arrays(arrays, lexicon.header())
    assert_array_equal(again.emissions(words), lexicon.emissions(words))
