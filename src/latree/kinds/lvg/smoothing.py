"""Sibling subtypes drawn towards each other, so that none rests on a few trees alone (Petrov 2009, section 2.1).

Siblings are the subtypes on the same side of a symbol's first split.
"""

from __future__ import annotations

import numpy as np

from latree.arrays import Floats, Longs
from latree.inference.forms.sparse import Sparse, sparse
from latree.inference.subtypes import History, Layout
from latree.jit import kernel
from latree.learning.latent_treebank import LexicalLayout


class Smoother:
    """Draws sibling subtypes towards each other, within the same side of a symbol's first split."""

    def __init__(self, lexical: LexicalLayout, history: History, rule_share: float, word_share: float) -> None:
        self.lexical, self.layout = lexical, lexical.layout
        symbols = range(len(self.layout.size))
        maps = [_smoothing(history.branches(s), rule_share) for s in symbols]
        self.maps = np.concatenate([matrix.ravel() for matrix in maps])
        first = np.cumsum(self.layout.size**2) - self.layout.size**2
        self.rule_map = first[self.layout.grammar.rules[:, 0]]
        self.word_maps = word_smoothing(self.layout, history, word_share)

    def cells(self, theta: Floats) -> Longs:
        """The places that smoothing these tensors gives some weight to."""
        weights = sparse(self.layout, theta)
        return _reached(weights, self.layout.start, self.layout.dims, self.maps, self.rule_map)

    def smooth_rules(self, weights: Sparse, value: Floats) -> None:
        """In place, for weights that have all the `cells`."""
        _smooth_cells(weights, self.maps, self.rule_map, value)

    def words(self, emissions: Floats) -> Floats:
        return self.lexical.mapped(emissions, self.word_maps)


@kernel
def _table(weights: Sparse, rule: int, value: Floats) -> Floats:
    """The cells of a rule as a matrix [x, pairs]."""
    first = weights.rule_row[rule]
    table = np.zeros((weights.rule_row[rule + 1] - first, weights.rule_pair[rule + 1] - weights.rule_pair[rule]))
    for x in range(len(table)):
        for k in range(weights.row[first + x], weights.row[first + x + 1]):
            table[x, weights.cell_pair[k]] = value[k]
    return table


@kernel
def _reached(weights: Sparse, start: Longs, dims: Longs, maps: Floats, rule_map: Longs) -> Longs:
    """Where the products of the maps with the rules' tensors have some weight, in order."""
    places, used = np.empty(2 * len(weights.value) + 1, np.int64), 0
    for rule in range(len(dims)):
        table = _table(weights, rule, weights.value)
        size = len(table)
        smooth = np.dot(maps[rule_map[rule] : rule_map[rule] + size * size].reshape(size, size), table)
        if used + smooth.size > len(places):
            places = np.concatenate((places, np.empty(used + smooth.size, np.int64)))
        for x in range(size):
            for p in range(table.shape[1]):
                if smooth[x, p] > 0.0:
                    y, z = weights.pair[weights.rule_pair[rule] + p]
                    places[used] = start[rule] + (x * dims[rule, 1] + y) * dims[rule, 2] + z
                    used += 1
    return places[:used].copy()


@kernel
def _smooth_cells(weights: Sparse, maps: Floats, rule_map: Longs, value: Floats) -> None:
    for rule in range(len(rule_map)):
        table = _table(weights, rule, value)
        size = len(table)
        smooth = np.dot(maps[rule_map[rule] : rule_map[rule] + size * size].reshape(size, size), table)
        for x in range(size):
            r = weights.rule_row[rule] + x
            for k in range(weights.row[r], weights.row[r + 1]):
                value[k] = smooth[x, weights.cell_pair[k]]


def word_smoothing(layout: Layout, history: History, share: float) -> list[Floats]:
    """The smoothing matrix of every tag."""
    return [_smoothing(history.branches(s), share) for s in range(layout.grammar.first_tag, len(layout.size))]


def _smoothing(branch: Longs, share: float) -> Floats:
    """p_i <- (1 - share) p_i + share / (n - 1) * sum of the others on the same branch of n; alone: unchanged."""
    same = branch[:, None] == branch[None, :]
    others = same.sum(1) - 1
    matrix = np.where(same, share / np.maximum(others, 1)[:, None], 0.0)
    np.fill_diagonal(matrix, np.where(others > 0, 1 - share, 1.0))
    return matrix
