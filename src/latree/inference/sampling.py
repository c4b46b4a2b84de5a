"""Derivations drawn at random: of given words, from a forest; or of the model's own making, from the top down."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from latree.arrays import NONE, Floats, Longs
from latree.errors import LatreeError
from latree.inference.forest import PASS, Forest, L, P, R
from latree.inference.grammar import tagged_words
from latree.inference.potentials import NO_POTENTIALS, Potentials
from latree.inference.subtypes import Layout
from latree.inference.sweep import Messages
from latree.lexicon.words import Lexicon
from latree.text.binary import Node, longest_unary_chain

MOST_WORDS = 1000  # a treebank grammar may be drawn into very long sentences; these are drawn anew
TRIES = 100


def _choose(odds: Floats, rng: np.random.Generator) -> int:
    return choose_by_sums(np.cumsum(odds), rng)


def choose_by_sums(sums: Floats, rng: np.random.Generator) -> int:
    """Where the odds up to each are known, which is worth keeping for odds that are drawn from often."""
    k = int(np.searchsorted(sums, rng.random() * sums[-1], side="right"))
    return min(k, len(sums) - 1)  # the product may be rounded up to the whole


# -- given words


class Tables(Protocol):
    """Weights that can tell of a rule how likely its children's subtypes are, for one of its parent's."""

    def table(self, rule: int, x: int, shape: tuple[int, int], /) -> Floats: ...


class TablesAndWords(Tables, Protocol):
    """And what each subtype of a tag says of a word."""

    @property
    def entry(self) -> Floats: ...

    @property
    def entry_start(self) -> Longs: ...


def sample_derivation(
    forest: Forest,
    weights: TablesAndWords,
    inside: Messages,
    rng: np.random.Generator,
    sentence: int = 0,
    potentials: Potentials = NO_POTENTIALS,
) -> list[int]:
    """The edges of a derivation drawn from its probability given the words, subtypes drawn along with it.

    Edges come with a parent's before its children's, left to right.
    """
    potential = potentials.on_edges(forest).edge  # those of items are in their messages
    order = np.argsort(forest.ends[:, P], kind="stable")
    first = np.searchsorted(forest.ends[order, P], np.arange(len(forest.symbol) + 1))
    edges: list[int] = []
    stack = [(int(forest.root[sentence]), 0)]
    while stack:
        item, subtype = stack.pop()
        choices = order[first[item] : first[item + 1]]
        tables, scales = zip(*(_below(forest, weights, inside, int(e), subtype) for e in choices), strict=True)
        log_odds = np.array(scales) + (potential[choices] if len(potential) else 0.0)
        odds = np.array([table.sum() for table in tables]) * np.exp(log_odds - log_odds.max())
        k = _choose(odds, rng)
        edge = int(choices[k])
        edges.append(edge)
        stack.extend(reversed(_children(forest, edge, tables[k], subtype, rng)))
    return edges


def sample_edges(forest: Forest, posterior: Floats, rng: np.random.Generator) -> list[int]:
    """The edges of a derivation of a forest's first sentence, drawn by the PCFG over the forest with this posterior."""
    edges: list[int] = []
    stack = [int(forest.root[0])]
    while stack:
        choices = np.flatnonzero(forest.ends[:, P] == stack.pop())
        edge = int(choices[_choose(posterior[choices], rng)])
        edges.append(edge)
        stack += [int(forest.ends[edge, port]) for port in (R, L) if forest.ends[edge, port] >= 0]
    return edges


def _message(messages: Messages, item: int) -> tuple[Floats, float]:
    if item < 0:
        return np.ones(1), 0.0
    return messages.row[messages.start[item] : messages.start[item + 1]], float(messages.scale[item])


def _keeps_subtype(forest: Forest, rule: int) -> bool:
    """Whether an edge's child has its parent's subtype: it passes on, or emits a word of a tag lattice."""
    return rule == PASS or rule >= forest.rules


def _below(forest: Forest, weights: TablesAndWords, inside: Messages, edge: int, subtype: int) -> tuple[Floats, float]:
    """How likely each pair of the children's subtypes is below an edge, [left, right] with a log scale."""
    (left, left_scale), (right, right_scale) = (_message(inside, int(forest.ends[edge, port])) for port in (L, R))
    rule, scale, shape = int(forest.rule[edge]), left_scale + right_scale, (len(left), len(right))
    if _keeps_subtype(forest, rule):
        below = left[subtype if len(left) > 1 else 0]
        entry = 1.0 if rule == PASS else weights.entry[weights.entry_start[rule - forest.rules] + subtype]
        return np.array([[below * entry]]), scale
    return weights.table(rule, subtype, shape) * left[:, None] * right, scale


