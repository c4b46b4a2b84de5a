"""Sweeps and expectations against brute force, subtypes included, and against finite differences."""

from __future__ import annotations

import numpy as np
import pytest

from latree.inference.chart import chart_grammar, fill_chart
from latree.inference.forest import PASS, assemble
from latree.inference.forms.sparse import zeros_like
from latree.inference.prune import prune, rule_finder
from latree.inference.sweep import infer, inside_only
from tests.enumerate import anchored_posteriors, derivations, weights_of
from tests.forests import all_edge_sets, subtype_weights
from tests.grammars import SEEDS, example, full_forest, ones, random_tensors


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


@pytest.mark.parametrize("seed", SEEDS)
def test_subtypes_equal_enumeration(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    grammar, theta, emissions = example(seed, words=3, most=40)
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
