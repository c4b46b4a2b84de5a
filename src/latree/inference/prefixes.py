"""Prefix probabilities: how likely a grammar is to go on as a sentence does, word by word.

P(w_1..w_k ...) is the sum over all trees of all sentences that begin with these words (Jelinek & Lafferty 1991).  Here
it comes from forward weights (Stolcke 1995), a vector a position instead of a state for every dotted rule:

    A_k[D]   weight of all trees of which k words are known and D begins after them, D itself not weighed
    b_k      = A_k C        the same of all that may then begin, as the left corner of D or as D itself
    A_k[D]   = sum over i < k and rules B -> C D of  b_i[B] P(B -> C D) inside_{i,k}[C]
    P(w_1..w_k, then a word of tag t)  = b_k[t]

C, the left-corner closure, is (I - M)^-1 with chains of unary rules before it, inverted once for a grammar.  Beside the
inside chart, filled column by column, this takes O(n^2) times the rules; the recurrence over prefixes of all spans
takes O(n^3) (Nowak & Cotterell 2023 make that faster in the size of the grammar).

What is to the right of D and not yet known weighs its mass Z[D], the weight of all its finite trees.  In a proper
grammar all are one.  Where weights do not sum to one, or trees may grow without end, or unary chains have a limit, as
they have here, Z is less: the smallest solution of Z[A] = sum P(A -> B C) Z[B] Z[C], to which Newton's method climbs
from zero (Etessami & Yannakakis 2009).  All probabilities are then given that the tree is one of the finite ones, and
sum to one.

Scale: every word's emissions are divided by its own probability given the words before it, so that P(w_1..w_k ...) is
one all along, and nothing drifts however long a sentence is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latree.arrays import NONE, Floats, Ints, Longs, starts
from latree.errors import LatreeError
from latree.inference.chart import Work, cell, empty_work, fill_span, room_for_splits, root_value, weigh_tags
from latree.inference.chart_grammar import ChartGrammar, ChartRules, chart_grammar, unary_closure
from latree.inference.grammar import Grammar
from latree.inference.subtypes import Cells, Layout
from latree.jit import kernel

_MOST_STEPS, _CLOSE = 100, 1e-14  # of Newton's method, and the change that ends it
_ROUNDED = 1e-7  # by which a step that climbs may seem to fall


class Steps(NamedTuple):
    """Binary rules as steps from a parent and its left child to the right one; inner left children come first."""

    pairs: Ints  # [pairs, 2] parent, left child
    first: Longs  # [pairs + 1] the first rule of each
    right: Ints  # [rules]
    prob: Floats  # [rules]


class PrefixGrammar(NamedTuple):
    """What forward weights are made with; subtypes are symbols here, the inner ones before those of tags."""

    chart: ChartGrammar
    steps: Steps
    corner: Floats  # [inner, symbols] C, from what is predicted to all that may begin it
    start: Floats  # [symbols] A_0
    mass: float  # Z of the root: that of all finite trees


def prefix_grammar(layout: Layout, cells: Cells, tag_mass: Floats | None = None) -> PrefixGrammar:
    """Make the tables of a grammar with these weights of its rules' subtypes.

    `tag_mass` [tags' subtypes] is what all words together weigh under each; probabilities weigh one.
    """
    grammar, prob = _of_subtypes(layout, cells)
    closure = unary_closure(grammar, prob)
    binary = grammar.rules[:, 2] != NONE
    rules, weights = grammar.rules[binary].astype(np.int64), prob[binary]
    mass = _masses(rules, weights, closure, np.ones(np.diff(closure.shape)[0]) if tag_mass is None else tag_mass)
    top = ~binary & (grammar.rules[:, 0] == 0)
    start = np.eye(1, len(grammar.symbols))[0]  # the root's binary rules, and below what its unary rules lead to
    start[grammar.rules[top, 1]] = prob[top]
    whole = float(mass.base[0] + start[1:] @ mass.top[1:])
    if not whole > 0.0:
        raise LatreeError("the grammar derives no sentence at all")
    corner = _corners(rules, weights * mass.top[rules[:, 2]], closure)
    return PrefixGrammar(chart_grammar(grammar, prob), _steps(rules, weights), corner, start / whole, whole)


def _of_subtypes(layout: Layout, cells: Cells) -> tuple[Grammar, Floats]:
    """A grammar whose symbols are another's subtypes, and a weight for each of its rules."""
    rule, *subtypes = layout.coordinates(cells.place)
    rows = layout.grammar.rules[rule]
    first = np.where(rows == NONE, NONE, layout.offset[rows])
    ends = first + np.where(rows == NONE, 0, np.stack(subtypes, 1))
    symbols = tuple(symbol for symbol, n in zip(layout.grammar.symbols, layout.size, strict=True) for _ in range(n))
    return Grammar(symbols, ends.astype(np.int32), layout.grammar.unary_steps), cells.value


class _Masses(NamedTuple):
    """Z of every symbol: as binary rules make it, and with the unary chains above it."""

    base: Floats  # [inner]
    top: Floats  # [symbols]


def _masses(rules: Longs, prob: Floats, closure: Floats, tag_mass: Floats) -> _Masses:
    """Find the smallest solution of Z = F(Z) by Newton's method: Z += (I - F'(Z))^-1 (F(Z) - Z), from zero."""
    inner = len(closure)
    parent, left, right = rules.T
    base, top = np.zeros(inner), np.append(np.zeros(inner), tag_mass)
    for _ in range(_MOST_STEPS):
        top[:inner] = closure[:, :inner] @ base + closure[:, inner:] @ tag_mass
        slope = _table(parent, left, prob * top[right], inner) + _table(parent, right, prob * top[left], inner)
        missing = np.bincount(parent, prob * top[left] * top[right], minlength=inner) - base
        change = np.linalg.solve(np.eye(inner) - slope @ closure[:, :inner], missing)
        if np.abs(change).max() < _CLOSE or missing.max() <= 0.0:
            break
        if change.min() < -_ROUNDED:
            raise LatreeError("this grammar's trees have no finite weight: its rules' weights are no probabilities")
        base += change
    top[:inner] = closure[:, :inner] @ base + closure[:, inner:] @ tag_mass
    return _Masses(base, top)


def _table(row: Longs, column: Longs, value: Floats, size: int) -> Floats:
    """Sums of values by row and column, of the first so many columns."""
    kept = column < size
    flat = np.bincount(row[kept] * size + column[kept], value[kept], minlength=size * size)
    return flat.reshape(size, size).astype(np.float64)


def _corners(rules: Longs, prob: Floats, closure: Floats) -> Floats:
    """C = K + K_i (I - M_i)^-1 M with M = W K: K chains of unary rules, W the step to a left child."""
    inner, symbols = closure.shape
    step = np.bincount(rules[:, 0] * symbols + rules[:, 1], prob, minlength=inner * symbols).reshape(inner, symbols)
    corner = step[:, :inner] @ closure
    corner[:, inner:] += step[:, inner:]
    above = np.linalg.solve((np.eye(inner) - corner[:, :inner]).T, closure[:, :inner].T).T
    return np.maximum(closure + above @ corner, 0.0)  # nothing is less but by rounding


def _steps(rules: Longs, prob: Floats) -> Steps:
    order = np.lexsort((rules[:, 2], rules[:, 0], rules[:, 1]))
    parent, left, right = rules[order].T
    pairs, lengths = np.unique(np.stack([left, parent], 1), axis=0, return_counts=True)
    return Steps(pairs[:, ::-1].astype(np.int32), starts(lengths), right.astype(np.int32), prob[order])


class Prefixes:
    """Reads a sentence word by word: what may follow is known before each."""

    def __init__(self, grammar: PrefixGrammar, words: int) -> None:
        """Begin a sentence of up to so many words."""
        self.grammar, self.words = grammar, 0
        self._work, self._splits = empty_work(grammar.chart, words), room_for_splits(grammar.chart)
        self._begun = np.zeros((grammar.chart.inner, words + 1))  # b_i of inner symbols, a column a position
        self.end = 0.0  # P(end | words so far)
        self.tags = self._begin(grammar.start)  # [tags' subtypes] P(next tag | words so far), one with the end

    def read(self, emissions: Floats) -> float:
        """Take the next word, given P(word | tag's subtype); returns its probability given the words before.

        After a word of no probability there is nothing to go on with.
        """
        prob = float(self.tags @ emissions)
        if prob > 0.0:
            work, grammar, k = self._work, self.grammar, self.words
            work.tag[k] = emissions / prob
            weigh_tags(grammar.chart, work, slice(k, k + 1))
            _fill_column(grammar.chart.rules, work, self._splits, k + 1)
            self.words = k + 1
            self.end = root_value(grammar.chart, work, self.words) / grammar.mass
            self.tags = self._begin(self._predicted())
        return prob

    def _predicted(self) -> Floats:
        """A_k."""
        work, k = self._work, self.words
        column = [cell(len(work.tag), k - i, i) for i in range(k)]
        predicted = np.zeros(len(self.grammar.start))
        ending = np.ascontiguousarray(work.top[column].T)
        _step(self.grammar.steps, self._begun, ending, work.tag[k - 1], predicted)
        return predicted

    def _begin(self, predicted: Floats) -> Floats:
        """b_k, of which that of tags is returned."""
        inner = self.grammar.chart.inner
        begun = predicted[:inner] @ self.grammar.corner
        self._begun[:, self.words] = begun[:inner]
        return np.asarray(begun[inner:] + predicted[inner:], np.float64)


@kernel
def _fill_column(g: ChartRules, work: Work, splits: Floats, end: int) -> None:
    """Fill all spans that end here, the shortest first."""
    for k in range(end):
        fill_span(g, work, splits, end - 1 - k, end)


@kernel
def _step(steps: Steps, begun: Floats, ending: Floats, tag: Floats, predicted: Floats) -> None:
    """Add up what may follow all constituents that end here: `ending` [inner, starts] and the last word's tags."""
    inner, k = ending.shape
    for p in range(len(steps.pairs)):
        parent, left = steps.pairs[p]
        if left < inner:
            weight = 0.0
            for i in range(k):
                weight += begun[parent, i] * ending[left, i]
        else:
            weight = begun[parent, k - 1] * tag[left - inner]
        if weight > 0.0:
            for r in range(steps.first[p], steps.first[p + 1]):
                predicted[steps.right[r]] += weight * steps.prob[r]
