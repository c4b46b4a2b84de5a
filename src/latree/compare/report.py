"""The report on a comparison of grammars: its tables, and the two plots of Petrov (2009), figure 2."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from latree.compare.comparison import Comparison, Matrix, Spent
from latree.report.value import Bars, Block, Cell, Column, Dot, Report, Scatter, Section, Table, legible

Measure = Literal["parameters", "subtypes"]
BARS = 12  # categories of a plot
NAME = 40  # letters of a model's, or a label's, name
FOOTER = "The figures are those of Petrov (2009), section 3; docs/compare.md says how each is counted."


def comparison_report(comparison: Comparison, gold: str) -> Report:
    """The whole report; `gold` is what the trees are called."""
    k, reason = comparison["kbest"], comparison["no_product"]
    facts = [("gold trees", f"{comparison['sentences']} of {gold}"), ("lists", f"up to {k} trees a sentence")]
    facts += [("no product", reason)] if reason else []
    names = [str(model["name"]) for model in comparison["models"]]
    grammars = names if reason else names[:-1]
    parts: dict[str, Iterable[Block]] = {
        "Models": _models(comparison),
        "Overlap": _overlaps(comparison, names),
        "Errors": _errors(comparison, names),
        "Complexity": (*_allocation_plot(comparison, grammars), *_complexity(comparison, grammars)),
    }
    return Report(
        legible(f"Comparison of {', '.join(grammars)}", 200),
        tuple(facts),
        sections=tuple(Section(title, title.lower(), blocks=tuple(blocks)) for title, blocks in parts.items()),
        footer=FOOTER,
    )


def _table(title: str, heads: Sequence[str], rows: Iterable[Sequence[Cell]], pattern: str = "{:.2f}") -> Table:
    """Names in the first column, and figures; whole numbers are written in groups of three digits."""
    columns = (Column(heads[0]), *(Column(legible(head, NAME), pattern, "figure") for head in heads[1:]))
    cells = (tuple(f"{cell:,}" if isinstance(cell, int) else cell for cell in row) for row in rows)
    return Table(columns, tuple((legible(str(name), NAME), *rest) for name, *rest in cells), title)


def _models(comparison: Comparison) -> Iterator[Block]:
    """How right the models are as a whole, how large, and how fast; and F1 against the number of parameters."""
    about = "EVALB's count, then the strict F1 of the best trees and of the best choice from each list; in per cent"
    heads = ["model", "F1", "exact", "tags", "skip", "F1 strict", f"oracle@{comparison['kbest']}", "stand-ins"]
    keys = ["name", "f1", "exact", "tag_accuracy", "skipped", "f1_strict", "oracle_f1", "stand_ins"]
    yield _table(f"accuracy: {about}", heads, ([model[key] for key in keys] for model in comparison["models"]))
    about = "production parameters that are not zero, words not counted; subtypes of all symbols"
    heads = ["model", "kind", "parameters", "subtypes", "sentences a CPU second"]
    keys = ["name", "kind", "parameters", "subtypes", "sentences_per_cpu_second"]
    rows = ([model[key] for key in keys] for model in comparison["models"])
    yield _table(f"size and speed: {about}", heads, rows, "{:.0f}")
    drawn = [(place, model) for place, model in enumerate(comparison["models"]) if model["parameters"]]
    tip = "{name}: F1 {f1:.2f}, {parameters:,} parameters"
    dots = tuple(Dot(model["parameters"], model["f1"], place, tip.format(**model)) for place, model in drawn)
    key = tuple((place, legible(model["name"], NAME)) for place, model in drawn)
    if dots:
        title = "Accuracy against the number of production parameters"
        yield Scatter(title, dots, measures=("production parameters", "F1"), key=key)


def _overlaps(comparison: Comparison, names: list[str]) -> Iterator[Table]:
    """How far models agree: on best trees, and on lists."""
    k, about = comparison["kbest"], "sentences of which two models give the same best tree, in per cent"
    yield _matrix(f"same best tree: {about}", comparison["same_best"], names)
    about = f"trees of the {k} best that are in the other's list too, in per cent of the shorter list"
    yield _matrix(f"shared among the {k} best: {about}", comparison["shared_lists"], names)


def _matrix(title: str, values: Matrix, names: list[str]) -> Table:
    rows: list[list[Cell]] = [[name, *(100 * value for value in row)] for name, row in zip(names, values, strict=True)]
    return _table(title, ["model", *names], rows, "{:.1f}")


def _errors(comparison: Comparison, names: list[str]) -> Iterator[Table]:
    """Where the models err: by label, the most frequent first, and by the length of sentences."""
    models = comparison["models"]
    gold = {label: counts["gold"] for model in models for label, counts in model["by_label"].items()}
    labels = (
        [label, gold[label], *(model["by_label"].get(label, {}).get("f1") for model in models)]
        for label in sorted(gold, key=lambda label: (-gold[label], label))
    )
    yield _table("F1 by label: strict: brackets of each label", ["label", "gold", *names], labels)
    lengths = (
        [name, group["sentences"], *(model["by_length"][name]["f1_strict"] for model in models)]
        for name, group in models[0]["by_length"].items()
    )
    yield _table("F1 by length: strict: sentences of so many words", ["words", "n", *names], lengths)


# -- complexity


def _complexity(comparison: Comparison, names: list[str]) -> Iterator[Table]:
    """What the models spend on phrases, and on tags, of which few have productions."""
    phrases, tags = comparison["complexity"]["phrases"], comparison["complexity"]["tags"]
    about = "production parameters with this parent, parts of phrases counted with their phrase; subtypes without parts"
    yield _spent(f"complexity of phrases: {about}", phrases, names, ("parameters", "subtypes"))
    productive = any(any(spent["parameters"]) for spent in tags.values())
    yield _spent(
        "complexity of tags: subtypes", tags, names, ("parameters", "subtypes") if productive else ("subtypes",)
    )


def _spent(title: str, categories: Mapping[str, Spent], names: list[str], measures: tuple[Measure, ...]) -> Table:
    heads = ["category", *(f"{name} {measure}" for measure in measures for name in names)]
    rows = (
        [label, *(number for measure in measures for number in spent[measure])] for label, spent in categories.items()
    )
    return _table(title, heads, rows)


def _allocation_plot(comparison: Comparison, names: list[str]) -> list[Block]:
    """The share of each model's production parameters that its categories have, side by side."""
    phrases = [*comparison["complexity"]["phrases"].items()][:BARS]
    series = tuple(
        (place, legible(name, NAME), tuple(100 * spent["parameters"][place] / whole for _, spent in phrases))
        for place, name in enumerate(names)
        if (whole := comparison["models"][place]["parameters"])
    )
    title, unit = "How production parameters are allotted to categories", "% of the model's production parameters"
    return [Bars(title, unit, tuple(label for label, _ in phrases), series)] if series and phrases else []
