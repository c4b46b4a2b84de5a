"""What a model of structured vectorial semantics has learned: its concepts, which all categories share.

A concept is told by its headwords, as in table 1 of the paper; a category by how much of it each concept makes, and by
the rules that one concept likes better than another.  Nothing is printed here.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import rel_entr

from latree.arrays import NONE, Floats, Longs
from latree.kinds.report import GROUPS, Categories, Shares, best, commonest_words
from latree.kinds.svs.counts import normalised

if TYPE_CHECKING:
    from latree.kinds.svs.model import Svs

MOST = 50  # concepts that are listed


class Contrast(NamedTuple):
    """A rule of a category, its parent's relation left aside, and how likely it is for each concept."""

    children: tuple[int, ...]
    weight: float  # whatever the concept
    by_concept: Floats


class Concepts:
    """The facts of one model."""

    def __init__(self, model: Svs) -> None:
        self.model, self.grammar, self.names = model, model.grammar, Categories(model)

    # -- concepts

    @cached_property
    def mass(self) -> Floats:
        """[headwords and all others, concepts] tokens: how often each word stands for each concept."""
        lexicon = self.model.lexicon
        heads = self.model.headwords.numbers(lexicon.vocabulary)
        tokens = np.bincount(heads, lexicon.word_count, minlength=len(self.model.concept_of))
        return np.asarray(tokens[:, None] * self.model.concept_of, np.float64)

    @cached_property
    def share(self) -> Floats:
        """[concepts] P(i) among the words of the treebank."""
        return normalised(self.mass.sum(0))

    def by_share(self, most: int = MOST) -> list[int]:
        """The commonest concepts."""
        return [concept for concept, _ in best(range(self.model.concepts), self.share, most)]

    def headwords(self, concept: int, top: int) -> Shares:
        """The words that P(h | i) is largest for, by Bayes' rule from P(i | h) and the words' frequencies."""
        return best(self.model.headwords.words, self._word_shares(concept)[:-1], top)

    def others(self, concept: int) -> float:
        """P(h | i) of all words that are not told apart."""
        return float(self._word_shares(concept)[-1])

    def _word_shares(self, concept: int) -> Floats:
        return normalised(self.mass[:, concept])

    # -- categories

    @cached_property
    def groups(self) -> list[list[int]]:
        """Categories of one label: relations together, parts and tags apart; of each kind the commonest first."""
        groups: dict[tuple[int, str], list[int]] = {}
        for symbol, named in enumerate(self.grammar.symbols):
            order = next(k for k, (kinds, _) in enumerate(GROUPS) if named.kind in kinds)
            groups.setdefault((order, named.label), []).append(symbol)
        return [groups[key] for key in sorted(groups, key=lambda key: (key[0], -self.count(groups[key]), key[1]))]

    def count(self, symbols: list[int]) -> float:
        """How often the categories occur; the root is not counted."""
        return float(self.model.prior[symbols].sum())

    def shares(self, symbols: list[int]) -> Floats:
        """[concepts] P(i) within categories."""
        return normalised(self._weights(0).sum(0) if symbols == [0] else self.model.prior[symbols].sum(0))

    def words(self, symbols: list[int], concept: int, top: int) -> Shares:
        """The commonest words of tags under a concept; phrases have none."""
        tags = np.array([symbol - self.grammar.first_tag for symbol in symbols if self.names.is_tag(symbol)], np.int64)
        return commonest_words(self.model.lexicon, tags * self.model.concepts + concept, top)

    def contrasts(self, symbols: list[int], top: int) -> list[Contrast]:
        """The rules of which the concept tells most: by the mutual information of the concept and whether a rule is
        used, so that neither rare rules nor rare concepts come first."""
        rules, joint = self._joint(symbols)
        share, each = self.shares(symbols), normalised(joint.T).T
        mean, found = each @ share, share > 0  # others would be infinities times zero
        told = np.zeros(len(rules))
        for used in (each[:, found], np.clip(1 - each[:, found], 0.0, 1.0)):  # or not
            told += rel_entr(used, (used @ share[found])[:, None]) @ share[found]
        return [Contrast(rules[k], float(mean[k]), each[k]) for k, _ in best(range(len(rules)), told, top)]

    def _joint(self, symbols: list[int]) -> tuple[list[tuple[int, ...]], Floats]:
        """Right sides, and [right sides, concepts] how often each occurs, whatever the parent's relation."""
        rows: dict[tuple[int, ...], Floats] = {}
        for symbol in symbols:
            for rule, weights in zip(self._own(symbol).tolist(), self._weights(symbol), strict=True):
                children = tuple(child for child in self.grammar.rules[rule, 1:].tolist() if child != NONE)
                rows[children] = rows.get(children, 0.0) + weights
        return list(rows), np.array(list(rows.values())).reshape(-1, self.model.concepts)

    def _weights(self, symbol: int) -> Floats:
        """[rules of a category, concepts] how often; of the root, whose rules have a prior of concepts, how likely."""
        own = self.model.rule[self._own(symbol)]
        return own if symbol == 0 else own * self.model.prior[symbol]

    def _own(self, symbol: int) -> Longs:
        return np.flatnonzero(self.grammar.rules[:, 0] == symbol)
