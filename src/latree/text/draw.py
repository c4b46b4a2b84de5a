"""Drawings of trees: for a terminal, as SVG, as a page for a browser, and for LaTeX."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape as escape_xml
from itertools import accumulate
from pathlib import Path
from shutil import get_terminal_size
from typing import Literal, NamedTuple

from latree.errors import LatreeError
from latree.files import write_atomically
from latree.text.layout import Box, Line, boxes_of, clean, clip, columns, fold, place, reads_leftwards, unwrap
from latree.text.tree import Tree

__all__ = ["Format", "Picture", "draw", "format_named", "latex", "render", "svg", "terminal_width"]


class _Pen(NamedTuple):
    """The characters that lines are made of."""

    across: str
    down: str
    corners: str  # first child, last child
    joints: str  # on a bar: a child below; the parent above; both
    fork: str  # vertical layout: a child with siblings after it
    last: str
    cut: str  # something was left out


_UNICODE = _Pen("─", "│", "┌┐", "┬┴┼", "├─ ", "└─ ", "…")
_ASCII = _Pen("-", "|", "++", "+++", "|- ", "`- ", "~")

# ---------------------------------------------------------------- terminal

_NARROW = 40  # columns: in less room a tree in parts would be in splinters


def draw(tree: Tree, width: int | None = None, *, ascii_only: bool = False, probabilities: Sequence[float] = ()) -> str:
    """The tree in box characters, or with `ascii_only` in lines of plain ASCII (words stay as they are).

    Without `width` the drawing is as wide as it needs to be.  A drawing that does not fit in `width` columns is set
    closer, and if it still does not fit, folded into several; where there is hardly any room, it is turned on its side:
    one node a line, indented.  Probabilities of phrases stand beside their labels.
    """
    pen = _ASCII if ascii_only else _UNICODE
    if width is not None and width < 1:
        raise ValueError(f"a drawing needs a width of at least one column, not {width}")
    boxes = _told_boxes(tree, probabilities)
    for gap in (2, 1):
        place(boxes, gap)
        if width is None or boxes[0].width <= width:
            return _horizontal(boxes[0], pen)
    assert width is not None
    parts = fold(_told_boxes(tree, probabilities), width) if width >= _NARROW else None
    if parts is None:
        return "\n".join(_vertical(boxes[0], width, pen))
    first, *others = (_horizontal(part, pen) for part in parts)
    return "\n\n".join([first, *(f"[{number}]\n{part}" for number, part in enumerate(others, start=2))])


def terminal_width() -> int | None:
    """The columns of the terminal that is written to; None where it is none, so that there is no limit."""
    return get_terminal_size().columns if sys.stdout.isatty() else None


def _told_boxes(tree: Tree, probabilities: Sequence[float]) -> list[Box]:
    boxes = boxes_of(tree, probabilities)
    for box in boxes:
        if box.probability is not None:
            box.label += f" {box.probability:.2f}"
    return boxes


def _horizontal(top: Box, pen: _Pen) -> str:
    """Words in a row at the bottom, their tags above them, and phrases as high as their own height asks."""
    lines = [Line(top.width) for _ in range(2 * top.height + 3)]
    for box in top.subtree():
        row = 2 * (top.height - box.height)
        lines[row].put(box.start(box.label), box.label)
        if box.word is not None:
            lines[row + 1].put(box.centre, pen.down)
            lines[row + 2].put(box.start(box.word), box.word)
            continue
        _branches(box, lines[row + 1], pen)
        for child in box.children:
            for line in lines[row + 2 : 2 * (top.height - child.height)]:
                line.put(child.centre, pen.down)
    return "\n".join(map(str, lines))


def _branches(box: Box, line: Line, pen: _Pen) -> None:
    """The bar between a phrase and its children."""
    columns = [child.centre for child in box.row]
    if len(columns) == 1:
        line.put(box.centre, pen.down)
        return
    line.put(columns[0], pen.across * (columns[-1] - columns[0]))
    for column in columns[1:-1]:
        line.put(column, pen.joints[0])
    line.put(columns[0], pen.corners[0])
    line.put(columns[-1], pen.corners[1])
    line.put(box.centre, pen.joints[2 if box.centre in columns else 1])


def _vertical(top: Box, width: int, pen: _Pen) -> Iterator[str]:
    """One node a line, behind branches that show whose child it is."""
    stack = [(top, "", "")]  # with what leads the node's own line, and the lines below it
    while stack:
        box, lead, below = stack.pop()
        yield _fit(lead, box.label if box.word is None else f"{box.label} {box.word}", width, pen.cut)
        for child in reversed(box.children):
            if child is box.children[-1]:
                stack.append((child, below + pen.last, below + " " * len(pen.last)))
            else:
                stack.append((child, below + pen.fork, below + pen.down.ljust(len(pen.fork))))


def _fit(lead: str, text: str, width: int, cut: str) -> str:
    """A line within `width`: where there is too little room the left part of `lead` goes first, not the text."""
    text = clip(text, width, cut)
    room = width - columns(text)
    if len(lead) > room:
        lead = cut + lead[len(lead) - room + 1 :] if room else ""
    return lead + text


# ---------------------------------------------------------------- SVG

_COLUMN, _LEVEL, _FONT = 9, 48, 15  # pixels a column, a level at least, and the size of the letters
_FLATTEST, _STEEPENING = 12, 96  # a branch goes down a pixel in so many across, where that takes so many more at most
_SHADE, _DEEPEST = "#3b82f6", 0.55  # the colour behind a sure phrase, and how much of it
_MARK = "#ef4444"  # the colour behind what is pointed out
_STYLE = "svg:root{color-scheme:light dark;background:Canvas;color:CanvasText}"  # alone, not inside a page


class _Spot(NamedTuple):
    """A box in an SVG: the point in the middle of its label's base line, and the height of that of its word."""

    box: Box
    x: float
    y: float
    word_y: float


