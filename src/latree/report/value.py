"""A report as a value: facts, and sections that hold tables, lists, trees and plots.

Whoever knows the facts makes the value; how it looks is known to the renderers alone.  Numbers stay numbers here, with
a pattern beside them that says how they are written.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Literal, TypeVar

Value = TypeVar("Value")

ARROW = " -> "  # between the sides of a rule; a page has a finer one


@dataclass(frozen=True)
class Link:
    """A name that leads to a section or a card."""

    text: str
    target: str


@dataclass(frozen=True)
class Strong:
    """The one among several that is meant."""

    text: str


Inline = str | tuple[str | Link | Strong, ...]
Cell = Inline | int | float | None


@dataclass(frozen=True)
class Column:
    """How the cells of a column are written; a bar is as long as its number in proportion to the largest."""

    head: str = ""
    pattern: str = "{}"
    kind: Literal["text", "figure", "bar"] = "text"


@dataclass(frozen=True)
class Table:
    """Rows under heads, or plain rows where no column has a head."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""
    caption: str = ""


@dataclass(frozen=True)
class Flow:
    """Words with a figure each, one after the other."""

    items: tuple[tuple[Inline, float], ...]
    title: str = ""


@dataclass(frozen=True)
class Paragraph:
    text: str


@dataclass(frozen=True)
class Examples:
    """Phrases that are drawn or quoted."""

    title: str
    phrases: tuple[str, ...]


@dataclass(frozen=True)
class Pictures:
    """Drawings beside each other, for pages: each a caption and an SVG element, in which all text is escaped."""

    drawings: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Branch:
    """A node of an outline and what is below it."""

    label: Inline
    children: tuple[Branch, ...] = ()


@dataclass(frozen=True)
class Outline:
    """A tree, one node a line."""

    root: Branch
    title: str = ""


@dataclass(frozen=True)
class Dot:
    """A point of a plot."""

    x: float
    y: float
    group: int  # its colour
    about: str  # told where one points at it
    name: str = ""  # written beside it where there is room
    radius: float | None = None  # in the units of the plane; None: a mark of a size that says nothing
    weight: float = 1.0  # the heavier, the darker


@dataclass(frozen=True)
class Mark:
    """A text at a point, which leads to a card."""

    x: float
    y: float
    text: str
    target: str


@dataclass(frozen=True)
class Scatter:
    """Points in a plane: by two measures, the first by its logarithm; without measures both directions are alike."""

    title: str
    dots: tuple[Dot, ...]
    marks: tuple[Mark, ...] = ()
    measures: tuple[str, str] | None = None  # what lies across and what upwards
    key: tuple[tuple[int, str], ...] = ()  # colours and what they stand for
    caption: str = ""


@dataclass(frozen=True)
class Bars:
    """For each name a bar of every series, side by side, or stacked where they are parts of a whole."""

    title: str
    unit: str
    names: tuple[str, ...]
    series: tuple[tuple[int, str, tuple[float, ...]], ...]  # colour, name, and a value for each of `names`
    stacked: bool = False


@dataclass(frozen=True)
class Lines:
    """For each name some values of every series, as an experiment has them that is run more than once: dots, and a
    line through their means."""

    title: str
    across: str  # what the names are
    unit: str
    names: tuple[str, ...]
    series: tuple[tuple[int, str, tuple[tuple[float, ...], ...]], ...]  # colour, name, and values for each of `names`


Plot = Scatter | Bars | Lines
Block = Table | Flow | Paragraph | Examples | Outline | Pictures | Plot


@dataclass(frozen=True)
class Section:
    """What there is to say of one thing; its parts, where it has any, are cards."""

    title: str
    id: str
    about: str = ""
    blocks: tuple[Block, ...] = ()
    cards: tuple[Section, ...] = ()
    group: str = ""  # under which an index lists it
    size: int | None = None  # by which an index compares it with others
    share: float | None = None  # of a card, in its section
    colour: int | None = None  # of a card, in its section's plot


@dataclass(frozen=True)
class Report:
    """The facts of a thing as a whole, an overview, and a section for each of its parts."""

    title: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    blocks: tuple[Block, ...] = ()
    sections: tuple[Section, ...] = ()
    footer: str = ""


def legible(text: str, most: int | None = None) -> str:
    """Text without what would upset a terminal or an encoder, and not too long to set."""
    clean = "".join("\ufffd" if unicodedata.category(c) in ("Cc", "Cs") else c for c in text)
    return clean if most is None or len(clean) <= most else f"{clean[: most - 1]}…"


def plain(inline: Inline) -> str:
    """The text alone; what is strong stands in brackets."""
    if isinstance(inline, str):
        return inline
    texts = (one if isinstance(one, str) else one.text if isinstance(one, Link) else f"[{one.text}]" for one in inline)
    return "".join(texts)


def prefixed(value: Value, prefix: str) -> Value:
    """Copy a value with every id and every link to one made different, so that it can stand beside its like."""
    changed: Any = value
    if isinstance(value, tuple):
        changed = tuple(prefixed(one, prefix) for one in value)
    elif is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: prefixed(getattr(value, field.name), prefix) for field in fields(value)}
        named = {name: prefix + parts[name] for name in ("id", "target") if parts.get(name)}
        changed = replace(value, **parts | named)
    made: Value = changed
    return made


def to_json(value: object) -> object:
    """The report as data: blocks say what they are, texts are plain, numbers are numbers."""
    if isinstance(value, Link | Strong):
        return plain((value,))
    if isinstance(value, tuple):
        inline = any(isinstance(one, Link | Strong) for one in value)
        return plain(value) if inline else [to_json(one) for one in value]
    if is_dataclass(value):
        told = {field.name: to_json(getattr(value, field.name)) for field in fields(value)}
        kind = {"block": type(value).__name__.lower()} if isinstance(value, Block) else {}
        return kind | {name: one for name, one in told.items() if one not in (None, "", [])}
    return value
