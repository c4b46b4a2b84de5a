"""Unknown-word classes: what the outside of a word tells about its tag.

A word that training never saw is replaced by a class, its *signature*, made from its case, digits, punctuation and
ending; rare training words stand in for the unseen ones, so each class has tag counts.  A scheme says how a word is
classed.  The English schemes are fixed lists.  The neutral one learns the endings of the language at hand, so it needs
no linguist, and asks only Unicode what a letter is, so it needs no particular script.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from unicodedata import category

import numpy as np
from numpy.typing import NDArray

from latree.errors import LatreeError
from latree.files import Header

IsKnown = Callable[[str], bool]
Counts = NDArray[np.float64]
Token = tuple[str, bool, int]  # word, whether it opens its sentence, tag index

_ENGLISH_SUFFIXES = ("ed", "ing", "ion", "er", "est", "ly", "ity", "y", "al")
_LONGEST_ENDING = 6  # characters; agglutinating languages such as Finnish gain from the last ones


class Scheme:
    """A way to class unknown words; the same object must class the rare training words and the words to be tagged."""

    name = "single"
    guesses = False  # whether a guesser goes beyond the classes

    def signature(self, word: str, first: bool, is_known: IsKnown) -> str:
        """The class of `word`; `first` says that it opens its sentence, where a capital means less."""
        return "UNK"

    def learn(self, rare: Iterable[Token], tags: int, is_known: IsKnown) -> Scheme:
        """The scheme fitted to the rare tokens of a training set; a scheme with nothing to learn returns itself."""
        return self

    def header(self) -> Header:
        """The scheme as JSON values, for `read_scheme`."""
        return {"name": self.name}

    def restore(self, header: Header) -> Scheme:
        """The scheme of this kind whose `header()` is given."""
        return self


@dataclass(frozen=True)
class EnglishScheme(Scheme):
    """`english_signature` at one level: 5 suits the Penn Treebank, 4 languages that are near to English."""

    name: str = "english"
    level: int = 5

    def signature(self, word: str, first: bool, is_known: IsKnown) -> str:
        return english_signature(word, first, first and is_known(word.lower()), self.level)


@dataclass(frozen=True)
class NeutralScheme(Scheme):
    """The word's shape, and the longest of the endings that were learned for words of that shape.

    An ending is kept if at least `least` distinct rare words have it and if telling it apart from the next shorter
    kept ending raises the log likelihood of the tags by at least `gain` nats (a likelihood-ratio test).
    """

    name: str = "neutral"
    least: int = 5
    gain: float = 5.0
    endings: frozenset[str] | None = None  # "shape~ending"; None before learning

    def signature(self, word: str, first: bool, is_known: IsKnown) -> str:
        shape = word_shape(word, first, is_known)
        return _longest_ending(shape, word.lower(), self.endings) if self.endings else shape

    def learn(self, rare: Iterable[Token], tags: int, is_known: IsKnown) -> NeutralScheme:
        if self.endings is not None:
            return self
        counts: dict[tuple[str, str], Counts] = defaultdict(lambda: np.zeros(tags))
        for (word, first, tag), tokens in Counter(rare).items():
            counts[word_shape(word, first, is_known), word.lower()][tag] += tokens
        return replace(self, endings=learn_endings(counts, self.least, self.gain))

    def header(self) -> Header:
        return asdict(self) | {"endings": None if self.endings is None else sorted(self.endings)}

    def restore(self, header: Header) -> NeutralScheme:
        endings = header["endings"]
        return replace(self, **{**header, "endings": None if endings is None else frozenset(endings)})


@dataclass(frozen=True)
class FeatureScheme(NeutralScheme):
    """Classes as the neutral ones, for subtypes to be told by; which tags a word has is said by a `Guesser`."""

    name: str = "features"
    guesses = True


_ALL = (FeatureScheme(), NeutralScheme(), EnglishScheme(), EnglishScheme("english4", 4), Scheme())
SCHEMES: dict[str, Scheme] = {scheme.name: scheme for scheme in _ALL}


def make_scheme(name: str) -> Scheme:
    """The scheme of that name, before it has learned anything."""
    if name not in SCHEMES:
        raise LatreeError(f"no unknown-word scheme {name!r}; choose one of {', '.join(SCHEMES)}")
    return SCHEMES[name]


def read_scheme(header: Header) -> Scheme:
    """The scheme whose `header()` this was."""
    return make_scheme(header["name"]).restore(header)


# --- English


def english_signature(word: str, first_in_sentence: bool, lower_known: bool, level: int) -> str:
    """The class of an English word; `lower_known` says that the word in lower case is in the vocabulary.

    Level 5: UNK, case, -NUM, -DASH, one of ten suffixes.  Level 4: UNK, case, digits, punctuation, last letter.
    """
    if level == 5:
        return "UNK" + _case5(word, first_in_sentence, lower_known) + _marks5(word) + _suffix5(word)
    if level == 4:
        return "UNK" + _case4(word, first_in_sentence) + _digits4(word) + _marks4(word)
    raise ValueError(f"English signatures have levels 4 and 5, not {level}")


def _case5(word: str, first: bool, lower_known: bool) -> str:
    capitals = sum(map(str.isupper, word))
    if word[:1].isupper():
        if first and capitals == 1:
            return "-INITC-KNOWNLC" if lower_known else "-INITC"
        return "-CAPS"
    if capitals and not word[0].isalpha():
        return "-CAPS"
    return "-LC" if any(map(str.islower, word)) else ""


def _marks5(word: str) -> str:
    return "-NUM" * any(map(str.isdecimal, word)) + "-DASH" * ("-" in word)


def _suffix5(word: str) -> str:
    """A plural -s, or the first of the suffix list; short words and codes such as `F16ed` have none."""
    lower = word.lower()
    if lower.endswith("s") and len(word) >= 3:
        return "" if lower[-2] in "siu" else "-s"
    code = any(map(str.isdecimal, word)) and any(map(str.isupper, word))
    if len(word) < 5 or "-" in word or code:
        return ""
    return next((f"-{suffix}" for suffix in _ENGLISH_SUFFIXES if lower.endswith(suffix)), "")


def _case4(word: str, first: bool) -> str:
    lower = any(map(str.islower, word))
    if word[:1].isupper():
        return "-AC" if not lower else "-SC" if first else "-C"
    return "-L" if lower else "-U" if any(map(str.isalpha, word)) else "-S"


def _digits4(word: str) -> str:
    digits = sum(map(str.isdecimal, word))
    return "" if not digits else "-N" if digits == len(word) else "-n"


def _marks4(word: str) -> str:
    marks = "".join(name for mark, name in (("-", "-H"), (".", "-P"), (",", "-C")) if mark in word)
    return marks + f"-{word[-1].lower()}" if len(word) > 3 and word[-1].isalpha() else marks


# --- any language

_category = lru_cache(maxsize=4096)(category)


def word_shape(word: str, first: bool, is_known: IsKnown) -> str:
    """Case, then `-num`, `-dash`, `-mark` for what else is in the word; a word without letters is named by its kinds.

    The kinds of a word without letters are its Unicode categories, so that an opening bracket, a currency sign and a
    full stop each have a shape of their own in every script.
    """
    kinds = [_category(char) for char in word]
    families = {kind[0] for kind in kinds}
    number = "-num" if "N" in families else ""
    if "L" not in families:
        return "none" + number + "".join(sorted({f"-{kind}" for kind in kinds if kind[0] != "N"}))
    dash = "-dash" if "Pd" in kinds else ""
    mark = "-mark" if not dash and not families.isdisjoint("PS") else ""
    return _letter_case(word, kinds, first, is_known) + number + dash + mark


def _letter_case(word: str, kinds: list[str], first: bool, is_known: IsKnown) -> str:
    """Scripts without case are all `letter`; a capital that opens the sentence is kept apart from one within."""
    capitals = kinds.count("Lu") + kinds.count("Lt")
    if not capitals:
        return "lower" if "Ll" in kinds else "letter"
    if kinds[0] not in ("Lu", "Lt"):
        return "mixed"
    if capitals > 1 and "Ll" not in kinds:
        return "caps"
    if not first:
        return "capital"
    return "initial-known" if is_known(word.lower()) else "initial"


def _longest_ending(shape: str, lower: str, endings: frozenset[str] | set[str]) -> str:
    for length in range(min(_LONGEST_ENDING, len(lower) - 1), 0, -1):
        if (key := f"{shape}~{lower[-length:]}") in endings:
            return key
    return shape


def learn_endings(counts: Mapping[tuple[str, str], Counts], least: int, gain: float) -> frozenset[str]:
    """The endings worth a class, as `shape~ending`, from the tag counts of (shape, lower-cased word).

    Shorter endings are judged first; an ending e below the kept ending (or bare shape) a is kept if it has `least`
    words and L(e) + L(a - e) - L(a) >= gain, where L(c) = sum_t c_t log(c_t / sum c) is the tags' log likelihood.
    """
    table = _ending_counts(counts, least)
    kept: set[str] = set()
    for key in sorted(table, key=lambda key: (len(key), key)):
        shape, _, ending = key.partition("~")
        if not ending:
            continue
        above = table[_longest_ending(shape, ending, kept)]
        here = table[key]
        if _log_likelihood(here) + _log_likelihood(above - here) - _log_likelihood(above) >= gain:
            kept.add(key)
    return frozenset(kept)


def _ending_counts(counts: Mapping[tuple[str, str], Counts], least: int) -> dict[str, Counts]:
    """Tag counts of every shape (under its bare name) and of every ending that at least `least` words have."""
    types = Counter(key for shape, lower in counts for key in _ending_keys(shape, lower))
    table: dict[str, Counts] = {}
    for (shape, lower), row in counts.items():
        for key in (shape, *_ending_keys(shape, lower)):
            if key == shape or types[key] >= least:
                table[key] = table[key] + row if key in table else row
    return table


def _ending_keys(shape: str, lower: str) -> list[str]:
    return [f"{shape}~{lower[-length:]}" for length in range(1, min(_LONGEST_ENDING, len(lower) - 1) + 1)]


def _log_likelihood(counts: Counts) -> float:
    """sum_t c_t log(c_t / sum c), with 0 log 0 = 0."""
    positive = counts[counts > 0]
    return float(positive @ np.log(positive / positive.sum()))
