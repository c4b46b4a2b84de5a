"""OWL-QN against closed forms, against scipy's L-BFGS-B, and against libLBFGS where PyLBFGS is installed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der

from latree.arrays import Floats
from latree.errors import LatreeError
from latree.learning.owlqn import TRIALS, Iteration, Optimum, OwlQn, Reason, pseudo_gradient, subgradient_violation

Function = Callable[[Floats], tuple[float, Floats]]
EXACT = OwlQn(iterations=2000, tolerance=0)


def quadratic(target: Sequence[float] | Floats, curvature: float | Floats = 1.0) -> Function:
    centre = np.asarray(target, dtype=np.float64)
    return lambda x: (float(0.5 * (curvature * (x - centre) ** 2).sum()), curvature * (x - centre))


def logistic(seed: int = 0, rows: int = 200, columns: int = 50) -> Function:
    """Mean log loss of random labels that follow five features; some features are nearly alike."""
    random = np.random.default_rng(seed)
    features = random.normal(size=(rows, columns)) * random.gamma(2.0, size=columns)
    features[:, 1] = features[:, 0] + 0.1 * features[:, 1]
    weights = np.zeros(columns)
    weights[:5] = random.normal(size=5)
    signs = np.where(random.random(rows) < 1 / (1 + np.exp(-features @ weights)), 1.0, -1.0)

    def value_and_gradient(x: Floats) -> tuple[float, Floats]:
        margins = signs * (features @ x)
        wrong = np.exp(-np.logaddexp(0, margins))
        return float(np.logaddexp(0, -margins).mean()), -(features.T @ (signs * wrong)) / rows

    return value_and_gradient


def rosenbrock(x: Floats) -> tuple[float, Floats]:
    return float(rosen(x)), rosen_der(x)


def with_penalty(f: Function, x: Floats, strength: float | Floats) -> float:
    return f(x)[0] + float((strength * np.abs(x)).sum())


def split_minimum(f: Function, size: int, strength: float | Floats) -> float:
    """The least objective by scipy, with x = u - v for u, v >= 0 so that the penalty is linear."""

    def value_and_gradient(parts: Floats) -> tuple[float, Floats]:
        value, gradient = f(parts[:size] - parts[size:])
        strengths = np.broadcast_to(strength, size)
        penalty = float((strengths * (parts[:size] + parts[size:])).sum())
        return value + penalty, np.concatenate([strengths + gradient, strengths - gradient])

    options = {"maxiter": 20000, "maxfun": 100000, "ftol": 1e-15, "gtol": 1e-9}
    bounds = [(0, None)] * (2 * size)
    return float(minimize(value_and_gradient, np.zeros(2 * size), jac=True, bounds=bounds, options=options).fun)


def watched(optimiser: OwlQn, f: Function, start: Floats, strength: float | Floats) -> tuple[Optimum, list[Iteration]]:
    seen: list[Iteration] = []
    return optimiser.minimise(f, start, strength, seen.append), seen


@pytest.mark.parametrize("strength", [0.0, 0.5, [0.0, 0.3, 1.0, 2.0, 5.0]])
def test_a_separable_quadratic_is_soft_thresholded(strength: Any) -> None:
    target, curvature = np.array([3.0, -0.2, -4.0, 0.6, 0.0]), np.array([1.0, 2.0, 0.5, 3.0, 10.0])
    strengths = np.broadcast_to(np.asarray(strength, float), 5)
    expected = np.sign(target) * np.maximum(np.abs(target) - strengths / curvature, 0)
    for start in (np.zeros(5), np.full(5, 2.0), -target):
        found = EXACT.minimise(quadratic(target, curvature), start, strength)
        assert found.x == pytest.approx(expected, abs=1e-6)
        assert (found.x[expected == 0] == 0).all() or not strengths.all()


@pytest.mark.parametrize("seed", range(10))
def test_a_correlated_quadratic_meets_the_optimality_conditions(seed: int) -> None:
    random = np.random.default_rng(seed)
    root, linear = random.normal(size=(40, 30)), 5 * random.normal(size=30)
    matrix = root.T @ root + 0.1 * np.eye(30)

    def f(x: Floats) -> tuple[float, Floats]:
        return float(0.5 * x @ matrix @ x - linear @ x), matrix @ x - linear

    found = EXACT.minimise(f, random.normal(size=30), 3.0)
    assert 0 < np.count_nonzero(found.x) < 30
    assert found.violation < 1e-5
    assert found.violation == subgradient_violation(found.x, f(found.x)[1], 3.0)
    assert found.objective == pytest.approx(split_minimum(f, 30, 3.0), rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("strength", [0.003, 0.02, 0.1])
def test_logistic_regression_is_as_good_as_scipys(seed: int, strength: float) -> None:
    f = logistic(seed)
    found = EXACT.minimise(f, np.zeros(50), strength)
    assert subgradient_violation(found.x, f(found.x)[1], strength) < 1e-6
    assert found.objective == pytest.approx(with_penalty(f, found.x, strength), rel=1e-14)
    assert found.objective <= split_minimum(f, 50, strength) + 1e-9
    assert np.count_nonzero(found.x) < 50


def test_mixed_strengths_leave_the_unpenalised_free_to_change_sign() -> None:
    f, strengths = logistic(3), np.repeat([0.0, 0.01, 0.3], [10, 20, 20])
    start = np.ones(50)
    found = EXACT.minimise(f, start, strengths)
    assert subgradient_violation(found.x, f(found.x)[1], strengths) < 1e-6
    assert found.objective == pytest.approx(split_minimum(f, 50, strengths), rel=1e-7)
    assert found.x[:10].all()
    assert (found.x[:10] < 0).any()
    assert np.count_nonzero(found.x[30:]) < np.count_nonzero(found.x[10:30]) < 20


@pytest.mark.parametrize("size", [2, 10])
def test_without_a_penalty_rosenbrock_is_minimised_as_by_scipy(size: int) -> None:
    start = np.tile([-1.2, 1.0], size // 2)
    found = EXACT.minimise(rosenbrock, start, 0.0)
    expected = minimize(rosen, start, jac=rosen_der, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-9})
    assert found.x == pytest.approx(np.ones(size), abs=1e-5)
    assert found.x == pytest.approx(expected.x, abs=1e-5)
    assert found.evaluations < 3 * expected.nfev


def test_without_a_penalty_logistic_regression_equals_scipys() -> None:
    f = logistic(rows=400, columns=10)
    found = EXACT.minimise(f, np.zeros(10), np.zeros(10))
    expected = minimize(f, np.zeros(10), jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-9})
    assert found.objective == pytest.approx(float(expected.fun), rel=1e-12)
    assert found.x == pytest.approx(expected.x, abs=1e-4)


@pytest.mark.parametrize("memory", [0, 1, 10])
@pytest.mark.parametrize("f", [logistic(1), lambda x: rosenbrock(x / 3)])
def test_the_objective_never_rises_and_the_watcher_sees_every_step(f: Function, memory: int) -> None:
    start = np.random.default_rng(5).normal(size=50)
    found, seen = watched(OwlQn(memory=memory, iterations=60, tolerance=0), f, start, 0.01)
    assert [i.number for i in seen] == list(range(found.iterations + 1))
    assert all(after.objective < before.objective for before, after in pairwise(seen))
    assert seen[0].x.tolist() == start.tolist()
    assert seen[-1].x.tolist() == found.x.tolist()
    for iteration in seen:  # also shows that no x was changed after it was seen
        assert iteration.smooth == f(iteration.x)[0]
        assert iteration.objective == pytest.approx(with_penalty(f, iteration.x, 0.01), rel=1e-14)
        assert iteration.non_zero == np.count_nonzero(iteration.x)
    assert found.evaluations > found.iterations


def test_a_step_never_crosses_zero_nor_goes_against_the_steepest_descent() -> None:
    f = logistic(2)
    _, seen = watched(EXACT, f, np.random.default_rng(7).normal(size=50), 0.02)
    for before, after in pairwise(seen):
        assert (before.x * after.x >= 0).all()
        assert ((after.x - before.x) * pseudo_gradient(before.x, f(before.x)[1], 0.02) <= 0).all()


def test_the_first_step_is_along_the_steepest_descent_and_of_length_one() -> None:
    """It takes the first coordinate, which has no penalty, across zero."""
    target, strength = np.array([-299.5, -400.0, 0.1, 50.0]), np.array([0.0, 1.0, 1.0, 1.0])
    start = np.array([0.5, 0.0, 0.0, 0.0])
    _, seen = watched(OwlQn(iterations=1), quadratic(target), start, strength)
    descent = np.array([-300.0, -399.0, 0.0, 49.0])
    assert seen[1].x == pytest.approx(start + descent / np.linalg.norm(descent), rel=1e-12)


def test_the_curvature_is_that_of_the_smooth_part() -> None:
    """One step measures the same curvature in every direction, and the second is right, though one x went to zero."""
    found = EXACT.minimise(quadratic([30.0, -20.0, 0.1], 4.0), np.array([1.0, -1.0, 0.001]), 1.0)
    assert found.x == pytest.approx([29.75, -19.75, 0.0], rel=1e-12)
    assert found.iterations == 2


def test_steps_without_positive_curvature_are_not_remembered() -> None:
    """Huber's loss is straight away from its target, and a double well bends down between the wells."""

    def huber(x: Floats) -> tuple[float, Floats]:
        away = x - 8.5
        return float(np.where(abs(away) < 1, away**2 / 2, abs(away) - 0.5).sum()), np.clip(away, -1, 1)

    def double_well(x: Floats) -> tuple[float, Floats]:
        return float((x**4 / 4 - 8 * x**2).sum()), x**3 - 16 * x

    found, seen = watched(EXACT, huber, np.zeros(1), 0.25)
    assert found.x == pytest.approx([8.25], abs=1e-6)
    assert [i.x[0] for i in seen[:8]] == pytest.approx(range(8))  # each of length one, as the first
    found = EXACT.minimise(double_well, np.array([0.1, -0.2]), 0.0)
    assert found.x == pytest.approx([4, -4], abs=1e-6)


