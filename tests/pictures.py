"""What is wrong with a picture of a tree: measured in its SVG, by the widths that a browser gives its letters."""

from __future__ import annotations

import random
import unicodedata
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from latree.text.tree import Tree

SVG = "{http://www.w3.org/2000/svg}"
FONT = 15
Numbers = NDArray[np.float64]
LABELS = ("S", "NP", "NP-SBJ-1", "PP", "ADVERBIALPHRASE-TMP=12", "", "名詞句", "X")
WORDS = (
    "I",
    "the",
    "incomprehensibilities",
    ".",
    "猫",
    "食べられる",
    "e\u0301a",
    "👩‍👩‍👧",
    "❤\ufe0f",
    "🇫🇴",
    "שלום",
    "a\u0301\u0323\u0308",
)


def random_tree(rng: random.Random) -> Tree:
    """A tree of up to some eighty nodes: flat ones, deep ones, chains, long labels and letters of all widths."""
    deepest, widest = rng.choice([(1, 40), (2, 10), (4, 4), (7, 3), (12, 2), (60, 1)])

    def grown(depth: int) -> Tree:
        if depth == 0 or rng.random() < 0.25:
            return Tree(rng.choice(LABELS) or "T", word=rng.choice(WORDS))
        return Tree(rng.choice(LABELS), [grown(depth - 1) for _ in range(rng.randint(1, widest))])

    return grown(deepest)


def pixels(text: str) -> float:
    """How wide a browser sets a text in fixed-width letters, emoji being the widest that there are."""
    wide, before = 0.0, ""
    for char in text:
        if char == "\ufe0f":
            wide += 0.65
        elif "\U0001f1e6" <= char <= "\U0001f1ff":  # half a flag
            wide += 0.625
        elif before != "\u200d" and unicodedata.category(char) not in ("Mn", "Me", "Cf"):
            wide += 1.25 if ord(char) > 0x1F000 else 1.0 if unicodedata.east_asian_width(char) in "WF" else 0.602
        before = char
    return wide * FONT


def lines_of(root: ElementTree.Element) -> Numbers:
    """[lines, 4] the ends of all branches."""
    names = ("x1", "y1", "x2", "y2")
    rows = [[float(line.attrib[name]) for name in names] for line in root.iter(f"{SVG}line")]
    return np.array(rows).reshape(-1, 4)


def labels_of(root: ElementTree.Element) -> Numbers:
    """[labels, 4] left, top, right and bottom of all texts but empty ones."""
    rows = []
    for text in root.iter(f"{SVG}text"):
        if text.text:
            x, y, half = float(text.attrib["x"]), float(text.attrib["y"]), pixels(text.text) / 2
            rows.append([x - half, y - 0.9 * FONT, x + half, y + 0.25 * FONT])
    return np.array(rows).reshape(-1, 4)


def _side(a: Any, b: Any, c: Any) -> Numbers:
    """On which side of the line from a to b the point c lies."""
    sides: Numbers = np.sign((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
    return sides


def crossings(lines: Numbers) -> int:
    """Pairs of branches that meet, but for those that begin together, as of one parent."""
    one, other = np.triu_indices(len(lines), k=1)
    a, b, c, d = lines[one, :2].T, lines[one, 2:].T, lines[other, :2].T, lines[other, 2:].T
    meet = (_side(a, b, c) * _side(a, b, d) <= 0) & (_side(c, d, a) * _side(c, d, b) <= 0)
    along = (np.maximum(a, b).T >= np.minimum(c, d).T).all(1) & (np.maximum(c, d).T >= np.minimum(a, b).T).all(1)
    together = (a == c).all(0) & (_side(a, b, d) != 0)
    return int((meet & along & ~together).sum())


def overlaps(labels: Numbers) -> int:
    """Pairs of labels that lie on each other."""
    one, other = (labels[k] for k in np.triu_indices(len(labels), k=1))
    return int(((one[:, :2] < other[:, 2:]) & (other[:, :2] < one[:, 2:])).all(1).sum())


def strikes(lines: Numbers, labels: Numbers) -> int:
    """How often a branch runs through a label: the part of it that lies between the label's edges is not empty."""
    start, way = lines[:, None, :2], (lines[:, 2:] - lines[:, :2])[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        near, far = (labels[None, :, :2] - start) / way, (labels[None, :, 2:] - start) / way
    inside = (labels[None, :, :2] < start) & (start < labels[None, :, 2:])
    still = np.broadcast_to(way == 0, inside.shape)
    enter = np.where(still, np.where(inside, -np.inf, np.inf), np.minimum(near, far)).max(2)
    leave = np.where(still, np.where(inside, np.inf, -np.inf), np.maximum(near, far)).min(2)
    return int((np.maximum(enter, 0) < np.minimum(leave, 1)).sum())


def faults(svg: str) -> dict[str, int]:
    """What is wrong with a picture, by kind; empty where nothing is."""
    root = ElementTree.fromstring(svg)
    lines, labels = lines_of(root), labels_of(root)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    outside = int(((labels[:, :2] < 0) | (labels[:, 2:] > (width, height))).any(1).sum()) if len(labels) else 0
    counts = {
        "crossings": crossings(lines),
        "overlaps": overlaps(labels),
        "strikes": strikes(lines, labels),
        "outside": outside,
    }
    return {name: count for name, count in counts.items() if count}
