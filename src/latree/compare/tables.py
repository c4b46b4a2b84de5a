"""A comparison of grammars as tables of text, for the terminal and the page alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from latree.arrays import Floats
from latree.compare.comparison import Category, GrammarComparison, ModelFigures

NOTHING = "-"  # where there is no figure


@dataclass(frozen=True)
class TextTable:
    """A table to print; the first column is of names, the others are of figures."""

    title: str
    about: str  # what the figures are
    heads: list[str]
    rows: list[list[str]]


def tables(comparison: GrammarComparison) -> Iterator[TextTable]:
    """All of them, in the order in which they are shown."""
    yield accuracy(comparison)
    yield size(comparison)
    yield from overlaps(comparison)
    yield labels(comparison)
    yield lengths(comparison)
    yield phrases(comparison)
    yield tags(comparison)


def accuracy(comparison: GrammarComparison) -> TextTable:
    """How right the models are as a whole."""
    heads = ["model", "F1", "exact", "tags", "skip", "F1 strict", f"oracle@{comparison.k}", "stand-ins"]
    about = "EVALB's count, then the strict F1 of the best trees and of the best choice from each list; in per cent"
    return TextTable("accuracy", about, heads, [_accuracy_row(model) for model in comparison.models])


def _accuracy_row(model: ModelFigures) -> list[str]:
    evalb, strict = model.scores.evalb, model.scores.strict
    skipped = str(evalb.errors + evalb.skips)
    rates = [_rate(evalb.f1), _rate(evalb.exact), _rate(evalb.tag_accuracy), skipped, _rate(strict.f1)]
    return [model.name, *rates, _rate(model.oracle_f1), str(model.stand_ins)]


def size(comparison: GrammarComparison) -> TextTable:
    """How large the models are, and how fast."""
    heads = ["model", "kind", "parameters", "subtypes", "sentences a CPU second"]
    about = "production parameters that are not zero, words not counted; subtypes of all symbols"
    return TextTable("size and speed", about, heads, [_size_row(model) for model in comparison.models])


def _size_row(model: ModelFigures) -> list[str]:
    spent = model.complexity
    return [model.name, model.kind, _number(spent.all_parameters), _number(spent.all_subtypes), f"{model.speed:.0f}"]


def overlaps(comparison: GrammarComparison) -> Iterator[TextTable]:
    """Of best trees and of lists."""
    same, shared = comparison.same_best, comparison.shared_lists
    yield _matrix(
        "same best tree", "sentences of which two models give the same best tree, in per cent", same, comparison
    )
    about = f"trees of the {comparison.k} best that are in the other's list too, in per cent of the shorter list"
    yield _matrix(f"shared among the {comparison.k} best", about, shared, comparison)


def _matrix(title: str, about: str, values: Floats, comparison: GrammarComparison) -> TextTable:
    rows = [
        [name, *(f"{100 * value:.1f}" for value in row)] for name, row in zip(comparison.names, values, strict=True)
    ]
    return TextTable(title, about, ["", *comparison.names], rows)


def labels(comparison: GrammarComparison) -> TextTable:
    """Where the models err."""
    by_label = [model.scores.labels.to_json() for model in comparison.models]
    rows = [
        [label, str(gold), *(_rate(found[label]["f1"]) if label in found else NOTHING for found in by_label)]
        for label, gold in comparison.labels().items()
    ]
    return TextTable("F1 by label", "strict: brackets of each label", ["label", "gold", *comparison.names], rows)


def lengths(comparison: GrammarComparison) -> TextTable:
    """Where the models err, by the length of sentences."""
    by_length = [model.scores.to_json()["by_length"] for model in comparison.models]
    rows = [
        [name, str(group["sentences"]), *(_rate(found[name]["f1_strict"]) for found in by_length)]
        for name, group in by_length[0].items()
    ]
    return TextTable("F1 by length", "strict: sentences of so many words", ["words", "n", *comparison.names], rows)


def phrases(comparison: GrammarComparison) -> TextTable:
    """What the models spend on phrases."""
    about = "production parameters with this parent, parts of phrases counted with their phrase; subtypes without parts"
    return _spent("complexity of phrases", about, comparison, comparison.categories(tags=False), True)


def tags(comparison: GrammarComparison) -> TextTable:
    """What the models spend on tags; few have productions there."""
    found = comparison.categories(tags=True)
    productive = any(one in (model.complexity.parameters or {}) for one in found for model in comparison.grammars)
    return _spent("complexity of tags", "subtypes", comparison, found, productive)


def _spent(
    title: str, about: str, comparison: GrammarComparison, categories: Sequence[Category], with_parameters: bool
) -> TextTable:
    kinds: list[Any] = [("subtypes", [model.complexity.subtypes for model in comparison.grammars])]
    if with_parameters:
        kinds.insert(0, ("parameters", [model.complexity.parameters for model in comparison.grammars]))
    heads = [f"{model.name} {name}" for name, _ in kinds for model in comparison.grammars]
    rows = [
        [
            one.label,
            *(NOTHING if numbers is None else _number(numbers.get(one, 0)) for _, of in kinds for numbers in of),
        ]
        for one in categories
    ]
    return TextTable(title, about, ["category", *heads], rows)


def _rate(value: float) -> str:
    return f"{value:.2f}"


def _number(value: int | None) -> str:
    return NOTHING if value is None else f"{value:,}"
