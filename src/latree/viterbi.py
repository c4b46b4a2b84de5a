"""The best derivation over subtypes: the one tree with one subtype at every node that is most probable.

Other objectives sum over subtypes; this one does not, which costs some accuracy (Petrov & Klein 2007).
"""

from __future__ import annotations

import numpy as np

from latree.arrays import Floats, Longs
from latree.forest import PASS, Forest, L, P, R
from latree.forms.dense import Dense
from latree.jit import kernel


@kernel
def _best_subtypes(forest: Forest, weights: Dense, log_theta: Floats, start: Longs) -> tuple[Floats, Longs]:
    """For every subtype of every item its best log score, and the edge and children's subtypes that give it."""
    score, back = np.full(start[-1], -np.inf), np.full((start[-1], 3), -1)
    ends = forest.ends
    for e in range(len(forest.rule)):
        rule, parent, left, right = forest.rule[e], ends[e, P], ends[e, L], ends[e, R]
        own = rule == PASS or weights.dims[rule, 1] == 0  # the child has the parent's subtype
        narrow = 1 if right < 0 else start[right + 1] - start[right]
        for x in range(start[parent + 1] - start[parent]):
            low, high = (x, x + 1) if own else (0, weights.dims[rule, 1])
            for y in range(low, high):
                under = 0.0 if left < 0 else score[start[left] + y]
                for z in range(narrow):
                    if rule == PASS:
                        total = under
                    elif own:
                        total = under + log_theta[weights.start[rule] + x]
                    else:
                        total = under + log_theta[weights.start[rule] + (x * high + y) * narrow + z]
                    if right >= 0:
                        total += score[start[right] + z]
                    if total > score[start[parent] + x]:
                        score[start[parent] + x] = total
                        back[start[parent] + x, 0], back[start[parent] + x, 1], back[start[parent] + x, 2] = e, y, z
    return score, back


def viterbi_edges(forest: Forest, weights: Dense, width: Longs) -> list[int]:
    """The edges of all sentences' best derivations over subtypes."""
    with np.errstate(divide="ignore"):
        log_theta = np.log(weights.theta)
    start = np.concatenate([[0], np.cumsum(width[forest.symbol])]).astype(np.int64)
    _, back = _best_subtypes(forest, weights, log_theta, start)
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
