"""The factored form: syntax and semantics apart (structured vectorial semantics, eqns 3, 8 and 10).

Every constituent has a vector over concepts that are the same for all categories.  A binary rule has a number m[x] for
every concept x of its parent; its head child shares the parent's concept, and its modifier's is drawn from a relation
L(l), a matrix that all rules with that relation have in common:

    T[x, y, z] = m[x] [y = x] L(l)[x, z]        (the head on the left; else y and z the other way round)
    up           out[x, m] = m[x] head[x, m] sum_z L[x, z] modifier[z, m]                                (eqn 10)

A rule of the root, which has no concept, has a number for every concept of the child.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latree.arrays import Floats, Ints, Longs
from latree.infer import register
from latree.jit import kernel

HEAD_LEFT, HEAD_RIGHT, ALONE, TOP = 0, 1, 2, 3  # where a rule's head is; ALONE: unary; TOP: the root's


class Factored(NamedTuple):
    """Weights, or statistics of the same type."""

    rule: Floats  # [rules, concepts] m
    relation: Floats  # [relations, concepts, concepts] L
    head: Ints  # [rules] where the head is
    label: Ints  # [rules] the modifier's relation
    entry: Floats  # lexical entries, end to end
    entry_start: Longs  # [entries + 1]


def with_words(weights: Factored, emissions: Floats) -> Factored:
    """The lexical entries of one batch: [words, tags' concepts laid end to end], an entry a word and tag."""
    concepts = weights.rule.shape[1]
    start = np.arange(0, emissions.size + 1, concepts, dtype=np.int64)
    return weights._replace(entry=np.ascontiguousarray(emissions).ravel(), entry_start=start)


def zeros_like(weights: Factored) -> Factored:
    """Statistics of no mass."""
    zero = {name: np.zeros_like(getattr(weights, name)) for name in ("rule", "relation", "entry")}
    return weights._replace(**zero)


def no_statistics(weights: Factored) -> Factored:
    """For inference that is after posteriors alone."""
    return weights._replace(rule=np.zeros((0, 0)), relation=np.zeros((0, 0, 0)), entry=np.zeros(0))


@kernel
def _related(relation: Floats, modifier: Floats) -> Floats:
    """sum_z L[x, z] modifier[z, m]."""
    out = np.zeros_like(modifier)
    for x in range(len(relation)):
        for z in range(len(relation)):
            weight = relation[x, z]
            if weight != 0.0:
                for m in range(out.shape[1]):
                    out[x, m] += weight * modifier[z, m]
    return out


@kernel
def up(weights: Factored, rules: Ints, left: Floats, right: Floats, out: Floats) -> None:
    rule, known = rules[0], len(weights.head)
    if rule >= known:
        for m in range(len(rules)):
            begin = weights.entry_start[rules[m] - known]
            for x in range(out.shape[0]):
                out[x, m] = weights.entry[begin + x]
        return
    number, place = weights.rule[rule], weights.head[rule]
    if place == TOP:
        out[:] = 0.0
        for y in range(left.shape[0]):
            for m in range(out.shape[1]):
                out[0, m] += number[y] * left[y, m]
        return
    head = right if place == HEAD_RIGHT else left
    if place == ALONE:
        for x in range(out.shape[0]):
            for m in range(out.shape[1]):
                out[x, m] = number[x] * head[x, m]
        return
    said = _related(weights.relation[weights.label[rule]], left if place == HEAD_RIGHT else right)
    for x in range(out.shape[0]):
        for m in range(out.shape[1]):
            out[x, m] = number[x] * head[x, m] * said[x, m]


@kernel
def down(
    weights: Factored,
    rules: Ints,
    parent: Floats,
    left: Floats,
    right: Floats,
    factor: Floats,
    to_left: Floats,
    to_right: Floats,
    stats: Factored,
    share: Floats,
) -> None:
    """Statistics without room (`no_statistics`) are not kept."""
    rule, known = rules[0], len(weights.head)
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
    number, place = weights.rule[rule], weights.head[rule]
    if place == TOP:
        for y in range(left.shape[0]):
            for m in range(len(factor)):
                to_left[y, m] = number[y] * parent[0, m]
                part = factor[m] * to_left[y, m] * left[y, m]
                share[m] += part
                if len(stats.rule) > 0:
                    stats.rule[rule, y] += part
        return
    if place == ALONE:
        for x in range(left.shape[0]):
            for m in range(len(factor)):
                to_left[x, m] = number[x] * parent[x, m]
                part = factor[m] * to_left[x, m] * left[x, m]
                share[m] += part
                if len(stats.rule) > 0:
                    stats.rule[rule, x] += part
        return
    if place == HEAD_LEFT:
        _binary_down(weights, rule, parent, left, right, factor, to_left, to_right, stats, share)
    else:
        _binary_down(weights, rule, parent, right, left, factor, to_right, to_left, stats, share)


@kernel
def _binary_down(
    weights: Factored,
    rule: int,
    parent: Floats,
    head: Floats,
    modifier: Floats,
    factor: Floats,
    to_head: Floats,
    to_modifier: Floats,
    stats: Factored,
    share: Floats,
) -> None:
    """A head and a modifier, whichever is on the left."""
    number, label = weights.rule[rule], weights.label[rule]
    relation = weights.relation[label]
    said, above = _related(relation, modifier), np.empty_like(head)
    for x in range(head.shape[0]):
        for m in range(len(factor)):
            to_head[x, m] = number[x] * parent[x, m] * said[x, m]
            above[x, m] = number[x] * parent[x, m] * head[x, m]
            part = factor[m] * above[x, m] * said[x, m]
            share[m] += part
            if len(stats.rule) > 0:
                stats.rule[rule, x] += part
    to_modifier[:] = _related(relation.T, above)
    if len(stats.relation) > 0:
        for x in range(len(relation)):
            for z in range(len(relation)):
                if relation[x, z] != 0.0:
                    together = 0.0
                    for m in range(len(factor)):
                        together += factor[m] * above[x, m] * modifier[z, m]
                    stats.relation[label, x, z] += relation[x, z] * together


register(Factored, up=up, down=down)
