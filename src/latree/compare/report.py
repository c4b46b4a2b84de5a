"""The report on a comparison of grammars: its tables, and the two plots of Petrov (2009), figure 2."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from latree.arrays import Floats
from latree.compare.comparison import Category, GrammarComparison, ModelFigures
from latree.report.value import Bars, Block, Cell, Column, Dot, Report, Scatter, Section, Table, legible

BARS = 12  # categories of a plot
NAME = 40  # letters of a model's, or a label's, name
FOOTER = "The figures are those of Petrov (2009), section 3; docs/compare.md says how each is counted."


def comparison_report(comparison: GrammarComparison, gold: str) -> Report:
    """The whole report; `gold` is what the trees are called."""
    facts = [("gold trees", f"{comparison.sentences} of {gold}"), ("lists", f"up to {comparison.k} trees a sentence")]
    facts += [("no product", comparison.no_product)] if comparison.no_product else []
    parts: dict[str, Iterable[Block]] = {
        "Models": (accuracy(comparison), size(comparison), *_accuracy_plot(comparison.models)),
        "Overlap": overlaps(comparison),
        "Errors": (labels(comparison), lengths(comparison)),
        "Complexity": (*_allocation_plot(comparison), *_spending(comparison)),
    }
    return Report(
        legible(f"Comparison of {', '.join(model.name for model in comparison.grammars)}", 200),
        tuple(facts),
        sections=tuple(Section(title, title.lower(), blocks=tuple(blocks)) for title, blocks in parts.items()),
        footer=FOOTER,
    )


# -- tables


def _table(
    title: str, about: str, heads: Sequence[str], rows: Iterable[Sequence[Cell]], pattern: str = "{:.2f}"
) -> Table:
    """Names in the first column, and figures; whole numbers are written in groups of three digits."""
    columns = (Column(heads[0]), *(Column(legible(head, NAME), pattern, "figure") for head in heads[1:]))
    cells = (tuple(f"{cell:,}" if isinstance(cell, int) else cell for cell in row) for row in rows)
    named = tuple((legible(str(name), NAME), *rest) for name, *rest in cells)
    return Table(columns, named, title, about)


def accuracy(comparison: GrammarComparison) -> Table:
    """How right the models are as a whole."""
    heads = ["model", "F1", "exact", "tags", "skip", "F1 strict", f"oracle@{comparison.k}", "stand-ins"]
    about = "EVALB's count, then the strict F1 of the best trees and of the best choice from each list; in per cent"
    return _table("accuracy", about, heads, map(_accuracy_row, comparison.models))


def _accuracy_row(model: ModelFigures) -> list[Cell]:
    evalb, strict = model.scores.evalb, model.scores.strict
    rates = [evalb.f1, evalb.exact, evalb.tag_accuracy, evalb.errors + evalb.skips, strict.f1]
    return [model.name, *rates, model.oracle_f1, model.stand_ins]


def size(comparison: GrammarComparison) -> Table:
    """How large the models are, and how fast."""
    heads = ["model", "kind", "parameters", "subtypes", "sentences a CPU second"]
    about = "production parameters that are not zero, words not counted; subtypes of all symbols"
    spent = ((model, model.complexity) for model in comparison.models)
    rows = ([model.name, model.kind, one.all_parameters, one.all_subtypes, model.speed] for model, one in spent)
    return _table("size and speed", about, heads, rows, "{:.0f}")


def overlaps(comparison: GrammarComparison) -> Iterator[Table]:
    """How far models agree: on best trees, and on lists."""
    same, shared, k = comparison.same_best, comparison.shared_lists, comparison.k
    about = "sentences of which two models give the same best tree, in per cent"
    yield _matrix("same best tree", about, same, comparison.names)
    about = f"trees of the {k} best that are in the other's list too, in per cent of the shorter list"
    yield _matrix(f"shared among the {k} best", about, shared, comparison.names)


def _matrix(title: str, about: str, values: Floats, names: list[str]) -> Table:
    rows = ([name, *row] for name, row in zip(names, (100 * values).tolist(), strict=True))
    return _table(title, about, ["model", *names], rows, "{:.1f}")


def labels(comparison: GrammarComparison) -> Table:
    """Where the models err."""
    by_label = [model.scores.labels.to_json() for model in comparison.models]
    rows = (
        [label, gold, *(scores[label]["f1"] if label in scores else None for scores in by_label)]
        for label, gold in comparison.labels().items()
    )
    return _table("F1 by label", "strict: brackets of each label", ["label", "gold", *comparison.names], rows)


def lengths(comparison: GrammarComparison) -> Table:
    """Where the models err, by the length of sentences."""
    by_length = [model.scores.to_json()["by_length"] for model in comparison.models]
    rows = (
        [name, group["sentences"], *(scores[name]["f1_strict"] for scores in by_length)]
        for name, group in by_length[0].items()
    )
    return _table("F1 by length", "strict: sentences of so many words", ["words", "n", *comparison.names], rows)


def _spending(comparison: GrammarComparison) -> Iterator[Table]:
    """What the models spend on phrases, and on tags, of which few have productions."""
    about = "production parameters with this parent, parts of phrases counted with their phrase; subtypes without parts"
    yield _spent("complexity of phrases", about, comparison, comparison.categories(tags=False), True)
    tags = comparison.categories(tags=True)
    productive = any(one in model.complexity.parameters for one in tags for model in comparison.grammars)
    yield _spent("complexity of tags", "subtypes", comparison, tags, productive)


def _spent(
    title: str, about: str, comparison: GrammarComparison, categories: Sequence[Category], with_parameters: bool
) -> Table:
    models = comparison.grammars
    spent: list[tuple[str, Any]] = [(f"{one.name} subtypes", one.complexity.subtypes) for one in models]
    if with_parameters:
        spent = [(f"{one.name} parameters", one.complexity.parameters) for one in models] + spent
    rows = (
        [one.label, *(None if numbers is None else numbers.get(one, 0) for _, numbers in spent)] for one in categories
    )
    return _table(title, about, ["category", *(head for head, _ in spent)], rows)


# -- plots


def _accuracy_plot(models: Sequence[ModelFigures]) -> list[Block]:
    """F1 against the number of parameters."""
    sized = [(place, model, model.complexity.all_parameters) for place, model in enumerate(models)]
    dots = tuple(
        Dot(size, model.scores.evalb.f1, place, f"{model.name}: F1 {model.scores.evalb.f1:.2f}, {size:,} parameters")
        for place, model, size in sized
        if size
    )
    key = tuple((place, legible(model.name, NAME)) for place, model, size in sized if size)
    title = "Accuracy against the number of production parameters"
    return [Scatter(title, dots, measures=("production parameters", "F1"), key=key)] if dots else []


def _allocation_plot(comparison: GrammarComparison) -> list[Block]:
    """The share of each model's production parameters that its categories have, side by side."""
    categories = comparison.categories(tags=False)[:BARS]
    spent = ((place, model.name, model.complexity) for place, model in enumerate(comparison.grammars))
    series = tuple(
        (place, legible(name, NAME), tuple(100 * one.parameters.get(c, 0) / one.all_parameters for c in categories))
        for place, name, one in spent
        if one.all_parameters
    )
    title = "How production parameters are allotted to categories"
    names = tuple(category.label for category in categories)
    return [Bars(title, "% of the model's production parameters", names, series)] if series and names else []
