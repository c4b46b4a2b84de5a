"""The report on a cross-validation."""

from __future__ import annotations

from collections.abc import Iterator

from latree.experiments.cross_validation import CrossValidation, Difference
from latree.report.value import Block, Column, Lines, Report, Section, Table, legible

NAME = 60  # letters of a recipe
FOOTER = (
    "A fold is a block of neighbouring sentences.  Differences: strict counts of all folds together, intervals and "
    "p-values by a paired bootstrap over sentences; they tell how far another text may lie, not other trainings."
)


def cross_validation_report(found: CrossValidation, treebank: str) -> Report:
    """The whole report; `treebank` is what the examples are called."""
    seeds = max(len(runs) for folds in found.results for runs in folds)
    sizes = sorted({len(fold) for fold in found.folds})
    facts = [("examples", f"{found.folds[-1].stop:,} of {treebank}")]
    facts += [("folds", f"{len(found.folds)}, each a block of {' or '.join(f'{size:,}' for size in sizes)}")]
    facts += [("seeds", str(seeds))] if seeds > 1 else []
    parts: dict[str, list[Block]]
    parts = {"Accuracy": [_accuracy(found)], "Differences": list(_differences(found)), "Folds": list(_folds(found))}
    sections = (Section(title, title.lower(), blocks=tuple(blocks)) for title, blocks in parts.items() if blocks)
    title = legible(f"Cross-validation on {treebank}", 200)
    return Report(title, tuple(facts), sections=tuple(sections), footer=FOOTER)


def _accuracy(found: CrossValidation) -> Table:
    """A row a recipe: mean and standard deviation over folds of every measure."""
    columns = (Column("recipe"), *(Column(name, kind="figure") for name in found.measures.values()))
    rows = (
        (legible(recipe.text, NAME), *(_told(*found.spread(k, measure)) for measure in found.measures))
        for k, recipe in enumerate(found.recipes)
    )
    return Table(columns, tuple(rows), "mean ± standard deviation over folds, in per cent, as `latree eval` counts")


def _told(mean: float, deviation: float) -> str:
    return f"{mean:.2f} ± {deviation:.2f}"


def _differences(found: CrossValidation) -> Iterator[Table]:
    """A row a pair of recipes."""
    differences = found.differences()
    heads = ["points", "from", "to", "p"] + (["p of all (Holm)"] if len(differences) > 1 else [])
    columns = (Column("recipe"), Column("against"), *(Column(head, "{:+.2f}", "figure") for head in heads))
    title = f"{found.counted} over all folds: difference, 95 % interval, and how likely one as large is by chance"
    if differences:
        yield Table(columns, tuple(_difference(one)[: len(columns)] for one in differences), title)


def _difference(one: Difference) -> tuple[str | float, ...]:
    names = legible(one.second, NAME), legible(one.first, NAME)
    p_values = (f"{p_value:.4f}" for p_value in (one.test.p_value, one.p_value))
    return (*names, one.test.difference, one.test.low, one.test.high, *p_values)


def _folds(found: CrossValidation) -> Iterator[Block]:
    """The figure that recipes are judged by, fold by fold."""
    measure, name = next(iter(found.measures.items()))
    names = tuple(legible(recipe.text, NAME) for recipe in found.recipes)
    values = [found.by_fold(k, measure) for k in range(len(names))]
    columns = (Column("fold"), Column("examples"), *(Column(recipe, "{:.2f}", "figure") for recipe in names))
    spans = (f"{fold.start + 1:,}-{fold.stop:,}" for fold in found.folds)
    rows = ((str(number), span, *row) for number, (span, *row) in enumerate(zip(spans, *values, strict=True), start=1))
    yield Table(columns, tuple(rows), f"{name} of each fold")
    numbers = tuple(str(k + 1) for k in range(len(found.folds)))
    runs = (tuple(tuple(one["figures"][measure] for one in seeds) for seeds in folds) for folds in found.results)
    yield Lines(f"{name} by fold", "fold", name, numbers, tuple(zip(range(len(names)), names, runs, strict=True)))
