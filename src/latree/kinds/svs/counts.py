"""What structured vectorial semantics counts in a treebank, and the weights that follow from it.

With P(i | h), how much each headword h is of each concept i, the lexicalised and the clustered parser are the same
thing: a headword is a concept of its own, or belongs to several (eqns 18 to 21).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from latree.arrays import NONE, Floats, Ints, Longs
from latree.errors import LatreeError
from latree.inference.forms.factored import NO_RELATION
from latree.inference.grammar import Grammar, inner_nodes, rule_symbols, tagged_words
from latree.kinds.svs.relations import ANY, Relation, head_words, relation_of
from latree.learning.latent_treebank import LexicalLayout
from latree.text.binary import Node

MOST_BYTES = 2**32  # of the relations between headwords


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
    """The relations that every rule's children have to it."""

    label: Ints  # [rules, 2]; NO_RELATION for a child that is absent and for the root's
    relations: tuple[Relation, ...]

    @property
    def top(self) -> NDArray[np.bool_]:
        """[rules] which are the root's."""
        is_top: NDArray[np.bool_] = self.label[:, 0] == NO_RELATION
        return is_top


def structure(grammar: Grammar, counts: Floats, least: int, one_head_relation: bool = False) -> Structure:
    """Read off the symbols; relations that rules have less often than `least` are one, whatever the parent.

    With `one_head_relation` all heads have the same, l_ID of the paper.
    """
    places: dict[tuple[int, int], Relation] = {}
    tokens: Counter[Relation] = Counter()
    for rule, (parent, *children) in enumerate(grammar.rules.tolist()):
        for k, child in enumerate(children):
            if parent != 0 and child != NONE:
                relation = relation_of(grammar.symbols[parent], grammar.symbols[child], on_left=k == 0)
                if one_head_relation and relation.role == "head":
                    relation = Relation("head", ANY, ANY)
                places[rule, k] = relation
                tokens[relation] += counts[rule]
    label = np.full((len(grammar.rules), 2), NO_RELATION, np.int32)
    numbers: dict[Relation, int] = {}
    for place, relation in places.items():
        kept = relation if tokens[relation] >= least else relation._replace(parent=ANY)
        label[place] = numbers.setdefault(kept, len(numbers))
    return Structure(label, tuple(numbers))


@dataclass(frozen=True, eq=False)
class PairCounts:
    """How often `child` stands under `parent` in `relation`: an entry a row, sorted by relation, parent and child."""

    relation: Longs  # l of the paper, by entry
    parent: Longs  # h
    child: Longs  # h'
    count: Floats
    headwords: int
    relations: int

    @classmethod
    def of(cls, counts: Mapping[tuple[int, int, int], float], headwords: int, relations: int) -> PairCounts:
        """Sort counts by (relation, parent, child)."""
        keys = sorted(counts)
        relation, parent, child = np.ascontiguousarray(np.array(keys, np.int64).reshape(-1, 3).T)
        count = np.array([counts[key] for key in keys], np.float64)
        return cls(relation, parent, child, count, headwords, relations)


class HeadCounts(NamedTuple):
    """How often rules and symbols have each headword, and children theirs beside their parents'."""

    rule: csr_array  # [rules, headwords]
    symbol: csr_array  # [symbols, headwords]
    pairs: PairCounts


def count_heads(grammar: Grammar, structure: Structure, nodes: Sequence[Node], headwords: Headwords) -> HeadCounts:
    rules: Counter[tuple[int, int]] = Counter()
    symbols: Counter[tuple[int, int]] = Counter()
    pairs: Counter[tuple[int, int, int]] = Counter()
    for root in nodes:
        words = {node: headwords.number(word) for node, word in head_words(root).items()}
        for node in inner_nodes(root):
            number = tuple(NONE if symbol is None else grammar.index[symbol] for symbol in rule_symbols(node))
            rule, head = grammar.rule_index[number], words[id(node)]  # type: ignore[index]
            rules[rule, head] += 1
            for child, label in zip(node.children(), structure.label[rule].tolist(), strict=False):
                symbols[grammar.index[child.symbol], words[id(child)]] += 1
                if label != NO_RELATION:
                    pairs[label, head, words[id(child)]] += 1
    size = len(headwords.words) + 1
    return HeadCounts(
        _table(rules, (len(grammar.rules), size)),
        _table(symbols, (len(grammar.symbols), size)),
        PairCounts.of(pairs, size, len(structure.relations)),
    )