def svg(tree: Tree, probabilities: Sequence[float] = (), marked: Collection[int] = ()) -> str:
    """A picture of the tree as one self-contained SVG element, in the colour of the text around it.

    Where phrases have probabilities, the likelier a phrase the deeper the shade behind its label.  Nodes that are
    `marked`, by their places in `subtrees`, have another shade.
    """
    return _svg_element(_sketch(tree, probabilities, marked), clean(str(tree)))


class _Sketch(NamedTuple):
    """The elements of an SVG, and its size."""

    width: int
    height: int
    elements: list[str]


def _svg_element(sketch: _Sketch, told: str) -> str:
    size = f'width="{sketch.width}" height="{sketch.height}" viewBox="0 0 {sketch.width} {sketch.height}"'
    font = f'font-family="monospace" font-size="{_FONT}" text-anchor="middle" fill="currentColor"'
    about = f'role="img" aria-label="{escape_xml(told)}" style="max-width:none"'
    start = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font} {about}>'
    return "\n".join([start, f"<style>{_STYLE}</style>", *sketch.elements, "</svg>"])


def _sketch(tree: Tree, probabilities: Sequence[float], marked: Collection[int] = ()) -> _Sketch:
    boxes = boxes_of(tree, probabilities, marked)
    place(boxes, gap=2)
    levels = _levels(boxes)
    spots = {id(box): _Spot(box, (box.centre + 1.5) * _COLUMN, levels[box.depth], levels[-1]) for box in boxes}
    elements = [*_svg_lines(spots), *(element for spot in spots.values() for element in _svg_texts(spot))]
    width, height = (boxes[0].width + 2) * _COLUMN, levels[-1] + _LEVEL // 2
    if not probabilities:
        return _Sketch(width, height, elements)
    return _Sketch(max(width, _LEGEND), height + _LEVEL // 2, [*elements, *_legend(height + _FONT // 2)])


def _levels(boxes: list[Box]) -> list[int]:
    """The height of every level, that of the words last; the wider the branches above a level, the further down."""
    widest = [0] * (max(box.depth for box in boxes) + 1)
    for box in boxes:
        for child in box.children:
            widest[box.depth] = max(widest[box.depth], abs(child.centre - box.centre) * _COLUMN)
    drops = (_LEVEL + min(max(0, across // _FLATTEST - _LEVEL // 2), _STEEPENING) for across in widest)
    return list(accumulate(drops, initial=_LEVEL // 2))


def _svg_lines(spots: dict[int, _Spot]) -> Iterator[str]:
    """Straight branches, from below a label to above its children's; paler ones from a tag down to its word."""
    yield '<g stroke="currentColor">'
    for box, x, y, word_y in spots.values():
        for child in box.children:
            _, child_x, child_y, _ = spots[id(child)]
            yield f'<line x1="{x}" y1="{y + _FONT // 2}" x2="{child_x}" y2="{child_y - _FONT}"/>'
        if box.word is not None:
            end = f'x2="{x}" y2="{word_y - _FONT}"'
            yield f'<line x1="{x}" y1="{y + _FONT // 2}" {end} stroke-opacity="0.4"/>'
    yield "</g>"


def _svg_texts(spot: _Spot) -> Iterator[str]:
    box, x, y, word_y = spot
    label = f'<text x="{x}" y="{y}">{escape_xml(box.label)}</text>'
    wide = columns(box.label) * _COLUMN + _FONT // 2
    if box.marked:
        yield _shade(x - wide / 2, y - _FONT + 1, wide, 1.0, _MARK)
    if box.probability is None:
        yield label
    else:
        told = f"<title>{escape_xml(box.label)}: probability {box.probability:.4g}</title>"
        yield f"<g>{told}{_shade(x - wide / 2, y - _FONT + 1, wide, box.probability)}{label}</g>"
    if box.word is not None:
        way = ' direction="rtl"' if reads_leftwards(box.word) else ""
        yield f'<text x="{x}" y="{word_y}" font-style="italic"{way}>{escape_xml(box.word)}</text>'


def _shade(x: float, y: float, width: float, probability: float, colour: str = _SHADE) -> str:
    opacity = f'fill="{colour}" fill-opacity="{_DEEPEST * probability:.3f}"'
    return f'<rect x="{x}" y="{y}" width="{width}" height="{_FONT + 5}" rx="4" {opacity}/>'


_LEGEND = 330  # pixels


def _legend(y: float) -> Iterator[str]:
    """A row of shades with the probabilities that they stand for."""
    yield f'<g font-size="{_FONT - 3}"><text x="55" y="{y}">probability</text>'
    for step in range(5):
        x = 110 + 42 * step
        yield f'{_shade(x, y - _FONT + 1, 38, step / 4)}<text x="{x + 19}" y="{y}">{step / 4:.2f}</text>'
    yield "</g>"


# ---------------------------------------------------------------- pages

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
body {{ font-family: system-ui, sans-serif; margin: 1rem; }}
figure {{ margin: 0 0 2rem; padding: 0 0 1rem; border-bottom: 1px solid color-mix(in srgb, currentColor 25%, Canvas); }}
</style>
</head>
<body>
{body}
</body>
</html>"""


def _html_page(pictures: Sequence[Picture]) -> str:
    """A page for a browser with the pictures under each other, which follows the reader's light or dark scheme."""
    body = "\n".join(_figure(number, picture) for number, picture in enumerate(pictures, start=1))
    title = "1 tree" if len(pictures) == 1 else f"{len(pictures)} trees"
    return _PAGE.format(title=title, body=body)


def _figure(number: int, picture: Picture) -> str:
    sentence = escape_xml(clean(" ".join(picture.tree.words())))
    caption = f"<figcaption>{number}. <bdi>{sentence}</bdi></figcaption>"
    return f"<figure>{caption}\n{picture._repr_html_()}\n</figure>"


def _svg_sheet(pictures: Sequence[Picture]) -> str:
    """One SVG with all pictures, under each other."""
    elements, width, height = list[str](), 0, 0
    for picture in pictures:
        sketch = _sketch(picture.tree, picture.probabilities)
        elements += [f'<g transform="translate(0 {height})">', *sketch.elements, "</g>"]
        width, height = max(width, sketch.width), height + sketch.height
    return _svg_element(_Sketch(width, height, elements), f"{len(pictures)} trees")


# ---------------------------------------------------------------- LaTeX

_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        **{char: f"\\{char}" for char in "{}$&#%_"},
    }
)


def latex(tree: Tree) -> str:
    r"""The tree for LaTeX's `forest` package (`\usepackage{forest}`), its words in a row at the bottom."""
    parts = ["\\begin{forest}\n  where n children=0{tier=word}{}\n  "]
    stack: list[Tree | None] = [unwrap(tree)[0]]
    while stack:
        node = stack.pop()
        if node is None:
            parts.append("]")
            continue
        parts.append(f"[{_latex_text(node.label)}")
        parts += [] if node.word is None else [f"[{_latex_text(node.word)}]"]
        stack.append(None)
        stack.extend(reversed(node.children))
    return "".join(parts) + "\n\\end{forest}"


def _latex_text(text: str) -> str:
    """Text as a forest node: in braces, unless it is plain, for brackets, commas and equals signs mean something."""
    escaped = clean(text).translate(_LATEX)
    return escaped if escaped.isalnum() else f"{{{escaped}}}"


# ---------------------------------------------------------------- pictures of any format

Format = Literal["terminal", "svg", "html", "latex"]
_ENDINGS: dict[str, Format] = {
    ".txt": "terminal",
    ".svg": "svg",
    ".html": "html",
    ".htm": "html",
    ".tex": "latex",
}


@dataclass(frozen=True, repr=False)
class Picture:
    """A tree that shows itself: as text where it is printed, as a picture in a notebook.

    Phrases that have probabilities, in the order of `tree.spans()`, are shaded by them, in text told.
    """

    tree: Tree
    probabilities: tuple[float, ...] = ()

    def __str__(self) -> str:
        """The tree for a terminal, no wider than that."""
        return draw(self.tree, terminal_width(), probabilities=self.probabilities)

    __repr__ = __str__

    def _repr_svg_(self) -> str:
        return svg(self.tree, self.probabilities)

    def _repr_html_(self) -> str:
        """The picture for a notebook, where a wide one scrolls."""
        return f'<div style="overflow-x:auto">{self._repr_svg_()}</div>'

    def save(self, path: str | Path) -> None:
        """Write the picture to a file, as its ending says: .svg, .html, .tex or .txt."""
        write_atomically(path, f"{render([self], format_named(path))}\n".encode())


def format_named(path: str | Path) -> Format:
    """The format of pictures that the ending of a name tells."""
    ending = Path(path).suffix.lower()
    if ending not in _ENDINGS:
        raise LatreeError(f"{path}: no pictures end in {ending or 'nothing'!r}; expected {', '.join(_ENDINGS)}")
    return _ENDINGS[ending]


def render(pictures: Iterable[Picture], form: Format) -> str:
    """All pictures in one text."""
    all_of_them = list(pictures)
    if form == "svg":
        return all_of_them[0]._repr_svg_() if len(all_of_them) == 1 else _svg_sheet(all_of_them)
    if form == "html":
        return _html_page(all_of_them)
    if form == "latex":
        return "\n".join(["% needs \\usepackage{forest}", *(latex(one.tree) for one in all_of_them)])
    return "\n\n".join(draw(one.tree, probabilities=one.probabilities) for one in all_of_them)
