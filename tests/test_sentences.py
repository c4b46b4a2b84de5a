"""Text to sentences: at the marks that end them, within a paragraph, as the text comes in."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import latree
from latree.text.sentences import paragraphs_in

TEXT = st.one_of(st.text(), st.lists(st.sampled_from([*"ab AB.,:;!?…\"'()”“\n-*1", "...", ":)", "*****"])).map("".join))


@pytest.mark.parametrize(
    "sentences",
    [
        ["He sat.", "She stood!", "Why?", "no idea"],
        ["Mr. Smith saw Dr. J. No of Acme Inc. in St. Louis.", "It was 5 p.m. on Jan. 5."],
        ["He came at 5 p.m.", "The end came later."],
        ['He said "Go."', "Then he left.", '"Why?" she asked.', "(He did.)", "“So.”", "OK."],
        ["Well... maybe.", "Well...", "Yes."],
        ["1. The first is this.", "2. The second is that."],
        ["Nice :)", "Thanks! :-)", "Bye."],
        ["See http://a.org/b.html or mail a.b@c.org today.", "Thanks,", "Ann"],
        ["It is over.", "*****", "Next"],
        ["今天天气很好。", "我们去公园吧！"],
        ["हिन्दी में लिखो।", "यह वाक्य है।"],
        ["¿Qué tal?", "¡Bien!", "El Sr. García vive en EE.UU. desde 1990."],
    ],
)
def test_sentences_of_a_line(sentences: list[str]) -> None:
    text = " ".join(sentences)
    assert [text[tokens[0].start : tokens[-1].end] for tokens in latree.tokenize(text)] == sentences


def test_a_line_ends_a_sentence_unless_lines_are_wrapped() -> None:
    text = "The cat sat\non the mat. It\nslept.\n\nThe dog\n"
    assert [" ".join(sentence) for sentence in latree.tokenize(text)] == [
        *("The cat sat", "on the mat .", "It", "slept .", "The dog")
    ]
    wrapped = [" ".join(sentence) for sentence in latree.tokenize(text, wrapped=True)]
    assert wrapped == ["The cat sat on the mat .", "It slept .", "The dog"]


@given(TEXT, st.booleans())
def test_sentences_are_never_empty_and_lose_nothing(text: str, wrapped: bool) -> None:
    sentences = latree.tokenize(text, wrapped=wrapped)
    assert all(sentences)
    tokens = [token for sentence in sentences for token in sentence]
    assert "".join(tokens) == "".join(text.split())
    assert all(text[token.start : token.end] == token for token in tokens)
    assert all(one.end <= two.start for one, two in pairwise(tokens))


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_paragraph_comes_out_before_the_next_comes_in(wrapped: bool) -> None:
    asked: list[str] = []

    def lines() -> Iterator[str]:
        for line in StringIO("One. Two.\n\nThree.\n\n"):
            asked.append(line)
            yield line

    paragraphs = paragraphs_in(lines(), wrapped=wrapped)
    assert next(paragraphs) == [["One", "."], ["Two", "."]]
    assert len(asked) <= 2
    assert [*paragraphs] == ([[["Three", "."]]] if wrapped else [[], [["Three", "."]], []])


@pytest.mark.parametrize("piece", ["a.", "a-", "a@", "(", '"', "' ", '" ', ":(", "1,", "=", "A. "])
def test_time_grows_with_the_text(piece: str) -> None:
    """No shape or quotation mark sends the search back to the beginning again and again: that would take minutes."""
    tokens = [token for sentence in latree.tokenize(piece * 10_000) for token in sentence]
    assert "".join(tokens) == "".join((piece * 10_000).split())
