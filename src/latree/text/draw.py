"""Drawings of trees: for a terminal, as SVG, and for LaTeX.

Terminal and SVG share one layout, in columns of a fixed-width font: words stand in a row at the bottom, each under its
tag, and a phrase is centred over its children, as high as its own height asks.  Nothing here is recursive, so that a
degenerate tree of any depth can be drawn.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape as escape_xml
from typing import NamedTuple

from latree.text.tree import Tree

__all__ = ["draw", "latex", "svg"]


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


# ---------------------------------------------------------------- text in columns


def _clean(text: str) -> str:
    """Text without the characters that would break a terminal or are not allowed in XML."""
    return "".join("\ufffd" if unicodedata.category(c) in ("Cc", "Cs") or c in "\ufffe\uffff" else c for c in text)


def _char_width(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _width(text: str) -> int:
    """How many columns a terminal needs for `text`."""
    return sum(map(_char_width, text))


def _clip(text: str, width: int, cut: str) -> str:
    """`text`, its end replaced by `cut` where it is wider than `width`."""
    if _width(text) <= width:
        return text
    while _width(text) + _width(cut) > width:
        text = text[:-1]
    return text + cut


class _Line:
    """One line of output, written at any columns; a wide character fills two cells, the second one empty."""

    def __init__(self, width: int) -> None:
        self.cells = [" "] * width

    def put(self, column: int, text: str) -> None:
        for char in text:
            width = _char_width(char)
            if width == 0:
                self._attach(column, char)
                continue
            self.cells[column] = char
            if width == 2:
                self.cells[column + 1] = ""
            column += width

    def _attach(self, column: int, mark: str) -> None:
        """Add a combining mark to the character that ends before `column`."""
        before = column - 1
        if before > 0 and not self.cells[before]:
            before -= 1
        self.cells[max(before, 0)] += mark

    def __str__(self) -> str:
        return "".join(self.cells).rstrip(" ")


# ---------------------------------------------------------------- layout


@dataclass
class _Box:
    """A node on the drawing.  `left` and `centre` are columns: at first from the parent's left edge, then absolute."""

    label: str
    word: str | None
    children: list[_Box] = field(default_factory=list)
    height: int = 0  # 0: a tag
    left: int = 0
    width: int = 0
    centre: int = 0

    def start(self, text: str) -> int:
        """The column where `text` begins if it is centred on the box."""
        return self.centre - (_width(text) - 1) // 2


def _boxes(tree: Tree) -> list[_Box]:
    """One box a node, a parent before its children; a subtree that stands twice in the tree gets two boxes."""
    boxes: list[_Box] = []
    stack: list[tuple[Tree, _Box | None]] = [(tree, None)]
    while stack:
        node, parent = stack.pop()
        box = _Box(_clean(node.label), None if node.word is None else _clean(node.word))
        boxes.append(box)
        if parent is not None:
            parent.children.append(box)
        stack.extend((child, box) for child in reversed(node.children))
    return boxes


def _layout(tree: Tree, gap: int) -> list[_Box]:
    """The tree's boxes in their places, `gap` columns between neighbours."""
    boxes = _boxes(tree)
    for box in reversed(boxes):
        _measure(box, gap)
    for box in boxes:
        box.centre += box.left
        for child in box.children:
            child.left += box.left
    return boxes


def _measure(box: _Box, gap: int) -> None:
    """Set the size of a box whose children have theirs, and their places in it."""
    right = 0
    for child in box.children:
        child.left = right
        right += child.width + gap
        box.height = max(box.height, child.height + 1)
    right = max(right - gap, 0)
    if box.children:
        first, last = box.children[0], box.children[-1]
        box.centre = (first.left + first.centre + last.left + last.centre) // 2
    texts = [box.label, box.word or ""]
    shift = max(0, -min(map(box.start, texts)))  # a label may stick out over its children, to the left or to the right
    box.centre += shift
    for child in box.children:
        child.left += shift
    box.width = max(right + shift, *(box.start(text) + _width(text) for text in texts))


# ---------------------------------------------------------------- terminal


