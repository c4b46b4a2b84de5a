"""Sweeps and expectations against brute force, subtypes included, and against finite differences."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from latree.arrays import Floats
from latree.inference.chart import chart_grammar, fill_chart
from latree.inference.forest import PASS, Forest, assemble
from latree.inference.forms.sparse import Sparse, zeros_like
from latree.inference.grammar import Grammar
from latree.inference.prune import prune, rule_finder
from latree.inference.subtypes import Layout
from latree.inference.sweep import infer, inside_only
from tests.enumerate import anchored_posteriors, derivations, random_grammar, weights_of

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
        count = np.exp(fill_chart(with_unit_weights, np.ones((words, 2)), with_outside=False).log_z)
        if 5 <= count <= most:
            return grammar, theta, rng.random((words, 2)) * 0.5


def ones(grammar: Grammar) -> np.ndarray:
    return np.ones(len(grammar.symbols), np.int64)


@pytest.mark.parametrize("seed", SEEDS)
def test_sweeps_equal_enumeration(seed: int) -> None:
    grammar, theta, emissions = example(seed)
    found = derivations(grammar, theta, emissions)
    forest = full_forest(grammar, theta, emissions)
    weights = weights_of(grammar, theta, emissions, ones(grammar))
    stats = zeros_like(weights)
    result = infer(forest, weights, stats, ones(grammar))
    assert result.log_z[0] == pytest.approx(np.log(sum(d.weight for d in found)))
    expected = np.zeros(len(grammar.rules))
    for rule, q in anchored_posteriors(found).items():
        if rule.rule >= 0:
            expected[rule.rule] += q
    np.testing.assert_allclose(stats.value, expected, atol=1e-12)
    # Every derivation has one lexical edge a word.
    assert stats.entry.sum() == pytest.approx(len(emissions))


def random_tensors(grammar: Grammar, size: np.ndarray, rng: np.random.Generator) -> Floats:
    """A third of the cells are zero."""
    theta = rng.random(int(Layout(grammar, size).start[-1]))
    theta[rng.random(len(theta)) < 1 / 3] = 0.0
    return theta


def cell(forest: Forest, weights: Sparse, rule: int, x: int, y: int, z: int) -> float:
    """T[x, y, z] of a rule, or e[x] of a lexical entry."""
    if rule >= forest.rules:
        return float(weights.entry[weights.entry_start[rule - forest.rules] + x])
    row, pairs = weights.rule_row[rule] + x, weights.pair[weights.rule_pair[rule] :]
    cells = range(weights.row[row], weights.row[row + 1])
    return sum(float(weights.value[k]) for k in cells if tuple(pairs[weights.cell_pair[k]]) == (y, z))


def subtype_weights(forest: Forest, weights: Sparse, size: np.ndarray, edges: list[int]) -> list[float]:
    """The weight of one derivation for all subtypes of all its items: no messages, one assignment at a time."""
    items = sorted({int(i) for e in edges for i in forest.ends[e] if i >= 0})
    found = []
    for choice in itertools.product(*(range(size[forest.symbol[i]]) for i in items)):
        at = dict(zip(items, choice, strict=True)) | {-1: 0}
        product = 1.0
        for e in edges:
            x, y, z = (at[int(i)] for i in forest.ends[e])
            if forest.rule[e] == PASS:
                product *= x == y
                continue
            product *= cell(forest, weights, int(forest.rule[e]), x, y, z)
        found.append(float(product))
    return found


def all_edge_sets(forest: Forest, item: int) -> list[list[int]]:
    """The edges of every derivation below an item."""
    sets = []
    for e in np.flatnonzero(forest.ends[:, 0] == item):
        below = [all_edge_sets(forest, int(i)) for i in forest.ends[e, 1:] if i >= 0]
        sets += [[int(e)] + [x for part in parts for x in part] for parts in itertools.product(*below)]
    return sets


@pytest.mark.parametrize("seed", SEEDS)
def test_subtypes_equal_enumeration(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    grammar, theta, emissions = example(seed, words=3)
    size = np.array([1, 2, 3, 1, 2, 2])
    forest = full_forest(grammar, theta, emissions)
    weights = weights_of(grammar, random_tensors(grammar, size, rng), rng.random((3, 4)), size)
    stats = zeros_like(weights)
    result = infer(forest, weights, stats, size)
    sets = all_edge_sets(forest, int(forest.root[0]))
    masses = [sum(subtype_weights(forest, weights, size, edges)) for edges in sets]
    assert result.log_z[0] == pytest.approx(np.log(sum(masses)))
    posterior = np.zeros(len(forest.rule))
    for edges, mass in zip(sets, masses, strict=True):
        posterior[edges] += mass / sum(masses)
    ruled = forest.rule != PASS
    np.testing.assert_allclose(result.posterior[ruled], posterior[ruled], atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_expectations_are_the_gradient(seed: int) -> None:
    """d log Z / d theta = E[count] / theta, by central differences."""
    rng = np.random.default_rng(200 + seed)
    grammar, theta, emissions = example(seed)
    size = np.array([1, 2, 3, 1, 2, 2])
    forest = full_forest(grammar, theta, emissions)
    weights = weights_of(grammar, random_tensors(grammar, size, rng), rng.random((4, 4)), size)
    stats = zeros_like(weights)
    infer(forest, weights, stats, size)
    for part, k in [(name, i) for name in ("value", "entry") for i in range(len(getattr(weights, name)))][::7]:
        step, values, parameters = 1e-5, [], getattr(weights, part)
        for sign in (1, -1):
            moved = parameters.copy()
            moved[k] += sign * step
            values.append(inside_only(forest, weights._replace(**{part: moved}), size)[0][0])
        assert (values[0] - values[1]) / (2 * step) == pytest.approx(
            getattr(stats, part)[k] / parameters[k], rel=1e-5, abs=1e-8
        )


def test_concatenation_gives_each_sentence_its_own_sum() -> None:
    grammar, theta, emissions = example(1)
    chart, find = chart_grammar(grammar, theta), rule_finder(grammar, theta)
    lengths = (4, 2, 3, 4)
    sentences = [emissions[:n] * (1 + k) for k, n in enumerate(lengths)]
    alone = [fill_chart(chart, e) for e in sentences]
    pieces = [prune(c, find, 0.0) for c in alone if np.isfinite(c.log_z)]
    kept = [e for e, c in zip(sentences, alone, strict=True) if np.isfinite(c.log_z)]
    assert len(pieces) >= 2
    weights = weights_of(grammar, theta, np.concatenate(kept), ones(grammar))
    log_z, _ = inside_only(assemble(pieces, len(grammar.rules)), weights, ones(grammar))
    np.testing.assert_allclose(log_z, [c.log_z for c in alone if np.isfinite(c.log_z)])


def test_scales_hold_what_floats_cannot() -> None:
    """Weights of 1e-200 a word: the product of forty is far below the smallest float."""
    grammar, theta, emissions = example(2, words=4)
    forest = full_forest(grammar, theta, emissions)
    plain = weights_of(grammar, theta, emissions, ones(grammar))
    tiny = weights_of(grammar, theta, emissions * 1e-200, ones(grammar))
    plain_z, _ = inside_only(forest, plain, ones(grammar))
    tiny_z, _ = inside_only(forest, tiny, ones(grammar))
    assert tiny_z[0] - plain_z[0] == pytest.approx(4 * np.log(1e-200))
