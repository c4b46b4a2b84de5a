"""A report as text: tables with heads are cut to a terminal's width, all else is lines that stay whole."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import compress
from typing import TYPE_CHECKING

from latree.report.value import (
    Block,
    Branch,
    Cell,
    Column,
    Examples,
    Flow,
    Outline,
    Paragraph,
    Pictures,
    Report,
    Section,
    Table,
    legible,
    plain,
)

if TYPE_CHECKING:
    from rich.table import Table as RichTable

BAR = 12  # letters of the longest
UNCUT = 100_000  # letters of a line in a file
STEP = "  "


def print_report(report: Report) -> None:
    """Write a report to standard output; plots are for pages."""
    from latree.report.console import Console

    console = Console(emoji=False, highlight=False, width=None if sys.stdout.isatty() else UNCUT)
    for part in _report(report):
        if isinstance(part, str):
            print(legible(part))
        else:
            console.print(part)


def _report(report: Report) -> Iterator[str | RichTable]:
    for name, value in report.facts:
        yield f"{name}: {value}"
    for block in report.blocks:
        yield from _block(block, "")
    for place, section in enumerate(report.sections):
        if place or report.facts:
            yield ""
        yield from _section(section)


def _section(section: Section) -> Iterator[str | RichTable]:
    yield _heading(section)
    for block in section.blocks:
        yield from _block(block, "")
    for card in section.cards:
        if card.title != section.title:
            yield from ("", _heading(card))
        for block in card.blocks:
            yield from _block(block, STEP)


def _heading(section: Section) -> str:
    return f"{section.title}: {section.about}" if section.about else section.title


def _block(block: Block, indent: str) -> Iterator[str | RichTable]:
    title = f"{block.title}: " if isinstance(block, Flow | Examples) and block.title else ""
    if isinstance(block, Table):
        yield from _headed(block) if any(column.head for column in block.columns) else _rows(block, indent)
    elif isinstance(block, Flow):
        told = (f"{plain(text)} {figure:.3f}" for text, figure in block.items)
        yield f"{indent}{title}{', '.join(told)}"
    elif isinstance(block, Examples):
        yield f"{indent}{title}{' | '.join(block.phrases)}"
    elif isinstance(block, Paragraph):
        yield indent + block.text
    elif isinstance(block, Pictures):
        yield from [indent + block.title] if block.title else []
        widest = max(len(one.caption) for one in block.pictures)
        yield from (f"{indent}{STEP}{one.caption:<{widest}}{STEP}{one.text}" for one in block.pictures)
    elif isinstance(block, Outline):
        yield from ("", *([indent + block.title] if block.title else []))
        yield from _branches(block.root, indent)


def _branches(root: Branch, indent: str) -> Iterator[str]:
    """A tree drawn with lines; each node with what leads its own line and those below it."""
    stack = [(root, indent, indent)]
    while stack:
        node, lead, below = stack.pop()
        yield lead + plain(node.label)
        for child in reversed(node.children):
            last = child is node.children[-1]
            stack.append((child, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  ")))


# -- tables


def written(cell: Cell, column: Column) -> str:
    """A cell as text; nothing is a dash."""
    if cell is None:
        return "-"
    return column.pattern.format(cell) if isinstance(cell, int | float) else plain(cell)


def used_columns(table: Table) -> list[bool]:
    """Which columns have anything in them; the others are not shown."""
    return [not table.rows or any(row[k] != "" for row in table.rows) for k in range(len(table.columns))]


def greatest(table: Table, place: int) -> float:
    """The number that the longest bar of a column stands for."""
    return max((float(row[place]) for row in table.rows if isinstance(row[place], int | float)), default=1.0) or 1.0  # type: ignore[arg-type]


def _texts(table: Table) -> list[list[str]]:
    """All cells as they are printed."""
    return [
        [
            "━" * max(1, round(BAR * float(cell) / greatest(table, place)))  # type: ignore[arg-type]
            if column.kind == "bar"
            else legible(written(cell, column))
            for place, (cell, column) in enumerate(zip(row, table.columns, strict=True))
        ]
        for row in table.rows
    ]


def _headed(table: Table) -> Iterator[str | RichTable]:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as RichTable
    from rich.text import Text  # plain texts, as a label may look like rich's markup

    if table.title:
        yield from ("", table.title)
    made = RichTable(box=SIMPLE_HEAD, pad_edge=False, caption_justify="left")
    made.caption = Text(legible(table.caption)) if table.caption else None
    used, rows = used_columns(table), _texts(table)
    for place, column in compress(enumerate(table.columns), used):
        is_figure = column.kind == "figure"  # which is never cut, its head may wrap
        made.add_column(
            Text(legible(column.head)),
            justify="right" if is_figure else "left",
            no_wrap=column.kind == "bar",
            min_width=max((len(row[place]) for row in rows if is_figure), default=min(len(column.head), 16) or 1),
        )
    for row in rows:
        # A row is a line.  The texts are told not to wrap, not the columns, of which rich narrows those that may.
        made.add_row(*(Text(text, no_wrap=True, overflow="ellipsis") for text in compress(row, used)))
    yield made


def _rows(table: Table, indent: str) -> Iterator[str]:
    """Rows without heads, their columns aligned."""
    if table.title:
        yield indent + table.title
        indent += STEP
    rows = _texts(table)
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    for row in rows:
        cells = zip(row, widths, table.columns, strict=True)
        aligned = (f"{text:>{width}}" if one.kind == "figure" else f"{text:<{width}}" for text, width, one in cells)
        yield (indent + STEP.join(aligned)).rstrip()
