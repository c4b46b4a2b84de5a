"""A forest of listed constituents: only what appears in given trees is considered (Zhao, Zhang & Tu 2018, section 3.2).

The trees may be another parser's k best, as in the paper.  A tree is among those considered where each of its phrases
and tags is in one of the given trees, over the same words; it need not be one of them.  A part of a binarised phrase is
no constituent: it may stand wherever a listed phrase of its label spans it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from latree.inference.chart import Chart, Values
from latree.inference.forest import Piece, trim
from latree.inference.grammar import Grammar
from latree.text.tree import Tree


@dataclass(frozen=True)
class Listed:
    """A sentence of which only the constituents of some trees are considered."""

    words: tuple[str, ...]
    trees: tuple[Tree, ...]


class Allowed(NamedTuple):
    """The symbols that may stand over each span of a sentence."""

    inner: NDArray[np.bool_]  # [words, words, inner symbols] by the first and the last word
    tags: NDArray[np.bool_]  # [words, tags]

    def on_chart(self, chart: Chart) -> Chart:
        """Rule out what is not allowed."""
        first, last = np.triu_indices(chart.words)
        by_cell = np.lexsort((first, last - first))
        inner = self.inner[first[by_cell], last[by_cell]]
        base, top, tag = chart.inside
        inside = Values(np.where(inner, base, 0.0), np.where(inner, top, 0.0), np.where(self.tags, tag, 0.0))
        return chart._replace(inside=inside)

    def on_piece(self, piece: Piece) -> Piece:
        """Drop what else was harvested: between the steps of a unary chain there may be any symbol."""
        if not len(piece.symbol):
            return piece
        first, last = piece.span[:, 0], piece.span[:, 1] - 1
        both = np.concatenate([self.inner[first, last], self.tags[first] & (first == last)[:, None]], axis=1)
        keep: NDArray[np.bool_] = both[np.arange(len(first)), piece.symbol]
        return trim(piece, keep)


def allowed_by(trees: Iterable[Tree], grammar: Grammar, words: int) -> Allowed:
    """Allow the constituents of trees over so many words, whose labels are as clean as the grammar's."""
    phrases: defaultdict[str, set[tuple[int, int]]] = defaultdict(set)
    tags: set[tuple[int, str]] = set()
    for tree in trees:
        tags.update(enumerate(tree.tags()))
        for label, first, end in tree.spans():
            phrases[label].add((first, end))
    inner = np.zeros((words, words, grammar.first_tag), np.bool_)
    for number, (kind, label, *_) in enumerate(grammar.symbols[: grammar.first_tag]):
        for first, end in phrases[label]:
            if kind == "part":
                inner[first:end, first:end, number] = True
            else:
                inner[first, end - 1, number] = True
    inner[0, words - 1, 0] = True
    listed = [[(word, symbol.label) in tags for symbol in grammar.tags] for word in range(words)]
    return Allowed(inner, np.array(listed, np.bool_))
