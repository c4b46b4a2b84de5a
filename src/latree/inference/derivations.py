"""Derivations of a forest laid over each other: parts that they have in common are stored, weighed and drawn once.

The trees of a k-best list differ in a few nodes each, so that fifty of them cost little more than a handful.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from latree.arrays import NONE, Ints, Longs, starts
from latree.inference.forest import PASS, Forest, L, P, R, arrange
from latree.inference.grammar import Grammar
from latree.jit import kernel
from latree.text.tree import Tree


class Derivation(NamedTuple):
    """A derivation of a forest: its edges, a parent's before its children's, left to right; and log P(T, w)."""

    edges: list[int]
    log_weight: float
    shared: Derivations
    node: int  # its root

    def tree(self, grammar: Grammar, words: Sequence[str]) -> Tree:
        """Make the tree; parts of binarised rules give way to their children."""
        return self.shared.trees(grammar, self.node, words)[0]


@dataclass(frozen=True, eq=False)
class Derivations:
    """A node is an edge with the nodes below it; children come before parents."""

    forest: Forest
    edge: Longs  # [nodes]
    below: Longs  # [nodes, 2] NONE where there is no child
    root: Longs  # [derivations] NONE where one has no edges
    _trees: dict[int, list[Tree]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, forest: Forest, lists: Sequence[Sequence[int]]) -> Derivations:
        """`lists` hold each derivation's edges, a parent's before its children's, left to right."""
        edges = np.concatenate([np.asarray(one, np.int64) for one in lists])
        start = starts([len(one) for one in lists])
        node_edge, below = np.empty(len(edges), np.int64), np.empty((len(edges), 2), np.int64)
        root, slot = np.full(len(lists), NONE), np.full(1 << (2 * len(edges) + 1).bit_length(), NONE)
        used = _overlay(forest.ends, edges, start, slot, np.empty(len(edges) + 1, np.int64), node_edge, below, root)
        return cls(forest, node_edge[:used], below[:used], root)

    def as_forest(self) -> Forest:
        """Make a forest with a root for each derivation, which is then its only one."""
        forest, item = self.forest, self.forest.ends[self.edge, P]
        ends = np.column_stack([np.arange(len(self.edge)), self.below]).astype(np.int32)
        columns = (forest.symbol[item], forest.span[item], forest.sentence[item], self.root)
        return arrange(forest.rule[self.edge], ends, *columns, forest.rules)

    def trees(self, grammar: Grammar, node: int, words: Sequence[str]) -> list[Tree]:
        """What stands under a node: one tree, or several where it is part of a binarised rule."""
        trees, (left, right, symbol, start) = self._trees, self._columns
        waiting = [node]
        while waiting:
            top = waiting[-1]
            if left[top] != NONE and left[top] not in trees:
                waiting.append(left[top])
            elif right[top] != NONE and right[top] not in trees:
                waiting.append(right[top])
            elif left[top] == NONE:
                trees[waiting.pop()] = [Tree(grammar.symbols[symbol[top]].label, word=words[start[top]])]
            else:
                below = trees[left[top]] if right[top] == NONE else trees[left[top]] + trees[right[top]]
                parent = grammar.symbols[symbol[top]] if symbol[top] != NONE else None
                trees[waiting.pop()] = below if parent is None or parent.kind == "part" else [Tree(parent.label, below)]
        return trees[node]

    @cached_property
    def _columns(self) -> tuple[list[int], ...]:
        """Children, symbol (NONE: passes on) and first word of every node, as lists, which a loop reads faster."""
        item = self.forest.ends[self.edge, P]
        symbol = np.where(self.forest.rule[self.edge] == PASS, NONE, self.forest.symbol[item])
        columns = (*self.below.T, symbol, self.forest.span[item, 0])
        return tuple(column.tolist() for column in columns)


@kernel
def _overlay(
    ends: Ints, edges: Longs, start: Longs, slot: Longs, stack: Longs, node_edge: Longs, below: Longs, root: Longs
) -> int:
    """Number the distinct (edge, node to the left, node to the right), by hashing with open addresses (`slot`)."""
    size, used = len(slot), 0
    for d in range(len(root)):
        height = 0
        for back in range(start[d + 1] - start[d]):
            edge, left, right = edges[start[d + 1] - 1 - back], -1, -1
            if ends[edge, L] >= 0:
                height -= 1
                left = stack[height]
            if ends[edge, R] >= 0:
                height -= 1
                right = stack[height]
            at = (edge * 1000003 + left * 10007 + right * 31) % size
            while slot[at] >= 0:
                k = slot[at]
                if node_edge[k] == edge and below[k, 0] == left and below[k, 1] == right:
                    break
                at = (at + 1) % size
            if slot[at] < 0:
                slot[at] = used
                node_edge[used], below[used, 0], below[used, 1] = edge, left, right
                used += 1
            stack[height] = slot[at]
            height += 1
        if height > 0:
            root[d] = stack[0]
    return used
