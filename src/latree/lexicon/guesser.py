"""P(tag | word) of rare and unknown words, from all that their letters show at once.

A class of unknown words goes by one ending; here every ending and beginning, the shape and the length of a word weigh
in together: P(t|w) is proportional to exp(sum of weight[f, t] over the word's features f).  The weights are those that
make the tags of training's rare words likeliest (`log_linear`).  A word counts as the square root of how often it
occurs: all its tokens show the same letters.

The same weights serve wherever features tell a tag: those of a word's place in a tree tell its fine one
(`kinds/fine_tags.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np

from latree.arrays import Floats, Longs, ranges, starts
from latree.files import Arrays, pack_places, pack_strings, unpack_places, unpack_strings
from latree.lexicon.signatures import IsKnown, Token, word_shape

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_ENDINGS, _CASED_ENDINGS, _BEGINNINGS = 6, 3, 4  # letters of the longest
_LONG = 8  # all words of so many letters and more are long
_LEAST_CASES = 3  # that a feature must be seen with
_SMALLEST = 0.2  # weight of a letter feature that is kept


def features(word: str, first: bool, is_known: IsKnown) -> list[str]:
    """What the letters of a word show; `first` says that it opens its sentence."""
    lower, shape = word.lower(), word_shape(word, first, is_known)
    case = shape.partition("-")[0]
    size = len(lower)
    shown = ["", f"shape {shape}", f"length {min(size, _LONG)}"]
    shown += [f"-{lower[-n:]}" for n in range(1, min(_ENDINGS, size) + 1)]
    shown += [f"{case} -{lower[-n:]}" for n in range(1, min(_CASED_ENDINGS, size) + 1)]
    shown += [f"{lower[:n]}-" for n in range(1, min(_BEGINNINGS, size) + 1)]
    if "-" in lower[1:-1]:
        shown += [f"{lower.partition('-')[0]} -", f"- {lower.rpartition('-')[2]}"]
    return shown


@dataclass(frozen=True, eq=False)
class Guesser:
    """Weights of features under tags: those of feature f are `weight[start[f]:start[f + 1]]`, the others zero."""

    features: tuple[str, ...]
    tags: int
    start: Longs  # [features + 1]
    tag: Longs  # [weights]
    weight: Floats

    @classmethod
    def of(cls, features: Sequence[str], tags: int, place: Longs, weight: Floats) -> Self:
        """`place` has the place of every weight in a table of [features, tags], in order."""
        feature, tag = np.divmod(place, tags)
        return cls(tuple(features), tags, starts(np.bincount(feature, minlength=len(features))), tag, weight)

    @classmethod
    def learn(cls, tokens: Iterable[Token], tags: int, is_known: IsKnown) -> Self:
        """Learn from the (word, whether it opens its sentence, tag) of rare words."""
        from scipy.sparse import csr_array

        places: dict[tuple[str, bool], int] = {}
        pairs = [(places.setdefault((word, first), len(places)), tag) for word, first, tag in tokens]
        counts = csr_array((np.ones(len(pairs)), np.array(pairs, np.int64).reshape(-1, 2).T), (len(places), tags))
        return cls.fitted(
            [features(word, first, is_known) for word, first in places], counts / np.sqrt(counts.sum(1))[:, None]
        )

    @classmethod
    def fitted(cls, shown: Sequence[Sequence[str]], counts: Floats | csr_array, smallest: float = _SMALLEST) -> Self:
        """Learn from the features of some cases, and how often each had which tag; smaller weights are left out."""
        from scipy.sparse import csr_array

        from latree.lexicon.log_linear import fit, seen_pairs

        cases = Counter(feature for row in shown for feature in row)
        often = [feature for feature, n in cases.items() if n >= _LEAST_CASES]
        table, chosen = _table(shown, often), csr_array(counts)
        pairs = seen_pairs(table, chosen)
        weight = fit(table, chosen, pairs).astype(np.float32).astype(np.float64)
        kept = np.abs(weight) >= smallest
        used, feature = np.unique(np.repeat(np.arange(len(often)), np.diff(pairs.start))[kept], return_inverse=True)
        tags = chosen.shape[1]
        return cls.of([often[f] for f in used], tags, feature * tags + pairs.column[kept], weight[kept])

    @cached_property
    def _row(self) -> dict[str, int]:
        return {feature: row for row, feature in enumerate(self.features)}

    def guess(self, word: str, first: bool, is_known: IsKnown) -> Floats:
        """P(t|w), [tags]."""
        return self.given(features(word, first, is_known))

    def given(self, shown: Iterable[str]) -> Floats:
        """P(t | features), [tags]."""
        rows = np.array([self._row[feature] for feature in shown if feature in self._row], np.int64)
        place = ranges(self.start[rows], self.start[rows + 1] - self.start[rows])
        score = np.bincount(self.tag[place], self.weight[place], minlength=self.tags)
        odds = np.exp(score - score.max())
        return np.asarray(odds / odds.sum())

    def to_arrays(self) -> Arrays:
        """The arrays of a model file."""
        place = np.repeat(np.arange(len(self.features)), np.diff(self.start)) * self.tags + self.tag
        weights = pack_places("weights", place, self.weight, len(self.features) * self.tags)
        return {"features": pack_strings(self.features), **weights}

    @classmethod
    def from_arrays(cls, arrays: Arrays, tags: int) -> Self:
        """The guesser that wrote these."""
        names = unpack_strings(arrays["features"])
        return cls.of(names, tags, *unpack_places("weights", arrays, len(names) * tags))


def _table(shown: Sequence[Sequence[str]], kept: Sequence[str]) -> csr_array:
    """A sparse matrix [words, features] of ones where a word has a feature."""
    from scipy.sparse import csr_array

    column = {feature: k for k, feature in enumerate(kept)}
    rows = [[column[feature] for feature in row if feature in column] for row in shown]
    starts = np.cumsum([0, *map(len, rows)])
    places = np.array([place for row in rows for place in row], np.int64)
    return csr_array((np.ones(len(places)), places, starts), (len(rows), len(kept)))
