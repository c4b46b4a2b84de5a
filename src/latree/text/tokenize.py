"""From running text to tokens, each with the place where it stands.

Text is split by shape, in the way of the English Web Treebank: addresses, tags, smileys and numbers stay whole, every
other mark stands by itself, clitics are split off their words, and words at hyphens unless the first part is a prefix.
A `Style` leaves out what the words of another treebank do not do.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from latree.text.token_shapes import NEW_SENTENCE, WORDS, token_pattern
from latree.text.tree import unescape

Span = tuple[int, int]


class Token(str):
    """A string that knows where it was read: `text[token.start : token.end]`."""

    __slots__ = ("end", "start")
    start: int
    end: int

    def __new__(cls, form: str, start: int, end: int) -> Token:
        token = super().__new__(cls, form)
        token.start, token.end = start, end
        return token

    def unescaped(self) -> Token:
        """The token with brackets written -LRB- or -RRB- as what they are."""
        return Token(unescape(self), self.start, self.end)

    def __getnewargs__(self) -> tuple[str, int, int]:  # type: ignore[override]
        """What another process makes the token of."""
        return str(self), self.start, self.end


def offsets(tokens: Iterable[str]) -> list[Span]:
    """List where tokens begin and end; nothing for those that come from text that was split already."""
    return [(token.start, token.end) for token in tokens if isinstance(token, Token)]


class Style(NamedTuple):
    """What a treebank splits."""

    hyphens: bool = True  # well - known
    clitics: bool = True  # do n't, can not

    @classmethod
    def of(cls, vocabulary: Collection[str]) -> Style:
        """Tell from a treebank's words how it splits.

        Where words are split at hyphens, those that have one still are mostly a prefix and a word: fewer than a third
        are not in en-ewt, en-open and en-craft, more than three quarters in en-wsj and where the language is another.
        """
        hyphenated = [word for word in vocabulary if _HYPHENATED.fullmatch(word)]
        prefixed = sum(1 for word in hyphenated if word.partition("-")[0].lower() in _PREFIXES)
        return cls(
            hyphens="-" in vocabulary and 2 * prefixed >= len(hyphenated),
            clitics=not _CLITIC_WORDS.isdisjoint(vocabulary) or not any(_SPLIT.fullmatch(word) for word in vocabulary),
        )


WEB = Style()
_HYPHENATED = re.compile(r"[^\W\d_]+-[^\W\d_]+")
_CLITIC_WORDS = {"n't", "n’t", "'s", "’s"}
_SPLIT = re.compile(r"(?i)\w+(?:n['’]t|['’](?:s|re|ve|ll|m))")
_CLITICS = re.compile(r"(?i).+?(?P<no>n['’]t)?(?P<more>(?:['’`](?:s|re|ve|ll|d|m))*)")
_CLITIC = re.compile(r"['’`]\w+")
_JOINED = {word.replace("|", ""): word.index("|") for word in WORDS["joined"]}
_STARTERS = frozenset(WORDS["starters"])
_PREFIXES = frozenset(WORDS["prefixes"])
_CHUNK = re.compile(r"\S+")
_JOINERS = "\u200c\u200d"


def tokens_in(text: str, style: Style = WEB, offset: int = 0) -> list[Token]:
    """List the tokens of running text; `offset` is where the text begins in a longer one."""
    tokens: list[Token] = []
    chunks = [*_CHUNK.finditer(text)]
    for place, chunk in enumerate(chunks, start=1):
        begin, form = chunk.start(), chunk[0]
        following = _class_of(chunks[place][0]) if form[-1] == "." and place < len(chunks) else ""
        for start, end in _spans(form, following, style):
            tokens.append(Token(form[start:end], offset + begin + start, offset + begin + end))
    return tokens


def tokens_of(line: str) -> list[str]:
    """List the tokens of a line that is tokenised already, brackets written -LRB- and -RRB- read as what they are."""
    # As in a bracket file, only ASCII white space separates: a no-break space may stand inside a word.
    return [unescape(token) for token in re.split(f"[{string.whitespace}]+", line) if token]


def _class_of(chunk: str) -> str:
    """Stand-in for the next chunk: all that the period of an abbreviation depends on."""
    if chunk in _STARTERS:
        return NEW_SENTENCE
    return "A" if chunk[0].isupper() else "0" if chunk[0].isdecimal() else "a"


@lru_cache(maxsize=1 << 14)
def _spans(chunk: str, following: str, style: Style) -> tuple[Span, ...]:
    """Cut what stands between white space; the commonest chunks are cut once."""
    spans: list[Span] = []
    for match in token_pattern(_marks(chunk), style.hyphens).finditer(f"{chunk} {following}"):
        if match.start() >= len(chunk):
            break
        if style.clitics and match["word"]:
            cuts = [*_clitics(match["word"], match.start("word"))]
            spans.extend(zip([match.start(), *cuts], [*cuts, match.end()], strict=True))
        else:
            spans.append(match.span())
    return tuple(spans)


def _clitics(word: str, start: int) -> Iterator[int]:
    """The places inside a word where a clitic begins."""
    if word.lower() in _JOINED:
        yield start + _JOINED[word.lower()]
    elif parts := _CLITICS.fullmatch(word):
        if parts["no"]:
            yield start + parts.start("no")
        for clitic in _CLITIC.finditer(word, parts.start("more")):
            yield start + clitic.start()


def _marks(text: str) -> str:
    """The characters of a text that combine with letters."""
    if text.isascii():
        return ""
    return "".join(sorted(c for c in set(text) if unicodedata.category(c).startswith("M") or c in _JOINERS))
