"""The coarse pass of a tagger: forward and backward over all tags of a sentence, and the lattice of what survives.

The counterpart of `chart` and `prune` for sequences: scalar, dense, fast; its survivors become a forest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from latree.arrays import NONE, Floats, Ints, Longs
from latree.inference.forest import Piece, trim
from latree.inference.grammar import Grammar
from latree.jit import kernel


class Chain(NamedTuple):
    """A bigram model as tables over tags."""

    start: Floats  # [tags]
    step: Floats  # [tags, tags]
    stop: Floats  # [tags]


class ChainRules(NamedTuple):
    """Where the numbers of a `Chain` stand among a grammar's rules (NONE: no such rule)."""

    start: Ints
    step: Ints
    stop: Ints
    rules: int


class Trellis(NamedTuple):
    """Sums over all tag sequences."""

    words: int
    log_z: float
    tag: Floats  # [words, tags] posterior of each tag


def chain_rules(grammar: Grammar) -> ChainRules:
    """Find the rules root -> t, t -> t' and t -> (end) of a grammar whose only inner symbol is the root."""
    tags = len(grammar.symbols) - 1
    numbers = ChainRules(
        np.full(tags, NONE, np.int32),
        np.full((tags, tags), NONE, np.int32),
        np.full(tags, NONE, np.int32),
        len(grammar.rules),
    )
    for r, (parent, child, _) in enumerate(grammar.rules.tolist()):
        if parent == 0:
            numbers.start[child - 1] = r
        elif child == NONE:
            numbers.stop[parent - 1] = r
        else:
            numbers.step[parent - 1, child - 1] = r
    return numbers


def chain(rules: ChainRules, theta: Floats) -> Chain:
    """The tables that go with one weight a rule."""
    padded = np.append(theta, 0.0)  # where there is no rule, NONE = -1 finds this zero
    return Chain(padded[rules.start], padded[rules.step], padded[rules.stop])


@kernel
def _forward(chain: Chain, emissions: Floats, rows: Floats) -> float:
    """Fill rows of zeros, each then divided by its sum; returns log Z, the log of all that they were divided by."""
    log_z, last = 0.0, len(rows) - 1
    for i in range(len(rows)):
        row, total = rows[i], 0.0
        for s in range(len(row) if i > 0 else 0):
            for t in range(len(row)):
                row[t] += rows[i - 1, s] * chain.step[s, t]
        for t in range(len(row)):
            row[t] = (row[t] if i > 0 else chain.start[t]) * emissions[i, t]
            total += row[t] * chain.stop[t] if i == last else row[t]
        if not total > 0.0:
            return -np.inf
        for t in range(len(row)):
            row[t] /= total
        log_z += np.log(total)
    return log_z


@kernel
def _backward(chain: Chain, emissions: Floats, rows: Floats) -> None:
    """Fill the rows before the last, which is given, each then divided by its largest entry."""
    for k in range(1, len(rows)):
        i = len(rows) - 1 - k
        row, big = rows[i], 0.0
        for s in range(len(row)):
            total = 0.0
            for t in range(len(row)):
                total += chain.step[s, t] * rows[i + 1, t] * emissions[i + 1, t]
            row[s] = total
            big = max(big, total)
        for s in range(len(row)):
            row[s] /= big


@kernel
def fill_trellises(model: Chain, emissions: Floats, sentence: Longs) -> tuple[Floats, Floats]:
    """log Z of every sentence, and posteriors [words, tags]: zeros where a sentence has no sequence.

    Sentences lie end to end; `sentence` [sentences + 1] tells where each begins.
    """
    posterior, backward = np.zeros_like(emissions), np.empty_like(emissions)
    log_z = np.empty(len(sentence) - 1)
    for k in range(len(log_z)):
        here = slice(sentence[k], sentence[k + 1])
        rows, back = posterior[here], backward[here]
        log_z[k] = _forward(model, emissions[here], rows)
        if log_z[k] == -np.inf:
            rows[:] = 0.0
            continue
        back[-1] = model.stop
        _backward(model, emissions[here], back)
        for i in range(len(rows)):
            rows[i] *= back[i]
            rows[i] /= rows[i].sum()
    return log_z, posterior


