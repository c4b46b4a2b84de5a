"""The rules of a grammar and the words of its tags, one by one, with their probabilities."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from latree.arrays import NONE, Floats, Longs
from latree.inference.grammar import Grammar
from latree.inference.subtypes import History, Layout

Subtype = tuple[int, int]  # a symbol and the number of one of its subtypes
LEADER = "a"  # stands where a sentence begins, so that no word that is listed does


class Rule(NamedTuple):
    """A subtype becomes one or two others."""

    parent: Subtype
    children: tuple[Subtype, ...]
    probability: float


class Words(NamedTuple):
    """The words of a tag, or the classes of those that training never saw."""

    tag: int  # symbol
    name: str
    probabilities: Floats  # P(name | subtype), of every subtype of the tag


class Listing:
    """What a generative grammar consists of."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.grammar: Grammar = model.grammar
        self.layout = Layout(self.grammar, model.widths())
        self.history: History = getattr(model, "history", History())

    def rules(self) -> Iterator[Rule]:
        """Every rule between subtypes that has any probability, in the grammar's order."""
        places: Longs = np.flatnonzero(self.model.theta)
        numbers = zip(*(one.tolist() for one in self.layout.coordinates(places)), strict=True)
        for (rule, x, y, z), probability in zip(numbers, self.model.theta[places].tolist(), strict=True):
            parent, left, right = self.grammar.rules[rule].tolist()
            children = ((left, y),) if right == NONE else ((left, y), (right, z))
            yield Rule((parent, x), children, probability)

    def words(self) -> Iterator[Words]:
        """Every word under the tags that it was seen with, with the probabilities that parsing goes by."""
        lexicon = self.model.lexicon
        rows = self.model.read([LEADER, *lexicon.vocabulary]).subtypes[1:]
        for number, word in enumerate(lexicon.vocabulary):
            pairs = slice(lexicon.word_ptr[number], lexicon.word_ptr[number + 1])
            seen = lexicon.pair_tag[pairs][lexicon.pair_count[pairs] > 0]
            yield from self._of_tags(word, rows[number], seen)

    def classes(self) -> Iterator[Words]:
        """Every class of unknown words under the tags that training shows it with."""
        lexicon = self.model.lexicon
        for row, name in enumerate(lexicon.signatures):
            yield from self._of_tags(name, self._class_rows[row], np.flatnonzero(lexicon.signature_count[row]))

    @cached_property
    def _class_rows(self) -> Floats:
        """P(one unknown word of the class | subtype), as the words of the class get it without what letters tell."""
        lexicon = self.model.lexicon
        rows = np.array([lexicon.unit_row(None, name) for name in lexicon.signatures]).reshape(-1, lexicon.tags)
        return np.asarray(rows @ self.model.word_mixing(), np.float64)

    def columns(self, tag: int) -> slice:
        """A tag's columns in the lexicon, one a subtype."""
        first, end = self.layout.tag_columns[tag - self.grammar.first_tag :][:2].tolist()
        return slice(first, end)

    def _of_tags(self, name: str, row: Floats, columns: Longs) -> Iterator[Words]:
        numbers = np.unique(np.searchsorted(self.layout.tag_columns, columns, side="right") - 1)
        for tag in (numbers + self.grammar.first_tag).tolist():
            yield Words(tag, name, row[self.columns(tag)])
