"""Accuracy by the number of examples that models learn from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

import numpy as np

from latree.errors import LatreeError
from latree.experiments.power_law import Extrapolation, extrapolate
from latree.experiments.recipes import Recipe, recipes_of
from latree.experiments.trials import Laboratory, Result, Trial, Watch, measures, read_examples, unwatched

if TYPE_CHECKING:
    from latree.parallel import Jobs

SHARES = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)  # of the examples, by default
HELD_OUT = 10  # one of so many parts is held out where there is no dev set
BEYOND = (2, 4)  # times all examples, to which curves are continued
POINT = 1.0  # whose price is told


@dataclass(frozen=True)
class Curve:
    """How a recipe does by the number of examples."""

    recipe: Recipe
    sizes: list[int]
    results: list[list[Result]]  # [sizes][subsets]
    measure: str

    @property
    def runs(self) -> list[list[float]]:
        """[sizes][subsets] the figure that models are judged by."""
        return [[one["figures"][self.measure] for one in results] for results in self.results]

    @property
    def extrapolation(self) -> Extrapolation | str:
        """What lies beyond, or why that is not known."""
        return extrapolate(self.sizes, self.runs)

    def to_json(self) -> dict[str, Any]:
        figures = [[one["figures"] for one in results] for results in self.results]
        points = [
            {"size": size, "mean": fmean(values), "deviation": deviation(values), "runs": runs}
            for size, values, runs in zip(self.sizes, self.runs, figures, strict=True)
        ]
        return {"recipe": self.recipe.text, "points": points, "extrapolation": _beyond_json(self.extrapolation)}


def deviation(values: Sequence[float]) -> float | None:
    """The standard deviation; nothing of one value."""
    return stdev(values) if len(values) > 1 else None


def _beyond_json(one: Extrapolation | str) -> dict[str, Any]:
    if isinstance(one, str):
        return {"reason": one}
    limit, loss, rate = map(float, one.law)
    beyond = [{"size": int(times * one.seen)} | one.accuracy(times * one.seen)._asdict() for times in BEYOND]
    more = {name: number if math.isfinite(number) else None for name, number in one.more_for(POINT)._asdict().items()}
    return {"limit": limit, "loss": loss, "rate": rate, "beyond": beyond, "more_for_a_point": more}


@dataclass(frozen=True)
class LearningCurves:
    """The curves of some recipes on the same held-out examples."""

    curves: list[Curve]
    examples: int  # to learn from
    held_out: int

    @property
    def measure(self) -> str:
        """What the figure is called for people."""
        return measures(tags=self.curves[0].recipe.tags)[self.curves[0].measure]

    def to_json(self) -> dict[str, Any]:
        """All figures; a number of examples is null where none would do."""
        curves = [curve.to_json() for curve in self.curves]
        return {"examples": self.examples, "held_out": self.held_out, "measure": self.measure, "curves": curves}


def default_sizes(count: int) -> list[int]:
    """Halves of halves of all examples."""
    return sorted({max(1, round(share * count)) for share in SHARES})


def learning_curve(
    models: Any,
    examples: Any,
    dev: Any = None,
    *,
    sizes: Sequence[int] | None = None,
    seeds: int = 3,
    jobs: Jobs = 1,
    resume: Path | None = None,
    watch: Watch = unwatched,
) -> LearningCurves:
    """Train models like the given ones on random parts of the examples, and score them on `dev`.

    For each of the `seeds` the examples are put into a random order, of which a smaller part begins the larger ones.
    Without `dev`, the last tenth of the examples, as they stand, is held out.
    """
    recipes = recipes_of(models)
    train = read_examples(recipes[0], examples)
    if dev is None:
        dev, train = train[-(len(train) // HELD_OUT) :], train[: -(len(train) // HELD_OUT)]
    held_out = read_examples(recipes[0], dev)
    chosen = checked_sizes(default_sizes(len(train)) if sizes is None else sizes, len(train), len(held_out))
    places = range(len(train), len(train) + len(held_out))
    trials = [
        Trial(recipe, seed, subset(len(train), size, draw), places)
        for recipe in recipes
        for size in chosen
        for draw, seed in enumerate(_seeds(recipe, seeds))
    ]
    results = iter(list(watch(Laboratory([*train, *held_out], jobs, resume).run(trials), len(trials))))
    measure = next(iter(measures(tags=recipes[0].tags)))
    curves = [
        Curve(recipe, chosen, [_distinct([next(results) for _ in range(seeds)]) for _ in chosen], measure)
        for recipe in recipes
    ]
    return LearningCurves(curves, len(train), len(held_out))


def _distinct(results: list[Result]) -> list[Result]:
    """Results of different work; the same model of all examples, trained for every seed, is one."""
    return results[:1] if all(one is results[0] for one in results) else results


def _seeds(recipe: Recipe, count: int) -> list[int]:
    """A seed a subset; all the same where they change nothing, so that the same work is done once."""
    return recipe.seeds(count) if recipe.draws else recipe.seeds(1) * count


def subset(count: int, size: int, draw: int) -> list[int]:
    """The places of some of so many examples, those of a smaller size among them; of all, as they stand."""
    return sorted(np.random.default_rng(draw).permutation(count)[:size].tolist())


def checked_sizes(sizes: Sequence[int], count: int, held_out: int) -> list[int]:
    """Sizes in order, none twice, which there are enough examples for."""
    if not count or not held_out:
        raise LatreeError(f"there are {count} examples to learn from and {held_out} to score on; both need some")
    if wrong := [size for size in sizes if not 1 <= size <= count]:
        raise LatreeError(f"there are {count} examples to learn from; a part of {wrong[0]} cannot be drawn from them")
    if not sizes:
        raise LatreeError("name one size or more")
    return sorted(set(sizes))