def fill_trellis(model: Chain, emissions: Floats) -> Trellis:
    """Sums over all tag sequences of one sentence, given P(word | tag) [words, tags]."""
    emissions = np.ascontiguousarray(emissions)
    log_z, posterior = fill_trellises(model, emissions, np.array([0, len(emissions)]))
    return Trellis(len(emissions), float(log_z[0]), posterior)


def lattice(trellis: Trellis, rules: ChainRules, threshold: float) -> Piece:
    """All sequences of tags with a posterior of at least `threshold`, as a right-linear grammar.

    Item (i, t) holds the sentence from word i on, given tag t there: tag -> word rest; `rest` holds what follows,
    rest -> next tag.  The lexical entry of word i under tag t is i * tags + t.
    """
    words, tags = trellis.tag.shape
    kept = [np.flatnonzero((row >= threshold) & (row > 0)) for row in trellis.tag]
    build = _LatticeBuilder()
    following = np.array([NONE])
    for i in reversed(range(words)):
        here = kept[i]
        rest = build.items(here + 1, i, words)
        if i == words - 1:
            build.edges(rules.stop[here][:, None], rest, following)
        else:
            build.edges(rules.step[np.ix_(here, kept[i + 1])], rest, following)
        following = build.items(here + 1, i, words)
        build.add(rules.rules + i * tags + here, following, rest)
    root = build.items(np.array([0]), 0, words)
    build.edges(rules.start[kept[0]][None, :], root, following)
    return trim(build.piece(words * tags))


def gold_chain(rules: ChainRules, tags: Sequence[int], entries: Sequence[int]) -> Piece:
    """One tag sequence, built as `lattice` does; `entries[i]` is the lexical entry of word i."""
    words = len(tags)
    sequence = np.asarray(tags)[::-1]  # items are made from the last word to the first
    rest = 2 * np.arange(words)
    steps = np.append(rules.stop[sequence[0]], rules.step[sequence[1:], sequence[:-1]])
    step_ends = np.stack([rest, rest - 1, np.full(words, NONE)], 1)  # of the last word: nothing follows, -1 = NONE
    word_ends = np.stack([rest + 1, rest, np.full(words, NONE)], 1)
    rule = np.append(np.stack([steps, rules.rules + np.asarray(entries)[::-1]], 1), rules.start[tags[0]])
    ends = np.concatenate([np.stack([step_ends, word_ends], 1).reshape(-1, 3), [[2 * words, 2 * words - 1, NONE]]])
    symbol = np.append(np.repeat(sequence + 1, 2), 0)
    span = np.stack([np.append(np.repeat(np.arange(words)[::-1], 2), 0), np.full(2 * words + 1, words)], 1)
    rule, ends, symbol, span = (x.astype(np.int32) for x in (rule, ends, symbol, span))
    return Piece(rule, ends, symbol, span, 0)


class _LatticeBuilder:
    """Collects blocks of items and edges."""

    def __init__(self) -> None:
        self.symbol: list[Ints] = []
        self.span: list[tuple[int, int, int]] = []  # start, end, how many items
        self.rule: list[Ints] = []
        self.ends: list[Ints] = []
        self.count = 0

    def items(self, symbols: Longs, start: int, end: int) -> Longs:
        self.symbol.append(symbols.astype(np.int32))
        self.span.append((start, end, len(symbols)))
        self.count += len(symbols)
        return np.arange(self.count - len(symbols), self.count)

    def add(self, rule: Longs, parent: Longs, left: Longs) -> None:
        self.rule.append(rule.astype(np.int32))
        self.ends.append(np.stack([parent, left, np.full(len(parent), NONE)], 1).astype(np.int32))

    def edges(self, rule: Ints, parent: Longs, left: Longs) -> None:
        """One edge for each rule in a table [parents, lefts]."""
        row, column = np.nonzero(rule != NONE)
        self.add(rule[row, column].astype(np.int64), parent[row], left[column])

    def piece(self, entries: int) -> Piece:
        counts = [count for *_, count in self.span]
        span = np.repeat(np.array([s[:2] for s in self.span], np.int32), counts, axis=0)
        return Piece(np.concatenate(self.rule), np.concatenate(self.ends), np.concatenate(self.symbol), span, entries)