def draw(tree: Tree, width: int | None = None, *, ascii_only: bool = False) -> str:
    """The tree in box characters, or with `ascii_only` in lines of plain ASCII (words stay as they are).

    Without `width` the drawing is as wide as it needs to be.  A drawing that does not fit in `width` columns is set
    closer, and if it still does not fit, turned on its side: one node a line, indented.
    """
    pen = _ASCII if ascii_only else _UNICODE
    if width is None:
        return _horizontal(_layout(tree, gap=2), pen)
    if width < 1:
        raise ValueError(f"a drawing needs a width of at least one column, not {width}")
    for gap in (2, 1):
        boxes = _layout(tree, gap)
        if boxes[0].width <= width:
            return _horizontal(boxes, pen)
    return "\n".join(_vertical(boxes[0], width, pen))


def _horizontal(boxes: list[_Box], pen: _Pen) -> str:
    """Two lines a level, the label and the branches below it; at the bottom tags, strokes and words."""
    top = boxes[0]
    lines = [_Line(top.width) for _ in range(2 * top.height + 3)]
    for box in boxes:
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


def _branches(box: _Box, line: _Line, pen: _Pen) -> None:
    """The bar between a phrase and its children."""
    columns = [child.centre for child in box.children]
    if len(columns) == 1:
        line.put(box.centre, pen.down)
        return
    line.put(columns[0], pen.across * (columns[-1] - columns[0]))
    for column in columns[1:-1]:
        line.put(column, pen.joints[0])
    line.put(columns[0], pen.corners[0])
    line.put(columns[-1], pen.corners[1])
    line.put(box.centre, pen.joints[2 if box.centre in columns else 1])


def _vertical(top: _Box, width: int, pen: _Pen) -> Iterator[str]:
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
    text = _clip(text, width, cut)
    room = width - _width(text)
    if len(lead) > room:
        lead = cut + lead[len(lead) - room + 1 :] if room else ""
    return lead + text


# ---------------------------------------------------------------- SVG

_COLUMN, _LEVEL, _FONT = 9, 48, 15  # pixels a column, a level, and the size of the letters


def svg(tree: Tree) -> str:
    """A picture of the tree as one self-contained SVG element, in the colour of the text around it."""
    boxes = _layout(tree, gap=2)
    top = boxes[0]
    width, height = (top.width + 2) * _COLUMN, (top.height + 2) * _LEVEL
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
            f' font-family="monospace" font-size="{_FONT}" text-anchor="middle" fill="currentColor">',
            *_svg_lines(boxes),
            *_svg_texts(boxes),
            "</svg>",
        ]
    )


def _svg_place(box: _Box, top: _Box) -> tuple[float, int]:
    """The point on which the label of `box` is centred."""
    return (box.centre + 1.5) * _COLUMN, (top.height - box.height) * _LEVEL + _LEVEL // 2


def _svg_lines(boxes: list[_Box]) -> Iterator[str]:
    """Straight branches, from below a label to above its children's."""
    yield '<g stroke="currentColor">'
    for box in boxes:
        x, y = _svg_place(box, boxes[0])
        for child in box.children:
            child_x, child_y = _svg_place(child, boxes[0])
            yield f'<line x1="{x}" y1="{y + _FONT // 2}" x2="{child_x}" y2="{child_y - _FONT}"/>'
        if box.word is not None:
            yield f'<line x1="{x}" y1="{y + _FONT // 2}" x2="{x}" y2="{y + _LEVEL - _FONT}"/>'
    yield "</g>"


def _svg_texts(boxes: list[_Box]) -> Iterator[str]:
    for box in boxes:
        x, y = _svg_place(box, boxes[0])
        yield f'<text x="{x}" y="{y}">{escape_xml(box.label)}</text>'
        if box.word is not None:
            yield f'<text x="{x}" y="{y + _LEVEL}" font-style="italic">{escape_xml(box.word)}</text>'


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
    stack: list[Tree | None] = [tree]
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
    escaped = _clean(text).translate(_LATEX)
    return escaped if escaped.isalnum() else f"{{{escaped}}}"
