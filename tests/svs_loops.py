"""The oracle of structured vectorial semantics: eqns 1 to 12 of the paper, one concept at a time.

No matrices and no compiled code, only loops over concepts, as the paper's parsers "without vectorization" are.  Numbers
have no scales: a sentence of a hundred words would be too small for a float.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from latree.arrays import Floats, Longs
from latree.inference.forest import PASS, Forest
from latree.inference.forms.factored import NO_RELATION, Factored

Vector = Sequence[float]
NO_CHILD = (1.0,)


class Plain(NamedTuple):
    """Factored weights as lists, which plain loops read faster than arrays."""

    rule: list[list[float]]
    relation: list[list[list[float]]]
    label: list[list[int]]
    entries: list[list[float]]


def plain(weights: Factored) -> Plain:
    cuts = list(zip(weights.entry_start[:-1].tolist(), weights.entry_start[1:].tolist(), strict=True))
    entry = weights.entry.tolist()
    tables = weights.rule.tolist(), weights.relation.tolist(), weights.label.tolist()
    return Plain(*tables, [entry[begin:end] for begin, end in cuts])


class Edge(NamedTuple):
    """An edge of a forest; a child that is absent is None."""

    number: int
    rule: int
    parent: int
    left: int | None
    right: int | None


def edges_of(forest: Forest) -> list[Edge]:
    """In the forest's order: all edges of an item before the first that it is a child of."""
    rows = zip(forest.rule.tolist(), forest.ends.tolist(), strict=True)
    return [
        Edge(number, rule, parent, *(None if child < 0 else child for child in (left, right)))
        for number, (rule, (parent, left, right)) in enumerate(rows)
    ]


# --- what an edge says of its parent's concepts


def expansion(weights: Plain, rule: int, x: int, y: int, z: int) -> float:
    """P_G(lci -> lci0 lci1) = P_M P_L P_L (eqn 3); a rule of the root has a number for every concept of its child."""
    first, second = weights.label[rule]
    if first == NO_RELATION:
        return weights.rule[rule][y]
    last = 1.0 if second == NO_RELATION else weights.relation[second][x][z]
    return weights.rule[rule][x] * weights.relation[first][x][y] * last


def composed(weights: Plain, rule: int, left: Vector, right: Vector, concepts: int) -> Vector:
    """For every concept of the parent the sum over all pairs of the children's concepts (the sum of eqn 4)."""
    found = []
    for x in range(concepts):
        total = 0.0
        for y in range(len(left)):
            for z in range(len(right)):
                total += expansion(weights, rule, x, y, z) * left[y] * right[z]
        found.append(total)
    return found


def reading_of(weights: Plain, edge: Edge, vectors: Sequence[Vector], concepts: int) -> Vector:
    """What an edge says of its parent: its child's own vector, a word's, or what the rule makes of its children."""
    left, right = (NO_CHILD if child is None else vectors[child] for child in (edge.left, edge.right))
    if edge.rule == PASS:
        return left
    if edge.rule >= len(weights.label):
        return weights.entries[edge.rule - len(weights.label)]
    return composed(weights, edge.rule, left, right, concepts)


# --- sums and choices


def inside(forest: Forest, weights: Factored, width: Longs) -> list[list[float]]:
    """Of every item and concept the sum over its derivations."""
    lists, widths = plain(weights), width[forest.symbol].tolist()
    vectors = [[0.0] * wide for wide in widths]
    for edge in edges_of(forest):
        said = reading_of(lists, edge, vectors, widths[edge.parent])
        for x in range(widths[edge.parent]):
            vectors[edge.parent][x] += said[x]
    return vectors


def probability(forest: Forest, weights: Factored, width: Longs) -> list[float]:
    """P(x) of every sentence."""
    vectors = inside(forest, weights, width)
    return [sum(vectors[root]) for root in forest.root.tolist()]


class Best(NamedTuple):
    """Viterbi vectors, and the edge that each of their numbers comes from (-1: none)."""

    vectors: list[list[float]]
    edges: list[list[int]]