def test_it_is_deterministic_and_leaves_the_start_alone() -> None:
    start = np.full(50, 0.3)
    one, other = (EXACT.minimise(logistic(), start, 0.02) for _ in range(2))
    assert one.x.tolist() == other.x.tolist()
    assert (one.objective, one.iterations, one.evaluations) == (other.objective, other.iterations, other.evaluations)
    assert (start == 0.3).all()
    assert not np.shares_memory(start, OwlQn(iterations=0).minimise(logistic(), start, 0.02).x)


def test_it_goes_on_from_x_alone() -> None:
    whole = EXACT.minimise(logistic(), np.zeros(50), 0.02)
    x, objective = np.zeros(50), np.inf
    for _ in range(60):
        part, seen = watched(OwlQn(iterations=5, tolerance=0), logistic(), x, 0.02)
        assert seen[0].objective == objective or objective == np.inf
        x, objective = part.x, part.objective
    assert objective == pytest.approx(whole.objective, rel=1e-9)


def test_the_gradient_may_be_written_to_the_same_array() -> None:
    f, buffer = logistic(), np.empty(50)

    def thrifty(x: Floats) -> tuple[float, Floats]:
        value, buffer[:] = f(x)
        return value, buffer

    assert EXACT.minimise(thrifty, np.zeros(50), 0.02).x.tolist() == EXACT.minimise(f, np.zeros(50), 0.02).x.tolist()


