"""Features of spans, with weights beside those of the rules.

Overlapping features of this kind are what a grammar trained on log P(T | w) takes in its stride, and a generative one
does not (Petrov 2009, section 3).  A parser has those of phrases: a constituent that a binary rule makes has a feature
for each of: its first and last word, the words before and after it, both pairs across its edges, and its length.  A
tagger's spans are single words: each has a feature for the two words before it, the two after it, both pairs that it
makes with a neighbour, and the pair of its neighbours.  All are together with the symbol; words that are rare go by
their class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.sparse import csr_array

from latree.arrays import Floats, Ints, Longs, starts
from latree.checks import ascending
from latree.files import Arrays, Header, ModelFile
from latree.inference.forest import Forest, P, R, assemble
from latree.inference.potentials import NO_POTENTIALS, Potentials
from latree.inference.sequences import Lattice
from latree.jit import kernel
from latree.kinds.examples import Example, by_length
from latree.kinds.pruned import PrunedModel, PrunedReading
from latree.lexicon.lexical_rules import LexicalRules

LENGTHS = np.array([2, 3, 4, 5, 6, 8, 11, 16, 21, 31, 41])  # a length counts as the last of these that it reaches


class Words(NamedTuple):
    """The words of some sentences laid end to end."""

    unit: Longs  # as the lexical rules know them
    start: Longs  # [sentences] where each begins

    @classmethod
    def of(cls, sentences: Sequence[Sequence[str]], lexical: LexicalRules) -> Words:
        units = np.concatenate([lexical.units_of(words) for words in sentences])
        return cls(units, starts([len(words) for words in sentences])[:-1])


@dataclass(frozen=True, eq=False)
class SpanFeatures(ABC):
    """Which features there are: a kind with one unit or two, and a symbol, together a number."""

    least: ClassVar[int]  # gold spans that must have a feature
    places: ClassVar[tuple[tuple[str, ...], ...]]  # where the words of each kind stand, in words
    key: Longs  # [features] ascending
    units: int
    symbols: int

    @classmethod
    def of(cls, gold: Iterable[tuple[Sequence[Example], Words]], rules: int, units: int, symbols: int) -> Self:
        """Those that gold analyses have often enough, in a grammar of so many rules."""
        empty = cls(np.zeros(0, np.int64), units, symbols)
        keys = [empty.gold_keys(examples, words, rules).ravel() for examples, words in gold]
        key, count = np.unique(np.concatenate(keys), return_counts=True)
        return cls(key[count >= cls.least], units, symbols)

    def gold_keys(self, examples: Sequence[Example], words: Words, rules: int) -> Longs:
        """[spans, kinds] a number for each feature of the gold analyses."""
        return self.keys(assemble([one.gold for one in examples], rules), words)[1]

    @abstractmethod
    def keys(self, forest: Forest, words: Words) -> tuple[Longs, Longs]:
        """The items that have features, and [these, kinds] a number for each of their features."""

    def numbered(self, kinds: Iterable[tuple[Longs, ...]], symbol: Longs) -> Longs:
        """[spans, kinds] a number for each feature, given the one unit or the two of every kind."""
        columns, room = [], self.units + 1
        for kind, (first, *second) in enumerate(kinds):
            number = (kind * room + first) * room + (second[0] if second else 0)
            columns.append(number * self.symbols + symbol)
        return np.stack(columns, 1)

    def matrix(self, forest: Forest, words: Words) -> csr_array:
        """[items, features] ones: times the parameters this is what every item weighs, as a log."""
        items, keys = self.keys(forest, words)
        row, feature = self.found(keys)
        return csr_array((np.ones(len(row)), (items[row], feature)), shape=(len(forest.symbol), len(self.key)))

    def found(self, keys: Longs) -> tuple[Longs, Longs]:
        """The features that there are among [spans, kinds] numbers, and the row that each stands in."""
        place = np.minimum(np.searchsorted(self.key, keys), max(len(self.key) - 1, 0))
        row, column = np.nonzero(self.key[place] == keys if len(self.key) else np.zeros(keys.shape, bool))
        return row, place[row, column]

    def on(self, forest: Forest, words: Words) -> Spans:
        """What the spans of a forest have."""
        return Spans(self.matrix(forest, words), forest.ends[:, P].copy())

    @abstractmethod
    def of_words(self, words: Words, weights: Floats) -> Floats:
        """[words, tags] logs of what words weigh, given the features' weights."""

    @abstractmethod
    def of_items(self, forest: Forest, words: Words, weights: Floats) -> Floats:
        """[items] logs of what they weigh, beside their words."""


