"""Plots as shapes: from values to pixels, with labels that leave each other room."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from statistics import fmean, stdev
from typing import NamedTuple

from latree.report.value import Bars, Dot, Lines, Plot, Scatter, Trend, Trends, legible

WIDTH, HEIGHT, MAP_HEIGHT = 760, 340, 460  # pixels
LEFT, EDGE, MARGIN = 64, 28, 40  # room for the numbers of a chart, on its other sides, and around a map
UPWARDS = (HEIGHT - 2 * EDGE, EDGE)  # where the lowest and the highest value of a chart lie
LETTER, LINE = 7.0, 14.0  # of a label
COLUMN = 54  # at least, under which a name is written
LABELS, LONGEST = 16, 24  # labels of a map at most, and the letters of one
KEY = 48  # letters of what a colour stands for
COLOURS = 8


@dataclass(frozen=True)
class Shape:
    """An element of a drawing; `about` is told where one points at it, `target` is where it leads."""

    tag: str
    attributes: dict[str, str]
    text: str = ""
    about: str = ""
    target: str = ""


@dataclass(frozen=True)
class Drawing:
    """A plot in shapes, and what its colours stand for."""

    height: int
    shapes: list[Shape]
    key: tuple[tuple[int, str], ...] = ()
    width: int = WIDTH

    def placed_key(self) -> list[tuple[float, int, str]]:
        """What colours stand for, side by side: where each begins, its colour, its name."""
        names = [legible(name, KEY) for _, name in self.key]
        ends = accumulate((_columns(name) * LETTER + 32 for name in names), initial=0.0)
        return [(x, colour, name) for x, (colour, _), name in zip(ends, self.key, names, strict=False)]


@dataclass(frozen=True)
class Axis:
    """From values to pixels."""

    low: float
    high: float
    start: float
    end: float

    def pixel(self, value: float) -> float:
        return self.start + (value - self.low) * self.unit

    @property
    def unit(self) -> float:
        """Pixels of a step of one."""
        return (self.end - self.start) / (self.high - self.low)


def draw(plot: Plot) -> Drawing:
    """The shapes of a plot."""
    if isinstance(plot, Trends):
        return Drawing(HEIGHT, list(_trends(plot)), tuple((one.colour, one.name) for one in plot.series))
    if isinstance(plot, Bars | Lines):
        width = max(WIDTH, LEFT + EDGE + COLUMN * len(plot.names)) if isinstance(plot, Bars) else WIDTH
        shapes = _bars(plot, width) if isinstance(plot, Bars) else _lines(plot)
        return Drawing(HEIGHT, list(shapes), tuple((colour, name) for colour, name, _ in plot.series), width)
    if plot.measures is None:
        return Drawing(MAP_HEIGHT, list(_map(plot)))
    return Drawing(HEIGHT, list(_chart(plot.dots, *plot.measures)), plot.key)


# -- charts


def _chart(dots: Sequence[Dot], across: str, upwards: str) -> Iterator[Shape]:
    """Points by two measures, the first by its logarithm."""
    xs, ys = [dot.x for dot in dots], [dot.y for dot in dots]
    room = max(0.2 * (max(ys) - min(ys)), 0.5)
    x = Axis(math.log10(min(xs) / 2), math.log10(max(xs) * 2), LEFT, WIDTH - EDGE)
    y = Axis(min(ys) - room, max(ys) + room, *UPWARDS)
    yield from _levels(y, upwards)
    yield from _decimals(x, across)
    yield from (_circle(dot, x.pixel(math.log10(dot.x)), y.pixel(dot.y), 6.0, 1.0) for dot in dots)


def _decimals(x: Axis, across: str) -> Iterator[Shape]:
    """Numbers under a chart, by their logarithms, and what they are."""
    for number in decimal_steps(x.low, x.high):
        left = x.pixel(math.log10(number))
        yield Shape("path", {"d": f"M{left:.1f} {UPWARDS[0]}v5"})
        yield _text(left, HEIGHT - 1.3 * EDGE, f"{number:,}", "middle")
    yield _text(WIDTH - EDGE, HEIGHT - 8, across, "end")


def _bars(bars: Bars, width: int) -> Iterator[Shape]:
    heights = zip(*(values for *_, values in bars.series), strict=True)
    highest = max(sum(values) if bars.stacked else max(values) for values in heights)
    y = Axis(0.0, 1.05 * highest or 1.0, *UPWARDS)
    yield from _levels(y, bars.unit, width)
    step = (width - EDGE - LEFT) / len(bars.names)
    wide = 0.8 * step / (1 if bars.stacked else len(bars.series))
    for column, name in enumerate(bars.names):
        x, below = LEFT + column * step + 0.1 * step, 0.0
        yield _text(x + 0.4 * step, HEIGHT - 1.3 * EDGE, name[:8], "middle")
        for colour, of, values in bars.series:
            top, height = y.pixel(below + values[column]), y.start - y.pixel(values[column])
            box = {"x": _px(x), "y": _px(top), "width": _px(wide), "height": _px(height)}
            yield Shape("rect", _coloured(colour) | box, about=f"{of}, {name}: {values[column]:.1f} {_word(bars.unit)}")
            x, below = (x, below + values[column]) if bars.stacked else (x + wide, 0.0)


def _word(unit: str) -> str:
    """What a number is of, in a word."""
    return unit.partition(" ")[0]


def _lines(lines: Lines) -> Iterator[Shape]:
    known = [value for *_, runs in lines.series for values in runs for value in values if math.isfinite(value)]
    low, high = min(known, default=0.0), max(known, default=1.0)
    room = max(0.2 * (high - low), 0.01 * abs(high), 1e-9)
    y = Axis(low - room, high + room, *UPWARDS)
    yield from _levels(y, lines.unit)
    step = (WIDTH - EDGE - LEFT) / len(lines.names)
    places = [LEFT + (column + 0.5) * step for column in range(len(lines.names))]
    for x, name in zip(places, lines.names, strict=True):
        yield _text(x, HEIGHT - 1.3 * EDGE, name[:8], "middle")
    yield _text(WIDTH - EDGE, HEIGHT - 8, lines.across, "end")
    for colour, of, runs in lines.series:
        means = [(x, sum(values) / len(values)) for x, values in zip(places, runs, strict=True)]
        points = [f"{x:.1f} {y.pixel(value):.1f}" for x, value in means if math.isfinite(value)]
        yield Shape("path", _coloured(colour) | {"d": "M" + "L".join(points)})
        for x, name, values in zip(places, lines.names, runs, strict=True):
            for value in filter(math.isfinite, values):
                yield _circle(Dot(x, value, colour, f"{of}, {name}: {value:.2f}"), x, y.pixel(value), 4.0, 0.7)


def _trends(trends: Trends) -> Iterator[Shape]:
    """Bands below, lines on them, dots on top."""
    x, y = _trend_axes(trends.series)
    yield from _levels(y, trends.unit)
    yield from _decimals(x, trends.across)
    yield from (_band(trend, x, y) for trend in trends.series if trend.band)
    for trend in trends.series:
        yield from _trend_line(trend, x, y)
        yield from _trend_dots(trend, x, y)


def _trend_axes(series: Sequence[Trend]) -> tuple[Axis, Axis]:
    """Axes with room for all dots and lines, and for bands, unless these would dwarf everything else."""
    dots = [(x, value) for trend in series for x, values in trend.runs for value in values]
    xs, ys = zip(*dots, *(point for trend in series for point in trend.line), strict=True)
    room = max(0.5 * (max(ys) - min(ys)), 0.5)
    ends = [end for trend in series for _, *both in trend.band for end in both]
    low, high = max(min([*ys, *ends]), min(ys) - room), min(max([*ys, *ends]), max(ys) + room)
    edge = 0.1 * room
    across = math.log10(min(xs) / 1.15), math.log10(max(xs) * 1.15)
    return Axis(*across, LEFT, WIDTH - EDGE), Axis(low - edge, high + edge, *UPWARDS)


def _band(trend: Trend, x: Axis, y: Axis) -> Shape:
    lower = [(at, max(low, y.low)) for at, low, _ in trend.band]
    upper = [(at, min(high, y.high)) for at, _, high in trend.band]
    return Shape("path", _coloured(trend.colour, "band") | {"d": _path([*lower, *reversed(upper)], x, y) + "Z"})


def _trend_line(trend: Trend, x: Axis, y: Axis) -> Iterator[Shape]:
    """The fitted line, or one through the means; broken from the last measurement on."""
    line = trend.line or [(at, fmean(values)) for at, values in trend.runs]
    last = max(at for at, _ in trend.runs)
    for name, part in (
        ("line", [point for point in line if point[0] <= last]),
        ("line broken", [point for point in line if point[0] >= last]),
    ):
        if len(part) > 1:
            yield Shape("path", _coloured(trend.colour, name) | {"d": _path(part, x, y)})


def _trend_dots(trend: Trend, x: Axis, y: Axis) -> Iterator[Shape]:
    """The means, and bars of one standard deviation."""
    for at, values in trend.runs:
        mean, spread = fmean(values), stdev(values) if len(values) > 1 else 0.0
        left, top, bottom = x.pixel(math.log10(at)), y.pixel(mean + spread), y.pixel(mean - spread)
        if spread:
            ends = "".join(f"M{left - 4:.1f} {end:.1f}h8" for end in (top, bottom))
            bar = {"d": f"M{left:.1f} {top:.1f}V{bottom:.1f}{ends}"}
            yield Shape("path", _coloured(trend.colour, "line") | bar)
        about = f"{trend.name}, {at:,g}: {mean:.2f}" + (f" ± {spread:.2f}, {len(values)} runs" if spread else "")
        yield _circle(Dot(at, mean, trend.colour, about), left, y.pixel(mean), 4.5, 1.0)


def _path(points: Sequence[tuple[float, float]], x: Axis, y: Axis) -> str:
    """A line through points, whose places across go by their logarithms."""
    return "M" + "L".join(f"{x.pixel(math.log10(at)):.1f} {y.pixel(value):.1f}" for at, value in points)


def _levels(y: Axis, unit: str, width: int = WIDTH) -> Iterator[Shape]:
    """Lines across the plot, with their values at the left, and what these are above."""
    for value in round_numbers(y.low, y.high):
        height = y.pixel(value)
        yield Shape("path", {"d": f"M{LEFT} {height:.1f}H{width - EDGE}"})
        yield _text(LEFT - 8, height + 4, f"{value:g}", "end")
    yield _text(LEFT, 16, unit, "start")


def round_numbers(low: float, high: float, most: int = 6) -> list[float]:
    """Up to about so many round numbers, evenly apart."""
    unit = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(unit * factor for factor in (1, 2, 5, 10) if (high - low) / (unit * factor) <= most)
    return [round(k * step, 10) for k in range(math.ceil(low / step), math.floor(high / step) + 1)]


def decimal_steps(low: float, high: float) -> list[int]:
    """1, 2, 5, 10, 20, ... between powers of ten."""
    powers = range(max(math.floor(low), 0), math.ceil(high) + 1)
    steps = [factor * 10**power for power in powers for factor in (1, 2, 5)]
    return [step for step in steps if low <= math.log10(step) <= high]


# -- maps


def _map(plot: Scatter) -> Iterator[Shape]:
    """Points as circles, the heaviest on top, marks among them, and the names of the heaviest."""
    x, y = _plane(plot)
    border = {"x": "0.5", "y": "0.5", "width": f"{WIDTH - 1}", "height": f"{MAP_HEIGHT - 1}"}
    yield Shape("rect", {"class": "border"} | border)
    by_weight = sorted(plot.dots, key=lambda dot: -dot.weight)
    for dot in reversed(by_weight):
        radius = 4.0 if dot.radius is None else min(dot.radius * x.unit, MAP_HEIGHT / 4)
        opacity = 0.08 + 0.62 * (dot.weight / by_weight[0].weight) ** 0.5
        yield _circle(dot, x.pixel(dot.x), y.pixel(dot.y), radius, opacity)
    taken: list[Box] = []
    for mark in plot.marks:
        left, top = x.pixel(mark.x), y.pixel(mark.y)
        taken.append(Box(left - 9, top - 9, left + 9, top + 9))
        where = {"class": "mark", "x": _px(left), "y": _px(top + 5), "text-anchor": "middle"}
        yield Shape("text", where, mark.text, target=mark.target)
    heaviest = {dot.name: dot for dot in reversed(by_weight) if dot.name}  # of each name
    named = sorted(heaviest.values(), key=lambda dot: -dot.weight)
    boxes = ((dot.name, place_label(dot.name, x.pixel(dot.x), y.pixel(dot.y), taken)) for dot in named)
    for name, box in islice(((name, box) for name, box in boxes if box is not None), LABELS):
        yield Shape("text", {"x": _px(box.left), "y": _px(box.bottom - 3)}, legible(name, LONGEST))


def _plane(plot: Scatter) -> tuple[Axis, Axis]:
    """Axes of one unit, such that all centres are within the margins."""
    points = [(dot.x, dot.y) for dot in plot.dots] + [(mark.x, mark.y) for mark in plot.marks]
    spans = [(min(values), max(values)) for values in zip(*points, strict=True)]
    rooms = (WIDTH - 2 * MARGIN, MAP_HEIGHT - 2 * MARGIN)
    unit = min(room / max(high - low, 1e-6) for room, (low, high) in zip(rooms, spans, strict=True))
    half = [(side / 2 / unit, sum(span) / 2) for side, span in zip((WIDTH, MAP_HEIGHT), spans, strict=True)]
    (wide, across), (tall, up) = half
    return Axis(across - wide, across + wide, 0, WIDTH), Axis(up - tall, up + tall, MAP_HEIGHT, 0)


class Box(NamedTuple):
    """A part of a map that is taken."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Box) -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom

    @property
    def is_inside(self) -> bool:
        return self.left >= 2 and self.top >= 2 and self.right <= WIDTH - 2 and self.bottom <= MAP_HEIGHT - 2


