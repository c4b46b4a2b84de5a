"""The factored form: syntax and semantics apart (structured vectorial semantics, eqns 3, 8 and 10).

Every constituent has a vector over concepts that are the same for all categories.  A binary rule has a number m[x] for
every concept x of its parent; its children's concepts are drawn each from a relation to the parent's, L(l), a matrix
that all rules with that relation have in common.  Where concepts are headwords, a head's relation is the identity.

    T[x, y, z] = m[x] L(l0)[x, y] L(l1)[x, z]
    up           out[x, m] = m[x] (sum_y L(l0)[x, y] left[y, m]) (sum_z L(l1)[x, z] right[z, m])         (eqn 10)

A rule of the root, which has no concept, has a number for every concept of the child.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latree.arrays import Floats, Ints, Longs
from latree.inference.sweep import Edges, register
from latree.jit import lean

NO_RELATION = -1  # of a child that is absent, and of the root's child


class Factored(NamedTuple):
    """Weights, or statistics of the same type."""

    rule: Floats  # [rules, concepts] m
    relation: Floats  # [relations, concepts, concepts] L
    label: Ints  # [rules, 2] the children's relations l0 and l1
    entry: Floats  # lexical entries, end to end
    entry_start: Longs  # [entries + 1]

    def table(self, rule: int, x: int, shape: tuple[int, int]) -> Floats:
        """T[x], for one concept of the parent."""
        table, (first, second) = np.ones(shape), self.label[rule]
        table *= (self.rule[rule] if first == NO_RELATION else self.rule[rule, x] * self.relation[first, x])[:, None]
        if second != NO_RELATION:
            table *= self.relation[second, x]
        return table


def with_words(weights: Factored, emissions: Floats) -> Factored:
    """Add the lexical entries of one batch: [words, tags' concepts laid end to end], an entry a word and tag."""
    concepts = weights.rule.shape[1]
    start = np.arange(0, emissions.size + 1, concepts, dtype=np.int64)
    return weights._replace(entry=np.ascontiguousarray(emissions).ravel(), entry_start=start)


def zeros_like(weights: Factored) -> Factored:
    """Make statistics of no mass."""
    zero = {name: np.zeros_like(getattr(weights, name)) for name in ("rule", "relation", "entry")}
    return weights._replace(**zero)


def no_statistics(weights: Factored) -> Factored:
    """Make statistics without room, for inference that is after posteriors alone."""
    return weights._replace(rule=np.zeros((0, 0)), relation=np.zeros((0, 0, 0)), entry=np.zeros(0))


def room_of(weights: Factored, widest: int) -> int:
    """For what both relations say upwards, and what goes into them from above."""
    return 4 * widest


@lean
def _relate(relation: Floats, child: Floats, out: Floats) -> None:
    """out[x, m] = sum_z L[x, z] child[z, m]."""
    out[:] = 0.0
    for x in range(len(relation)):
        for z in range(len(relation)):
            weight = relation[x, z]
            if weight != 0.0:
                for m in range(out.shape[1]):
                    out[x, m] += weight * child[z, m]


@lean
def up(weights: Factored, rules: Ints, left: Floats, right: Floats, out: Floats, room: Floats) -> None:
    """Eqn 10 for many edges of a rule; or what words say."""
    rule, known = rules[0], len(weights.label)
    if rule >= known:
        for m in range(len(rules)):
            begin = weights.entry_start[rules[m] - known]
            for x in range(out.shape[0]):
                out[x, m] = weights.entry[begin + x]
        return
    number, (first, second) = weights.rule[rule], weights.label[rule]
    if first == NO_RELATION:  # the root's
        out[:] = 0.0
        for y in range(left.shape[0]):
            for m in range(out.shape[1]):
                out[0, m] += number[y] * left[y, m]
        return
    _relate(weights.relation[first], left, out)
    if second != NO_RELATION:
        said = room[: out.size].reshape(out.shape)
        _relate(weights.relation[second], right, said)
        for x in range(len(out)):
            for m in range(out.shape[1]):
                out[x, m] *= said[x, m]
    for x in range(out.shape[0]):
        for m in range(out.shape[1]):
            out[x, m] *= number[x]


@lean
def down(weights: Factored, edges: Edges, stats: Factored) -> None:
    """Statistics without room (`no_statistics`) are not kept."""
    rules, parent, left, right, factor, to_left, to_right, share, room = edges
    rule, known = rules[0], len(weights.label)
    share[:] = 0.0
    if rule >= known:
        for m in range(len(rules)):
            begin = weights.entry_start[rules[m] - known]
            for x in range(parent.shape[0]):
                part = factor[m] * weights.entry[begin + x] * parent[x, m]
                share[m] += part
                if len(stats.entry) > 0:
                    stats.entry[begin + x] += part
        return
    number, (first, second) = weights.rule[rule], weights.label[rule]
    if first == NO_RELATION:  # the root's
        for y in range(left.shape[0]):
            for m in range(len(factor)):
                to_left[y, m] = number[y] * parent[0, m]
                part = factor[m] * to_left[y, m] * left[y, m]
                share[m] += part
                if len(stats.rule) > 0:
                    stats.rule[rule, y] += part
        return
    size, shape = left.size, left.shape
    said_left, said_right = room[:size].reshape(shape), room[size : 2 * size].reshape(shape)
    for_left, for_right = room[2 * size : 3 * size].reshape(shape), room[3 * size : 4 * size].reshape(shape)
    _relate(weights.relation[first], left, said_left)
    if second == NO_RELATION:
        said_right[:] = 1.0
    else:
        _relate(weights.relation[second], right, said_right)
    for x in range(len(number)):
        for m in range(len(factor)):
            above = number[x] * parent[x, m]
            for_left[x, m], for_right[x, m] = above * said_right[x, m], above * said_left[x, m]
            part = factor[m] * for_left[x, m] * said_left[x, m]
            share[m] += part
            if len(stats.rule) > 0:
                stats.rule[rule, x] += part
    _through(weights, stats, first, for_left, left, factor, to_left)
    if second != NO_RELATION:
        _through(weights, stats, second, for_right, right, factor, to_right)


@lean
def _through(
    weights: Factored, stats: Factored, label: int, above: Floats, child: Floats, factor: Floats, to_child: Floats
) -> None:
    """Down one relation: sum_x above[x, m] L[x, y] for the child, and how often x and y stand together."""
    relation = weights.relation[label]
    _relate(relation.T, above, to_child)
    if len(stats.relation) > 0:
        for x in range(len(relation)):
            for y in range(len(relation)):
                if relation[x, y] != 0.0:
                    together = 0.0
                    for m in range(len(factor)):
                        together += factor[m] * above[x, m] * child[y, m]
                    stats.relation[label, x, y] += relation[x, y] * together


register(Factored, up=up, down=down, room=room_of)
