"""Unknown-word classes: the English tables by hand, and what the neutral scheme learns."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latree.errors import LatreeError
from latree.lexicon.signatures import (
    SCHEMES,
    NeutralScheme,
    Token,
    english_signature,
    learn_endings,
    make_scheme,
    read_scheme,
    word_shape,
)

# word, opens the sentence, lower-cased word is known, level 5, level 4; worked out by hand from the definition
ENGLISH = [
    ("walked", False, False, "UNK-LC-ed", "UNK-L-d"),
    ("Walked", False, False, "UNK-CAPS-ed", "UNK-C-d"),
    ("Walked", True, False, "UNK-INITC-ed", "UNK-SC-d"),
    ("Walked", True, True, "UNK-INITC-KNOWNLC-ed", "UNK-SC-d"),
    ("McDonald", True, True, "UNK-CAPS", "UNK-SC-d"),  # two capitals: no -INITC
    ("IBM", False, False, "UNK-CAPS", "UNK-AC"),
    ("IBM", True, False, "UNK-CAPS", "UNK-AC"),
    ("A", True, True, "UNK-INITC-KNOWNLC", "UNK-AC"),
    ("iPhone", False, False, "UNK-LC", "UNK-L-e"),  # opens with a letter that is no capital
    ("1990S", False, False, "UNK-CAPS-NUM-s", "UNK-U-n-s"),
    ("1990s", False, False, "UNK-LC-NUM-s", "UNK-L-n-s"),
    ("1990", False, False, "UNK-NUM", "UNK-S-N"),
    ("3.5", False, False, "UNK-NUM", "UNK-S-n-P"),
    ("1,000", False, False, "UNK-NUM", "UNK-S-n-C"),
    ("1,000.50", False, False, "UNK-NUM", "UNK-S-n-P-C"),
    ("dogs", False, False, "UNK-LC-s", "UNK-L-s"),
    ("gas", False, False, "UNK-LC-s", "UNK-L"),
    ("as", False, False, "UNK-LC", "UNK-L"),
    ("class", False, False, "UNK-LC", "UNK-L-s"),
    ("tennis", False, False, "UNK-LC", "UNK-L-s"),
    ("virus", False, False, "UNK-LC", "UNK-L-s"),
    ("well-known", False, False, "UNK-LC-DASH", "UNK-L-H-n"),
    ("spin-offs", False, False, "UNK-LC-DASH-s", "UNK-L-H-s"),
    ("self-serving", False, False, "UNK-LC-DASH", "UNK-L-H-g"),  # no suffix after a dash
    ("F-16", False, False, "UNK-CAPS-NUM-DASH", "UNK-AC-n-H"),
    ("F16ing", False, False, "UNK-CAPS-NUM", "UNK-C-n-g"),  # digit and capital: no suffix
    ("16thly", False, False, "UNK-LC-NUM-ly", "UNK-L-n-y"),
    ("'Tis", False, False, "UNK-CAPS", "UNK-L-s"),
    ("running", False, False, "UNK-LC-ing", "UNK-L-g"),
    ("ring", False, False, "UNK-LC", "UNK-L-g"),  # four letters are too few
    ("nation", False, False, "UNK-LC-ion", "UNK-L-n"),
    ("faster", False, False, "UNK-LC-er", "UNK-L-r"),
    ("fastest", False, False, "UNK-LC-est", "UNK-L-t"),
    ("quickly", False, False, "UNK-LC-ly", "UNK-L-y"),
    ("clarity", False, False, "UNK-LC-ity", "UNK-L-y"),
    ("happy", False, False, "UNK-LC-y", "UNK-L-y"),
    ("global", False, False, "UNK-LC-al", "UNK-L-l"),
    ("tables", False, False, "UNK-LC-s", "UNK-L-s"),
    ("table", False, False, "UNK-LC", "UNK-L-e"),
    ("Inc.", False, False, "UNK-CAPS", "UNK-C-P"),
    ("U.S.", False, False, "UNK-CAPS", "UNK-AC-P"),
    ("%", False, False, "UNK", "UNK-S"),
    ("--", False, False, "UNK-DASH", "UNK-S-H"),
    ("...", False, False, "UNK", "UNK-S-P"),
    ("東京", False, False, "UNK", "UNK-U"),
    ("", False, False, "UNK", "UNK-S"),
]

SHAPES = [
    ("cat", False, "lower"),
    ("Cat", False, "capital"),
    ("Cat", True, "initial-known"),
    ("Dog", True, "initial"),
    ("CAT", True, "caps"),
    ("iPhone", False, "mixed"),
    ("Москва", False, "capital"),
    ("東京", False, "letter"),
    ("well-known", False, "lower-dash"),
    ("semi–final", False, "lower-dash"),
    ("F-16", False, "capital-num-dash"),
    ("it's", False, "lower-mark"),
    ("1,000", False, "none-num-Po"),
    ("٢٣", False, "none-num"),
    ("(", False, "none-Ps"),
    ("$", False, "none-Sc"),
    ("", False, "none"),
]

words = st.text(max_size=12)


def nothing_known(word: str) -> bool:
    return False


def endings_of(tokens: list[Token], **options: float) -> frozenset[str]:
    learned = NeutralScheme(**options).learn(tokens, 2, nothing_known)  # type: ignore[arg-type]
    assert learned.endings is not None
    return learned.endings


def verbs_and_nouns() -> list[Token]:
    """Forty words: those in -ing are tag 0, the others, most of which end in g as well, are tag 1."""
    stems = [f"{a}{b}" for a in "bcdfhjklmn" for b in "ae"]
    return [(f"{stem}ting", False, 0) for stem in stems] + [(f"{stem}rag", False, 1) for stem in stems]


@pytest.mark.parametrize(("word", "first", "lower_known", "level5", "level4"), ENGLISH)
def test_english_table(word: str, first: bool, lower_known: bool, level5: str, level4: str) -> None:
    assert english_signature(word, first, lower_known, level=5) == level5
    assert english_signature(word, first, lower_known, level=4) == level4


def test_english_has_two_levels() -> None:
    with pytest.raises(ValueError, match="levels 4 and 5"):
        english_signature("word", False, False, level=3)


@pytest.mark.parametrize(("word", "first", "shape"), SHAPES)
def test_shape_table(word: str, first: bool, shape: str) -> None:
    assert word_shape(word, first, {"cat"}.__contains__) == shape


def test_schemes_by_name() -> None:
    known = {"walked"}.__contains__
    found = {name: make_scheme(name).signature("Walked", True, known) for name in SCHEMES}
    assert found == {
        "features": "initial-known",
        "neutral": "initial-known",
        "english": "UNK-INITC-KNOWNLC-ed",
        "english4": "UNK-SC-d",
        "single": "UNK",
    }


def test_unknown_scheme_is_named_with_the_choices() -> None:
    with pytest.raises(LatreeError, match=r"'klingon'.*features, neutral, english, english4, single"):
        make_scheme("klingon")


def test_learned_ending_is_the_one_that_separates() -> None:
    endings = endings_of(verbs_and_nouns())
    assert "lower~g" not in endings  # every word has it
    assert endings & {"lower~ng", "lower~ag"}
    assert not endings & {"lower~ing", "lower~ting", "lower~rag"}  # these add nothing to the shorter ones


def test_ending_needs_enough_words_and_enough_gain() -> None:
    assert not endings_of(verbs_and_nouns(), least=21)
    assert not endings_of(verbs_and_nouns(), gain=1000.0)


def test_gain_is_the_log_likelihood_ratio() -> None:
    counts = {("lower", f"{stem}a"): np.array([1.0, 0.0]) for stem in "xyz"}
    counts |= {("lower", f"{stem}b"): np.array([0.0, 1.0]) for stem in "xyz"}
    ratio = 6 * np.log(2)  # six fair coins become certain
    assert learn_endings(counts, 3, ratio - 1e-9) == {"lower~a", "lower~b"}
    assert learn_endings(counts, 3, ratio + 1e-9) == frozenset()


def test_longest_learned_ending_wins_within_its_shape() -> None:
    scheme = NeutralScheme(endings=frozenset({"lower~g", "lower~ing", "capital~g"}))
    assert scheme.signature("going", False, nothing_known) == "lower~ing"
    assert scheme.signature("Going", False, nothing_known) == "capital~g"
    assert scheme.signature("dog", False, nothing_known) == "lower~g"
    assert scheme.signature("ing", False, nothing_known) == "lower~g"  # an ending is never the whole word
    assert scheme.signature("g", False, nothing_known) == "lower"


def test_learning_does_not_depend_on_the_order() -> None:
    tokens = verbs_and_nouns()
    assert endings_of(tokens) == endings_of(tokens[::-1]) == endings_of(tokens)


def test_learning_twice_keeps_the_first() -> None:
    learned = NeutralScheme().learn(verbs_and_nouns(), 2, nothing_known)
    assert learned.learn([], 2, nothing_known) is learned


@pytest.mark.parametrize("name", SCHEMES)
def test_json_round_trip(name: str) -> None:
    fresh = make_scheme(name)
    for scheme in (fresh, fresh.learn(verbs_and_nouns(), 2, nothing_known)):
        again = read_scheme(json.loads(json.dumps(scheme.header())))
        assert again == scheme
        assert again.signature("rotting", False, nothing_known) == scheme.signature("rotting", False, nothing_known)


@given(words, st.booleans(), st.sampled_from(sorted(SCHEMES)))
def test_any_text_has_a_signature(word: str, first: bool, name: str) -> None:
    signature = make_scheme(name).signature(word, first, nothing_known)
    assert signature
    assert "\n" not in signature


@given(st.lists(st.tuples(words, st.booleans(), st.integers(0, 2)), max_size=30))
def test_any_text_can_be_learned_from(tokens: list[Token]) -> None:
    scheme = NeutralScheme(least=1, gain=0.1).learn(tokens, 3, nothing_known)
    assert scheme.endings is not None
    for word, first, _ in tokens:
        signature = scheme.signature(word, first, nothing_known)
        assert signature in scheme.endings or signature == word_shape(word, first, nothing_known)
