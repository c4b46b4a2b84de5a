"""Where the nodes of a tree stand in a drawing, in columns of a fixed-width font.

Every word has columns of its own, in the order of the sentence, and a phrase is centred over its children within the
columns of its words, or of its label where that is wider.  So a branch down to a child never meets another phrase's
columns, whatever the rows are.  Where words are read from right to left, so is the drawing.  Nothing here is recursive:
a degenerate tree of any depth can be drawn.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from latree.text.tree import Tree

# ---------------------------------------------------------------- text in columns

_BROKEN = ("Cc", "Cs", "Zl", "Zp")  # categories of controls, halves of characters, and ends of lines
_REORDERING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_JOINER, _AS_EMOJI, _LEFT_TO_RIGHT = "\u200d", "\ufe0f", "\u200e"


def clean(text: str) -> str:
    """Replace the characters that would break or turn a terminal's line, or are not allowed in XML."""
    if text.isascii() and text.isprintable():
        return text
    unfit = _REORDERING + "\ufffe\uffff"
    return "".join("\ufffd" if unicodedata.category(char) in _BROKEN or char in unfit else char for char in text)


def clusters(text: str) -> list[tuple[str, int]]:
    """Split a text into what a terminal shows as one character, and its columns; marks go with what is before."""
    parts: list[tuple[str, int]] = []
    for char in text:
        before, width = parts[-1] if parts else ("", 0)
        if char == _AS_EMOJI and parts:
            parts[-1] = before + char, 2
        elif before.endswith(_JOINER) or _is_mark(char) or (width == 2 and "\U0001f3fb" <= char <= "\U0001f3ff"):
            parts[-1:] = [(before + char if parts else f" {char}", width or 1)]
        else:
            parts.append((char, 2 if unicodedata.east_asian_width(char) in "WF" else 1))
    return parts


def _is_mark(char: str) -> bool:
    """Whether a character has no columns: a mark, a format, a vowel or an end of a Korean syllable."""
    return unicodedata.category(char) in ("Mn", "Me", "Cf") or "\u1160" <= char <= "\u11ff"


def columns(text: str) -> int:
    """How many columns a terminal needs for `text`."""
    return len(text) if text.isascii() else sum(width for _, width in clusters(text))


def clip(text: str, width: int, cut: str) -> str:
    """`text`, its end replaced by `cut` where it is wider than `width`."""
    if columns(text) <= width:
        return text
    while columns(text) + columns(cut) > width:
        text = text[:-1]
    return text + cut


def reads_leftwards(text: str) -> bool:
    """Whether the first letter of the text is of a script that is written from right to left."""
    directions = (unicodedata.bidirectional(char) for char in text)
    return next((direction for direction in directions if direction in ("L", "R", "AL")), "L") != "L"


class Line:
    """One line of output, written at any columns; a wide character fills two cells, the second one empty."""

    def __init__(self, width: int) -> None:
        self.cells = [" "] * width

    def put(self, column: int, text: str) -> None:
        """Write a text; one that runs leftwards is fenced in, else a terminal would turn its neighbours too."""
        last = column
        for character, width in clusters(text):
            self.cells[column : column + width] = [character, ""][:width]
            last, column = column, column + width
        if reads_leftwards(text):
            first = column - columns(text)
            self.cells[first] = _LEFT_TO_RIGHT + self.cells[first]
            self.cells[last] += _LEFT_TO_RIGHT

    def __str__(self) -> str:
        return "".join(self.cells).rstrip(" ")


# ---------------------------------------------------------------- boxes


@dataclass(eq=False)
class Box:
    """A node on the drawing.  `left` and `centre` are columns: at first from the parent's left edge, then absolute."""

    label: str
    word: str | None = None
    children: list[Box] = field(default_factory=list)
    leftwards: bool = False  # the first child stands on the right
    probability: float | None = None
    marked: bool = False  # to be pointed out
    part: Box | None = None  # what is drawn elsewhere, where this box only stands for it
    depth: int = 0
    height: int = 0  # 0: a tag
    left: int = 0
    width: int = 0
    centre: int = 0

    @property
    def row(self) -> list[Box]:
        """The children from left to right."""
        return self.children[::-1] if self.leftwards else self.children

    def start(self, text: str) -> int:
        """The column where `text` begins if it is centred on the box."""
        return self.centre - (columns(text) - 1) // 2

    def subtree(self) -> list[Box]:
        """This box and all below it, a parent before its children."""
        boxes, stack = [], [self]
        while stack:
            boxes.append(stack.pop())
            stack.extend(reversed(boxes[-1].children))
        return boxes


