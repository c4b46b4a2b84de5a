r"""The shapes of tokens, as regular expressions: what stays whole in English on the web.

`<name>` in a pattern stands for another pattern, and `<letter>` for \w with the marks that combine with letters, which
\w leaves out: accents, the vowel signs of Indic scripts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from importlib.resources import files

_WORDS = (files("latree.text") / "english_words.txt").read_text("utf-8")
WORDS = {name: words.split() for name, words in re.findall(r"(?m)^([a-z-]+):(.*(?:\n .*)*)", _WORDS)}

# What stands for the chunk that comes next, where it seems to begin a sentence; else its first letter or digit counts.
NEW_SENTENCE = "The"

_NAMED = {
    "letter": r"[\w<marks>]",
    "picture": r"[\U0001F1E6-\U0001F1FF]{2}|[\u2190-\u21FF\u2300-\u2BFF\U0001F000-\U0001FAFF]",
    "emoji": r"(?:<picture>)[\uFE0F\U0001F3FB-\U0001F3FF]*",
    "smiley": r"""[<>]?[:;=]['’]?[-o^]?[)(]+(?!\w) | (?<!\w)(?:[<>]?[:;=]['’]?[-o^]?[DPpOo3/\\|*]|\([-^]?[:;=]|8-\)
        |\^_*\^|-_+-|<3|[oO]_[oO])(?!\w)""",
    "rest": r"""(?:[^\s<>"”()]|\([^\s<>"”()]*\))*(?<=[\w/=&\#~)-])""",  # of an address
    "site": r"(?i:com|org|net|edu|gov|mil|biz|com?\.[a-z]{2}|ac\.[a-z]{2}|<endings>)",
    "number": r"\d+(?:[.,:/]\d+)*",
    "on": rf"(?!\s(?:{NEW_SENTENCE})?\Z)",  # the sentence goes on
}
# No repetition that may fail is without a limit, lest a chunk of a million characters take a million times as long.
_WHOLE = r"""
    (?:https?|ftp|mailto):<rest> | www\.<rest>
    | \w[\w.%+-]{0,63}@<letter>+(?:[.-]<letter>+)*                    # name@example.org  Name@OFFICE
    | \w[\w-]{0,62}(?:\.[\w-]{1,63}){0,7}\.<site>(?!<letter>)(?:/<rest>)?
    | [a-z]{1,20}(?:\.[a-z]{1,20}){2,7}(?!<letter>)                    # alt.animals.cats
    | (?<!\w)[@\#][^\W\d]<letter>*                                   # @name  #tag
    | [\d\#*]\uFE0F?\u20E3 | <emoji>(?:\u200D<emoji>)* | <smiley>
    | -[LR][RCS]B-
    | [.?!]{2,} | …+ | [-=]+> | <[-=]+ | [-=*~+\#|]{2,} | [–—]{2,} | << | >> | `` | '' | ‘’ | ’’ | C\+\+ | [A-Z]{1,2}\$
    """
_NUMBERS = r"""
    (?<![\w-])(?:(?:\d-)?(?:\d{3}[-./])?\d{3}-\d{4}|\d-\d{4}|\d{5}-\d{4})(?![\w-])    # telephones
    | (?<![\w-])(?:\d{1,2}-\d{1,2}-(?:\d\d){1,2}|\d{4}-\d\d-\d\d)(?![\w-])            # days
    | <number>(?=(?:<units>|[ap]\.m\.?)(?!<letter>)) | <number>['’]s(?!<letter>)      # 5 pm, the 1990's
    | (?<!\w)['’]\d\ds?(?!<letter>)                                                  # '05
    | (?<!\w)\.?<number><letter>*<joined>
    """
_ABBREVIATED = r"""
    <letter>(?:\.<letter>)+(?!<letter>)(?:\.<on>)? | (?:[A-Z][a-z]?\.){2,}<on>           # U.S.  e.g.  Ph.D.
    | [A-Z]{2,3}(?:\.[A-Z]{2,3})+(?!<letter>)(?:\.<on>)?                                # EE.UU.
    | (?:<abbreviations>)\.(?![\w.])<on> | (?:<numbered>)\.(?=\s?\d) | [A-HJ-ZÀ-ÞΑ-ΩЀ-Я]\.(?=\sA)   # No. 1, J. Smith
    | (?i:[a-z]/[a-z]|w/|s/he)(?!<letter>) | [A-Z]{1,3}&[A-Z]{1,2}(?!<letter>) | '(?:em|til|tis|cause)(?!<letter>)
    | (?:(?<=[\w.])|\A)['’`](?i:s|re|ve|ll|d|m)(?!<letter>)                              # a clitic after one of these
    """
_WORD = r"<before>(?P<word><letter>+(?:['’`·׳״]<letter>+)*)<joined>"
_NAME = re.compile(r"(?<!P)<([a-z]+)>")


def _one_of(words: Iterable[str]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


@lru_cache(maxsize=256)
def token_pattern(marks: str, split_hyphens: bool) -> re.Pattern[str]:
    """Compile what matches one token of text in which these marks combine with letters."""
    abbreviations = WORDS["abbreviations"]
    names = _NAMED | {
        "marks": marks,
        "endings": _one_of(WORDS["endings"]),
        "units": _one_of(WORDS["units"]),
        "abbreviations": _one_of([*abbreviations, *(word.upper() for word in abbreviations if word[0].isupper())]),
        "numbered": _one_of(WORDS["before-numbers"]),
        "before": rf"(?:(?i:{_one_of(WORDS['prefixes'])})-(?=\w))*" if split_hyphens else "",
        "joined": "" if split_hyphens else "(?:-(?![LR][RCS]B-)<letter>+)*",
    }
    pattern = "|".join([_WHOLE, _NUMBERS, _ABBREVIATED, _WORD, r"\S"])
    while (filled := _NAME.sub(lambda name: names[name[1]], pattern)) != pattern:
        pattern = filled
    return re.compile(pattern, re.VERBOSE)
