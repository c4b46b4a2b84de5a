"""Features of spans: what stands at the edges of a constituent, inside and out, and how long it is.

Overlapping features of this kind are what a grammar trained on log P(T | w) takes in its stride, and a generative one
does not (Petrov 2009, section 3).  A constituent that a binary rule makes has a feature for each of: its first and last
word, the words before and after it, both pairs across its edges, and its length; each together with its symbol.  Words
that are rare go by their class.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from latree.arrays import Floats, Ints, Longs, starts
from latree.files import Arrays, Header, ModelFile
from latree.inference.forest import Forest, P, R, assemble
from latree.inference.potentials import NO_POTENTIALS, Potentials
from latree.kinds.pruned import Example, PrunedModel, PrunedReading, by_length
from latree.lexicon.lexical_rules import LexicalRules

KINDS = 7
LEAST = 2  # gold spans that must have a feature
LENGTHS = np.array([2, 3, 4, 5, 6, 8, 11, 16, 21, 31, 41])  # a length counts as the last of these that it reaches


class Words(NamedTuple):
    """The words of some sentences laid end to end, as units of the lexical rules."""

    unit: Longs
    start: Longs  # [sentences] where each begins

    @classmethod
    def of(cls, sentences: Sequence[Sequence[str]], lexical: LexicalRules) -> Words:
        units = np.concatenate([lexical.units_of(words) for words in sentences])
        return cls(units, starts([len(words) for words in sentences])[:-1])


@dataclass(frozen=True, eq=False)
class SpanFeatures:
    """Which features there are."""

    key: Longs  # [features] ascending
    units: int
    symbols: int

    @classmethod
    def of(cls, forests: Iterable[tuple[Forest, Words]], units: int, symbols: int) -> SpanFeatures:
        """Those that gold analyses have often enough."""
        empty = cls(np.zeros(0, np.int64), units, symbols)
        keys = [empty.keys(forest, words)[1].ravel() for forest, words in forests]
        key, count = np.unique(np.concatenate(keys), return_counts=True)
        return cls(key[count >= LEAST], units, symbols)

    def keys(self, forest: Forest, words: Words) -> tuple[Longs, Longs]:
        """The items that binary rules make, and [these, KINDS] a number for each of their features."""
        items = np.unique(forest.ends[forest.ends[:, R] >= 0, P]).astype(np.int64)
        edge = self.units  # what stands beyond the sentence
        padded = np.append(words.unit, edge)
        end = np.append(words.start[1:], len(words.unit))[forest.sentence[items]]
        begin = words.start[forest.sentence[items]]
        i, j = begin + forest.span[items, 0], begin + forest.span[items, 1]
        first, last = padded[i], padded[j - 1]
        before, after = np.where(i > begin, padded[i - 1], edge), np.where(j < end, padded[j], edge)
        length = np.searchsorted(LENGTHS, j - i, side="right")
        none = np.zeros(len(items), np.int64)
        pairs = [(first, none), (last, none), (before, none), (after, none), (before, first), (last, after)]
        pairs.append((length, none))
        room, symbol = self.units + 1, forest.symbol[items].astype(np.int64)
        columns = [((k * room + a) * room + b) * self.symbols + symbol for k, (a, b) in enumerate(pairs)]
        return items, np.stack(columns, 1)

    def matrix(self, forest: Forest, words: Words) -> csr_array:
        """[items, features] ones: times the parameters this is what every item weighs, as a log."""
        items, keys = self.keys(forest, words)
        place = np.minimum(np.searchsorted(self.key, keys), max(len(self.key) - 1, 0))
        row, column = np.nonzero(self.key[place] == keys if len(self.key) else np.zeros(keys.shape, bool))
        cells = (items[row], place[row, column])
        return csr_array((np.ones(len(row)), cells), shape=(len(forest.symbol), len(self.key)))

    def on(self, forest: Forest, words: Words) -> Spans:
        """What the spans of a forest have."""
        return Spans(self.matrix(forest, words), forest.ends[:, P].copy())


class Spans(NamedTuple):
    """The spans of a forest, for a training that comes back to it."""

    matrix: csr_array  # [items, features]
    parent: Ints  # [edges]

    def potentials(self, weights: Floats) -> Potentials:
        """What every item's span weighs."""
        return Potentials(item=self.matrix @ weights)

    def slope(self, posterior: Floats) -> Floats:
        """Differentiate log Z by the features' weights, given the posteriors of edges.

        An item that a binary rule makes has a rule in each of its edges.
        """
        expected = np.bincount(self.parent, posterior, self.matrix.shape[0])
        return np.asarray(self.matrix.T @ expected)


@dataclass(frozen=True, eq=False)
class SpanReading(PrunedReading):
    """What features of spans need to know of words."""

    unit: Longs  # [words] as the lexical rules know them
    place: Longs  # [words] each word's own in its sentence

    @property
    def words(self) -> Words:
        return Words(self.unit, np.flatnonzero(self.place == 0))


class SpanModel(PrunedModel):
    """A model whose spans may have weights of their own beside the rules'."""

    spans: SpanFeatures | None = None

    @property
    @abstractmethod
    def span_weights(self) -> Floats:
        """[features] logs of factors."""

    def find_spans(self, examples: Sequence[Example]) -> SpanFeatures:
        """Take the features that the gold analyses have."""
        gold = (
            (assemble([one.gold for one in group], len(self.grammar.rules)), self.words_of_all(group))
            for group in by_length(examples, self.options.batch)
        )
        self.spans = SpanFeatures.of(gold, len(self.lexical.units), len(self.grammar.symbols))
        return self.spans

    def words_of_all(self, examples: Sequence[Example]) -> Words:
        return Words.of([one.words for one in examples], self.lexical)

    def span_reading(self, tokens: Sequence[str]) -> tuple[Longs, Longs]:
        """The units and places of a sentence's words."""
        return self.lexical.units_of(tokens), np.arange(len(tokens))

    def potentials(self, forest: Forest, reading: Any) -> Potentials:
        """What every item's span weighs."""
        if self.spans is None:
            return NO_POTENTIALS
        return Potentials(item=self.spans.matrix(forest, reading.words) @ self.span_weights)

    # -- files

    def state(self) -> ModelFile:
        header, arrays = super().state()
        return ModelFile(header, arrays if self.spans is None else arrays | {"spans": self.spans.key})

    def restore(self, header: Header, arrays: Arrays) -> None:
        super().restore(header, arrays)
        if "spans" in arrays:
            self.spans = SpanFeatures(arrays["spans"], len(self.lexical.units), len(self.grammar.symbols))
