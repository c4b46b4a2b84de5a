"""A scalar grammar as the chart reads it: its rules sorted by what their children may be, and by their parents."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from latree.arrays import NONE, Floats, Ints, Longs, Places, starts
from latree.inference.grammar import Grammar
from latree.inference.lanes import padded
from latree.inference.subtypes import ColumnMap


class Pairs(NamedTuple):
    """What symbols are made of: parent a of child[first[a] : first[a + 1]]."""

    first: Places  # [inner + 1]
    child: Places  # [pairs]


class Links(NamedTuple):
    """Rules in the same order; of two children, a row each."""

    first: Places  # [inner + 1]
    child: Places  # [links] or [links, 2]
    prob: Floats  # [links]


class TagLinks(NamedTuple):
    """Binary rules with a tag on one side, as pairs (parent, inner child) that a word's tags give a weight to.

    The weight of a pair is summed over the tags once a word, not once a span.
    """

    pairs: Pairs
    rules: Places  # [rules, 2] pair, tag
    prob: Floats  # [rules]


class ChartRules(NamedTuple):
    """The rules that the kernels go through in every span, as few arrays as may be: each is more to compile."""

    lefts: Places  # inner symbols that are left children
    rights: Places  # inner symbols that are right children, those of most left children first
    reach: Places  # [lefts] the columns among which all right children of a left one are
    both: Links  # children inner, as a place in a table of [lefts, rights]
    tag_left: Pairs  # of the rules with a tag to the left
    tag_right: Pairs
    tag_both: Links
    chain: Links  # closure of unary rules from inner symbols (left) to inner symbols, the empty chain included
    tag_chain: Links  # closure of unary rules from tags (left) to inner symbols


class ChartGrammar(NamedTuple):
    """A scalar grammar sorted by what its children may be: inner symbols (root, phrases, parts) or tags."""

    inner: int
    tags: int
    rules: ChartRules
    tag_left: TagLinks  # left child a tag (numbered among the tags), right child inner
    tag_right: TagLinks
    top: Links  # root -> inner symbol
    top_tag: Links  # root -> tag, for sentences of one word
    step: ColumnMap  # one unary rule, from all symbols to inner ones, the root's own left out
    steps: int  # that may stand on one span


def chart_grammar(grammar: Grammar, prob: Floats) -> ChartGrammar:
    """Sort a grammar's rules for the chart; `prob` holds one number a rule.  Those without any are left out."""
    first_tag = grammar.first_tag
    used = prob[prob > 0]
    parent, left, right = grammar.rules[prob > 0].T
    binary, top = right != NONE, parent == 0
    tag_l, tag_r = left >= first_tag, right >= first_tag
    both = binary & ~tag_l & ~tag_r
    pairs = np.unique(np.stack([left[both], right[both]]), axis=1)
    lefts, (rights, partners) = np.unique(pairs[0]), np.unique(pairs[1], return_counts=True)
    rights = rights[np.argsort(-partners, kind="stable")]
    column = _numbers(rights, len(grammar.symbols))[right]
    reach = _reach(left[both], column[both], len(grammar.symbols))
    lefts = lefts[np.argsort(-reach[lefts].astype(np.int64), kind="stable")]
    row = _numbers(lefts, len(grammar.symbols))[left]

    def links(rows: NDArray[np.bool_], child: Ints) -> Links:
        return _links(parent[rows], child[rows], used[rows], first_tag)

    def tag_links(rows: NDArray[np.bool_], tag: Ints, child: Ints) -> TagLinks:
        pairs, pair = np.unique(np.stack([parent[rows], child[rows]], 1), axis=0, return_inverse=True)
        by_parent = Pairs(_first(pairs[:, 0], first_tag), pairs[:, 1].astype(np.uint32))
        return TagLinks(by_parent, np.stack([pair.ravel(), tag[rows] - first_tag], 1).astype(np.uint32), used[rows])

    tag_left = tag_links(binary & tag_l & ~tag_r, left, right)
    tag_right = tag_links(binary & ~tag_l & tag_r, right, left)
    rules = ChartRules(
        lefts.astype(np.uint32),
        rights.astype(np.uint32),
        reach[lefts],
        links(both, row * padded(len(rights)) + column),
        tag_left.pairs,
        tag_right.pairs,
        links(binary & tag_l & tag_r, np.stack([left, right], 1) - first_tag),
        *_chains(unary_closure(grammar, prob)),
    )
    tops = links(~binary & top & ~tag_l, left), links(~binary & top & tag_l, left - first_tag)
    unary = ColumnMap.of([_unary_table(grammar, prob)]), grammar.unary_steps
    return ChartGrammar(first_tag, len(grammar.symbols) - first_tag, rules, tag_left, tag_right, *tops, *unary)


def _numbers(symbols: Ints, among: int) -> Ints:
    """Which place each of so many symbols has in a list, NONE where it has none."""
    numbers = np.full(among, NONE, np.int32)
    numbers[symbols] = np.arange(len(symbols))
    return numbers


def _reach(row: Ints, column: Ints, rows: int) -> Places:
    """How many columns each row of a table uses, rounded up to whole vectors."""
    reach = np.zeros(rows, np.uint32)
    np.maximum.at(reach, row, column + 1)
    return padded(reach)


def _links(parent: Ints | Longs, child: Ints | Longs, prob: Floats, inner: int) -> Links:
    """Rules by their parents."""
    order = np.argsort(parent, kind="stable")
    children = np.ascontiguousarray(child[order], np.uint32)
    return Links(_first(parent, inner), children, prob[order])


def _first(parent: Ints | Longs, inner: int) -> Places:
    """Where each parent's own begin among all that are in order, and where the last one's end."""
    return starts(np.bincount(parent, minlength=inner)).astype(np.uint32)


def unary_closure(grammar: Grammar, prob: Floats) -> Floats:
    """sum over l = 0..unary_steps of U^l, with U[a, b] = P(a -> b); the root's own unary rules stand apart.

    A row for every inner symbol, a column for every symbol.
    """
    first_tag, step = grammar.first_tag, _unary_table(grammar, prob)
    closure = np.eye(*step.shape)
    for _ in range(grammar.unary_steps):
        closure = step[:, :first_tag] @ closure
        closure[:, first_tag:] += step[:, first_tag:]
        closure += np.eye(*step.shape)
    return closure


def _unary_table(grammar: Grammar, prob: Floats) -> Floats:
    """U[a, b] = P(a -> b), a row for every inner symbol, a column for every symbol; none for the root."""
    step = np.zeros((grammar.first_tag, len(grammar.symbols)))
    unary = (grammar.rules[:, 2] == NONE) & (grammar.rules[:, 0] != 0)
    step[grammar.rules[unary, 0], grammar.rules[unary, 1]] = prob[unary]
    return step


def _chains(closure: Floats) -> tuple[Links, Links]:
    """The closure's cells, those from inner symbols and those from tags."""
    inner = len(closure)

    def links(table: Floats) -> Links:
        a, b = np.nonzero(table)
        return _links(a, b, table[a, b], inner)

    return links(closure[:, :inner]), links(closure[:, inner:])