class PhraseFeatures(SpanFeatures):
    """Of a parser: the edges of phrases."""

    least = 2
    places = (("first",), ("last",), ("before",), ("after",), ("before", "first"), ("last", "after"))  # then lengths

    def keys(self, forest: Forest, words: Words) -> tuple[Longs, Longs]:
        items = np.unique(forest.ends[forest.ends[:, R] >= 0, P]).astype(np.int64)
        around, (i, j) = Around.of(forest, words, items, self.units), forest.span[items].T
        first, last, before, after = around(0), around(-1, of_end=True), around(-1), around(0, of_end=True)
        length = np.searchsorted(LENGTHS, j - i, side="right")
        kinds = ((first,), (last,), (before,), (after,), (before, first), (last, after), (length,))
        return items, self.numbered(kinds, forest.symbol[items].astype(np.int64))

    def of_words(self, words: Words, weights: Floats) -> Floats:
        return np.zeros((len(words.unit), 1))

    def of_items(self, forest: Forest, words: Words, weights: Floats) -> Floats:
        return np.asarray(self.matrix(forest, words) @ weights)


class WordFeatures(SpanFeatures):
    """Of a tagger: what stands around a word."""

    least = 5
    places = (
        ("before",),
        ("after",),
        ("two before",),
        ("two after",),
        ("before", "with"),
        ("with", "after"),
        ("before", "after"),
    )

    def keys(self, forest: Forest, words: Words) -> tuple[Longs, Longs]:
        """Of the items that lexical rules make, which hold the sentence from their word on."""
        items = np.unique(forest.ends[forest.rule >= forest.rules, P]).astype(np.int64)
        around = Around.of(forest, words, items, self.units)
        return items, self._around(around, forest.symbol[items].astype(np.int64))

    def _around(self, around: Around, symbol: Longs) -> Longs:
        word, before, after = around(0), around(-1), around(1)
        alone = ((before,), (after,), (around(-2),), (around(2),))
        return self.numbered((*alone, (before, word), (word, after), (before, after)), symbol)

    def of_words(self, words: Words, weights: Floats) -> Floats:
        """Features of the same units differ in the symbol alone, and stand side by side."""
        place = np.arange(len(words.unit))
        around = Around.of_words(words, place, self.units)
        logs = np.zeros((len(place), self.symbols))
        _add_weights(self.key, weights, self._around(around, np.zeros_like(place)), logs)
        return logs[:, 1:]  # symbol 0 is the root

    def of_items(self, forest: Forest, words: Words, weights: Floats) -> Floats:
        return np.zeros(0)

    def gold_keys(self, examples: Sequence[Example], words: Words, rules: int) -> Longs:
        symbol = np.concatenate([one.tags for one in examples]) + 1
        return self._around(Around.of_words(words, np.arange(len(symbol)), self.units), symbol)

    def on_nodes(self, lattice: Lattice, words: Words) -> Spans:
        """What the words of a lattice have under each of its tags."""
        place = lattice.word_of_node
        row, feature = self.found(self._around(Around.of_words(words, place, self.units), lattice.tag + 1))
        matrix = csr_array((np.ones(len(row)), (row, feature)), shape=(len(place), len(self.key)))
        return Spans(matrix, np.arange(len(place), dtype=np.int32))


@kernel
def _add_weights(key: Longs, weights: Floats, wanted: Longs, logs: Floats) -> None:
    """Add to logs [words, symbols] the weights of all features whose numbers are those wanted [words, kinds], which are
    those of symbol 0, or up to the last symbol more."""
    words, symbols = logs.shape
    for i in range(words):
        for number in wanted[i]:
            low, high = 0, len(key)
            while low < high:
                middle = (low + high) // 2
                if key[middle] < number:
                    low = middle + 1
                else:
                    high = middle
            while low < len(key) and key[low] < number + symbols:
                logs[i, key[low] - number] += weights[low]
                low += 1


