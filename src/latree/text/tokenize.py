"""From a line of text to tokens.

A line is tokenised already (the default: split at white space), or it is running text, which is split by shape: words
with their inner apostrophes and hyphens, numbers with their points and commas, every other mark by itself, and the
English clitics that the Penn Treebank splits off.  Brackets written -LRB- and -RRB- are read as what they stand for.
"""

from __future__ import annotations

import re
import string
import unicodedata
from functools import lru_cache

from latree.text.tree import unescape

# `letter` is \w and what combines with letters, which \w leaves out: accents, the vowel signs of Indic scripts.
_TOKEN = r"""
    \d+(?:[.,:/]\d+)*(?:%|{letter}*(?:[-'’]{letter}+)*)  # 3.14  1,000  10:30  50%  1st  19-year-old
    | (?:{letter}\.){{2,}}                # U.S.  e.g.
    | {letter}+(?:[-'’.@]{letter}+)*      # well-known  o'clock  name@example.org
    | \.\.\.+ | --+ | ``| ''              # ellipsis, dashes, Penn quotes
    | \S                                  # anything else, a mark at a time
    """
_CLITIC = re.compile(r"(?i)^(.+?)(n['’]t|['’](?:s|re|ve|ll|d|m))$")
_ABBREVIATIONS = {"mr", "mrs", "ms", "dr", "prof", "st", "jr", "sr", "inc", "corp", "co", "ltd", "vs", "etc", "fig"}
_JOINERS = "\u200c\u200d"


@lru_cache(maxsize=256)
def _pattern(marks: str) -> re.Pattern[str]:
    return re.compile(_TOKEN.format(letter=rf"[\w{marks}]"), re.VERBOSE)


def _marks(line: str) -> str:
    """The combining characters of a line."""
    if line.isascii():
        return ""
    return "".join(sorted(c for c in set(line) if unicodedata.category(c).startswith("M") or c in _JOINERS))


def tokens_of(line: str, *, split: bool) -> list[str]:
    """The tokens of one line; `split` says that it is running text."""
    if not split:
        # As in a bracket file, only ASCII white space separates: a no-break space may stand inside a word.
        return [unescape(token) for token in re.split(f"[{string.whitespace}]+", line) if token]
    tokens: list[str] = []
    line = unescape(line)
    for token in _pattern(_marks(line)).findall(line):
        if token == "." and tokens and tokens[-1].lower() in _ABBREVIATIONS:
            tokens[-1] += "."
            continue
        clitic = _CLITIC.match(token)
        tokens.extend(clitic.groups() if clitic else [token])
    return tokens
