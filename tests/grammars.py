"""Random grammars, tag bigrams and their forests, small enough to write out all that they derive."""

from __future__ import annotations

import numpy as np

from latree.arrays import NONE, Floats
from latree.inference.chart import fill_chart
from latree.inference.chart_grammar import chart_grammar
from latree.inference.forest import Forest, assemble
from latree.inference.grammar import Grammar
from latree.inference.prune import prune, rule_finder
from latree.inference.subtypes import Layout
from latree.text.binary import Symbol
from tests.enumerate import random_grammar

SEEDS = range(8)


def full_forest(grammar: Grammar, theta: Floats, emissions: Floats) -> Forest:
    """Everything that the chart can derive."""
    chart = fill_chart(chart_grammar(grammar, theta), emissions)
    return assemble([prune(chart, rule_finder(grammar, theta), 0.0)], len(grammar.rules))


def example(seed: int, words: int = 4, most: int = 3000) -> tuple[Grammar, Floats, Floats]:
    """A random grammar with some derivations of the sentence, and few enough to write them all out."""
    rng = np.random.default_rng(seed)
    while True:
        grammar, theta = random_grammar(rng, unary_steps=int(rng.integers(0, 3)))
        with_unit_weights = chart_grammar(grammar, np.ones(len(theta)))
        count = np.exp(fill_chart(with_unit_weights, np.ones((words, 2))).log_z)
        if 5 <= count <= most:
            return grammar, theta, rng.random((words, 2)) * 0.5


def ones(grammar: Grammar) -> np.ndarray:
    return np.ones(len(grammar.symbols), np.int64)


def random_tensors(grammar: Grammar, size: np.ndarray, rng: np.random.Generator) -> Floats:
    """A third of the cells are zero."""
    theta = rng.random(int(Layout(grammar, size).start[-1]))
    theta[rng.random(len(theta)) < 1 / 3] = 0.0
    return theta


TAGS, WORDS = 3, 4


def tag_grammar(rng: np.random.Generator | None = None) -> Grammar:
    """All bigrams of three tags, or only some of them."""
    symbols = (Symbol("root", "ROOT"), *(Symbol("tag", name) for name in "stu"))
    tags = range(1, TAGS + 1)
    rows = [(0, t, NONE) for t in tags] + [(s, t, NONE) for s in tags for t in tags] + [(s, NONE, NONE) for s in tags]
    kept = [row for row in rows if rng is None or rng.random() < 0.75 or row in ((0, 1, NONE), (1, 1, NONE))]
    return Grammar(symbols, np.array([*kept, *({(1, NONE, NONE)} - set(kept))], np.int32), 0)


def random_chain(seed: int) -> tuple[Grammar, Floats, Floats]:
    rng = np.random.default_rng(seed)
    grammar = tag_grammar(rng)
    emissions = rng.random((WORDS, TAGS)) * (rng.random((WORDS, TAGS)) < 0.9)
    emissions[:, 0] += 0.01
    return grammar, rng.random(len(grammar.rules)), emissions