class Around(NamedTuple):
    """What stands at and beside the two ends of some items."""

    unit: Longs
    begin: Longs  # [items] where their sentences begin and end
    end: Longs
    span: Longs  # [items, 2], or of words [items, 1]
    edge: int  # what stands beyond the sentence

    @classmethod
    def of(cls, forest: Forest, words: Words, items: Longs, edge: int) -> Around:
        ends = np.append(words.start[1:], len(words.unit))
        begin = words.start[forest.sentence[items]]
        return cls(words.unit, begin, ends[forest.sentence[items]], begin[:, None] + forest.span[items], edge)

    @classmethod
    def of_words(cls, words: Words, place: Longs, edge: int) -> Around:
        """Of single words, given their places among all."""
        count = np.diff(np.append(words.start, len(words.unit)))
        begin = np.repeat(words.start, count)
        return cls(words.unit, begin[place], (begin + np.repeat(count, count))[place], place[:, None], edge)

    def __call__(self, step: int, *, of_end: bool = False) -> Longs:
        """The word so many steps from where each item begins, or from the word after its last."""
        place = self.span[:, int(of_end)] + step
        inside = (place >= self.begin) & (place < self.end)
        return np.where(inside, self.unit[np.where(inside, place, 0)], self.edge)


class Spans(NamedTuple):
    """The spans of a forest, for a training that comes back to it."""

    matrix: csr_array  # [items, features]
    parent: Ints  # [edges]

    def weigh(self, weights: Floats) -> Floats:
        """[items] the logs of factors that their spans are."""
        return np.asarray(self.matrix @ weights)

    def slope(self, posterior: Floats) -> Floats:
        """Differentiate log Z by the features' weights, given the posteriors of edges.

        An item that has features has a rule in each of its edges.
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


def places(sentences: Sequence[Sequence[str]]) -> Longs:
    """Each word's place in its sentence, sentences laid end to end."""
    return np.concatenate([np.arange(len(words)) for words in sentences])


class SpanModel(PrunedModel):
    """A model whose spans may have weights of their own beside the rules'."""

    span_features: ClassVar[type[SpanFeatures]] = PhraseFeatures
    spans: SpanFeatures | None = None

    @property
    @abstractmethod
    def span_weights(self) -> Floats:
        """[features] logs of factors."""

    def find_spans(self, examples: Sequence[Example]) -> SpanFeatures:
        """Take the features that the gold analyses have."""
        gold = ((group, self.words_of_all(group)) for group in by_length(examples, self.options.batch))
        sizes = len(self.grammar.rules), len(self.lexical.units), len(self.grammar.symbols)
        self.spans = self.span_features.of(gold, *sizes)
        return self.spans

    def words_of_all(self, examples: Sequence[Example]) -> Words:
        return Words.of([one.words for one in examples], self.lexical)

    def potentials(self, forest: Forest, reading: Any) -> Potentials:
        """What every item's span weighs; what words weigh is in their readings."""
        if self.spans is None:
            return NO_POTENTIALS
        return Potentials(item=self.spans.of_items(forest, reading.words, self.span_weights))

    def around_words(self, unit: Longs, place: Longs) -> Floats:
        """[words, tags], or [words, 1] where all are alike: logs of what words weigh by what stands around them, given
        their units and each word's place in its sentence."""
        if self.spans is None:
            return np.zeros((len(unit), 1))
        return self.spans.of_words(Words(unit, np.flatnonzero(place == 0)), self.span_weights)

    # -- files

    def state(self) -> ModelFile:
        header, arrays = super().state()
        return ModelFile(header, arrays if self.spans is None else arrays | {"spans": self.spans.key})

    def restore(self, header: Header, arrays: Arrays) -> None:
        super().restore(header, arrays)
        if "spans" in arrays:
            features, units, symbols = self.span_features, len(self.lexical.units), len(self.grammar.symbols)
            most = (len(features.places) + 1) * (units + 1) ** 2 * symbols  # with a kind for the length
            self.spans = features(ascending("spans", arrays, most), units, symbols)
