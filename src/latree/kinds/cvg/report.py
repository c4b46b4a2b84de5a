"""The report on a compositional vector grammar: what each category is put together with, and which words are alike."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from latree.arrays import NONE, Floats, Longs
from latree.kinds.cvg.model import Cvg
from latree.kinds.cvg.network import compositions
from latree.kinds.report import WORD, Ask, Facts, ModelReport, commonest_words, figures, listed, place_of
from latree.report.value import Block, Cell, Column, Report, Section, Table, legible

ALIKE = 4  # words to show beside each


class Compositions(ModelReport[Cvg]):
    """The report on one model."""

    measure = "compositions"
    columns = (Column("weighs most with"),)
    no_sums = "vectors"
    footer = (
        "A composition is a matrix for a pair of children, or for an only child; the category is the first of the two. "
        "The number beside it is the length of the vector that its result is weighed by: the longer, the more the "
        "network has to say there. Words are alike whose vectors have a small angle; the number is its cosine."
    )

    @cached_property
    def _pairs(self) -> Longs:
        """[compositions, 2] the categories of the children, of the first rule that each is of."""
        _, first = np.unique(compositions(self.grammar), return_index=True)
        return self.grammar.rules[first, 1:].astype(np.int64)

    @cached_property
    def _length(self) -> Floats:
        """[compositions] of the vectors that weigh."""
        return np.asarray(np.linalg.norm(self.model.network.score, axis=1), np.float64)

    def size(self, symbol: int) -> int:
        """How many compositions a category is the first child in."""
        return int((self._pairs[:, 0] == symbol).sum())

    def own_facts(self) -> Facts:
        """Tell the size of the network and of the lists."""
        network = self.model.network
        yield "dimension", str(network.dim)
        yield "compositions", str(len(network.score))
        yield "vectors of words", f"{len(network.word)}, those of classes of rare and unknown words among them"
        yield "trees in a list", str(self.model.options.list_length)
        yield "pruner", self.model.pruner.kind

    def describe(self, symbol: int) -> tuple[Cell, ...]:
        """List the categories that follow this one where the network says most."""
        return (listed(self._partners(symbol, 0)),)

    def _partners(self, symbol: int, side: int) -> list[tuple[str, float]]:
        """The categories on the other side of a composition, those that weigh most first."""
        here = np.flatnonzero(self._pairs[:, side] == symbol)
        order = here[np.argsort(-self._length[here], kind="stable")][: self.ask.top]
        other = self._pairs[order, 1 - side].tolist()
        names = [self.name(one) if one != NONE else "(alone)" for one in other]
        return list(zip(names, self._length[order].tolist(), strict=True))

    def section(self, symbol: int) -> Section:
        """Tell what stands before and after a category, and of a tag which of its words are alike."""
        blocks = (*figures("before", self._partners(symbol, 0)), *figures("after", self._partners(symbol, 1)))
        return Section(self.name(symbol), place_of(symbol), self.about(symbol), (*blocks, *self._words(symbol)))

    def _words(self, symbol: int) -> tuple[Block, ...]:
        """The commonest words of a tag that have vectors of their own, and those most like them."""
        if not self.is_tag(symbol):
            return ()
        columns = np.arange(self.lexicon.tags)[self.tag_columns(symbol)]
        common = [word for word, _ in commonest_words(self.lexicon, columns, self.ask.top) if word in self._units]
        rows = tuple((legible(word, WORD), listed(self._alike(word))) for word in common)
        return (Table((Column(), Column()), rows, "words and those like them"),) if rows else ()

    @cached_property
    def _units(self) -> dict[str, int]:
        """The words that have vectors of their own."""
        return {word: k for k, (word, _) in enumerate(self.model.lexical.named_units()) if word is not None}

    def _alike(self, word: str) -> list[tuple[str, float]]:
        vectors = self.model.network.word
        lengths = np.maximum(np.linalg.norm(vectors, axis=1), 1e-12)
        cosine = vectors @ vectors[self._units[word]] / (lengths * lengths[self._units[word]])
        others = sorted((one for one in self._units if one != word), key=lambda one: -cosine[self._units[one]])[:ALIKE]
        return [(one, float(cosine[self._units[one]])) for one in others]


def report(model: Cvg, ask: Ask) -> Report:
    """Build the report on a compositional vector grammar."""
    return Compositions(model, ask).report()
