"""From a line of text to tokens.

A line is tokenised already (the default: split at white space), or it is running text, which is split by shape: words
with their inner apostrophes and hyphens, numbers with their points and commas, every other mark by itself, and the
English clitics that the Penn Treebank splits off.  Brackets written -LRB- and -RRB- are read as what they stand for.
"""

from __future__ import annotations

import re

from latree.tree import unescape

_TOKEN = re.compile(
    r"""
    \d+(?:[.,:/]\d+)*%?          # 3.14  1,000  10:30  50%
    | (?:\w\.){2,}               # U.S.  e.g.
    | \w+(?:[-'’.@]\w+)*         # well-known  o'clock  name@example.org
    | \.\.\.+ | --+ | ``| ''     # ellipsis, dashes, Penn quotes
    | \S                         # anything else, a mark at a time
    """,
    re.VERBOSE,
)
_CLITIC = re.compile(r"(?i)^(.+?)(n['’]t|['’](?:s|re|ve|ll|d|m))$")
_ABBREVIATIONS = {"mr", "mrs", "ms", "dr", "prof", "st", "jr", "sr", "inc", "corp", "co", "ltd", "vs", "etc", "fig"}


def tokens_of(line: str, *, split: bool) -> list[str]:
    """The tokens of one line; `split` says that it is running text."""
    if not split:
        return [unescape(token) for token in line.split()]
    tokens: list[str] = []
    for token in _TOKEN.findall(line):
        if token == "." and tokens and tokens[-1].lower() in _ABBREVIATIONS:
            tokens[-1] += "."
            continue
        clitic = _CLITIC.match(token)
        tokens.extend(clitic.groups() if clitic else [token])
    return tokens
