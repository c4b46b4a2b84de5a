"""The report on learning curves: how accuracy grows with examples, and what more of them would bring."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import fmean

import numpy as np

from latree.experiments.learning_curves import BEYOND, POINT, Curve, LearningCurves, deviation
from latree.experiments.power_law import Extrapolation, Interval
from latree.report.value import Block, Cell, Column, Paragraph, Report, Section, Table, Trend, Trends, legible

NAME = 60  # letters of a recipe
STEPS = 60  # of a drawn curve
FOOTER = (
    "Beyond what was measured: accuracy = limit - loss * n^-rate, by weighted least squares; intervals are of 95 %, by "
    "fits to measurements drawn anew from their spread.  They hold if the curve goes on as it began."
)


def learning_curves_report(found: LearningCurves, treebank: str, dev: str) -> Report:
    """The whole report; `treebank` and `dev` are what the examples are called."""
    facts = [("examples", f"{found.examples:,} of {treebank}"), ("scored on", f"{found.held_out:,} of {dev}")]
    parts = {"Curve": _curve(found), "More examples": _more(found)}
    sections = tuple(Section(title, title.lower().replace(" ", "-"), blocks=tuple(p)) for title, p in parts.items())
    return Report(legible(f"Learning curve of {treebank}", 200), tuple(facts), sections=sections, footer=FOOTER)


def learning_curve_plot(found: LearningCurves) -> Trends:
    """All curves with their spread, continued where that is known."""
    series = tuple(_trend(k, curve) for k, curve in enumerate(found.curves))
    return Trends(f"{found.measure} by the number of examples", "examples to learn from", found.measure, series)


def _trend(colour: int, curve: Curve) -> Trend:
    runs = tuple((float(size), tuple(values)) for size, values in zip(curve.sizes, curve.runs, strict=True))
    fitted = curve.extrapolation
    if isinstance(fitted, str):
        return Trend(colour, curve.recipe.text, runs)
    ends = math.log(curve.sizes[0]), math.log(BEYOND[-1] * fitted.seen)
    places = np.union1d(np.exp(np.linspace(*ends, STEPS)), [fitted.seen]).tolist()
    told = [(place, fitted.accuracy(place)) for place in places]
    line = tuple((place, one.value) for place, one in told)
    return Trend(colour, curve.recipe.text, runs, line, tuple((place, one.low, one.high) for place, one in told))


def _curve(found: LearningCurves) -> Iterator[Block]:
    names = [legible(curve.recipe.text, NAME) for curve in found.curves]
    columns = (Column("examples", kind="figure"), *(Column(name, kind="figure") for name in names))
    by_size = zip(*([_told(values) for values in curve.runs] for curve in found.curves), strict=True)
    rows = tuple((f"{size:,}", *row) for size, row in zip(found.curves[0].sizes, by_size, strict=True))
    yield Table(columns, rows, f"{found.measure}, mean ± standard deviation over random parts")
    yield learning_curve_plot(found)


def _told(values: list[float]) -> str:
    spread = deviation(values)
    return f"{fmean(values):.2f}" + ("" if spread is None else f" ± {spread:.2f}")


def _more(found: LearningCurves) -> Iterator[Block]:
    """A row a recipe whose curve is known, a sentence for each of the others."""
    heads = ["recipe", *(f"{times} times as many" for times in BEYOND), f"examples for {POINT:g} point more", "limit"]
    fits = [(legible(curve.recipe.text, NAME), curve.extrapolation) for curve in found.curves]
    rows = tuple(_beyond(name, one) for name, one in fits if not isinstance(one, str))
    if rows:
        columns = (Column(heads[0]), *(Column(head, kind="figure") for head in heads[1:]))
        yield Table(columns, rows, f"{found.measure} to be expected, and its 95 % interval")
    yield from (Paragraph(f"{name}: not continued: {one}") for name, one in fits if isinstance(one, str))


def _beyond(name: str, one: Extrapolation) -> tuple[Cell, ...]:
    accuracies = (_interval(one.accuracy(times * one.seen), "{:.2f}") for times in BEYOND)
    more = _interval(one.more_for(POINT), "{:+,.0f}")
    return (name, *accuracies, more, _interval(one.limit, "{:.1f}"))


def _interval(one: Interval, pattern: str) -> str:
    """A value and between what it lies; what no number of examples gives is said so."""
    value, low, high = (pattern.format(number) if math.isfinite(number) else "never" for number in one)
    return value if value == low == high else f"{value} ({low} to {high})"
