"""Refinement trees: how finely each production tells subtypes apart (Petrov & Klein 2008, section 2).

A production, a rule of the grammar or a lexical rule, begins as one node.  A node may be divided: each of its symbols
that has subtypes goes to either half, which makes 8 nodes of a binary rule's, 4 of a unary one's, 2 of a word's.  Every
node has a parameter; what a production weighs for given subtypes is the exponential of the sum of the parameters on the
way from the top to the leaf that they fall into.  Only nodes that turned out to matter are divided further, so that one
production may be fine in a place where another is coarse.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from latree.arrays import NONE, Floats, Longs
from latree.checks import integers
from latree.files import Arrays


@dataclass(frozen=True, eq=False)
class Refinement:
    """All productions' trees, as nodes; parents come before their children."""

    production: Longs  # [nodes]
    place: Longs  # [nodes, 3] node of each port's split tree (`forms.multiscale`), 0 where it is not split
    parent: Longs  # [nodes] NONE at the top

    @classmethod
    def whole(cls, productions: int) -> Refinement:
        """Nothing is divided."""
        return cls(np.arange(productions), np.zeros((productions, 3), np.int64), np.full(productions, NONE))

    @property
    def nodes(self) -> int:
        return len(self.parent)

    @property
    def is_leaf(self) -> NDArray[np.bool_]:
        leaf = np.ones(self.nodes, bool)
        leaf[self.parent[self.parent != NONE]] = False
        return leaf

    def paths(self) -> csr_array:
        """[nodes, nodes] one where the second is the first itself or above it: parameters times this are sums along
        paths."""
        rows, columns = [np.arange(self.nodes)], [np.arange(self.nodes)]
        above = self.parent
        while (above != NONE).any():
            below = np.flatnonzero(above != NONE)
            rows.append(below)
            columns.append(above[below])
            above = np.where(above == NONE, NONE, self.parent[above])
        row, column = np.concatenate(rows), np.concatenate(columns)
        return csr_array((np.ones(len(row)), (row, column)), shape=(self.nodes, self.nodes))

    def divided(self, chosen: NDArray[np.bool_], splits: NDArray[np.bool_]) -> Refinement:
        """Some leaves get children; `splits` [productions, 3] says at which ports a production has subtypes."""
        parents = np.flatnonzero(chosen & self.is_leaf & splits[self.production].any(1))
        halves = np.array([[(k >> port) & 1 for port in (2, 1, 0)] for k in range(8)])
        owner = np.repeat(parents, 8)
        ports = splits[self.production[owner]]
        half = np.tile(halves, (len(parents), 1))
        kept = ~((half == 1) & ~ports).any(1)  # a port that is not split has no second half
        owner, ports, half = owner[kept], ports[kept], half[kept]
        place = np.where(ports, 2 * self.place[owner] + 1 + half, 0)
        columns = ((self.production, self.production[owner]), (self.place, place), (self.parent, owner))
        return Refinement(*(np.concatenate(pair) for pair in columns))

    def kept(self, delta: Floats) -> NDArray[np.bool_]:
        """The nodes that stay when brothers and sisters that are all zero, and have nothing below, are dropped."""
        alive = np.ones(self.nodes, bool)
        while True:
            needed = np.zeros(self.nodes + 1, bool)  # the last is for the tops' absent parent
            below = alive & (self.parent != NONE)
            leaf = np.ones(self.nodes, bool)
            leaf[self.parent[below]] = False
            np.logical_or.at(needed, self.parent[alive], ~leaf[alive] | (delta[alive] != 0))
            stay = alive & (needed[self.parent] | (self.parent == NONE))
            if (stay == alive).all():
                return alive
            alive = stay

    def restricted(self, alive: NDArray[np.bool_]) -> Refinement:
        number = np.append(np.cumsum(alive) - 1, NONE)  # the last stays absent
        return Refinement(self.production[alive], self.place[alive], number[self.parent[alive]])

    # --- storage

    def to_arrays(self) -> Arrays:
        """The arrays of a model file."""
        names = ("production", "place", "parent")
        return {name: getattr(self, name).astype(np.int32) for name in names}

    @classmethod
    def from_arrays(cls, arrays: Arrays, productions: int) -> Refinement:
        """The tree that wrote these, of so many productions; what is below comes after what is above."""
        nodes = len(arrays["parent"])
        parent = integers("parent", arrays, (nodes,), NONE, nodes)
        if (parent >= np.arange(nodes)).any():
            raise ValueError("a node of the refinement stands before its parent")
        production = integers("production", arrays, (nodes,), 0, productions)
        return cls(production, integers("place", arrays, (nodes, None)), parent)
