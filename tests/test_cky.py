"""The coarse chart against brute force and against the sweep over the full forest."""

from __future__ import annotations

import numpy as np
import pytest

from latree.arrays import NONE
from latree.inference.chart import cell, fill_chart
from latree.inference.chart_grammar import chart_grammar
from latree.inference.grammar import Grammar
from latree.inference.prune import prune, rule_finder
from latree.inference.sweep import inside_only
from tests.enumerate import anchored_posteriors, derivations, random_grammar, weights_of
from tests.grammars import SEEDS, example, full_forest, ones


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("words", [1, 2, 3, 4])
def test_log_z_equals_enumeration(seed: int, words: int) -> None:
    grammar, theta, _ = example(seed)
    emissions = np.random.default_rng(seed).random((words, 2))
    total = sum(d.weight for d in derivations(grammar, theta, emissions))
    chart = fill_chart(chart_grammar(grammar, theta), emissions)
    assert np.exp(chart.log_z) == pytest.approx(total)


@pytest.mark.parametrize("seed", SEEDS)
def test_sweep_on_the_full_forest_equals_the_chart(seed: int) -> None:
    grammar, theta, emissions = example(seed, words=6, most=10**9)
    chart = fill_chart(chart_grammar(grammar, theta), emissions)
    log_z, _ = inside_only(
        full_forest(grammar, theta, emissions), weights_of(grammar, theta, emissions, ones(grammar)), ones(grammar)
    )
    assert log_z[0] == pytest.approx(chart.log_z)


@pytest.mark.parametrize("seed", SEEDS)
def test_posteriors_equal_enumeration(seed: int) -> None:
    """base: an item made by a binary rule or a word.  Tags likewise."""
    grammar, theta, emissions = example(seed)
    n = len(emissions)
    chart = fill_chart(chart_grammar(grammar, theta), emissions)
    inside, outside = chart.inside, chart.outside()
    base, tags = np.zeros_like(inside.base), np.zeros_like(inside.tag)
    for rule, q in anchored_posteriors(derivations(grammar, theta, emissions)).items():
        if rule.rule == NONE:
            tags[rule.start, rule.symbol - grammar.first_tag] += q
        elif rule.split != NONE:
            base[cell(n, rule.end - rule.start, rule.start), rule.symbol] += q
    np.testing.assert_allclose(inside.base * outside.base / chart.root, base, atol=1e-12)
    np.testing.assert_allclose(inside.tag * outside.tag / chart.root, tags, atol=1e-12)


@pytest.mark.parametrize("least", [1e-3, 0.02, 0.2])
@pytest.mark.parametrize("seed", SEEDS)
def test_trees_that_matter_count_in_full(seed: int, least: float) -> None:
    """Posteriors lie between the sum over trees of at least that posterior and the sum over all trees."""
    grammar, theta, emissions = example(seed, words=5)
    chart = fill_chart(chart_grammar(grammar, theta), emissions)
    whole, part = (chart.inside.base * chart.outside(p).base / chart.root for p in (0.0, least))
    found = derivations(grammar, theta, emissions)
    total = sum(d.weight for d in found)
    likely = np.zeros_like(whole)
    for tree in (d for d in found if d.weight / total > least):
        for rule in tree.rules:
            if rule.split != NONE:
                likely[cell(5, rule.end - rule.start, rule.start), rule.symbol] += tree.weight / total
    assert (part <= whole + 1e-12).all()
    assert (part >= likely - 1e-12).all()


def test_what_does_not_matter_is_left_out() -> None:
    chart = next(fill_chart(chart_grammar(g, theta), e) for g, theta, e in (example(s, words=5) for s in SEEDS))
    assert (chart.outside(0.2).base < chart.outside().base).any()


def binary_branching(weight: float) -> tuple[Grammar, np.ndarray]:
    """One phrase, one tag: every binary tree has the same weight."""
    rng = np.random.default_rng(0)
    symbols = random_grammar(rng)[0].symbols
    rules = np.array([(1, 1, 1), (0, 1, NONE), (1, 4, NONE)], np.int32)
    return Grammar(symbols, rules, 1), np.array([weight, 1.0, 1.0])


@pytest.mark.parametrize("weight", [1e-9, 0.3, 1e7])
def test_two_hundred_words_neither_underflow_nor_overflow(weight: float) -> None:
    """The sum over binary trees of n words is the Catalan number C(n-1) times weight^(n-1)."""
    grammar, theta = binary_branching(weight)
    n = 200
    emissions = np.tile([1e-30, 0.0], (n, 1))
    log_catalan = float(np.sum(np.log([(n - 1 + k) / k for k in range(2, n)])))
    chart = fill_chart(chart_grammar(grammar, theta), emissions)
    assert chart.log_z == pytest.approx(log_catalan + (n - 1) * np.log(weight) + n * np.log(1e-30), rel=1e-9)
    whole = chart.inside.top[cell(n, n, 0), 1] * chart.outside().top[cell(n, n, 0), 1] / chart.root
    assert whole == pytest.approx(1.0)


def test_no_derivation_is_minus_infinity() -> None:
    grammar, theta = binary_branching(0.5)
    chart = fill_chart(chart_grammar(grammar, theta), np.array([[0.0, 1.0], [0.0, 1.0]]))
    assert chart.log_z == -np.inf


@pytest.mark.parametrize("seed", SEEDS)
def test_pruned_is_inside_full_and_keeps_likely_trees(seed: int) -> None:
    grammar, theta, emissions = example(seed, words=5)
    chart, find = fill_chart(chart_grammar(grammar, theta), emissions), rule_finder(grammar, theta)
    threshold = 0.02
    full, pruned = prune(chart, find, 0.0), prune(chart, find, threshold)
    assert len(pruned.rule) <= len(full.rule)
    found = derivations(grammar, theta, emissions)
    total = sum(d.weight for d in found)
    likely = max(found, key=lambda d: d.weight)
    if likely.weight / total < threshold:
        pytest.skip("no tree of this grammar reaches the threshold")
    have = {(r, *pruned.span[e[0]]) for r, e in zip(pruned.rule.tolist(), pruned.ends.tolist(), strict=True)}
    assert {(a.rule, a.start, a.end) for a in likely.rules if a.rule != NONE} <= have
