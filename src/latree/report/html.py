"""A report as one page for a browser, which needs nothing but itself, runs no script and asks no network; or one of its
plots as a picture.

Templates and style stand in `templates/`; every text of the report is escaped on its way in.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from latree.report.plots import COLOURS, draw
from latree.report.text import greatest, used_columns, written
from latree.report.value import ARROW, Inline, Link, Plot, Report, Section, Strong, legible

TEMPLATES = Path(__file__).parent / "templates"
TITLE = 56  # pixels above a picture


def page(report: Report) -> str:
    """The whole page."""
    sizes = [section.size for section in report.sections if section.size is not None]
    groups: dict[str, list[Section]] = {}
    for section in report.sections:
        groups.setdefault(section.group, []).append(section)
    return (
        _environment()
        .get_template("page.html")
        .render(report=report, groups=groups, most=max(sizes, default=1) or 1, style=_style("page.css", "plot.css"))
    )


def picture(plot: Plot) -> str:
    """A plot by itself, as SVG, with its title and what its colours stand for above it."""
    template = _environment().get_template("plot.svg")
    return template.render(drawing=draw(plot), title=plot.title, top=TITLE, style=_style("plot.css"))


def _style(*names: str) -> Markup:
    return Markup("".join((TEMPLATES / name).read_text(encoding="utf-8") for name in names))


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        finalize=_clean,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"inline": inline, "kind": lambda block: type(block).__name__, "draw": draw, "written": written}
    made.filters |= {"markup": Markup}
    made.globals |= {"used_columns": used_columns, "greatest": greatest, "colours": COLOURS}
    return made


def _clean(value: object) -> object:
    """Texts without control characters, which no page may have; what is markup already has been cleaned."""
    return legible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def inline(text: Inline) -> Markup:
    """Text with links and what is strong."""
    if isinstance(text, str):
        return escape(legible(text))
    return Markup("").join(map(_piece, text))


def _piece(piece: str | Link | Strong) -> Markup:
    if isinstance(piece, Link):
        return Markup('<a href="#{}"><bdi>{}</bdi></a>').format(piece.target, legible(piece.text))
    if isinstance(piece, Strong):
        return Markup("<b><bdi>{}</bdi></b>").format(legible(piece.text))
    return Markup(piece.replace("->", "→")) if piece.strip() == ARROW.strip() else escape(legible(piece))
