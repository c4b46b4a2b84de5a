"""The report on a log-linear grammar: of each category what training moved most, and what it divided most."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from latree.arrays import NONE, Longs
from latree.kinds.lvg_d.changes import GROUPS, Changes
from latree.kinds.lvg_d.model import LoglinearModel
from latree.kinds.report import EVERYTHING, WORD, Ask, Facts, ModelReport, place_of, unit_name
from latree.kinds.span_features import LENGTHS
from latree.report.value import Block, Branch, Cell, Column, Outline, Paragraph, Report, Section, Table, legible

MOVED = (Column(), Column(kind="figure"), Column(pattern="weight {:.3g}", kind="figure"))
SKETCHED = 16  # nodes of a refinement tree to draw, those that moved most; what is above them comes along
PRODUCTIONS = ((False, "rule", "rules"), (True, "word", "lexical rules"))  # whether they are of words, and names


class Loglinear(ModelReport[LoglinearModel]):
    """The report on one model."""

    measure = "parameters"
    no_sums = "weights that are no probabilities"
    footer = (
        "Beside each production stand delta, what training added to its log weight, and its weight, the mean over all "
        "the subtypes that it stands for. Weights need not sum to one. NP-* is NP of any subtype, NP-2..3 of subtypes "
        "2 to 3. Spans, where they have features, are told by their first and last words and those before and after."
    )

    def __init__(self, model: LoglinearModel, ask: Ask = EVERYTHING) -> None:
        super().__init__(model, ask)
        self.changes, self.has_scales = Changes(model), model.tree is not None
        heads = ("subtypes", *(name + ", divided" * self.has_scales for name in ("rules", "words")))
        self.columns = tuple(map(Column, heads))

    def size(self, symbol: int) -> int:
        """How many parameters the productions of a category have."""
        return sum(self.changes.extent(symbol, of_words).kept for of_words in (False, True))

    def own_facts(self) -> Facts:
        """Tell what weights are, how many there are, and how finely they are divided."""
        yield "weights", f"exp(base + delta); the base is {self._base()}"
        for of_words, name, productions in PRODUCTIONS:
            extent = self.changes.extent(None, of_words)
            share = f"{extent.kept / max(extent.dense, 1):.1%} of a dense grammar's"
            yield f"{name} parameters", f"{extent} {productions}, {share}"
            if self.has_scales:
                yield f"{productions} divided", extent.times
        if self.model.spans is not None:
            moved = np.count_nonzero(self.model.learned.spans)
            yield "span features", f"{len(self.model.spans.key):,}, of which {moved:,} moved"

    def _base(self) -> str:
        if self.model.options.start == "zero":
            return "the same for all rules and words"
        return "the generative grammar" + (", as finely as productions are divided" if self.has_scales else "")

    def describe(self, symbol: int) -> tuple[Cell, ...]:
        """Count subtypes, and what the rules and the words have: parameters, and how often they are divided."""
        cells = [str(self.model.size[symbol])]
        for extent in (self.changes.extent(symbol, of_words) for of_words in (False, True)):
            if not extent.productions:
                cells.append("")
            elif self.has_scales:
                cells.append(f"{extent.kept:,} of {extent.dense:,}: {extent.times}")
            else:
                cells.append(f"{extent.kept:,} in {extent.productions:,}")
        return tuple(cells)

    # -- a category

    def section(self, symbol: int) -> Section:
        """Count a category's parameters, and tell which moved most."""
        size = int(self.model.size[symbol])
        return Section(
            self.name(symbol),
            place_of(symbol),
            self.about(symbol, f"{size} subtypes" if size > 1 else ""),
            (*map(Paragraph, self._parameters(symbol)), *self._sketch(symbol)),
            tuple(self._cards(symbol)),
        )

    def _parameters(self, symbol: int) -> Iterator[str]:
        for of_words, _, name in PRODUCTIONS:
            extent = self.changes.extent(symbol, of_words)
            if extent.productions:
                yield f"parameters: {extent} {name}" + (f", divided: {extent.times}" if self.has_scales else "")
        owner, group = self.changes.owner, self.changes.group
        if of_spans := np.count_nonzero((owner == symbol) & (group == GROUPS.index("spans"))):
            yield f"parameters: {of_spans:,} features of spans"

    def _cards(self, symbol: int) -> Iterator[Section]:
        """What moved most, by group and direction; nothing of what there is none of."""
        for number, group in enumerate(GROUPS):
            for sign, where in ((1, "up"), (-1, "down")):
                moved = self.changes.moved(symbol, group, sign, self.ask.top)
                weights = self.changes.weight[moved].tolist()
                rows = ((self.parameter(k), f"delta {self._delta(k)}", w) for k, w in zip(moved, weights, strict=True))
                if moved:
                    card = place_of(symbol, 2 * number + (sign > 0))
                    yield Section(f"{group} moved {where}", card, blocks=(Table(MOVED, tuple(rows)),))

    def _sketch(self, symbol: int) -> list[Block]:
        """The refinement tree of the most divided production, as far as it moved most."""
        nodes, delta = self.changes.most_divided(symbol), self.changes.delta
        if not len(nodes):
            return []
        most = nodes[np.argsort(-np.abs(delta[nodes]), kind="stable")][:SKETCHED]
        drawn = set(self.changes.paths[most[delta[most] != 0]].indices.tolist())
        return [Outline(self._branch(int(nodes[0]), nodes, drawn), "the most divided")]

    def _branch(self, node: int, nodes: Longs, drawn: set[int]) -> Branch:
        assert self.model.tree is not None
        below = nodes[self.model.tree.parent[nodes] == node].tolist()
        children = [self._branch(child, nodes, drawn) for child in below if child in drawn]
        omitted = len(below) - len(children)
        children += [Branch(f"({omitted} that moved less)")] if omitted else []
        return Branch(f"{self.parameter(node)}  {self._delta(node)}", tuple(children))

    def _delta(self, number: int) -> str:
        return signed(float(self.changes.delta[number]))

    # -- names

    def parameter(self, number: int) -> str:
        """`NP-* -> DT-0 NN-2..3`, `NN-1 -> dog`: a production with the subtypes that a parameter stands for; or a
        feature of spans."""
        changes = self.changes
        if number >= len(changes.production):
            return self._span(number - len(changes.production))
        production = int(changes.production[number])
        pairs = zip(changes.symbols[production].tolist(), changes.block(number), strict=True)
        parent, *children = (self._block(symbol, block) for symbol, block in pairs if symbol != NONE)
        if production >= changes.rules:
            children = [self._units[self.model.lexical.unit[production - changes.rules]]]
        return f"{parent} -> {' '.join(children) or '(end)'}"

    def _block(self, symbol: int, block: range) -> str:
        name, size = self.name(symbol), int(self.model.size[symbol])
        if size == 1:
            return name
        if len(block) == size:
            return f"{name}-*"
        return f"{name}-{block[0]}" if len(block) == 1 else f"{name}-{block[0]}..{block[-1]}"

    @cached_property
    def _units(self) -> list[str]:
        named = (unit_name(*unit) for unit in self.model.lexical.named_units())
        return [*(legible(name, WORD) for name in named), "(edge)"]

    def _span(self, feature: int) -> str:
        """`NP: first the`, `NP: 2 words`, `NN: before the`; the number of a feature is made in `SpanFeatures`."""
        spans = self.model.spans
        assert spans is not None
        rest, symbol = divmod(int(spans.key[feature]), spans.symbols)
        rest, second = divmod(rest, spans.units + 1)
        kind, first = divmod(rest, spans.units + 1)
        if kind == len(spans.places):
            return f"{self.name(symbol)}: {_words(first)}"
        pairs = zip(spans.places[kind], (first, second), strict=False)
        return f"{self.name(symbol)}: {', '.join(f'{where} {self._units[unit]}' for where, unit in pairs)}"


def _words(step: int) -> str:
    """The lengths that count as one."""
    least, most = int(LENGTHS[step - 1]), int(LENGTHS[step]) - 1 if step < len(LENGTHS) else None
    return f"{least} words" if least == most else f"{least} or more words" if most is None else f"{least}-{most} words"


def signed(delta: float) -> str:
    """A change, so that a small one is told from none."""
    if delta == 0:
        return "0"
    return f"{delta:+.3f}" if abs(delta) >= 0.0005 else f"{delta:+.0e}"


def report(model: LoglinearModel, ask: Ask) -> Report:
    """Build the report on a log-linear grammar."""
    return Loglinear(model, ask).report()
