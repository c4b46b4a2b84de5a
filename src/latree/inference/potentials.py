"""Potentials: what parts of a forest weigh by themselves, beside the weights of the rules.

This is the seam for anything that scores a sentence in context.  A derivation's weight is multiplied by exp of the sum
of the potentials of its lexical entries, items and edges.  So the derivative of log Z by a potential is the expected
number of that part, and the derivative of log P(T | w) is the number expected in gold analyses less that in all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latree.arrays import Floats
from latree.inference.forest import PASS, Forest, L, P, R
from latree.jit import kernel


class Potentials(NamedTuple):
    """Logs of factors; an empty array stands for none at all, and -inf rules a part out."""

    entry: Floats = np.zeros(0)  # [lexical entries]
    item: Floats = np.zeros(0)  # [items]
    edge: Floats = np.zeros(0)  # [edges]

    def on_edges(self, forest: Forest) -> Potentials:
        """Lay the potentials of lexical entries on their edges, as the sweeps take them."""
        if not len(self.entry):
            return self
        lexical = forest.rule >= forest.rules
        edge = np.zeros(len(forest.rule))
        edge[lexical] = self.entry[forest.rule[lexical] - forest.rules]
        return Potentials(item=self.item, edge=edge + self.edge if len(self.edge) else edge)


NO_POTENTIALS = Potentials()


@kernel
def expected_parts(forest: Forest, posterior: Floats) -> tuple[Floats, Floats]:
    """Expected numbers of items and of edges, from posteriors of those edges that have a rule.

    An edge without a rule has what its parent's other edges leave.
    """
    items, ruled = np.zeros(len(forest.symbol)), np.zeros(len(forest.symbol))
    ends, edges = forest.ends, np.zeros(len(forest.rule))
    for e in range(len(forest.rule)):
        if forest.rule[e] != PASS:
            ruled[ends[e, P]] += posterior[e]
    for root in forest.root:
        if root >= 0:
            items[root] += 1.0
    for k in range(len(forest.rule)):
        e = len(forest.rule) - 1 - k  # parents first
        parent = ends[e, P]
        edges[e] = max(items[parent] - ruled[parent], 0.0) if forest.rule[e] == PASS else posterior[e]
        for port in (L, R):
            if ends[e, port] >= 0:
                items[ends[e, port]] += edges[e]
    return items, edges


def potential_slope(forest: Forest, posterior: Floats, entries: int) -> Potentials:
    """Differentiate the sum of log Z over sentences by the potentials of the forest's parts: the expected numbers."""
    items, edges = expected_parts(forest, posterior)
    lexical, entry = forest.rule >= forest.rules, np.zeros(entries)
    np.add.at(entry, forest.rule[lexical] - forest.rules, edges[lexical])
    return Potentials(entry, items, edges)


def potential_gradient(forest: Forest, gold: Floats, everything: Floats, entries: int) -> Potentials:
    """Differentiate the sum of log P(T | w): `gold` and `everything` are posteriors of the same forest's edges.

    Gold posteriors are those of a sweep in which edges that no gold analysis has are ruled out.
    """
    parts = (potential_slope(forest, posterior, entries) for posterior in (gold, everything))
    return Potentials(*(one - other for one, other in zip(*parts, strict=True)))
