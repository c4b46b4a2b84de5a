"""Potentials against derivations written out one by one, and their derivatives against finite differences."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest

from latree.arrays import Floats
from latree.inference.forest import PASS, Forest, restrict
from latree.inference.forms.sparse import Sparse, no_statistics, zeros_like
from latree.inference.gaussian.slots import slot_forest
from latree.inference.gaussian.sweeps import gaussian_infer, gaussian_log_z
from latree.inference.potentials import Potentials, expected_parts, potential_gradient, potential_slope
from latree.inference.sampling import sample_derivation
from latree.inference.sweep import infer, inside_only
from tests.enumerate import weights_of
from tests.forests import all_edge_sets, subtype_weights
from tests.grammars import example, full_forest, random_tensors
from tests.mixtures import CASES, Case

SEEDS = range(6)
PARTS = ("entry", "item", "edge")


class Sentence(NamedTuple):
    """A forest with subtypes, and random potentials of all its parts."""

    forest: Forest
    weights: Sparse
    size: np.ndarray
    potentials: Potentials


def random_potentials(forest: Forest, entries: int, rng: np.random.Generator) -> Potentials:
    return Potentials(*(rng.normal(0, 1.5, n) for n in (entries, len(forest.symbol), len(forest.rule))))


def sentence(seed: int) -> Sentence:
    rng = np.random.default_rng(500 + seed)
    grammar, theta, emissions = example(seed, words=3, most=60)
    size = np.array([1, 2, 2, 1, 2, 2])
    forest = full_forest(grammar, theta, emissions)
    weights = weights_of(grammar, random_tensors(grammar, size, rng), rng.random((3, 4)), size)
    return Sentence(forest, weights, size, random_potentials(forest, 3 * 2, rng))


def log_factor(forest: Forest, potentials: Potentials, edges: list[int]) -> float:
    """The sum of the potentials of a derivation's parts, in a tree an item for every edge."""
    entry, item, edge = potentials
    entries = [int(forest.rule[e]) - forest.rules for e in edges if forest.rule[e] >= forest.rules]
    return float(entry[entries].sum() + item[forest.ends[edges, 0]].sum() + edge[edges].sum())


def posteriors_of(forest: Forest, masses: dict[tuple[int, ...], float]) -> Floats:
    posterior = np.zeros(len(forest.rule))
    for edges, mass in masses.items():
        posterior[list(edges)] += mass / sum(masses.values())
    return posterior


