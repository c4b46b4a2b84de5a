"""Random grammars in the factored form, with a forest each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latree.arrays import NONE, Floats, Longs
from latree.inference.chart import fill_chart
from latree.inference.chart_grammar import chart_grammar
from latree.inference.forest import PASS, Forest, Piece, assemble
from latree.inference.forms import sparse
from latree.inference.forms.factored import NO_RELATION, Factored, with_words
from latree.inference.grammar import Grammar
from latree.inference.prune import prune, rule_finder
from latree.inference.subtypes import Layout
from latree.inference.sweep import inside_only
from tests import svs_loops
from tests.enumerate import random_grammar

RELATIONS = 3


class Example(NamedTuple):
    """A random grammar with a forest of some words, and random weights for it."""

    grammar: Grammar
    forest: Forest
    weights: Factored
    width: Longs
    prior: Floats


def with_lone_root(grammar: Grammar) -> Grammar:
    """The same without rules that have two children under the root, which the form has no room for."""
    keep = (grammar.rules[:, 0] != 0) | (grammar.rules[:, 2] == NONE)
    return Grammar(grammar.symbols, grammar.rules[keep], grammar.unary_steps)


def full_piece(grammar: Grammar, words: int) -> tuple[Piece, float]:
    """Everything that the grammar derives over so many words of any tags, and how many derivations that is."""
    theta = np.ones(len(grammar.rules))
    chart = fill_chart(chart_grammar(grammar, theta), np.ones((words, len(grammar.tags))))
    return prune(chart, rule_finder(grammar, theta), 0.0), float(np.exp(chart.log_z))


def random_weights(grammar: Grammar, words: int, concepts: int, rng: np.random.Generator) -> Factored:
    """Any relations; a sixth of the numbers are zero."""

    def numbers(*shape: int) -> Floats:
        return np.where(rng.random(shape) < 1 / 6, 0.0, rng.random(shape))

    rules = grammar.rules
    absent = (rules[:, :1] == 0) | (rules[:, 1:] == NONE)
    label = np.where(absent, NO_RELATION, rng.integers(0, RELATIONS, (len(rules), 2))).astype(np.int32)
    nothing = np.zeros(0), np.zeros(1, np.int64)
    rule, relation = numbers(len(rules), concepts), numbers(RELATIONS, concepts, concepts)
    return with_words(Factored(rule, relation, label, *nothing), numbers(words, len(grammar.tags) * concepts))


def example(seed: int, lengths: tuple[int, ...] = (4,), concepts: int = 3, most: float = 2000) -> Example:
    """Few enough derivations to write them all out, and one of some weight for every sentence."""
    rng = np.random.default_rng(seed)
    while True:
        grammar = with_lone_root(random_grammar(rng, unary_steps=int(rng.integers(0, 3)))[0])
        pieces = [full_piece(grammar, words) for words in lengths]
        if not all(5 <= count <= most for _, count in pieces):
            continue
        forest = assemble([piece for piece, _ in pieces], len(grammar.rules))
        weights = random_weights(grammar, sum(lengths), concepts, rng)
        width = np.where(np.arange(len(grammar.symbols)) == 0, 1, concepts)
        if np.isfinite(inside_only(forest, weights, width)[0]).all():
            return Example(grammar, forest, weights, width, rng.random((len(grammar.symbols), concepts)))


def count(
    forest: Forest, weights: Factored, edges: list[int], at: dict[int, int], weight: float, stats: Factored
) -> None:
    """What one derivation with its items' concepts adds to the statistics."""
    for e in edges:
        rule, (x, y, z) = int(forest.rule[e]), (at.get(int(item), 0) for item in forest.ends[e])
        if rule == PASS:
            continue
        if rule >= forest.rules:
            stats.entry[weights.entry_start[rule - forest.rules] + x] += weight
            continue
        stats.rule[rule, y if weights.label[rule, 0] == NO_RELATION else x] += weight
        for label, child in zip(weights.label[rule], (y, z), strict=True):
            if label != NO_RELATION:
                stats.relation[label, x, child] += weight


def numbers_of(stats: Factored) -> tuple[Floats, Floats, Floats]:
    return stats.rule, stats.relation, stats.entry


def written_out(one: Example) -> tuple[Layout, sparse.Sparse]:
    """T[x, y, z] = m[x] L0[x, y] L1[x, z] of every rule, for the form that has a number for every triple."""
    layout, lists = Layout(one.grammar, one.width), svs_loops.plain(one.weights)
    theta = np.zeros(int(layout.start[-1]))
    for rule in range(len(one.grammar.rules)):
        tensor = layout.tensor(theta, rule)
        for x, y, z in np.ndindex(*tensor.shape):
            tensor[x, y, z] = svs_loops.expansion(lists, rule, x, y, z)
    emissions = one.weights.entry.reshape(-1, len(one.grammar.tags) * one.weights.rule.shape[1])
    return layout, sparse.with_words(sparse.sparse(layout, theta), layout, emissions)
