"""How likely each phrase is: posteriors of a forest, gathered by label and span."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from latree.arrays import Floats, Longs
from latree.inference.forest import Forest
from latree.inference.grammar import Grammar
from latree.inference.results import Constituent
from latree.text.tree import Tree


@dataclass(frozen=True)
class PhraseTable:
    """The probability of every phrase of a search, whatever its context and unary level, sorted by key.

    It is the expected number of such phrases: where a chain has the same label twice on one span, A over B over A, both
    count (up to one).
    """

    labels: tuple[str, ...]
    size: int  # no word position reaches this
    key: Longs  # sentence, start, end, label
    probability: Floats
    of_item: Floats  # [items] the probability of the phrase that an item is; zero for parts and tags

    @classmethod
    def of(cls, grammar: Grammar, forest: Forest, item_posterior: Floats) -> PhraseTable:
        labels = tuple(sorted({symbol.label for symbol in grammar.symbols}))
        number = {label: k for k, label in enumerate(labels)}
        label = np.array([number[s.label] if s.kind in ("phrase", "root") else -1 for s in grammar.symbols])
        size = int(forest.span.max(initial=0)) + 1
        phrase = np.flatnonzero(label[forest.symbol] >= 0)
        start, end = forest.span[phrase].T
        place = (forest.sentence[phrase].astype(np.int64) * size + start) * size + end
        key, which = np.unique(place * len(labels) + label[forest.symbol[phrase]], return_inverse=True)
        probability = np.minimum(np.bincount(which, weights=item_posterior[phrase], minlength=len(key)), 1.0)
        of_item = np.zeros(len(forest.symbol))
        of_item[phrase] = probability[which]
        return cls(labels, size, key, probability, of_item)

    def look_up(self, sentence: int, spans: Iterable[tuple[str, int, int]]) -> list[Constituent]:
        """The probabilities of given phrases; zero for those that did not survive pruning."""
        wanted = list(spans)
        number = {label: k for k, label in enumerate(self.labels)}
        rows = [((sentence * self.size + i) * self.size + j, number[label]) for label, i, j in wanted]
        keys = np.array([place * len(self.labels) + label for place, label in rows], np.int64)
        at = np.minimum(np.searchsorted(self.key, keys), len(self.key) - 1)
        probabilities = np.where(self.key[at] == keys, self.probability[at], 0.0)
        return [Constituent(*phrase, p) for phrase, p in zip(wanted, probabilities.tolist(), strict=True)]

    def sums_of_squares(self, sentences: int) -> Floats:
        """[sentences] the sum of the squares of all probabilities."""
        sentence = self.key // (self.size**2 * len(self.labels))
        return np.bincount(sentence, weights=self.probability**2, minlength=sentences).astype(np.float64)

    def likely(self, least: float, sentence: int = 0) -> list[Constituent]:
        """All phrases of a sentence with at least the given probability, by span."""
        size = self.size**2 * len(self.labels)
        first, last = np.searchsorted(self.key, (sentence * size, (sentence + 1) * size))
        at = first + np.flatnonzero(self.probability[first:last] >= least)
        place, label = np.divmod(self.key[at] - sentence * size, len(self.labels))
        start, end = np.divmod(place, self.size)
        columns = (label.tolist(), start.tolist(), end.tolist(), self.probability[at].tolist())
        phrases = [Constituent(self.labels[k], i, j, p) for k, i, j, p in zip(*columns, strict=True)]
        return sorted(phrases, key=lambda c: (c.start, -c.end, -c.probability))


@dataclass(frozen=True)
class SentencePhrases:
    """The phrases of one sentence of a search."""

    table: PhraseTable
    sentence: int

    def __call__(self, tree: Tree) -> list[Constituent]:
        """Those of a tree, a parent before its children."""
        return self.table.look_up(self.sentence, tree.spans())

    def likely(self, least: float) -> list[Constituent]:
        """All with at least the given probability."""
        return self.table.likely(least, self.sentence)
