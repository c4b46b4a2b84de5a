"""Text to tokens: split at white space where it is tokenised already, else by shape, with places that are right."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from latree.text.tokenize import WEB, Style, Token, tokens_in, tokens_of
from latree.text.tree import escape

WORDS_WHOLE = Style(hyphens=False, clitics=False)
# Pieces that shapes are made of, so that random text has shapes in it.
PIECES = [
    *"ab .,:;-'’()@#/%$&_*<>=!?…1Iऀि\u0301\u200d👍",
    "http:",
    "www.",
    ".com",
    "n't",
    "Mr.",
    "No.",
    "U.S.",
    "-LRB-",
    "non-",
]
TEXT = st.one_of(st.text(), st.lists(st.sampled_from(PIECES)).map("".join))


@pytest.mark.parametrize(
    ("line", "tokens"),
    [
        ("", []),
        (" \t\n", []),
        ("the  cat\tsat .\r\n", ["the", "cat", "sat", "."]),
        ("-LRB- x -RRB- a-LRB-b -LCB-", ["(", "x", ")", "a(b", "-LCB-"]),
        ("( x )", ["(", "x", ")"]),
        ("10\u00a0000 a\u2028b c\u3000d", ["10\u00a0000", "a\u2028b", "c\u3000d"]),
        ("don't U.S. a,b", ["don't", "U.S.", "a,b"]),
    ],
)
def test_tokenised_lines_are_split_at_ascii_white_space(line: str, tokens: list[str]) -> None:
    assert tokens_of(line) == tokens


@pytest.mark.parametrize(
    "tokens",
    [
        "",
        "He sat .",
        "Mr. Smith vs. Dr. No .",
        "the U.S. firm , e.g. this , of U.S. - led Ph.D. students on Jan. 5 in J. Doe 's U.S.A .",
        "She did n't ; they 'll , I ’m John 's",
        "I 'd 've gone , could n't 've , CA N'T , can not gon na do nt",
        "well - known state - of - the - art e-mail non-profit co-op o'clock O'Neill 's",
        "$ 3.50 , 1,000 at 10:30 or 50 % .",
        "the 1st 19 - year - old , 1990's '05 3.5 kg 5 pm 3G 10 - 15",
        "on 11/28/2000 or 2001-09-11 call ( 713 ) 853-3989 , 1-800-555-1234 .",
        "“ Well ” -- `` so '' ... ( yes ) ?!",
        "-LRB- so -RRB-",
        "mail a@b.org , first.last@x.co.uk , see http://a.org/x_(y)?z=1#q , www.b.com . <c@d.net>",
        "read a.pdf at Example.com/path , alt.animals.cat ; right",
        "@joe likes #fun and # 1 :-) ;) <3 ^_^ =( :D !",
        "AT&T and / or w/o b/c PG&E 's C++",
        "👩‍👩‍👧 in 🇩🇪 👍🏽 1️⃣ ❤️ !",
        "cafe\u0301 हिन्दी में ।",
        "¿ Qué tal ? ¡ Bien ! El Sr. García de EE.UU. no",
        "今天天气很好 。 我们去公园吧 ！",
        "Это А. С. Пушкин и А.С. Пушкин .",
        "l'homme qu'il col·lecció צה״ל",
    ],
)
def test_running_text_is_split_by_shape(tokens: str) -> None:
    """The tokens are what they are, with the spaces of ordinary text and with a space between all of them."""
    words = tokens.replace("<c@d.net>", "< c@d.net >").split()
    assert tokens_in(" ".join(words)) == words
    assert tokens_in(ordinary(tokens)) == words


def ordinary(tokens: str) -> str:
    """Join what ordinary text has joined."""
    for token in "n't N'T 's 'll ’m 'd 've , . ; ? ! ?! % ) ” '' ।".split():  # noqa: SIM905
        tokens = f"{tokens} ".replace(f" {token} ", f"{token} ").replace(f" {token} ", f"{token} ").rstrip()
    for token in "$ ( “ `` ¿ ¡".split():  # noqa: SIM905
        tokens = tokens.replace(f"{token} ", token)
    for token in ("-", "/"):
        tokens = tokens.replace(f" {token} ", token)
    return tokens.replace("can not gon na do nt", "cannot gonna dont").replace("3.5 kg 5 pm", "3.5kg 5pm")


def test_a_no_break_space_separates() -> None:
    assert tokens_in("a\u00a0b") == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("He came at 5 p.m. The end.", ["He", "came", "at", "5", "p.m", ".", "The", "end", "."]),
        ("He came at 5 p.m. on Jan. 5.", ["He", "came", "at", "5", "p.m.", "on", "Jan.", "5", "."]),
        ("cats, etc.", ["cats", ",", "etc", "."]),
        ("No. 5? No. None.", ["No.", "5", "?", "No", ".", "None", "."]),
    ],
)
def test_the_period_of_an_abbreviation_at_the_end_of_a_sentence_is_the_sentence_s(text: str, tokens: list[str]) -> None:
    assert tokens_in(text) == tokens


def test_other_treebanks_split_less() -> None:
    text = "The well-known 19-year-old doesn't see peut-être 5%."
    words = ["The", "well-known", "19-year-old", "doesn't", "see", "peut-être", "5", "%", "."]
    assert tokens_in(text, WORDS_WHOLE) == words


@pytest.mark.parametrize(
    ("vocabulary", "style"),
    [
        ("do n't - well known pre-war non-profit", WEB),
        ("do n't - well-known pre-war top-level", Style(hyphens=False, clitics=True)),
        ("the cat", Style(hyphens=False, clitics=True)),
        ("don't - anak-anak", WORDS_WHOLE),
    ],
)
def test_a_treebank_s_words_tell_how_it_splits(vocabulary: str, style: Style) -> None:
    assert Style.of(vocabulary.split()) == style


@given(TEXT, st.sampled_from([WEB, WORDS_WHOLE]), st.integers(0, 9))
def test_tokens_stand_where_they_say_and_leave_out_nothing_but_white_space(
    text: str, style: Style, offset: int
) -> None:
    end = offset
    for token in tokens_in(text, style, offset):
        assert end <= token.start < token.end
        assert text[token.start - offset : token.end - offset] == token
        assert not text[end - offset : token.start - offset].strip()
        end = token.end
    assert not text[end - offset :].strip()


@given(TEXT)
def test_spaces_around_a_chunk_do_not_change_it(text: str) -> None:
    assert tokens_in(f" {text}\n") == tokens_in(text)


def test_tokens_keep_their_places_on_the_way_to_another_process() -> None:
    token = pickle.loads(pickle.dumps(Token("(", 3, 8)))
    assert (token, token.start, token.end, type(token)) == ("(", 3, 8, Token)


@given(st.lists(st.text(st.characters(exclude_characters=" \t\n\r\f\v"), min_size=1)))
def test_tokenised_lines_are_what_was_joined(words: list[str]) -> None:
    words = [word for word in words if "RB-" not in word]
    assert tokens_of(" ".join(map(escape, words))) == words