def test_a_penalty_that_holds_all_at_zero_needs_one_evaluation() -> None:
    found = OwlQn().minimise(logistic(), np.zeros(50), 100.0)
    assert (found.reason, found.evaluations, found.iterations, found.violation) == (Reason.OPTIMAL, 1, 0, 0)
    assert not found.x.any()


def test_no_coordinates_at_all() -> None:
    assert OwlQn().minimise(lambda x: (1.0, x), np.zeros(0), 1.0).reason == Reason.OPTIMAL


def test_it_stops_when_the_mean_relative_improvement_is_small() -> None:
    optimiser = OwlQn(tolerance=1e-3, patience=3)
    found, seen = watched(optimiser, logistic(), np.zeros(50), 0.02)
    assert found.reason == Reason.CONVERGED
    objectives = np.array([i.objective for i in seen])
    means = (objectives[:-3] - objectives[3:]) / 3 / objectives[3:]
    assert means[-1] < 1e-3
    assert (means[:-1] >= 1e-3).all()


@pytest.mark.parametrize("iterations", [0, 4])
def test_it_stops_when_the_iterations_are_used_up(iterations: int) -> None:
    found = OwlQn(iterations=iterations, tolerance=0).minimise(logistic(), np.zeros(50), 0.02)
    assert (found.reason, found.iterations) == (Reason.ITERATIONS, iterations)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_start_that_is_not_finite_is_an_error(bad: float) -> None:
    with pytest.raises(LatreeError, match=f"at the start the value is {bad}"):
        OwlQn().minimise(lambda x: (bad, x), np.ones(2), 1.0)
    with pytest.raises(LatreeError, match="gradient not finite"):
        OwlQn().minimise(lambda x: (1.0, np.array([bad, 1.0])), np.ones(2), 1.0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["value", "gradient"])
def test_what_is_not_finite_is_too_far(bad: float, where: str) -> None:
    """x - log x is defined for positive x only; its minimum with the penalty is 1 / (1 + strength)."""

    def f(x: Floats) -> tuple[float, Floats]:
        if (x <= 0).any():
            return (bad, np.ones_like(x)) if where == "value" else (-1e9, np.full_like(x, bad))
        return float((x - np.log(x)).sum()), 1 - 1 / x

    found, seen = watched(EXACT, f, np.array([30.0, 1e-3]), np.array([0.0, 0.5]))
    assert found.x == pytest.approx([1, 1 / 1.5], rel=1e-5)
    assert found.evaluations > found.iterations + 1
    assert all(np.isfinite(i.objective) for i in seen)


