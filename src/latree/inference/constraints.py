"""Parsing under constraints: brackets that a tree must have or must not have, over spans of its words.

What crosses a given bracket is ruled out in the chart.  A bracket with a label asks more: of the nodes that stand on
its span in a unary chain, one must have the label.  So chains over such a span are gone through together with the set
of labels that they have met, a bit for each, and only chains that have met all are seen by rules above.  The same holds
in the chart, whose sum is then log P(words, constraints), and in forests, whose items over the span are doubled: once
for every set of labels.  Each tree that agrees still has one derivation, and no other tree has any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from latree.arrays import Floats, Longs, starts
from latree.inference.chart import Chart, Values, Work, cell, fill_chart
from latree.inference.chart_grammar import ChartGrammar
from latree.inference.forest import L, P, Piece, R, trim
from latree.inference.grammar import Grammar
from latree.text.partial_trees import Bracket

Mask = NDArray[np.bool_]  # [symbols]
Span = tuple[int, int]


class Demand(NamedTuple):
    """What is asked of the nodes over one span."""

    barred: Mask  # symbols of which none may stand there
    met: Longs  # [symbols] bits of the labels asked for that each of them is
    all_met: int

    def climb(self, grammar: ChartGrammar, bottom: Floats) -> Floats:
        """[sets of labels, symbols] sums over the chains above what words or binary rules made, by the labels met."""
        place = np.arange(len(bottom))
        now = np.zeros((self.all_met + 1, len(bottom)))
        now[self.met, place] = np.where(self.barred, 0.0, bottom)
        total = now.copy()
        inner = place[: grammar.inner]
        for _ in range(grammar.steps):
            above = now @ grammar.step
            now = np.zeros_like(now)
            for labels, values in enumerate(above):
                now[labels | self.met[inner], inner] += values
            now[:, self.barred] = 0.0
            total += now
        return total


@dataclass(frozen=True)
class Bounds:
    """The constraints of one sentence, as its grammar knows them."""

    crossing: NDArray[np.bool_]  # [words, words + 1] by start and end: nothing may stand there
    demands: Mapping[Span, Demand]

    def on_chart(self, chart: Chart) -> Chart:
        """Fill a chart again, with only what agrees."""
        tags = chart.inside.tag
        bound = fill_chart(chart.grammar, tags, _ChartLimits(self, chart.grammar, tags))
        return bound._replace(log_z=bound.log_z + chart.log_z - np.log(chart.root))

    def on_piece(self, piece: Piece) -> Piece:
        """Leave the derivations that agree: items over a span of which labels are asked stand for one set of them."""
        if not len(piece.symbol):
            return piece
        met, sets = np.zeros((2, len(piece.symbol)), np.int64)
        barred = np.zeros(len(piece.symbol), np.bool_)
        for span, demand in self.demands.items():
            here = np.flatnonzero((piece.span == span).all(1))
            symbol = piece.symbol[here]
            met[here], sets[here], barred[here] = demand.met[symbol], demand.all_met, demand.barred[symbol]
        return trim(_by_sets(piece, met, sets + 1), np.repeat(~barred, sets + 1))


def _by_sets(piece: Piece, met: Longs, sets: Longs) -> Piece:
    """Double items, given how many sets of labels each may have met, the last being all, and what each meets itself.

    Rules above another span see the last alone; a unary rule adds what its parent meets to what its child has met.
    """
    first, edges = starts(sets), np.arange(len(piece.rule))
    last = np.append(first[1:] - 1, -1)  # so that an absent child stays absent
    unary = (piece.ends[:, L] >= 0) & (piece.ends[:, R] < 0)
    copies = np.where(unary, sets[piece.ends[:, P]], 1)
    edge = np.repeat(edges, copies)
    below = np.arange(len(edge)) - np.repeat(starts(copies)[:-1], copies)  # what the only child has met
    parent, left, right = piece.ends[edge].T
    ends = np.stack(
        [first[parent] + (below | met[parent]), np.where(unary[edge], first[left] + below, last[left]), last[right]], 1
    ).astype(np.int32)
    order = np.argsort(ends[:, P], kind="stable")
    items = np.repeat(piece.symbol, sets), np.repeat(piece.span, sets, axis=0)
    return Piece(piece.rule[edge[order]], ends[order], *items, piece.entries)


class _ChartLimits:
    """Rules out what does not agree, while a chart is filled.

    Pruning goes by sums over all chains, whatever labels they have met: halfway up, one need not have met any.
    """

    def __init__(self, bounds: Bounds, grammar: ChartGrammar, tags: Floats) -> None:
        self.bounds, self.grammar, self.tags = bounds, grammar, tags

    def on_tags(self, work: Work) -> None:
        """Rule out tags; under a chain there may be some that rules above must not see."""
        self.tags = work.tag.copy()
        for (start, end), demand in self.bounds.demands.items():
            if end - start == 1:
                self.tags[start, demand.barred[self.grammar.inner :]] = 0.0
                seen = demand.met[self.grammar.inner :] == demand.all_met
                work.tag[start] = np.where(seen, self.tags[start], 0.0)

    def on_width(self, work: Work, width: int) -> None:
        words = len(work.tag)
        start = np.flatnonzero(np.diagonal(self.bounds.crossing, width))
        for values in (work.base, work.top):
            values[cell(words, width, 0) + start] = 0.0
        work.by_start[start, start + width] = 0.0
        work.by_end[start + width, start] = 0.0
        for span, demand in self.bounds.demands.items():
            if span[1] - span[0] == width:
                self._limit(work, span, demand)

    def _limit(self, work: Work, span: Span, demand: Demand) -> None:
        """Leave what is allowed at the base of a span, and on top what has met all labels."""
        (start, end), inner, rules = span, self.grammar.inner, self.grammar.rules
        base, top = (values[cell(len(work.tag), end - start, start)] for values in (work.base, work.top))
        top[:] = demand.climb(self.grammar, self._bottom(work, span, self.tags))[demand.all_met, :inner]
        base[demand.barred[:inner]] = 0.0
        if demand.all_met:
            base[0] = 0.0  # under the root's own binary rules there is no other node over all words
        work.by_start[start, end, : len(rules.lefts)] = top[rules.lefts]
        work.by_end[end, start, : len(rules.rights)] = top[rules.rights]

    def _bottom(self, work: Work, span: Span, tags: Floats) -> Floats:
        """What chains over a span begin with."""
        start, width = span[0], span[1] - span[0]
        words = tags[start] if width == 1 else np.zeros(self.grammar.tags)
        return np.concatenate([work.base[cell(len(work.tag), width, start)], words])

    def inside(self, work: Work, drift: float) -> Values:
        top, tags = work.top.copy(), self.tags * np.exp(drift)
        for span, demand in self.bounds.demands.items():
            chains = demand.climb(self.grammar, self._bottom(work, span, tags))
            top[cell(len(work.tag), span[1] - span[0], span[0])] = chains.sum(0)[: self.grammar.inner]
        return Values(work.base, top, tags)


def bounds_of(
    words: int,
    brackets: Sequence[Bracket],
    grammar: Grammar,
    called: Callable[[str], Mask],
    modifiers: Callable[[], Mask] | None = None,
) -> Bounds:
    """Make constraints into those of a grammar; `called` says which symbols a label stands for, `modifiers` which are
    never heads, and is asked where heads are given."""
    crossing = np.zeros((words, words + 1), np.bool_)
    for one in brackets:
        if not one.forbidden:
            crossing[: one.start, one.start + 1 : one.end] = True
            crossing[one.start + 1 : one.end, one.end + 1 :] = True
    spans = dict.fromkeys((one.start, one.end) for one in brackets)
    demands = {span: _demand([one for one in brackets if one[1:3] == span], grammar, called) for span in spans}
    on_paths = list(_on_head_paths(brackets))
    if on_paths and modifiers is not None:
        nothing, barred = _demand([], grammar, called), modifiers()
        for span in on_paths:
            demand = demands.get(span, nothing)
            demands[span] = demand._replace(barred=demand.barred | barred)
    return Bounds(crossing, demands)


def _on_head_paths(brackets: Iterable[Bracket]) -> Iterator[Span]:
    """The spans within a bracket that hold its head: a node over one of them is on the way to it, and so a head."""
    for _, first, end, _, head in brackets:
        if head is not None:
            inside = ((a, b) for a in range(first, head + 1) for b in range(head + 1, end + 1))
            yield from (span for span in inside if span != (first, end))


def _demand(brackets: list[Bracket], grammar: Grammar, called: Callable[[str], Mask]) -> Demand:
    """What brackets over the same span ask for; forbidding says nothing of the root, nor without a label of tags."""
    kinds = np.array([symbol.kind for symbol in grammar.symbols])
    phrases, nodes = kinds == "phrase", (kinds == "phrase") | (kinds == "tag")
    barred = np.zeros(len(kinds), np.bool_)
    given: dict[bytes, Mask] = {}
    for one in brackets:
        if one.forbidden:
            barred |= phrases if one.label is None else called(one.label)
        else:
            wanted = nodes if one.label is None else called(one.label)
            given[wanted.tobytes()] = wanted
    if len(given) > grammar.unary_steps + 2:  # no chain is so long, and sets would be too many
        return Demand(barred, np.zeros(len(kinds), np.int64), 1)
    met = sum((mask.astype(np.int64) << bit for bit, mask in enumerate(given.values())), np.zeros(len(kinds), np.int64))
    return Demand(barred, met, (1 << len(given)) - 1)
