"""A log-linear grammar as one page for a browser: of each category what training moved most, and how finely its most
divided production is told apart.

The page is of the same make as that of a model with subtypes.
"""

from __future__ import annotations

from collections.abc import Iterator

from latree.kinds.lvg_d.model import LoglinearModel
from latree.kinds.lvg_d.showcase import (
    LoglinearShowcase,
    Moved,
    about_category,
    extent_lines,
    movements,
    sketch_lines,
)
from latree.kinds.showcase_html import LONGEST_NAME, Page, escaped

_STYLE = """
nav a { grid-template-columns: 6.5rem 3rem 1fr; }
pre { overflow-x: auto; font-size: .8rem; line-height: 1.35; margin: .5rem 0 0; }
.about + .about { margin-top: -.9rem; } .cards + article { margin-top: 1rem; } .number { width: 4.5rem; }
.cards { grid-template-columns: repeat(auto-fill, minmax(min(24rem, 100%), 1fr)); }
"""
_LEGEND = (
    "Beside each production stand delta, what training added to its log weight, and its weight, the mean over all the "
    "subtypes that it stands for. Weights need not sum to one. NP-* is NP of any subtype, NP-2..3 of subtypes 2 to 3. "
    "Spans, where they have features, are told by their first and last words and those before and after."
)


def loglinear_page(model: LoglinearModel, title: str, top: int = 8) -> str:
    """The whole page; `top` rules and words a category and direction."""
    return "\n".join(_LoglinearPage(LoglinearShowcase(model), top).lines(title))


class _LoglinearPage(Page):
    """Writes the parts of one page."""

    style = _STYLE

    def footer(self) -> str:
        return _LEGEND

    def section(self, symbol: int) -> Iterator[str]:
        showcase = self.showcase
        yield f'<section id="c{symbol}">\n<h2><bdi>{escaped(showcase.name(symbol), LONGEST_NAME)}</bdi></h2>'
        for line in (", ".join(about_category(showcase, symbol)), *extent_lines(showcase, symbol)):
            yield f'<p class="about">{escaped(line, 400)}</p>'
        yield '<div class="cards">'
        for heading, found in movements(showcase, symbol, self.top):
            yield f"<article>\n<h3>{heading}</h3>\n{self._table(found)}\n</article>"
        yield "</div>"
        if (sketch := showcase.sketch(symbol)) is not None:
            drawing = "\n".join(escaped(line, 400) for line in sketch_lines(showcase, sketch))
            yield f"<article>\n<h3>the most divided</h3>\n<pre>{drawing}</pre>\n</article>"
        yield "</section>"

    def _table(self, found: list[Moved]) -> str:
        """Productions with delta and weight."""
        rows = []
        for one in found:
            numbers = f'<td class="number">{one.signed_delta}</td><td class="number">{one.weight:.3g}</td>'
            rows.append(f"<tr><td><bdi>{escaped(self.showcase.describe(one.number), 200)}</bdi></td>{numbers}</tr>")
        return f"<table>{''.join(rows)}</table>"
