"""The recursive network of a compositional vector grammar, over forests in which every item has one subtree.

A parent's vector is p = tanh(W [b; c; 1]) with a matrix W for each pair of its children's categories, and weighs v . p
with a vector v for each of these pairs (Socher, Bauer, Manning & Ng 2013, section 3.3).  A unary rule leaves the
second half of its matrix alone.  Words have vectors of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from latree.arrays import NONE, Floats, Longs
from latree.inference.forest import Forest, L, P, R
from latree.inference.grammar import Grammar


class Network(NamedTuple):
    """What is learned; or, of the same shapes, its gradient."""

    matrix: Floats  # [compositions, d, 2d + 1] W, the last column beside the constant
    score: Floats  # [compositions, d] v
    word: Floats  # [units, d] the vectors of words and of their classes

    @property
    def dim(self) -> int:
        return int(self.word.shape[1])

    def zeros(self) -> Network:
        return Network(*(np.zeros_like(part) for part in self))


def compositions(grammar: Grammar) -> Longs:
    """[rules] the number of each rule's composition, which is that of its children's categories without context."""
    basic = [(symbol.kind, symbol.label) for symbol in grammar.symbols]
    pairs = [(basic[left], basic[right] if right != NONE else None) for _, left, right in grammar.rules.tolist()]
    number = {pair: k for k, pair in enumerate(dict.fromkeys(pairs))}
    return np.array([number[pair] for pair in pairs], np.int64)


def first_network(grammar: Grammar, words: Floats, noise: float, rng: np.random.Generator) -> Network:
    """Begin where a parent's vector is about the mean of its children's, and weighs nothing."""
    of_rule, dim = compositions(grammar), words.shape[1]
    unary = np.zeros(int(of_rule.max(initial=-1)) + 1, np.bool_)
    unary[of_rule] = grammar.rules[:, 2] == NONE
    matrix = noise * rng.uniform(-1, 1, (len(unary), dim, 2 * dim + 1))
    matrix[:, :, -1] = 0.0
    here = np.arange(dim)
    matrix[:, here, here] += np.where(unary, 1.0, 0.5)[:, None]
    matrix[:, here, here + dim] += np.where(unary, 0.0, 0.5)[:, None]
    return Network(matrix, np.zeros((len(unary), dim)), words)


class Group(NamedTuple):
    """Edges of one level that have one composition."""

    composition: int
    edges: Longs


class Circuit(NamedTuple):
    """A forest of lists as the network sees it: integers, made once and kept."""

    left: Longs  # [edges] the edge below on that side; the number of edges, where all is zero, if there is none
    right: Longs
    groups: list[Group]  # children before parents
    leaf: Longs  # the edges of words
    unit: Longs  # and the units of these
    tree: Longs  # the root's edges, a sentence's together, in the order of its list
    first: Longs  # [sentences+1] where each sentence's trees begin

    @property
    def edges(self) -> int:
        return len(self.left)


def circuit(forest: Forest, composition: Longs, unit: Longs, tags: int) -> Circuit:
    """Lay a network out over a forest; each rule has its composition, and each word of the sentences its unit."""
    edges = len(forest.rule)
    made_by = np.full(len(forest.symbol) + 1, edges)
    made_by[forest.ends[:, P]] = np.arange(edges)
    made_by[NONE] = edges
    lexical = forest.rule >= forest.rules
    kind = composition[np.where(lexical, 0, forest.rule)]
    leaf = np.flatnonzero(lexical)
    is_root = np.isin(forest.ends[:, P], forest.root)
    tree = np.flatnonzero(is_root)
    sentence = forest.sentence[forest.ends[tree, P]]
    tree = tree[np.argsort(sentence, kind="stable")]
    first = np.searchsorted(np.sort(sentence), np.arange(len(forest.root) + 1))
    groups = list(_groups(forest, np.where(lexical, NONE, kind)))
    units = unit[(forest.rule[leaf] - forest.rules) // tags]
    return Circuit(made_by[forest.ends[:, L]], made_by[forest.ends[:, R]], groups, leaf, units, tree, first)


def _groups(forest: Forest, kind: Longs) -> Iterator[Group]:
    """Go through the levels from below, and in each through the compositions; NONE is none."""
    bounds = forest.group[forest.level]
    for first, last in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        order = np.argsort(kind[first:last], kind="stable")
        ordered = kind[first:last][order]
        for edges in np.split(first + order, 1 + np.flatnonzero(np.diff(ordered))):
            if kind[edges[0]] != NONE:
                yield Group(int(kind[edges[0]]), edges)


class Activity(NamedTuple):
    """What a network makes of a circuit."""

    vector: Floats  # [edges+1, d] the last is zero
    score: Floats  # [edges] what each weighs by itself; those of words nothing


def totals(lines: Circuit, of_edge: Floats) -> Floats:
    """[trees] the sums of numbers of the edges over each tree."""
    total = np.append(of_edge, 0.0)
    for _, edges in lines.groups:
        total[edges] += total[lines.left[edges]] + total[lines.right[edges]]
    return total[lines.tree]


def inputs(vector: Floats, lines: Circuit, edges: Longs) -> Floats:
    """[edges, 2d + 1] what is composed: the children's vectors, and a constant."""
    ones = np.ones((len(edges), 1))
    return np.concatenate([vector[lines.left[edges]], vector[lines.right[edges]], ones], axis=1)


def activity(network: Network, lines: Circuit) -> Activity:
    """Compute the vectors of all subtrees, children before parents, and what they weigh."""
    vector, score = np.zeros((lines.edges + 1, network.dim)), np.zeros(lines.edges)
    vector[lines.leaf] = network.word[lines.unit]
    for kind, edges in lines.groups:
        made = np.tanh(inputs(vector, lines, edges) @ network.matrix[kind].T)
        vector[edges], score[edges] = made, made @ network.score[kind]
    return Activity(vector, score)


def slopes(network: Network, lines: Circuit, active: Activity, of_tree: Floats, into: Network) -> None:
    """Add to `into` the gradient of the sum over trees of these factors times their scores.

    Goes through parents before children, and only where there is something to hand down.
    """
    times, by_vector = np.zeros(lines.edges + 1), np.zeros_like(active.vector)  # what parents hand down
    times[lines.tree] = of_tree
    reached = times != 0
    for kind, edges in reversed(lines.groups):
        here = edges[reached[edges]]
        if not len(here):
            continue
        made, below, factor = active.vector[here], inputs(active.vector, lines, here), times[here]
        slope = (by_vector[here] + factor[:, None] * network.score[kind]) * (1 - made**2)
        into.score[kind] += factor @ made
        into.matrix[kind] += slope.T @ below
        down = slope @ network.matrix[kind]
        for side, part in ((lines.left[here], down[:, : network.dim]), (lines.right[here], down[:, network.dim : -1])):
            np.add.at(by_vector, side, part)
            np.add.at(times, side, factor)
            reached[side] = True
        by_vector[-1], times[-1], reached[-1] = 0.0, 0.0, False
    np.add.at(into.word, lines.unit, by_vector[lines.leaf])