def unwrap(tree: Tree) -> tuple[Tree, int]:
    """The part of a tree to draw, inside its outer brackets without a label, and how many these are."""
    skipped = 0
    while not tree.label and len(tree) == 1:
        tree, skipped = tree[0], skipped + 1
    return tree, skipped


def boxes_of(tree: Tree, probabilities: Sequence[float] = (), marked: Collection[int] = ()) -> list[Box]:
    """One box a node, a parent before its children, phrases with their probabilities where these are given.

    A subtree that stands twice in the tree gets two boxes, an outer bracket without a label none.  Nodes are marked by
    their places in `subtrees`.
    """
    top, skipped = unwrap(tree)
    leftwards = reads_leftwards("".join(tree.words()))
    given = iter(probabilities[skipped:])
    boxes: list[Box] = []
    stack: list[tuple[Tree, Box | None]] = [(top, None)]
    while stack:
        node, parent = stack.pop()
        if node.word is not None:
            box = Box(clean(node.label), clean(node.word), leftwards=leftwards)
        else:
            box = Box(clean(node.label), leftwards=leftwards, probability=next(given, None))
        box.marked = len(boxes) + skipped in marked
        boxes.append(box)
        if parent is not None:
            parent.children.append(box)
            box.depth = parent.depth + 1
        stack.extend((child, box) for child in reversed(node.children))
    return boxes


def place(boxes: list[Box], gap: int) -> None:
    """Put the boxes of a tree in their places, `gap` columns between neighbours."""
    for box in reversed(boxes):
        _measure(box, gap)
    _settle(boxes)


def _measure(box: Box, gap: int) -> None:
    """Set the size of a box whose children have theirs, and their places in it."""
    right = box.left = box.centre = box.height = 0
    for child in box.row:
        child.left = right
        right += child.width + gap
        box.height = max(box.height, child.height + 1)
    right = max(right - gap, 0)
    if box.children:
        first, last = box.row[0], box.row[-1]
        box.centre = (first.left + first.centre + last.left + last.centre) // 2
    texts = [box.label, box.word or ""]
    shift = max(0, -min(map(box.start, texts)))  # a label may stick out over its children, to the left or to the right
    box.centre += shift
    for child in box.children:
        child.left += shift
    box.width = max(right + shift, *(box.start(text) + columns(text) for text in texts))


def _settle(boxes: list[Box]) -> None:
    """Turn the places of boxes in their parents into places in the drawing."""
    for box in boxes:
        box.centre += box.left
        for child in box.children:
            child.left += box.left


# ---------------------------------------------------------------- wide trees in parts

_GAP = 1  # columns between neighbours, where room is short
_MORE = "..."  # after the label of what goes on, and in place of what is left for later


def fold(boxes: list[Box], width: int) -> list[Box] | None:
    """Cut a tree into parts of at most `width` columns: their topmost boxes, the tree's first; None where none fit.

    A box with the number of a part stands where it was cut off.
    """
    number = f"[{len(boxes)}]"  # no part has a wider one
    if not all(_shorten(box, width, number) for box in reversed(boxes)):
        return None
    parts = [boxes[0]]
    for part in parts:
        inside = part.subtree()
        part.left = 0
        _settle(inside)
        for box in inside:
            if box.part is not None:
                parts.append(box.part)
                box.word = f"[{len(parts)}]"
    return parts


def _stand_in(part: Box, label: str, number: str) -> Box:
    box = Box(label, number, part=part)
    _measure(box, _GAP)
    return box


def _shorten(box: Box, width: int, number: str) -> bool:
    """Cut phrases off a box whose children fit, the widest first, and then its last children; say whether it fits."""
    _measure(box, _GAP)
    while box.width > width:
        phrases = [child for child in box.children if child.children]
        if not phrases:
            return _break_row(box, width, number)
        widest = max(phrases, key=lambda child: child.width)
        box.children[box.children.index(widest)] = _stand_in(widest, widest.label, number)
        _measure(box, _GAP)
    return True


def _break_row(box: Box, width: int, number: str) -> bool:
    """Leave as many children in a box as fit, and go on with the others in the next part."""
    while box.width > width:
        children, fitting = box.children, 0
        for count in range(1, len(children)):
            box.children = [*children[:count], _stand_in(box, _MORE, number)]
            _measure(box, _GAP)
            if box.width > width:
                break
            fitting = count
        if not fitting:
            return False
        rest = Box(box.label.removesuffix(_MORE) + _MORE, children=children[fitting:], leftwards=box.leftwards)
        box.children = [*children[:fitting], _stand_in(rest, _MORE, number)]
        _measure(box, _GAP)
        _measure(rest, _GAP)
        box = rest
    return True