def test_after_a_failed_line_search_it_goes_on_as_if_it_had_just_started() -> None:
    """After eight steps the function hides behind NaN for one line search: as if the memory had misled it."""
    f, hiding = logistic(rows=400, columns=10), 0
    seen: list[Iteration] = []

    def sulking(x: Floats) -> tuple[float, Floats]:
        nonlocal hiding
        hiding -= 1
        return f(x) if hiding < 0 else (np.nan, np.zeros_like(x))

    def watch(iteration: Iteration) -> None:
        nonlocal hiding
        seen.append(iteration)
        hiding = TRIALS if iteration.number == 8 else 0

    found = EXACT.minimise(sulking, np.full(10, 0.5), 0.001, watch)
    afresh, steps = watched(EXACT, f, seen[8].x, 0.001)
    assert [i.x.tolist() for i in seen[8:]] == [i.x.tolist() for i in steps]
    assert found.objective == afresh.objective == pytest.approx(split_minimum(f, 10, 0.001), rel=1e-9)


def test_a_line_search_that_fails_twice_ends_the_run_where_it_stood() -> None:
    f = logistic()
    seen: list[Iteration] = []

    def mute(x: Floats) -> tuple[float, Floats]:
        return f(x) if len(seen) < 4 else (np.nan, x)

    found = EXACT.minimise(mute, np.zeros(50), 0.02, seen.append)
    assert (found.reason, found.iterations) == (Reason.STUCK, 3)
    assert found.x.tolist() == seen[-1].x.tolist()
    assert found.evaluations <= 10 + 2 * TRIALS


def test_a_function_without_a_minimum_goes_on_quietly() -> None:
    """Labels that can be told apart, without a penalty: weights grow for ever, and gradients underflow."""
    found = EXACT.minimise(logistic(rows=40), np.zeros(50), 0.0)
    assert found.reason == Reason.OPTIMAL
    assert 0 < found.violation < 1e-150
    assert np.isfinite(found.x).all()


def test_a_gradient_that_lies_stops_where_it_stood() -> None:
    f = quadratic([3.0, -2.0])
    found = OwlQn().minimise(lambda x: (f(x)[0], -f(x)[1]), np.ones(2), 0.1)
    assert (found.reason, found.iterations) == (Reason.STUCK, 0)
    assert found.evaluations <= 1 + TRIALS
    assert found.x.tolist() == [1, 1]
    assert found.violation > 1


@pytest.mark.parametrize("strength", [-1.0, np.nan, np.inf, [1.0, -1.0], [1.0, 1.0, 1.0], [[1.0, 1.0]]])
def test_strengths_that_make_no_sense(strength: Any) -> None:
    with pytest.raises(LatreeError, match="L1 strengths"):
        OwlQn().minimise(quadratic([1.0, 2.0]), np.zeros(2), np.asarray(strength))


def test_violations_by_hand() -> None:
    x, gradient = np.array([0.0, 0.0, 2.0, -2.0, 5.0]), np.array([0.9, -1.5, -1.0, 1.25, 0.25])
    assert subgradient_violation(x[:1], gradient[:1], 1.0) == 0
    assert subgradient_violation(x[:2], gradient[:2], 1.0) == 0.5
    assert subgradient_violation(x[2:3], gradient[2:3], 1.0) == 0
    assert subgradient_violation(x[3:4], gradient[3:4], 1.0) == 0.25
    assert subgradient_violation(x, gradient, np.array([1.0, 1.5, 1.0, 1.25, 0.0])) == 0.25


@pytest.mark.parametrize("strength", [0.003, 0.02, 0.1])
def test_it_is_as_good_as_liblbfgs(strength: float) -> None:
    lbfgs = pytest.importorskip("lbfgs")
    f, rounds, calls = logistic(rows=1000, columns=300), [0], [0]

    def fill(x: Floats, gradient: Floats) -> float:
        calls[0] += 1
        value, gradient[:] = f(x)
        return value

    def progress(*state: Any) -> None:
        rounds[0] = state[6]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # not ours
        x = lbfgs.fmin_lbfgs(
            fill, np.zeros(300), progress, orthantwise_c=strength, line_search="wolfe", m=10, epsilon=1e-7
        )
    ours, theirs = EXACT.minimise(f, np.zeros(300), strength), with_penalty(f, x, strength)
    print(f"\n{strength}: latree {ours.objective:.12f}, {ours.iterations} iterations, {ours.evaluations} evaluations")
    print(f"  libLBFGS {theirs:.12f}, {rounds[0]} iterations, {calls[0]} evaluations")
    assert ours.objective == pytest.approx(theirs, rel=1e-9)
    assert (ours.x != 0).tolist() == (x != 0).tolist()
    assert ours.x == pytest.approx(x, abs=1e-4)
