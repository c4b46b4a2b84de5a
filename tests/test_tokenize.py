"""Lines to tokens: split at white space, or by shape."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from latree.text.tokenize import tokens_of
from latree.text.tree import escape


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
    assert tokens_of(line, split=False) == tokens


@pytest.mark.parametrize(
    ("line", "tokens"),
    [
        ("", []),
        ("He sat.", ["He", "sat", "."]),
        ("Mr. Smith vs. Dr. No.", ["Mr.", "Smith", "vs.", "Dr.", "No", "."]),
        ("the U.S. firm, e.g. this", ["the", "U.S.", "firm", ",", "e.g.", "this"]),
        ("She didn't; they'll, I’m John's", ["She", "did", "n't", ";", "they", "'ll", ",", "I", "’m", "John", "'s"]),
        ("well-known o'clock a@b.org", ["well-known", "o'clock", "a@b.org"]),
        ("$3.50, 1,000 at 10:30 or 50%.", ["$", "3.50", ",", "1,000", "at", "10:30", "or", "50%", "."]),
        ("the 1st 19-year-old, 1990's 3.5kg", ["the", "1st", "19-year-old", ",", "1990", "'s", "3.5kg"]),
        ("“Well” -- ``so'' ... (yes)?!", ["“", "Well", "”", "--", "``", "so", "''", "...", "(", "yes", ")", "?", "!"]),
        ("-LRB-so-RRB-", ["(", "so", ")"]),
        ("cafe\u0301 हिन्दी में।", ["cafe\u0301", "हिन्दी", "में", "।"]),
        ("a\u00a0b", ["a", "b"]),
    ],
)
def test_running_text_is_split_by_shape(line: str, tokens: list[str]) -> None:
    assert tokens_of(line, split=True) == tokens


@given(st.text())
def test_running_text_loses_and_adds_nothing(line: str) -> None:
    line = line.replace("RB-", "")  # brackets are the one thing that changes
    assert "".join(tokens_of(line, split=True)) == "".join(line.split())


@given(st.lists(st.text(st.characters(exclude_characters=" \t\n\r\f\v"), min_size=1)))
def test_tokenised_lines_are_what_was_joined(words: list[str]) -> None:
    words = [word for word in words if "RB-" not in word]
    assert tokens_of(" ".join(map(escape, words)), split=False) == words