@pytest.mark.parametrize("seed", SEEDS)
def test_sweeps_equal_enumeration(seed: int) -> None:
    forest, weights, size, potentials = sentence(seed)
    masses = {}
    for edges in all_edge_sets(forest, int(forest.root[0])):
        weight = sum(subtype_weights(forest, weights, size, edges))
        masses[tuple(edges)] = weight * math.exp(log_factor(forest, potentials, edges))
    found = infer(forest, weights, no_statistics(weights), size, potentials)
    assert found.log_z[0] == pytest.approx(math.log(sum(masses.values())))
    assert inside_only(forest, weights, size, potentials)[0] == pytest.approx(found.log_z)
    posterior, ruled = posteriors_of(forest, masses), forest.rule != PASS
    np.testing.assert_allclose(found.posterior[ruled], posterior[ruled], atol=1e-12)
    items, edges_expected = expected_parts(forest, found.posterior)
    np.testing.assert_allclose(edges_expected, posterior, atol=1e-12)
    made = np.bincount(forest.ends[:, 0], posterior, len(forest.symbol))
    np.testing.assert_allclose(items, made, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_expectations_of_rules_are_still_the_gradient(seed: int) -> None:
    """The statistics of an edge are weighed by its potential too: each derivation has one edge a word."""
    forest, weights, size, potentials = sentence(seed)
    stats = zeros_like(weights)
    found = infer(forest, weights, stats, size, potentials)
    lexical = forest.rule >= forest.rules
    assert stats.entry.sum() == pytest.approx(3)
    assert stats.value.sum() == pytest.approx(found.posterior[~lexical & (forest.rule != PASS)].sum())


def moved(potentials: Potentials, part: str, at: int, step: float) -> Potentials:
    values: Floats = getattr(potentials, part).copy()
    values[at] += step
    return potentials._replace(**{part: values})


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_gradient_of_log_p_is_gold_less_all(seed: int, part: str) -> None:
    forest, weights, size, potentials = sentence(seed)
    gold, sets = np.full(len(forest.rule), -np.inf), all_edge_sets(forest, int(forest.root[0]))
    gold[next(edges for edges in sets[seed:] if sum(subtype_weights(forest, weights, size, edges)) > 0)] = 0.0

    def log_p(potentials: Potentials) -> float:
        only = potentials._replace(edge=potentials.edge + gold)
        numerator, total = (inside_only(forest, weights, size, one)[0][0] for one in (only, potentials))
        return float(numerator - total)

    only = potentials._replace(edge=potentials.edge + gold)
    told, everything = (infer(forest, weights, no_statistics(weights), size, one) for one in (only, potentials))
    slope = getattr(potential_gradient(forest, told.posterior, everything.posterior, 6), part)
    for at in range(len(slope)):
        change = log_p(moved(potentials, part, at, 1e-5)) - log_p(moved(potentials, part, at, -1e-5))
        assert slope[at] == pytest.approx(change / 2e-5, abs=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_samples_follow_the_potentials(seed: int) -> None:
    forest, weights, size, potentials = sentence(seed)
    found = infer(forest, weights, no_statistics(weights), size, potentials)
    rng, draws, drawn = np.random.default_rng(seed), 600, np.zeros(len(forest.rule))
    for _ in range(draws):
        drawn[sample_derivation(forest, weights, found.inside, rng, potentials=potentials)] += 1 / draws
    for frequency, p in zip(drawn, expected_parts(forest, found.posterior)[1], strict=True):
        assert abs(frequency - p) < 5 * math.sqrt(p / draws) + 1 / draws


def test_potentials_of_zero_are_none_at_all() -> None:
    forest, weights, size, _ = sentence(1)
    zero = Potentials(np.zeros(6), np.zeros(len(forest.symbol)), np.zeros(len(forest.rule)))
    plain, same = (infer(forest, weights, no_statistics(weights), size, one) for one in (Potentials(), zero))
    np.testing.assert_array_equal(plain.posterior, same.posterior)
    np.testing.assert_array_equal(plain.log_z, same.log_z)


# -- continuous subtypes


def gaussian_potentials(case: Case, seed: int) -> Potentials:
    rng = np.random.default_rng(seed)
    return random_potentials(case.forest, len(case.entry_rule), rng)


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("seed", range(3))
def test_gaussian_sweeps_equal_enumeration(kind: str, seed: int) -> None:
    case = CASES[kind](seed)
    forest, potentials = case.forest, gaussian_potentials(case, seed)
    masses = {}
    for edges in all_edge_sets(forest, int(forest.root[0])):
        alone = restrict(forest, np.isin(np.arange(len(forest.rule)), edges))
        slots = slot_forest(alone, case.entry_rule, case.parts.size)
        log_weight = gaussian_log_z(slots, case.parts, case.weights)[0]
        masses[tuple(edges)] = math.exp(log_weight + log_factor(forest, potentials, edges))
    on_edges = potentials.on_edges(forest)
    found = gaussian_infer(case.slots, case.parts, case.weights, potentials=on_edges)
    assert found.log_z[0] == pytest.approx(math.log(sum(masses.values())))
    assert gaussian_log_z(case.slots, case.parts, case.weights, potentials=on_edges) == pytest.approx(found.log_z)
    ruled = forest.rule != PASS
    np.testing.assert_allclose(found.posterior[ruled], posteriors_of(forest, masses)[ruled], atol=1e-10)


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("kind", CASES)
def test_gaussian_slopes_equal_finite_differences(kind: str, part: str) -> None:
    case = CASES[kind](1)
    potentials = gaussian_potentials(case, 7)

    def log_z(potentials: Potentials) -> float:
        on_edges = potentials.on_edges(case.forest)
        return float(gaussian_log_z(case.slots, case.parts, case.weights, potentials=on_edges)[0])

    on_edges = potentials.on_edges(case.forest)
    found = gaussian_infer(case.slots, case.parts, case.weights, potentials=on_edges)
    slope = getattr(potential_slope(case.forest, found.posterior, len(case.entry_rule)), part)
    for at in range(len(slope)):
        change = log_z(moved(potentials, part, at, 1e-5)) - log_z(moved(potentials, part, at, -1e-5))
        assert slope[at] == pytest.approx(change / 2e-5, abs=1e-8)
