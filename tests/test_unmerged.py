"""Mixtures whose equal Gaussians are kept apart: merged sums without limits, with limits those of a recursion."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

from latree.inference.forest import PASS, L, P, R
from latree.inference.gaussian.limits import NO_LIMIT, ComponentLimit, how_many_kept
from latree.inference.gaussian.mixtures import no_statistics
from latree.inference.gaussian.sweeps import gaussian_infer
from latree.inference.gaussian.unmerged import Apart, UnmergedForest, unmerged_forest, unmerged_infer
from latree.inference.potentials import Potentials
from tests.forests import edge_rules
from tests.grammars import SEEDS
from tests.mixtures import Case, lattice_case, tree_case
from tests.test_gaussian import LIMITS, SHAPES, log_integral

APART: list[Apart] = ["edges", "all"]


def seen(case: Case, apart: Apart) -> UnmergedForest:
    return unmerged_forest(case.forest, case.entry_rule, apart)


@pytest.mark.parametrize("apart", APART)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", SEEDS)
def test_without_limits_nothing_is_lost(seed: int, shape: tuple[int, int], apart: Apart) -> None:
    case = tree_case(seed, shape, most=2)
    merged = gaussian_infer(case.slots, case.parts, case.weights)
    found = unmerged_infer(seen(case, apart), case.parts, case.weights)
    np.testing.assert_allclose(found.log_z, merged.log_z)
    np.testing.assert_allclose(found.posterior, merged.posterior, atol=1e-12)
    for name, values in found.gradient._asdict().items():
        np.testing.assert_allclose(values, getattr(merged.gradient, name), atol=1e-11)


def test_potentials_and_posteriors_alone() -> None:
    case, rng = tree_case(3), np.random.default_rng(0)
    sizes = (len(case.forest.symbol), len(case.forest.rule))
    potentials = Potentials(item=rng.normal(size=sizes[0]), edge=rng.normal(size=sizes[1]))
    nothing = no_statistics(case.weights)
    merged = gaussian_infer(case.slots, case.parts, case.weights, potentials=potentials)
    found = unmerged_infer(seen(case, "all"), case.parts, case.weights, nothing, potentials=potentials)
    assert found.log_z[0] == pytest.approx(merged.log_z[0])
    np.testing.assert_allclose(found.posterior, merged.posterior, atol=1e-12)


# -- limits, by a recursion over lists

Mixture = list[tuple[int, float]]  # slots and weights


class Recursion:
    """Equations 6 to 8, one product of three numbers at a time; rules read the heaviest components."""

    def __init__(self, case: Case, limit: ComponentLimit, apart: Apart) -> None:
        self.case, self.limit, self.apart = case, limit, apart
        self.rule = edge_rules(case.forest, case.entry_rule)

    def edges(self, port: int, item: int) -> list[int]:
        return [int(e) for e in np.flatnonzero(self.case.forest.ends[:, port] == item)]

    def cut(self, mixture: Mixture) -> Mixture:
        kept = how_many_kept(len(mixture), self.limit)
        return sorted(mixture, key=lambda one: -one[1])[:kept]

    def met(self, component: int, port: int, mixture: Mixture) -> list[float]:
        """What one of a rule's Gaussians makes of the components of a mixture; all together where edges are apart."""
        slot = int(self.case.parts.slot[component, port])
        values = [w * math.exp(log_integral(self.case.weights, (slot, other))) for other, w in mixture]
        return values if self.apart == "all" else [math.fsum(values)]

    def at(self, e: int, port: int, component: int, z: float = 1.0) -> list[float]:
        """What stands at a port of an edge: an inside score, above an outside score, or one where there is nothing."""
        item = int(self.case.forest.ends[e, port])
        if item < 0:
            return [1.0]
        if port != P:
            return self.met(component, port, self.cut(self.inside(item)))
        if self.case.forest.symbol[item] == 0:
            return [1.0 / z]
        return self.met(component, port, self.cut(self.outside(item, z)))

    def product(self, e: int, port: int, ports: tuple[int, int], z: float = 1.0) -> Iterator[tuple[int, float]]:
        """The message to a port, of what stands at two others."""
        for c in range(*self.case.parts.first[[self.rule[e], self.rule[e] + 1]]):
            here, there = (self.at(e, other, c, z) for other in ports)
            slot, rho = int(self.case.parts.slot[c, port]), math.exp(self.case.weights.log_rho[c])
            yield from ((slot, rho * x * y) for x in here for y in there)

    def inside(self, item: int) -> Mixture:
        mixture: Mixture = []
        for e in self.edges(P, item):
            if self.rule[e] == PASS:
                mixture += self.inside(int(self.case.forest.ends[e, L]))
            else:
                mixture += self.product(e, P, (L, R))
        return mixture

    def outside(self, item: int, z: float) -> Mixture:
        mixture: Mixture = []
        for port in (L, R):
            for e in self.edges(port, item):
                if self.rule[e] == PASS:
                    mixture += self.outside(int(self.case.forest.ends[e, P]), z)
                else:
                    mixture += self.product(e, port, (P, R if port == L else L), z)
        return mixture

    def posterior(self, e: int, z: float) -> float:
        if self.rule[e] == PASS:
            return 0.0
        rho = np.exp(self.case.weights.log_rho)
        parts = range(*self.case.parts.first[[self.rule[e], self.rule[e] + 1]])
        return sum(float(rho[c]) * math.prod(math.fsum(self.at(e, port, c, z)) for port in (P, L, R)) for c in parts)


@pytest.mark.parametrize("apart", APART)
@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("seed", range(4))
def test_limits_equal_a_recursion(seed: int, limit: ComponentLimit, apart: Apart) -> None:
    case = tree_case(seed, most=2)
    plain, root = Recursion(case, limit, apart), int(case.forest.root[0])
    z = math.fsum(weight for _, weight in plain.inside(root))
    found = unmerged_infer(seen(case, apart), case.parts, case.weights, limit=limit)
    assert found.log_z[0] == pytest.approx(math.log(z))
    np.testing.assert_allclose(
        found.posterior, [plain.posterior(e, z) for e in range(len(case.forest.rule))], atol=1e-12
    )
    assert found.log_z[0] <= gaussian_infer(case.slots, case.parts, case.weights).log_z[0] + 1e-12


@pytest.mark.parametrize("apart", APART)
def test_a_limit_beyond_all_messages_changes_nothing(apart: Apart) -> None:
    case = tree_case(2, most=2)
    exact = unmerged_infer(seen(case, apart), case.parts, case.weights, limit=NO_LIMIT)
    found = unmerged_infer(seen(case, apart), case.parts, case.weights, limit=ComponentLimit(10**6, 10**6, 1.0))
    assert found.log_z[0] == exact.log_z[0]
    for name, values in found.gradient._asdict().items():
        np.testing.assert_array_equal(values, getattr(exact.gradient, name))


def test_a_word_without_a_rule_has_no_derivation() -> None:
    case = tree_case(1)
    found = unmerged_infer(seen(case._replace(entry_rule=np.full_like(case.entry_rule, -1)), "all"), *case[2:])
    assert found.log_z[0] == -np.inf
    assert not found.posterior.any()
    assert not any(part.any() for part in found.gradient)


def test_tags_have_no_unmerged_mixtures() -> None:
    with pytest.raises(ValueError, match="not for lattices of tags"):
        seen(lattice_case(0), "all")
