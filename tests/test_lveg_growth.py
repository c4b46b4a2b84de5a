"""Splitting, merging and dropping components: what changes, and what must not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from latree import Tree, load, read_trees
from latree.arrays import NONE, Floats, Longs
from latree.data import toy
from latree.inference.gaussian.mixtures import Components, Mixtures
from latree.inference.gaussian.slots import resized
from latree.inference.gaussian.sweeps import gaussian_log_z
from latree.kinds.gm_lveg import GmLvegOptions
from latree.kinds.gm_lveg.growth import (
    GROWTH,
    absorb,
    equals,
    gains,
    how_many_of_each,
    move_apart,
    overlap,
    regrow,
)
from latree.kinds.gm_lveg.model import GmLveg
from latree.kinds.lvg import LvgOptions
from latree.kinds.lvg.model import Lvg
from latree.learning.checkpoint import Checkpoint
from latree.learning.loop import Training, after_steps
from latree.text.labels import LabelRules
from tests.grammars import SEEDS
from tests.mixtures import CASES, Case

QUICK = LvgOptions(split_iterations=20, merge_iterations=10, smooth_iterations=5)
GROWING = GmLvegOptions(dim=2, components=1, word_components=1, epochs=3, batch=16, grow=2)


def log_z(case: Case, parts: Components, weights: Mixtures) -> Floats:
    """Of the same forest with other components."""
    return gaussian_log_z(resized(case.slots, parts.size), parts, weights)


def some_twice(case: Case, seed: int) -> Longs:
    return np.random.default_rng(seed).integers(1, 3, len(case.weights.log_rho))


def rules_of(parts: Components) -> Longs:
    return np.repeat(np.arange(len(parts.size)), parts.size)


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("seed", SEEDS)
def test_splitting_leaves_log_z_as_it_is(kind: str, seed: int) -> None:
    case = CASES[kind](seed)
    copies = some_twice(case, seed)
    grown = regrow(case.parts, copies)
    assert grown.components.size.tolist() == np.bincount(rules_of(case.parts), copies).tolist()
    np.testing.assert_array_equal(rules_of(grown.components), rules_of(case.parts)[grown.source])
    after = log_z(case, grown.components, grown.weights(case.weights))
    np.testing.assert_allclose(after, log_z(case, case.parts, case.weights), rtol=1e-12)


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("seed", SEEDS)
def test_merging_what_was_split_restores_the_grammar(kind: str, seed: int) -> None:
    case = CASES[kind](seed)
    split = regrow(case.parts, some_twice(case, seed))
    weights = split.weights(case.weights)
    into = equals(split.components, weights, 1 - 1e-9)
    np.testing.assert_array_equal(into != np.arange(len(into)), split.twin)
    merged = regrow(split.components, (~split.twin).astype(np.int64))
    after = merged.weights(absorb(split.components, weights, into))
    np.testing.assert_array_equal(merged.components.slot, case.parts.slot)
    for one, other in zip(after, case.weights, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


def test_three_equals_become_one() -> None:
    case = CASES["trees"](0, most=1)
    tripled = regrow(case.parts, np.full(len(case.weights.log_rho), 3))
    into = equals(tripled.components, tripled.weights(case.weights), 0.999)
    np.testing.assert_array_equal(into, tripled.components.first[:-1][rules_of(tripled.components)])


@pytest.mark.parametrize("shape", [(2, 2), (2, 1)])
def test_merging_keeps_the_first_two_moments(shape: tuple[int, int]) -> None:
    case = CASES["trees"](1, shape, most=2)
    pairs = case.parts.first[:-1][case.parts.size == 2]
    into = np.arange(len(case.weights.log_rho))
    into[pairs + 1] = pairs
    after, before, rho = absorb(case.parts, case.weights, into), case.weights, np.exp(case.weights.log_rho)
    for first in pairs.tolist():
        share = rho[first : first + 2] / rho[first : first + 2].sum()
        assert np.exp(after.log_rho[first]) == pytest.approx(rho[first : first + 2].sum())
        for one, other in case.parts.slot[first : first + 2].T.tolist():
            if one == NONE:
                continue
            mean = share @ before.mean[[one, other]]
            square = np.exp(2 * before.log_sd[[one, other]]) + before.mean[[one, other]] ** 2
            np.testing.assert_allclose(after.mean[one], mean)
            expected = (share @ square - mean**2).mean() if shape[1] == 1 else share @ square - mean**2
            np.testing.assert_allclose(np.exp(2 * after.log_sd[one]), expected)


def test_the_overlap_of_equals_is_one_and_falls_with_the_distance() -> None:
    case = CASES["trees"](2, most=1)
    grown = regrow(case.parts, np.full(len(case.weights.log_rho), 2))
    weights, twins = grown.weights(case.weights), np.flatnonzero(grown.twin)
    np.testing.assert_allclose(overlap(grown.components, weights, twins - 1, twins), 1.0)
    slopes = np.ones_like(case.weights.mean)
    before = weights.mean.copy()
    move_apart(grown, weights, slopes, 0.5, np.random.default_rng(0))
    found = overlap(grown.components, weights, twins - 1, twins)
    assert (found < 0.95).all()
    moved, slots = weights.mean - before, grown.components.slot
    there = slots[twins] != NONE
    np.testing.assert_allclose(moved[slots[twins][there]], -moved[slots[twins - 1][there]])
    assert (equals(grown.components, weights, 0.99) == np.arange(len(grown.source))).all()


def test_what_is_split_and_what_is_dropped() -> None:
    case = CASES["trees"](0, most=3)
    size = case.parts.size
    assert size.max() == 3
    into = np.arange(len(case.weights.log_rho))
    gain = np.linspace(1.0, 2.0, len(into))
    count = np.full(len(into), 20.0)
    idle, lonely = case.parts.first[:-1][size == 3][0], case.parts.first[:-1][size == 1][0]
    count[[idle, lonely]] = 0.0
    chosen = replace(GROWTH, share=0.2, most=4)
    copies = how_many_of_each(case.parts, gain, count, into, chosen)
    assert copies[idle] == 0
    assert copies[lonely] == 1  # every rule keeps one
    split = copies == 2
    assert 0 < split.sum() <= 0.2 * len(into) + 1
    room = np.repeat(size * 2 <= 4, size) | (rules_of(case.parts) == rules_of(case.parts)[idle])
    assert room[split].all()
    assert gain[split].min() >= np.sort(gain)[-int(0.2 * len(into))]
    none = how_many_of_each(case.parts, gain, np.zeros(len(into)), into, chosen)
    np.testing.assert_array_equal(np.bincount(rules_of(case.parts), none), 1)
    assert regrow(case.parts, none).components.size.tolist() == [1] * len(size)


def test_the_gain_is_summed_over_the_ports() -> None:
    case = CASES["trees"](0)
    slopes = np.random.default_rng(0).random(case.weights.mean.shape)
    for found, slots in zip(gains(case.parts, slopes).tolist(), case.parts.slot.tolist(), strict=True):
        assert found == pytest.approx(sum(slopes[s].sum() for s in slots if s != NONE))


# -- in training


@pytest.fixture(scope="module")
def trees() -> list[Tree]:
    return list(read_trees(toy("dev"), LabelRules()))


@pytest.fixture(scope="module")
def lvg(trees: list[Tree]) -> Lvg:
    return Lvg(rounds=2, options=QUICK).fit(trees)


def test_frequent_rules_get_components(trees: list[Tree], lvg: Lvg) -> None:
    seen: list[float] = []
    how = Training(after_steps(lambda progress: seen.append(progress.value)))
    model = GmLveg(options=GROWING, pruner=lvg).fit(trees, how)
    assert seen[-1] > seen[0]
    assert 1 < len(set(model.components.size.tolist())) <= 4  # doubled twice at most, and only some
    assert len(model.components.size) < model.components.size.sum() < 2 * len(model.components.size)
    assert model.parse(trees[0].words()).status == "ok"


def test_resuming_grows_the_same(trees: list[Tree], lvg: Lvg, tmp_path: Path) -> None:
    """The best epoch may be one of fewer components than there are now."""

    def fit(epochs: int, path: Path, resume: bool = False) -> GmLveg:
        fresh, scores = GmLveg(options=replace(GROWING, epochs=epochs), pruner=lvg), {1: 3.0, 2: 1.0, 3: 2.0}
        reports: list[int] = []
        how = Training(
            after_steps(lambda progress: reports.append(progress.step)),
            score=lambda model: scores[reports[-1]],
            checkpoint=Checkpoint(path, fresh.identity()),
            resume=resume,
        )
        return fresh.fit(trees, how)

    whole = fit(3, tmp_path / "a")
    fit(2, tmp_path / "b")
    resumed = fit(3, tmp_path / "b", resume=True)
    assert (whole.components.size == 1).all()
    for one, other in zip(whole.mixtures, resumed.mixtures, strict=True):
        assert one.tolist() == other.tolist()
    now, same = load(tmp_path / "a"), load(tmp_path / "b")  # a checkpoint is a model as it is now
    assert isinstance(now, GmLveg)
    assert isinstance(same, GmLveg)
    assert now.components.size.max() == 4
    for one, other in zip(now.mixtures, same.mixtures, strict=True):
        assert one.tolist() == other.tolist()