def _table(counts: Counter[tuple[int, int]], shape: tuple[int, int]) -> csr_array:
    rows, columns = np.array(list(counts), np.int64).reshape(-1, 2).T
    return csr_array((np.array(list(counts.values()), np.float64), (rows, columns)), shape=shape)


def head_relations(pairs: PairCounts) -> Floats:
    """L(l) of the lexicalised parser: relative frequency of a child's headword given the parent's (eqn 8)."""
    shape = (pairs.relations, pairs.headwords, pairs.headwords)
    if (size := math.prod(shape) * 8) > MOST_BYTES:
        told = f"{pairs.headwords - 1} headwords, each a concept, need relations of {size / 2**30:.0f} GiB"
        raise LatreeError(f"{told}; take fewer headwords, or cluster them")
    table = np.zeros(shape)
    np.add.at(table, (pairs.relation, pairs.parent, pairs.child), pairs.count)
    return normalised(table)


def normalised(table: Floats, otherwise: Floats | float = 0.0) -> Floats:
    """Rows (of the last axis) that sum to one; `otherwise`, in proportion, for a row of nothing."""
    total = table.sum(-1, keepdims=True)
    shares = np.empty_like(table)
    shares[:] = otherwise / (np.sum(otherwise) or 1.0)
    np.divide(table, total, out=shares, where=total > 0)
    return shares


# --- weights


class SvsWeights(NamedTuple):
    """Everything that is learned."""

    rule: Floats  # [rules, concepts] theta_M; of the root's rules the prior of eqn 20
    relation: Floats  # [relations, concepts, concepts] theta_L
    words: Floats  # expected counts of lexical entries' concepts, end to end
    prior: Floats  # [symbols, concepts] how often each occurs (eqn 21)


def from_counts(
    counts: HeadCounts,
    relation: Floats,
    concept_of: Floats,
    structure: Structure,
    lexical: LexicalLayout,
    heads: Longs,
) -> SvsWeights:
    """With P(i | h) [headwords, concepts]: theta_M (eqn 18), preterminals (eqn 19) and priors (eqns 20 and 21).

    `heads` has the headword of every lexical entry.
    """
    prior = np.asarray(counts.symbol @ concept_of)
    rule = rule_weights(np.asarray(counts.rule @ concept_of), structure, lexical.layout.grammar.rules)
    words = (lexical.entries.count[:, None] * concept_of[heads]).ravel()
    return SvsWeights(rule, relation, words, prior)


def concepts_of_words(weights: SvsWeights, heads: Longs, headwords: int) -> Floats:
    """P(i | h) [headwords, concepts] as the weights have it."""
    words = weights.words.reshape(len(heads), -1)
    table = np.zeros((headwords, words.shape[1]))
    np.add.at(table, heads, words)
    return normalised(table)


def rule_weights(expected: Floats, structure: Structure, rules: Ints) -> Floats:
    """P(rule | lc i) from expected counts [rules, concepts]; the root's rules share one sum over all concepts."""
    total = np.zeros((int(rules[:, 0].max(initial=0)) + 1, expected.shape[1]))
    np.add.at(total, rules[:, 0], expected)
    total[0] = expected[structure.top].sum()
    below = total[rules[:, 0]]
    quotient: Floats = np.divide(expected, below, out=np.zeros_like(expected), where=below > 0)
    return quotient


def smoothed(rule: Floats, prior: Floats, theta: Floats, structure: Structure, rules: Ints, tokens: float) -> Floats:
    """theta_M with so many tokens' worth of each rule's frequency for all concepts together."""
    below = prior[rules[:, 0]]
    mixed = (rule * below + tokens * theta[:, None]) / np.maximum(below + tokens, 1e-300)
    return np.where(structure.top[:, None], rule, mixed)
