"""The report on a grammar that reads in context: of each tag a map of words where they stand, of all the rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from latree.arrays import Longs
from latree.kinds.gm_lveg.clouds import principal_axes
from latree.kinds.neural.model import ContextModel
from latree.kinds.report import Ask, Facts, Figures, ModelReport, best, flow, listed, place_of
from latree.report.value import Block, Cell, Dot, Examples, Inline, Report, Scatter, Section, legible

COLOURS = 6  # words of a map that have one of their own


class InContext(ModelReport[ContextModel]):
    """The report on one model."""

    measure = "rules"
    no_sums = "latent vectors"
    footer = (
        "A dot is a word in a sentence of the treebank, where the encoder puts it in the space of its tag: in the "
        "plane of the two axes along which those of the tag differ most. Point at it to see its neighbours."
    )

    def size(self, symbol: int) -> int:
        """How many rules a category has."""
        return int((self.grammar.rules[:, 0] == symbol).sum())

    def own_facts(self) -> Facts:
        """Tell what reads."""
        numbers = sum(one.numel() for one in self.model.network.encoder.parameters())
        yield "encoder", f"{self.model.options.encoder}, {numbers:,} numbers"
        yield "dimension", str(self.model.options.dim)
        yield "pruner", self.model.pruner.kind

    def describe(self, symbol: int) -> tuple[Cell, ...]:
        """List the heaviest rules, or some words."""
        if places := self._places(symbol).tolist():
            counts = Counter(self.model.occurrences.word[k] for k in places)
            return (", ".join(legible(word, 20) for word, _ in counts.most_common(self.ask.top)),)
        return (listed(self._rules(symbol), 60),)

    def section(self, symbol: int) -> Section:
        """Tell of the rules, and draw the map of a tag."""
        blocks = (*flow(self._rules(symbol), "rules"), *self._map(symbol))
        size = f"{self.size(symbol)} rules" if self.size(symbol) else ""  # a parser's tags have none
        return Section(self.name(symbol), place_of(symbol), self.about(symbol, size), blocks)

    def _rules(self, symbol: int) -> Figures[Inline]:
        """The heaviest rules, with their shares of the weight."""
        rules, size = np.flatnonzero(self.grammar.rules[:, 0] == symbol), self.model.options.components
        rho = np.exp(self.model.network.mixtures().log_rho).reshape(-1, size).sum(1)[rules]
        sides = ([(child, None) for child in self.children(rule)] for rule in rules.tolist())
        names: list[Inline] = [self.right_side(children) for children in sides]
        return best(names, rho / rho.sum(), self.ask.top) if len(rules) else []

    def _places(self, symbol: int) -> Longs:
        """Which of the words that were kept are under a tag."""
        return np.flatnonzero(self.model.occurrences.tag == symbol - self.grammar.first_tag)

    def _map(self, symbol: int) -> Iterator[Block]:
        places, seen = self._places(symbol), self.model.occurrences
        if not len(places):
            return
        mean = seen.mean[places]
        centred, weight = mean - mean.mean(0), np.full(len(places), 1.0 / len(places))
        axes, explained = principal_axes(centred, weight)
        words = [seen.word[k] for k in places.tolist()]
        colour = {word: k for k, (word, _) in enumerate(Counter(words).most_common(COLOURS))}
        dots = (
            Dot(float(x), float(y), colour.get(word, COLOURS), legible(seen.around[k], 80), legible(word, 20))
            for (x, y), word, k in zip(centred @ axes.T, words, places.tolist(), strict=True)
        )
        yield Scatter(
            f"Where words lie as {self.name(symbol)}",
            tuple(dots),
            caption=f"{len(places)} words in their sentences; across: {explained[0]:.0%} of the variance, "
            f"upwards: {explained[1]:.0%}",
        )
        yield Examples("in context", tuple(legible(seen.around[k], 80) for k in places[: self.ask.top].tolist()))


def report(model: ContextModel, ask: Ask) -> Report:
    """Build the report on a grammar that reads in context."""
    return InContext(model, ask).report()
