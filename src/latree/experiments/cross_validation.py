"""Cross-validation: every example is held out once, from models that learned from the others.

A fold is a block of neighbours, not every tenth example: sentences of one document share names, words and turns, and a
model that learned from the sentences before and after one does better on it than it would on a new text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, NamedTuple

from latree.errors import LatreeError
from latree.experiments.recipes import Recipe, recipes_of
from latree.experiments.trials import Laboratory, Result, Trial, Watch, measures, read_examples, unwatched
from latree.scoring.score import Comparison, Triple, compare

if TYPE_CHECKING:
    from latree.parallel import Jobs


class Spread(NamedTuple):
    """A figure over folds."""

    mean: float
    deviation: float


class Difference(NamedTuple):
    """Whether two recipes differ, by a paired bootstrap over the sentences of all folds."""

    first: str
    second: str
    test: Comparison  # second minus first, in points
    p_value: float  # of all differences that are told together (Holm 1979)


@dataclass(frozen=True)
class CrossValidation:
    """What came of all folds."""

    recipes: list[Recipe]
    folds: list[range]  # places of the examples that are held out
    results: list[list[list[Result]]]  # [recipes][folds][seeds]

    @property
    def measures(self) -> dict[str, str]:
        """Names of the figures, as data and for people."""
        return measures(tags=self.recipes[0].tags)

    @property
    def counted(self) -> str:
        """What differences are counted in, for people."""
        return "tags" if self.recipes[0].tags else "F1 strict"

    def by_fold(self, recipe: int, measure: str) -> list[float]:
        """A figure of every fold, the mean over seeds."""
        return [fmean(one["figures"][measure] for one in seeds) for seeds in self.results[recipe]]

    def spread(self, recipe: int, measure: str) -> Spread:
        """Mean and standard deviation of a figure over folds."""
        values = self.by_fold(recipe, measure)
        return Spread(fmean(values), stdev(values))

    def counts(self, recipe: int) -> list[Triple]:
        """The counts of every sentence, summed over as many seeds as the recipe with most has."""
        most = max(len(seeds) for folds in self.results for seeds in folds)
        return [one for seeds in self.results[recipe] for one in _summed(seeds, most)]

    def differences(self) -> list[Difference]:
        """Every pair of recipes."""
        pairs = list(combinations(range(len(self.recipes)), 2))
        tests = [compare(self.counts(one), self.counts(two)) for one, two in pairs]
        p_values = holm([test.p_value for test in tests])
        names = [recipe.text for recipe in self.recipes]
        rows = zip(pairs, tests, p_values, strict=True)
        return [Difference(names[one], names[two], test, p_value) for (one, two), test, p_value in rows]

    def to_json(self) -> dict[str, Any]:
        """All figures, by the names that `latree eval --json` has."""
        return {
            "sentences": self.folds[-1].stop,
            "folds": [{"first": fold.start + 1, "last": fold.stop} for fold in self.folds],
            "recipes": [self._recipe_json(k) for k in range(len(self.recipes))],
            "differences": [
                {"first": one.first, "second": one.second} | one.test.to_json() | {"p_value_holm": one.p_value}
                for one in self.differences()
            ],
        }

    def _recipe_json(self, recipe: int) -> dict[str, Any]:
        spreads = {measure: self.spread(recipe, measure)._asdict() for measure in self.measures}
        runs = [[one["figures"] for one in seeds] for seeds in self.results[recipe]]
        return {"recipe": self.recipes[recipe].text, **spreads, "folds": runs}


def _summed(seeds: Sequence[Result], most: int) -> list[Triple]:
    """Add up the counts of a fold's sentences; a recipe without seeds does the same every time."""
    times = most // len(seeds)
    rows = zip(*(one["counts"] for one in seeds), strict=True)
    sums = ([times * sum(numbers) for numbers in zip(*row, strict=True)] for row in rows)
    return [(matched, gold, test) for matched, gold, test in sums]


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values that are told together, so that one is below a level by chance no oftener than it says."""
    adjusted, highest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = highest
    return adjusted


def blocks(count: int, folds: int) -> list[range]:
    """Split so many examples into blocks of neighbours that differ in size by one at most."""
    if not 2 <= folds <= count:
        raise LatreeError(f"{count} examples make from 2 to {count} folds, not {folds}")
    ends = [count * k // folds for k in range(folds + 1)]
    return [range(start, end) for start, end in pairwise(ends)]


def cross_validate(
    models: Any,
    examples: Any,
    folds: int = 10,
    *,
    seeds: int = 1,
    jobs: Jobs = 1,
    resume: Path | None = None,
    watch: Watch = unwatched,
) -> CrossValidation:
    """Train models like the given ones, which may be untrained, on all folds but one, and score them on that.

    `examples` are trees, or for taggers (words, tags), or the path of a file that has them.  Models that draw at random
    are trained with so many `seeds`.  What is done is kept in the file `resume`, and not done again.
    """
    recipes = recipes_of(models)
    examples = read_examples(recipes[0], examples)
    parts = blocks(len(examples), folds)
    trials = [
        Trial(recipe, seed, [k for k in range(len(examples)) if k not in part], part)
        for recipe, part, seed in _trainings(recipes, parts, seeds)
    ]
    results = iter(list(watch(Laboratory(examples, jobs, resume).run(trials), len(trials))))
    table = [[[next(results) for _ in recipe.seeds(seeds)] for _ in parts] for recipe in recipes]
    return CrossValidation(recipes, parts, table)


def _trainings(recipes: Sequence[Recipe], parts: Sequence[range], seeds: int) -> Iterator[tuple[Recipe, range, int]]:
    for recipe in recipes:
        for part in parts:
            yield from ((recipe, part, seed) for seed in recipe.seeds(seeds))