def place_label(text: str, x: float, y: float, taken: list[Box]) -> Box | None:
    """Take a free place beside a point, right or left, above or below; None where there is none."""
    width = _columns(legible(text, LONGEST)) * LETTER + 3
    corners = [(x + 4, y - 7), (x - 4 - width, y - 7), (x - width / 2, y - 18), (x - width / 2, y + 4)]
    for left, top in corners:
        box = Box(left, top, left + width, top + LINE)
        if box.is_inside and not any(box.meets(other) for other in taken):
            taken.append(box)
            return box
    return None


def _columns(text: str) -> int:
    """Letters, of which those of East Asian scripts are twice as wide."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


# -- shapes


def _circle(dot: Dot, x: float, y: float, radius: float, opacity: float) -> Shape:
    where = {"cx": _px(x), "cy": _px(y), "r": _px(radius), "fill-opacity": f"{opacity:.2f}"}
    return Shape("circle", _coloured(dot.group) | where, about=dot.about)


def _text(x: float, y: float, text: str, anchor: str) -> Shape:
    return Shape("text", {"class": "faint", "x": _px(x), "y": _px(y), "text-anchor": anchor}, text)


def _coloured(group: int, *names: str) -> dict[str, str]:
    """The class of a colour, with others."""
    return {"class": " ".join([f"g{group % COLOURS}", *names])}


def _px(value: float) -> str:
    return f"{value:.1f}"
