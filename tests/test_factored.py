"""The factored form against loops over concepts, finite differences, and the tensors that it stands for."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from latree.arrays import Floats
from latree.inference.forest import PASS
from latree.inference.forms import sparse
from latree.inference.forms.factored import NO_RELATION, no_statistics, zeros_like
from latree.inference.sampling import sample_derivation
from latree.inference.subtypes import Layout
from latree.inference.sweep import infer, inside_only
from tests import svs_loops
from tests.factored import Example, count, example, numbers_of
from tests.forests import all_edge_sets
from tests.grammars import SEEDS


def test_examples_have_every_kind_of_rule() -> None:
    """Else the tests below would say less than they seem to."""
    kinds = set()
    for seed in SEEDS:
        one = example(seed)
        used = one.forest.rule[(one.forest.rule >= 0) & (one.forest.rule < one.forest.rules)]
        kinds |= {tuple(row) for row in (one.weights.label[used] == NO_RELATION).tolist()}
    assert kinds == {(False, False), (False, True), (True, True)}  # binary, unary, the root's


@pytest.mark.parametrize("seed", SEEDS)
def test_sums_equal_loops(seed: int) -> None:
    _, forest, weights, width, _ = example(seed, (4, 3))
    log_z, messages = inside_only(forest, weights, width)
    np.testing.assert_allclose(np.exp(log_z), svs_loops.probability(forest, weights, width))
    scale = np.repeat(messages.scale, np.diff(messages.start))
    np.testing.assert_allclose(np.exp(scale) * messages.row, np.concatenate(svs_loops.inside(forest, weights, width)))


@pytest.mark.parametrize("seed", SEEDS)
def test_statistics_equal_enumeration(seed: int) -> None:
    """Every derivation with every concept of every item, one at a time."""
    _, forest, weights, width, _ = example(seed, (3,), concepts=2, most=30)
    stats = zeros_like(weights)
    result = infer(forest, weights, stats, width)
    expected, posterior, total = zeros_like(weights), np.zeros(len(forest.rule)), 0.0
    for edges in all_edge_sets(forest, int(forest.root[0])):
        for at, weight in svs_loops.assignments(forest, weights, width, edges):
            total += weight
            posterior[edges] += weight
            count(forest, weights, edges, at, weight, expected)
    assert result.log_z[0] == pytest.approx(np.log(total))
    ruled = forest.rule != PASS
    np.testing.assert_allclose(result.posterior[ruled], posterior[ruled] / total, atol=1e-12)
    for found, wanted in zip(numbers_of(stats), numbers_of(expected), strict=True):
        np.testing.assert_allclose(found, wanted / total, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("part", ["rule", "relation", "entry"])
def test_expectations_are_the_gradient(seed: int, part: str) -> None:
    """d log Z / d log m, d log L and d log e are the expected counts, by central differences."""
    _, forest, weights, width, _ = example(seed, (4, 3))
    stats, step = zeros_like(weights), 1e-5
    infer(forest, weights, stats, width)
    parameters, expected = getattr(weights, part).ravel(), getattr(stats, part).ravel()
    assert (expected[parameters == 0] == 0).all()
    for k in np.flatnonzero(parameters)[::3]:
        sums = []
        for sign in (1, -1):
            moved = getattr(weights, part).copy()
            moved.ravel()[k] *= np.exp(sign * step)
            sums.append(inside_only(forest, weights._replace(**{part: moved}), width)[0].sum())
        assert (sums[0] - sums[1]) / (2 * step) == pytest.approx(expected[k], rel=1e-5, abs=1e-8)


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


@pytest.mark.parametrize("seed", SEEDS)
def test_equals_the_tensors_written_out(seed: int) -> None:
    one = example(seed, (4, 3))
    layout, tensors = written_out(one)
    stats, tensor_stats = zeros_like(one.weights), sparse.zeros_like(tensors)
    found = infer(one.forest, one.weights, stats, one.width)
    expected = infer(one.forest, tensors, tensor_stats, one.width)
    np.testing.assert_allclose(found.log_z, expected.log_z)
    np.testing.assert_allclose(found.posterior, expected.posterior, atol=1e-12)
    for mine, theirs in ((found.inside, expected.inside), (found.outside, expected.outside)):
        alive = np.isfinite(theirs.scale)
        np.testing.assert_array_equal(np.isfinite(mine.scale), alive)
        np.testing.assert_allclose(mine.scale[alive], theirs.scale[alive], atol=1e-12)
        np.testing.assert_allclose(mine.row, theirs.row, atol=1e-12)
    np.testing.assert_allclose(stats.entry, tensor_stats.entry, atol=1e-12)
    np.testing.assert_allclose(stats.rule, rule_sums(one, layout, tensor_stats), atol=1e-12)


def rule_sums(one: Example, layout: Layout, stats: sparse.Sparse) -> Floats:
    """Expected counts of rules with the parent's concept, or under the root the child's, from those of all triples."""
    rule, x, y, _ = layout.coordinates(stats.place)
    sums = np.zeros_like(one.weights.rule)
    np.add.at(sums, (rule, np.where(one.weights.label[rule, 0] == NO_RELATION, y, x)), stats.value)
    return sums


@pytest.mark.parametrize("seed", SEEDS)
def test_samples_follow_the_posterior(seed: int) -> None:
    _, forest, weights, width, _ = example(seed, (3,), concepts=2, most=30)
    _, inside = inside_only(forest, weights, width)
    posterior = {
        tuple(sorted(edges)): sum(weight for _, weight in svs_loops.assignments(forest, weights, width, edges))
        for edges in all_edge_sets(forest, int(forest.root[0]))
    }
    total, draws, rng = sum(posterior.values()), 500, np.random.default_rng(seed)
    drawn = Counter(tuple(sorted(sample_derivation(forest, weights, inside, rng))) for _ in range(draws))
    assert set(drawn) <= set(posterior)
    for edges, weight in posterior.items():
        p = weight / total
        assert abs(drawn[edges] / draws - p) < 4.5 * np.sqrt(p / draws) + 1 / draws


def test_posteriors_without_statistics() -> None:
    _, forest, weights, width, _ = example(3)
    alone = infer(forest, weights, no_statistics(weights), width)
    beside = infer(forest, weights, zeros_like(weights), width)
    np.testing.assert_allclose(alone.posterior, beside.posterior, rtol=1e-12)  # sums may be made in another order


def test_scales_hold_what_floats_cannot() -> None:
    _, forest, weights, width, _ = example(2)
    tiny = weights._replace(entry=weights.entry * 1e-200)
    change = inside_only(forest, tiny, width)[0] - inside_only(forest, weights, width)[0]
    assert change[0] == pytest.approx(4 * np.log(1e-200))
