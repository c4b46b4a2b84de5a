"""What structured vectorial semantics counts in a treebank, and the models that follow from it.

With P(i | h), how much each headword h is of each concept i, the lexicalised and the clustered parser are the same
thing: a headword is a concept of its own, or belongs to several (eqns 18 to 21).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from latree.arrays import Floats, Ints, Longs
from latree.binary import Node, Symbol
from latree.forms.factored import ALONE, HEAD_LEFT, HEAD_RIGHT, TOP
from latree.grammar import NONE, Grammar, inner_nodes, tagged_words
from latree.relational_clusters import PairCounts
from latree.relations import head_words, is_head


@dataclass(frozen=True, eq=False)
class Headwords:
    """The headwords that are told apart, lower case; all others are one, the last."""

    words: tuple[str, ...]

    @classmethod
    def of(cls, nodes: Iterable[Node], size: int) -> Headwords:
        """The commonest words."""
        counts = Counter(word.lower() for node in nodes for word, _ in tagged_words(node))
        return cls(tuple(sorted(counts, key=lambda word: (-counts[word], word))[:size]))

    @cached_property
    def _index(self) -> dict[str, int]:
        return {word: k for k, word in enumerate(self.words)}

    def number(self, word: str) -> int:
        return self._index.get(word.lower(), len(self.words))

    def numbers(self, words: Sequence[str]) -> Longs:
        return np.array([self.number(word) for word in words], np.int64)


class Structure(NamedTuple):
    """Of every rule: where its head is, and which relation its modifier has."""

    head: Ints
    label: Ints
    relations: tuple[tuple[str, str], ...]  # context and label of the modifiers


def structure(grammar: Grammar) -> Structure:
    """Read off the symbols' contexts."""
    symbols = grammar.symbols
    found: dict[tuple[str, str], int] = {}
    head, label = np.full(len(grammar.rules), ALONE, np.int32), np.zeros(len(grammar.rules), np.int32)
    for rule, (parent, left, right) in enumerate(grammar.rules.tolist()):
        if parent == 0:
            head[rule] = TOP
        elif right != NONE:
            head[rule] = HEAD_LEFT if is_head(symbols[left]) else HEAD_RIGHT
            modifier = symbols[right if head[rule] == HEAD_LEFT else left]
            label[rule] = found.setdefault(_relation(modifier), len(found))
    return Structure(head, label, tuple(found))


def _relation(modifier: Symbol) -> tuple[str, str]:
    return modifier.parents[0], modifier.label


class HeadCounts(NamedTuple):
    """How often rules and symbols have each headword, and modifiers theirs beside their parents'."""

    rule: csr_array  # [rules, headwords]
    symbol: csr_array  # [symbols, headwords]
    pairs: PairCounts


def count_heads(grammar: Grammar, found: Structure, nodes: Sequence[Node], headwords: Headwords) -> HeadCounts:
    rules: Counter[tuple[int, int]] = Counter()
    symbols: Counter[tuple[int, int]] = Counter()
    pairs: Counter[tuple[int, int, int]] = Counter()
    for root in nodes:
        words = {node: headwords.number(word) for node, word in head_words(root).items()}
        for node in inner_nodes(root):
            left, right = node.left, node.right
            assert left is not None
            row = (node.symbol, left.symbol, None if right is None else right.symbol)
            number = tuple(NONE if symbol is None else grammar.index[symbol] for symbol in row)
            rule, own = grammar.rule_index[number], words[id(node)]  # type: ignore[index]
            rules[rule, own] += 1
            for child in node.children():
                symbols[grammar.index[child.symbol], words[id(child)]] += 1
            if right is not None:
                modifier = right if found.head[rule] == HEAD_LEFT else left
                pairs[own, words[id(modifier)], int(found.label[rule])] += 1
    size = len(headwords.words) + 1
    return HeadCounts(
        _table(rules, (len(grammar.rules), size)),
        _table(symbols, (len(grammar.symbols), size)),
        _pair_counts(pairs, size, len(found.relations)),
    )


def _table(counts: Counter[tuple[int, int]], shape: tuple[int, int]) -> csr_array:
    rows, columns = np.array(list(counts), np.int64).reshape(-1, 2).T
    return csr_array((np.array(list(counts.values()), np.float64), (rows, columns)), shape=shape)


def _pair_counts(counts: Counter[tuple[int, int, int]], headwords: int, relations: int) -> PairCounts:
    keys = sorted(counts)
    parent, child, relation = np.array(keys, np.int64).reshape(-1, 3).T
    return PairCounts(
        parent, child, relation, np.array([counts[key] for key in keys], np.float64), headwords, relations
    )


def head_relations(pairs: PairCounts) -> Floats:
    """L(l) of the lexicalised parser: relative frequency of the modifier's headword given the parent's (eqn 8)."""
    table = np.zeros((pairs.relations, pairs.headwords, pairs.headwords))
    np.add.at(table, (pairs.relation, pairs.parent, pairs.child), pairs.count)
    return normalised(table)


def normalised(table: Floats) -> Floats:
    """Rows that sum to one; a row of nothing stays."""
    total = table.sum(-1, keepdims=True)
    found: Floats = np.divide(table, total, out=np.zeros_like(table), where=total > 0)
    return found
