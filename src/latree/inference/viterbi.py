"""The best derivation over subtypes: the one tree with one subtype at every node that is most probable.

Other objectives sum over subtypes; this one does not, which costs some accuracy (Petrov & Klein 2007).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latree.arrays import Floats, Longs, starts
from latree.inference.forest import PASS, Forest, L, P, R
from latree.inference.forms.sparse import Sparse
from latree.jit import inner, kernel


class _Best(NamedTuple):
    """For every subtype of every item its best log score, and the edge and children's subtypes that give it."""

    start: Longs  # [items + 1] where an item's subtypes begin
    score: Floats
    back: Longs  # [subtypes of items, 3]


@inner
def _offer(best: _Best, forest: Forest, edge: int, x: int, y: int, z: int, weight: float) -> None:
    """Subtype x of an edge's parent, made from y and z."""
    left, right, at = forest.ends[edge, L], forest.ends[edge, R], best.start[forest.ends[edge, P]] + x
    if left >= 0:
        weight += best.score[best.start[left] + y]
    if right >= 0:
        weight += best.score[best.start[right] + z]
    if weight > best.score[at]:
        best.score[at] = weight
        best.back[at, 0], best.back[at, 1], best.back[at, 2] = edge, y, z


@kernel
def _best_subtypes(forest: Forest, weights: Sparse, best: _Best) -> None:
    for e in range(len(forest.rule)):
        rule, parent = forest.rule[e], forest.ends[e, P]
        if rule == PASS or rule >= forest.rules:  # the child has the parent's subtype
            for x in range(best.start[parent + 1] - best.start[parent]):
                entry = 1.0 if rule == PASS else weights.entry[weights.entry_start[rule - forest.rules] + x]
                _offer(best, forest, e, x, x, 0, np.log(entry))
            continue
        first = weights.rule_row[rule]
        for x in range(weights.rule_row[rule + 1] - first):
            for k in range(weights.row[first + x], weights.row[first + x + 1]):
                y, z = weights.pair[weights.rule_pair[rule] + weights.cell_pair[k]]
                _offer(best, forest, e, x, y, z, np.log(weights.value[k]))


def viterbi_edges(forest: Forest, weights: Sparse, width: Longs) -> list[int]:
    """The edges of all sentences' best derivations over subtypes."""
    start = starts(width[forest.symbol])
    back = np.full((start[-1], 3), -1)
    _best_subtypes(forest, weights, _Best(start, np.full(start[-1], -np.inf), back))
    edges: list[int] = []
    stack = [(int(root), 0) for root in forest.root if root >= 0]
    while stack:
        item, x = stack.pop()
        edge, y, z = back[start[item] + x].tolist()
        if edge < 0:
            continue  # a sentence without a derivation
        edges.append(edge)
        stack.extend((int(forest.ends[edge, port]), k) for port, k in ((L, y), (R, z)) if forest.ends[edge, port] >= 0)
    return edges
