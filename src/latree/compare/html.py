"""A comparison of grammars as one page for a browser: its tables, and the two plots of Petrov (2009), figure 2.

The page is of the same make as those about one model: it needs nothing but itself, runs no script and asks no network;
every text from models and files is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from latree.compare.comparison import Category, Complexity, GrammarComparison, ModelFigures
from latree.compare.tables import TextTable, accuracy, labels, lengths, overlaps, phrases, size, tags
from latree.kinds.showcase_html import LONGEST_NAME, Page, escaped

_STYLE = """
nav a { display: block; }
main table { width: auto; } th { font-weight: 600; text-align: left; padding: 0 0 .2rem; vertical-align: bottom; }
th, td { padding-right: 1.4rem; } th + th, td + td { text-align: right; font-variant-numeric: tabular-nums; }
tbody tr:hover { background: var(--card); } section > div { overflow-x: auto; margin-bottom: 1.6rem; }
.plot svg { display: block; font: 12px var(--sans); fill: var(--ink); }
.plot path { stroke: var(--line); fill: none; } .plot .faint { fill: var(--soft); }
.plot circle, .plot rect { fill: currentColor; }
.m0 { color: #3a7ca5; } .m1 { color: #c2553a; } .m2 { color: #6a9a3b; } .m3 { color: #8d5fb0; } .m4 { color: #c9962b; }
.m5 { color: #2f9a8c; } .m6 { color: #b0527f; } .m7 { color: #7a7a52; }
.key { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin: .6rem 0; padding: 0;
  font: .85rem var(--sans); }
.key i { display: inline-block; width: .8em; height: .8em; background: currentColor; margin-right: .4em;
  print-color-adjust: exact; -webkit-print-color-adjust: exact; }
.key span { color: var(--ink); }
"""
_COLOURS = 8
_WIDTH, _HEIGHT, _LEFT, _EDGE = 760, 340, 64, 28  # pixels of a plot: whole, room for the numbers, and on other sides
_FOOT = _HEIGHT - 1.3 * _EDGE  # where what stands below a plot is written
_UPWARDS = (_HEIGHT - 2 * _EDGE, _EDGE)  # where the lowest and the highest value of a plot lie
_BARS = 12  # categories in a plot


def comparison_page(comparison: GrammarComparison, gold: str) -> str:
    """The whole page; `gold` is what the trees are called."""
    title = f"Comparison of {', '.join(model.name for model in comparison.grammars)}"
    return "\n".join(_ComparisonPage(comparison, gold).lines(title))


@dataclass(frozen=True)
class _Section:
    """A heading, and what stands under it."""

    heading: str
    parts: Callable[[], Iterable[str]]


class _ComparisonPage(Page):
    """Sections are about kinds of figures, where other pages have categories."""

    style = _STYLE

    def __init__(self, comparison: GrammarComparison, gold: str) -> None:
        self.comparison, self.gold = comparison, gold
        self.sections = [
            _Section("Models", self._models),
            _Section("Overlap", lambda: map(_table, overlaps(comparison))),
            _Section("Errors", lambda: map(_table, (labels(comparison), lengths(comparison)))),
            _Section("Complexity", self._complexity),
        ]
        self.groups = [("comparison", list(range(len(self.sections))))]

    def facts(self) -> Iterable[tuple[str, str]]:
        found = self.comparison
        yield "gold trees", f"{found.sentences} of {self.gold}"
        yield "lists", f"up to {found.k} trees a sentence"
        if found.no_product:
            yield "no product", found.no_product

    def footer(self) -> str:
        return "The figures are those of Petrov (2009), section 3; docs/compare.md says how each is counted."

    def section(self, symbol: int) -> Iterator[str]:
        yield f'<section id="c{symbol}">\n<h2>{self.sections[symbol].heading}</h2>'
        yield from self.sections[symbol].parts()
        yield "</section>"

    def _index(self) -> Iterator[str]:
        yield '<nav aria-label="Sections">\n<ol>'
        for number, section in enumerate(self.sections):
            yield f'<li><a href="#c{number}">{section.heading}</a></li>'
        yield "</ol>\n</nav>"

    def _models(self) -> Iterator[str]:
        yield _table(accuracy(self.comparison))
        yield _table(size(self.comparison))
        yield _accuracy_plot(self.comparison.models)

    def _complexity(self) -> Iterator[str]:
        yield _allocation_plot(self.comparison)
        yield _table(phrases(self.comparison))
        yield _table(tags(self.comparison))


def _table(table: TextTable) -> str:
    head = "".join(f"<th>{escaped(text)}</th>" for text in table.heads)
    rows = "\n".join(f"<tr>{''.join(f'<td>{escaped(cell)}</td>' for cell in row)}</tr>" for row in table.rows)
    about = f'<p class="about">{escaped(table.title)}: {escaped(table.about, 400)}</p>'
    return f"{about}\n<div><table><thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table></div>"


# -- plots


@dataclass(frozen=True)
class _Axis:
    """From values to pixels."""

    low: float
    high: float
    start: float
    end: float

    def pixel(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


class _Point(NamedTuple):
    """A model in the plane of its size and its accuracy."""

    place: int  # among the models
    parameters: int
    f1: float


def _accuracy_plot(models: Sequence[ModelFigures]) -> str:
    """F1 against the number of parameters, which is drawn by its logarithm."""
    sizes = ((place, model.complexity.all_parameters, model.scores.evalb.f1) for place, model in enumerate(models))
    points = [_Point(place, parameters, f1) for place, parameters, f1 in sizes if parameters]
    if not points:
        return '<p class="about">No model says how many parameters it has: there is no plot.</p>'
    across, up = _plane(points)
    parts = list(_levels(up, "F1"))
    for number in _decimal_steps(across.low, across.high):
        parts.append(_text(across.pixel(math.log10(number)), _FOOT, f"{number:,}", "middle"))
    parts.append(_text(_WIDTH - _EDGE, _HEIGHT - 8, "production parameters", "end"))
    for place, parameters, f1 in points:
        where = f'cx="{across.pixel(math.log10(parameters)):.1f}" cy="{up.pixel(f1):.1f}" r="6"'
        told = f"{escaped(models[place].name)}: F1 {f1:.2f}, {parameters:,} parameters"
        parts.append(f"<circle {_colour(place)} {where}><title>{told}</title></circle>")
    shown = [point.place for point in points]
    return _plot("Accuracy against the number of production parameters", models, shown, parts)


def _plane(points: Sequence[_Point]) -> tuple[_Axis, _Axis]:
    """Axes with room around the points; across, logarithms."""
    sizes, heights = [point.parameters for point in points], [point.f1 for point in points]
    room = max(0.2 * (max(heights) - min(heights)), 0.5)
    across = _Axis(math.log10(min(sizes) / 2), math.log10(max(sizes) * 2), _LEFT, _WIDTH - _EDGE)
    return across, _Axis(min(heights) - room, max(heights) + room, *_UPWARDS)


def _allocation_plot(comparison: GrammarComparison) -> str:
    """The share of each model's production parameters that its categories have, side by side."""
    models, categories = comparison.grammars, comparison.categories(tags=False)[:_BARS]
    shares = {place: _shares(model.complexity, categories) for place, model in enumerate(models)}
    shown = [place for place, share in shares.items() if share]
    if not shown:
        return '<p class="about">No model says what it spends on a category: there is no plot.</p>'
    up = _Axis(0.0, 1.05 * max(max(shares[place]) for place in shown), *_UPWARDS)
    parts = list(_levels(up, "% of the model's production parameters"))
    step = (_WIDTH - _EDGE - _LEFT) / len(categories)
    wide = 0.8 * step / len(shown)
    for column, category in enumerate(categories):
        left = _LEFT + column * step + 0.1 * step
        parts.append(_text(left + 0.4 * step, _FOOT, category.label[:8], "middle"))
        for which, place in enumerate(shown):
            share = shares[place][column]
            where = f'x="{left + which * wide:.1f}" y="{up.pixel(share):.1f}" width="{wide:.1f}"'
            told = f"{escaped(models[place].name)}, {escaped(category.label)}: {share:.1f} %"
            height = f'height="{up.start - up.pixel(share):.1f}"'
            parts.append(f"<rect {_colour(place)} {where} {height}><title>{told}</title></rect>")
    return _plot("How production parameters are allotted to categories", models, shown, parts)


def _shares(spent: Complexity, categories: Sequence[Category]) -> list[float]:
    """In per cent of all; none where the model does not say."""
    if not spent.parameters or not spent.all_parameters:
        return []
    return [100 * spent.parameters.get(one, 0) / spent.all_parameters for one in categories]


def _plot(title: str, models: Sequence[ModelFigures], shown: Sequence[int], parts: Sequence[str]) -> str:
    """A drawing with its title, and the key of its colours."""
    names = ((place, escaped(models[place].name, LONGEST_NAME)) for place in shown)
    key = "".join(f"<li {_colour(place)}><i></i><span><bdi>{name}</bdi></span></li>" for place, name in names)
    shape = f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
    picture = f'<svg {shape} role="group" aria-label="{title}">{"".join(parts)}</svg>'
    return f'<p class="about">{title}</p>\n<ul class="key">{key}</ul>\n<div class="plot">{picture}</div>'


def _colour(place: int) -> str:
    return f'class="m{place % _COLOURS}"'


def _levels(up: _Axis, unit: str) -> Iterator[str]:
    """Lines across the plot, with their values at the left, and what these are above."""
    for value in _round_numbers(up.low, up.high):
        y = up.pixel(value)
        yield f'<path d="M{_LEFT} {y:.1f}H{_WIDTH - _EDGE}"></path>'
        yield _text(_LEFT - 8, y + 4, f"{value:g}", "end")
    yield _text(_LEFT, 16, unit, "start")


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text class="faint" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escaped(text)}</text>'


def _round_numbers(low: float, high: float, most: int = 6) -> list[float]:
    """Up to about so many round numbers, evenly apart."""
    unit = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(unit * factor for factor in (1, 2, 5, 10) if (high - low) / (unit * factor) <= most)
    return [round(k * step, 10) for k in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _decimal_steps(low: float, high: float) -> list[int]:
    """1, 2, 5, 10, 20, ... between powers of ten."""
    steps = [
        factor * 10**power for power in range(max(math.floor(low), 0), math.ceil(high) + 1) for factor in (1, 2, 5)
    ]
    return [step for step in steps if low <= math.log10(step) <= high]
