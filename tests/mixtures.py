"""Forests under random Gaussian mixtures."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latree.arrays import Longs
from latree.inference.forest import Forest, assemble
from latree.inference.gaussian.mixtures import Components, Mixtures, components
from latree.inference.gaussian.slots import SlotForest, slot_forest
from latree.inference.grammar import Grammar
from latree.inference.trellis import chain, chain_rules, fill_trellis, lattice
from tests.forests import two_words
from tests.grammars import example, full_forest, random_chain


class Case(NamedTuple):
    """A forest under Gaussian mixtures."""

    forest: Forest
    entry_rule: Longs
    parts: Components
    weights: Mixtures

    @property
    def slots(self) -> SlotForest:
        return slot_forest(self.forest, self.entry_rule, self.parts.size)


def random_mixtures(parts: Components, shape: tuple[int, int], rng: np.random.Generator) -> Mixtures:
    (d, spreads), count, slots = shape, int(parts.first[-1]), parts.slots
    return Mixtures(rng.normal(-1, 1, count), rng.normal(0, 1, (slots, d)), rng.normal(0, 0.4, (slots, spreads)))


def case_of(grammar: Grammar, forest: Forest, seed: int, shape: tuple[int, int] = (2, 2), most: int = 3) -> Case:
    """Rules of one to `most` components, for a forest over a vocabulary of two words."""
    rng = np.random.default_rng(300 + seed)
    tags = np.arange(grammar.first_tag, len(grammar.symbols), dtype=np.int32)
    size = rng.integers(1, most + 1, len(grammar.rules) + 2 * len(tags))
    parts = components(grammar.rules, np.tile(tags, 2), size)
    return Case(forest, two_words(forest, len(tags)), parts, random_mixtures(parts, shape, rng))


def tree_case(seed: int, shape: tuple[int, int] = (2, 2), most: int = 3, words: int = 3) -> Case:
    grammar, theta, emissions = example(seed, words=words, most=40)
    return case_of(grammar, full_forest(grammar, theta, emissions), seed, shape, most)


def lattice_case(seed: int, shape: tuple[int, int] = (2, 2), most: int = 3, words: int = 3) -> Case:
    grammar, theta, emissions = random_chain(seed)
    rules = chain_rules(grammar)
    piece = lattice(fill_trellis(chain(rules, theta), emissions[:words]), rules, 0.0)
    return case_of(grammar, assemble([piece], len(grammar.rules)), seed, shape, most)


CASES = {"trees": tree_case, "lattice": lattice_case}
