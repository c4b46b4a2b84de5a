"""The factored form against loops over concepts, finite differences, and the tensors that it stands for."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from latree.inference.forms.factored import NO_RELATION
from latree.inference.sampling import sample_derivation
from latree.inference.sweep import inside_only
from tests import svs_loops
from tests.factored import example
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