def best_for_each(forest: Forest, weights: Factored, width: Longs) -> Best:
    """Eqn 4: every concept has its own best analysis, among sums over the children's concepts."""
    lists, widths = plain(weights), width[forest.symbol].tolist()
    best = Best([[0.0] * wide for wide in widths], [[-1] * wide for wide in widths])
    for edge in edges_of(forest):
        said = reading_of(lists, edge, best.vectors, widths[edge.parent])
        for x in range(widths[edge.parent]):
            if said[x] > best.vectors[edge.parent][x]:
                best.vectors[edge.parent][x], best.edges[edge.parent][x] = said[x], edge.number
    return best


def best_for_all(forest: Forest, weights: Factored, width: Longs, prior: Floats) -> Best:
    """Eqns 10 and 11: one analysis for all concepts, of the greatest a . e; the root, without concepts, has no a."""
    lists, widths = plain(weights), width[forest.symbol].tolist()
    priors = [row if symbol > 0 else [1.0] for symbol, row in enumerate(prior.tolist())]
    symbols, greatest = forest.symbol.tolist(), [0.0] * len(widths)
    best = Best([[0.0] * wide for wide in widths], [[-1] * wide for wide in widths])
    for edge in edges_of(forest):
        said = reading_of(lists, edge, best.vectors, widths[edge.parent])
        mine, value = priors[symbols[edge.parent]], 0.0
        for x in range(widths[edge.parent]):
            value += mine[x] * said[x]
        if value > greatest[edge.parent]:
            greatest[edge.parent], best.vectors[edge.parent] = value, list(said)
            best.edges[edge.parent] = [edge.number] * widths[edge.parent]
    return best


def chosen(forest: Forest, weights: Factored, best: Best) -> list[int]:
    """The edges of the best trees, from the roots (eqns 5 and 12) down.

    A child has the concept that gives most to its parent's; where one analysis is for all concepts that changes
    nothing.
    """
    lists, edges, found = plain(weights), edges_of(forest), []
    todo = [(root, 0) for root in forest.root.tolist() if root >= 0]
    while todo:
        item, x = todo.pop()
        if best.edges[item][x] < 0:
            continue
        edge = edges[best.edges[item][x]]
        found.append(edge.number)
        todo.extend(_children(lists, edge, best.vectors, x))
    return found


def _children(weights: Plain, edge: Edge, vectors: Sequence[Vector], x: int) -> list[tuple[int, int]]:
    """The children of an edge, each with the concept that gives most to concept x of the parent."""
    if edge.left is None:
        return []
    if edge.rule == PASS:
        return [(edge.left, x)]
    left, right = vectors[edge.left], NO_CHILD if edge.right is None else vectors[edge.right]
    pairs = [(y, z) for y in range(len(left)) for z in range(len(right))]
    y, z = max(pairs, key=lambda pair: expansion(weights, edge.rule, x, *pair) * left[pair[0]] * right[pair[1]])
    return [(edge.left, y)] if edge.right is None else [(edge.left, y), (edge.right, z)]


def parse(forest: Forest, weights: Factored, width: Longs, prior: Floats, *, exact: bool) -> list[int]:
    """The edges of every sentence's best tree, by loops."""
    if exact:
        return chosen(forest, weights, best_for_each(forest, weights, width))
    return chosen(forest, weights, best_for_all(forest, weights, width, prior))


# --- derivations and concepts one by one, without any dynamic programming

Assignment = tuple[dict[int, int], float]  # items' concepts, and the weight of a derivation with them


def assignments(forest: Forest, weights: Factored, width: Longs, edges: Sequence[int]) -> list[Assignment]:
    """Every way to give the items of a derivation their concepts, with its weight."""
    lists, all_edges = plain(weights), edges_of(forest)
    rows = [all_edges[e] for e in edges]
    items = sorted({item for row in rows for item in row[2:] if item is not None})
    found = []
    for concepts in np.ndindex(*(int(width[forest.symbol[item]]) for item in items)):
        at = dict(zip(items, concepts, strict=True))
        weight = 1.0
        for row in rows:
            weight *= _weight(lists, row, at)
            if weight == 0.0:
                break
        found.append((at, weight))
    return found


def _weight(weights: Plain, edge: Edge, at: dict[int, int]) -> float:
    x, y, z = (0 if item is None else at[item] for item in edge[2:])
    if edge.rule == PASS:
        return float(x == y)
    if edge.rule >= len(weights.label):
        return weights.entries[edge.rule - len(weights.label)][x]
    return expansion(weights, edge.rule, x, y, z)