def _children(
    forest: Forest, edge: int, table: Floats, subtype: int, rng: np.random.Generator
) -> list[tuple[int, int]]:
    """The edge's child items, each with a subtype drawn for it, left before right."""
    left, right = int(forest.ends[edge, L]), int(forest.ends[edge, R])
    if _keeps_subtype(forest, int(forest.rule[edge])):
        return [(left, subtype)] if left >= 0 else []
    y, z = divmod(_choose(table, rng), table.shape[1])
    return [(item, x) for item, x in ((left, y), (right, z)) if item >= 0]


# -- from nothing


class Drawer:
    """Draws trees or tag sequences of a grammar's own, with words from the known ones under each tag."""

    def __init__(self, layout: Layout, weights: Tables, lexicon: Lexicon) -> None:
        self.layout, self.weights, self.lexicon = layout, weights, lexicon
        parents = layout.grammar.rules[:, 0]
        self.order: Longs = np.argsort(parents, kind="stable")
        self.first = np.searchsorted(parents[self.order], np.arange(len(layout.size) + 1))
        self.sums: dict[tuple[int, int], Floats] = {}

    def tree(self, rng: np.random.Generator) -> Node:
        """A binary tree; one with longer unary chains than the parser allows is drawn anew, so that each can be
        parsed back."""
        for _ in range(TRIES):
            tree = self._expand(rng)
            if tree is not None and longest_unary_chain(tree) <= self.layout.grammar.unary_steps:
                return tree
        raise LatreeError(f"the grammar keeps running over {MOST_WORDS} words; it may not be a proper one")

    def phrase(self, symbol: int, subtype: int, rng: np.random.Generator, most: int) -> list[str]:
        """The words of something that a subtype stands over; none where it has too many, or a tag has no words."""
        try:
            tree = self._expand(rng, symbol, subtype, most)
        except ValueError:
            return []
        return [] if tree is None else [word for word, _ in tagged_words(tree)]

    def sequence(self, rng: np.random.Generator) -> list[tuple[str, int]]:
        """(word, tag number) pairs, of a bigram grammar."""
        drawn: list[tuple[str, int]] = []
        symbol = subtype = 0
        while len(drawn) < MOST_WORDS:
            rule, subtype, _ = self._rule(symbol, subtype, rng)
            symbol = int(self.layout.grammar.rules[rule, 1])
            if symbol == NONE:
                break
            drawn.append((self._word(symbol, subtype, rng), symbol - self.layout.grammar.first_tag))
        return drawn

    def _rule(self, symbol: int, subtype: int, rng: np.random.Generator) -> tuple[int, int, int]:
        """A rule of the symbol's, and subtypes for its children."""
        rules = self.order[self.first[symbol] : self.first[symbol + 1]]
        if (symbol, subtype) not in self.sums:
            self.sums[symbol, subtype] = np.cumsum([self._table(int(rule), subtype).sum() for rule in rules])
        rule = int(rules[choose_by_sums(self.sums[symbol, subtype], rng)])
        table = self._table(rule, subtype)
        y, z = divmod(_choose(table, rng), table.shape[1])
        return rule, y, z

    def _table(self, rule: int, subtype: int) -> Floats:
        _, left, right = self.layout.dims[rule].tolist()
        return self.weights.table(rule, subtype, (left, right))

    def _word(self, symbol: int, subtype: int, rng: np.random.Generator) -> str:
        tag = symbol - self.layout.grammar.first_tag
        return self.lexicon.sample_word(int(self.layout.tag_columns[tag]) + subtype, rng)

    def _expand(
        self, rng: np.random.Generator, symbol: int = 0, subtype: int = 0, most: int = MOST_WORDS
    ) -> Node | None:
        """From a symbol down; None where it grows too long."""
        grammar = self.layout.grammar
        root = Node(grammar.symbols[symbol])
        stack, words = [(root, symbol, subtype)], 0
        while stack:
            node, symbol, subtype = stack.pop()
            if symbol >= grammar.first_tag:
                node.word = self._word(symbol, subtype, rng)
                words += 1
                continue
            rule, y, z = self._rule(symbol, subtype, rng)
            _, left, right = grammar.rules[rule].tolist()
            node.left = Node(grammar.symbols[left])
            stack.append((node.left, left, y))
            if right != NONE:
                node.right = Node(grammar.symbols[right])
                stack.append((node.right, right, z))
            if words + len(stack) > most:
                return None
        return root
