"""From running text to sentences, by the marks that end them and by what follows.

A line is a paragraph, or with `wrapped` an empty line ends one; no sentence goes beyond its paragraph, so that text is
split as it comes in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from itertools import chain

from latree.text.token_shapes import WORDS
from latree.text.tokenize import WEB, Style, Token, tokens_in

_ENDER = re.compile(r"[.?!…]+|[。．！？؟۔।॥։።፧]")
_PAUSE = re.compile(r"\.\.+|…+")  # ends a sentence only where a new one seems to begin
_CLOSER = re.compile(r"""[)\]}”’»"']|''|’’""")
_OPENER = re.compile(r"""[^\W\d_]|[(\[{“‘«¿¡"']""")  # what may begin a sentence after such a mark
_QUOTE = re.compile(r"""["']""")
_SMILEY = re.compile(r"[<>]?[:;=]['’]?[-o^]?[)(DPp]+|\^_*\^|[\u2600-\u27BF\U0001F300-\U0001FAFF].*")
_ITEM = re.compile(r"\d{1,3}|[a-zA-Z]")  # what numbers an item of a list
_FAR = 100  # tokens: no quotation mark is looked for farther back
_NOON = {"AM", "PM"}
_DATE = re.compile(r"\d+/\d+/\d+")
_SIGN_OFFS = frozenset(WORDS["sign-offs"])
_RULE = re.compile(r"[-=*_~#+]{5,}|\*{3,}")  # drawn across the page


def tokenize(text: str, *, wrapped: bool = False, style: Style = WEB) -> list[list[Token]]:
    """Split English text into sentences, and these into tokens: strings with `start` and `end`, their places.

    A line ends its last sentence, unless the lines are `wrapped`: then only an empty line does.
    """
    return [*chain.from_iterable(paragraphs_in(StringIO(text), wrapped=wrapped, style=style))]


def paragraphs_in(lines: Iterable[str], *, wrapped: bool = False, style: Style = WEB) -> Iterator[list[list[Token]]]:
    """Split text that comes in line by line into the sentences of each paragraph; an empty line has none.

    The places of tokens count from the first line on.
    """
    offset = 0
    for paragraph in _joined(lines) if wrapped else lines:
        yield [*sentences_of(tokens_in(paragraph, style, offset))]
        offset += len(paragraph)


def _joined(lines: Iterable[str]) -> Iterator[str]:
    """Join lines up to an empty one."""
    kept: list[str] = []
    for line in lines:
        kept.append(line)
        if line.isspace():
            yield "".join(kept)
            kept.clear()
    if kept:
        yield "".join(kept)


def sentences_of(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Split the tokens of a paragraph into sentences."""
    first = 0
    for end in range(1, len(tokens)):
        plain = tokens[end].isalnum() and tokens[end - 1].isalnum() and tokens[end - 1] not in _NOON
        if not plain and _ends(tokens, first, end):
            yield [*tokens[first:end]]
            first = end
    if tokens:
        yield [*tokens[first:]]


def _ends(tokens: Sequence[Token], first: int, end: int) -> bool:
    """Whether the sentence that begins at `first` ends before the token at `end`."""
    following = tokens[end]
    if _RULE.fullmatch(following) or _RULE.fullmatch(tokens[end - 1]) or _ends_formula(tokens, first, end):
        return True
    if _ENDER.fullmatch(following) or _SMILEY.fullmatch(following) or _closes(tokens, first, end):
        return False
    last = end - 1
    while last > max(first, end - _FAR) and (_SMILEY.fullmatch(tokens[last]) or _closes(tokens, first, last)):
        last -= 1
    if not _ENDER.fullmatch(tokens[last]):
        return bool(_SMILEY.fullmatch(tokens[end - 1])) and following[0].isupper()
    if last < end - 1 or _PAUSE.fullmatch(tokens[last]):
        return bool(_OPENER.match(following)) and not following[0].islower()
    return not (last == first + 1 and tokens[last] == "." and _ITEM.fullmatch(tokens[first]))


def _ends_formula(tokens: Sequence[Token], first: int, end: int) -> bool:
    """Whether a part of a letter that needs no period ends here: who wrote it and when, or the regards at its end."""
    last, before = tokens[end - 1], tokens[max(first, end - 2)]
    if last in _NOON:
        return end >= first + 3 and bool(_DATE.fullmatch(tokens[end - 3]))
    if not tokens[end][0].isupper():
        return False
    return (last == ">" and "@" in before) or (last == "," and before.lower() in _SIGN_OFFS and end <= first + 3)


def _closes(tokens: Sequence[Token], first: int, place: int) -> bool:
    """Whether a token is a closing bracket or quotation mark; one that stands free closes what was opened before."""
    token = tokens[place]
    if not _CLOSER.fullmatch(token) or place == first:
        return False
    if not _QUOTE.fullmatch(token) or token.start == tokens[place - 1].end:
        return True
    opens = place + 1 < len(tokens) and token.end == tokens[place + 1].start
    return not opens and tokens[max(first, place - _FAR) : place].count(token) % 2 == 1
