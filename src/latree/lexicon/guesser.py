"""P(tag | word) of rare and unknown words, from all that their letters show at once.

A class of unknown words goes by one ending; here every ending and beginning, the shape and the length of a word weigh
in together: P(t|w) is proportional to exp(sum of weight[f, t] over the word's features f).  The weights are those that
make the tags of training's rare words likeliest, less a penalty on their squares.  A word counts as the square root of
how often it occurs: all its tokens show the same letters.

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

from latree.arrays import Floats
from latree.files import Arrays, pack_sparse, pack_strings, unpack_sparse, unpack_strings
from latree.lexicon.signatures import IsKnown, Token, word_shape

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_ENDINGS, _CASED_ENDINGS, _BEGINNINGS = 6, 3, 4  # letters of the longest
_LONG = 8  # all words of so many letters and more are long
_LEAST_CASES = 3  # that a feature must be seen with
_PENALTY = 1.0
_ITERATIONS = 40
_STEEPNESS = 0.05  # of the loss along a feature's weight, for each word that has the feature
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
    """Weights of features under tags."""

    features: tuple[str, ...]
    weights: Floats  # [features, tags]

    @classmethod
    def learn(cls, tokens: Iterable[Token], tags: int, is_known: IsKnown) -> Guesser:
        """Learn from the (word, whether it opens its sentence, tag) of rare words."""
        places: dict[tuple[str, bool], int] = {}
        pairs = [(places.setdefault((word, first), len(places)), tag) for word, first, tag in tokens]
        counts = np.zeros((len(places), tags))
        np.add.at(counts, tuple(np.array(pairs, np.int64).reshape(-1, 2).T), 1.0)
        counts /= np.sqrt(counts.sum(1, keepdims=True))
        return cls.fitted([features(word, first, is_known) for word, first in places], counts)

    @classmethod
    def fitted(cls, shown: Sequence[Sequence[str]], counts: Floats, smallest: float = _SMALLEST) -> Self:
        """Learn from the features of some cases, and how often each had which tag; smaller weights are left out."""
        cases = Counter(feature for row in shown for feature in row)
        kept = tuple(feature for feature, n in cases.items() if n >= _LEAST_CASES)
        weights = _fit(_table(shown, kept), counts)
        weights = np.where(np.abs(weights) >= smallest, weights, 0.0).astype(np.float32).astype(np.float64)
        used = np.flatnonzero(weights.any(1))
        return cls(tuple(kept[row] for row in used), weights[used])

    @cached_property
    def _row(self) -> dict[str, int]:
        return {feature: row for row, feature in enumerate(self.features)}

    def guess(self, word: str, first: bool, is_known: IsKnown) -> Floats:
        """P(t|w), [tags]."""
        return self.given(features(word, first, is_known))

    def given(self, shown: Iterable[str]) -> Floats:
        """P(t | features), [tags]."""
        rows = [self._row[feature] for feature in shown if feature in self._row]
        score = self.weights[rows].sum(0)
        odds = np.exp(score - score.max())
        return np.asarray(odds / odds.sum())

    def to_arrays(self) -> Arrays:
        """The arrays of a model file."""
        return {"features": pack_strings(self.features), **pack_sparse("weights", self.weights.ravel())}

    @classmethod
    def from_arrays(cls, arrays: Arrays, tags: int) -> Guesser:
        """The guesser that wrote these."""
        names = unpack_strings(arrays["features"])
        return cls(names, unpack_sparse("weights", arrays, len(names) * tags).reshape(-1, tags))


def _table(shown: Sequence[Sequence[str]], kept: Sequence[str]) -> csr_array:
    """A sparse matrix [words, features] of ones where a word has a feature."""
    from scipy.sparse import csr_array

    column = {feature: k for k, feature in enumerate(kept)}
    rows = [[column[feature] for feature in row if feature in column] for row in shown]
    starts = np.cumsum([0, *map(len, rows)])
    places = np.array([place for row in rows for place in row], np.int64)
    return csr_array((np.ones(len(places)), places, starts), (len(rows), len(kept)))


def _fit(table: csr_array, counts: Floats) -> Floats:
    """Maximise sum c_wt log P(t|w) - penalty / 2 |weights|^2 over the weights [features, tags]."""
    from scipy.optimize import minimize

    shape, total = (table.shape[1], counts.shape[1]), counts.sum(1, keepdims=True)
    transposed = table.T.tocsr()
    # Features of many words have a steep loss: in units of their own the search takes half the steps.
    unit = 1 / np.sqrt(_PENALTY + _STEEPNESS * table.sum(0))[:, None]

    def loss(flat: Floats) -> tuple[float, Floats]:
        weights = unit * flat.reshape(shape)
        score = table @ weights
        score -= score.max(1, keepdims=True)
        log_p = score - np.log(np.exp(score).sum(1, keepdims=True))
        slope = transposed @ (np.exp(log_p) * total - counts) + _PENALTY * weights
        value = -float((counts * log_p).sum()) + _PENALTY / 2 * float((weights**2).sum())
        return value, (unit * slope).ravel()

    start, limit = np.zeros(shape[0] * shape[1]), {"maxiter": _ITERATIONS}
    fitted = minimize(loss, start, jac=True, method="L-BFGS-B", options=limit)
    return np.asarray(unit * fitted.x.reshape(shape))
