"""The dense form: a number for every triple of subtypes, T[x, y, z] (LVG; with one subtype each, a PCFG or HMM).

Grouped by rule, inside, outside and expectation are plain matrix products over a group's edges m:

    up      out[m, x]     = sum_yz  (left[m, y] right[m, z])  T[x, yz]
    down    D[m, yz]      = sum_x   parent[m, x] T[x, yz],  contracted with the one child for the other
            E[x, yz]     += T[x, yz] sum_m factor[m] parent[m, x] (left[m, y] right[m, z])

A lexical entry is a vector e[x] that stands on the diagonal between its parent and the rest of a tag lattice
(left port; a row of one in a tree, where nothing follows).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latree.arrays import Floats, Ints, Longs
from latree.grammar import Grammar
from latree.infer import register
from latree.jit import kernel

SMALL = 64  # numbers in a tensor up to which plain loops beat a call for a matrix product
FEW = 8  # edges up to which a large tensor's expectations are added without a matrix product


class Dense(NamedTuple):
    """Weights, or statistics of the same type: all tensors laid end to end, lexical entries after the rules."""

    theta: Floats
    start: Longs  # [rules + entries] where a tensor begins
    dims: Ints  # [rules + entries, 3]; (x, 0, 0) marks a lexical entry


def dense(grammar: Grammar, theta: Floats, entries: Floats, size: Longs) -> Dense:
    """Weights of one batch: the rules' tensors, then lexical entries [words, tags' subtypes laid end to end]."""
    padded = np.append(size, 1)  # an absent child is one wide
    rule_dims = padded[grammar.rules]
    tag_size = size[grammar.first_tag :]
    entry_dims = np.zeros((len(entries) * len(tag_size), 3), np.int64)
    entry_dims[:, 0] = np.tile(tag_size, len(entries))
    lengths = np.concatenate([rule_dims.prod(1), entry_dims[:, 0]])
    start = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)
    dims = np.concatenate([rule_dims, entry_dims]).astype(np.int32)
    return Dense(np.concatenate([theta, entries.ravel()]), start, dims)


def zeros_like(weights: Dense) -> Dense:
    """Statistics of no mass."""
    return weights._replace(theta=np.zeros_like(weights.theta))


def no_statistics(weights: Dense) -> Dense:
    """For inference that is after posteriors alone."""
    return weights._replace(theta=np.zeros(0))


@kernel
def _outer(left: Floats, right: Floats) -> Floats:
    """Row by row: every product left[m, y] right[m, z]."""
    count, wide, narrow = left.shape[0], left.shape[1], right.shape[1]
    product = np.empty((count, wide * narrow))
    for m in range(count):
        for y in range(wide):
            for z in range(narrow):
                product[m, y * narrow + z] = left[m, y] * right[m, z]
    return product


@kernel
def _tensor(weights: Dense, rule: int) -> Floats:
    x, yz = weights.dims[rule, 0], weights.dims[rule, 1] * weights.dims[rule, 2]
    return weights.theta[weights.start[rule] : weights.start[rule] + x * yz].reshape(x, yz)


@kernel
def _entry(weights: Dense, rule: int) -> Floats:
    return weights.theta[weights.start[rule] : weights.start[rule] + weights.dims[rule, 0]]


@kernel
def _is_number(weights: Dense, rule: int) -> bool:
    number: bool = weights.dims[rule, 0] == 1 and weights.dims[rule, 1] <= 1 and weights.dims[rule, 2] <= 1
    return number


@kernel
def up(weights: Dense, rule: int, left: Floats, right: Floats, out: Floats) -> None:
    if _is_number(weights, rule):
        theta = weights.theta[weights.start[rule]]
        for m in range(len(out)):
            out[m, 0] = theta * left[m, 0] * right[m, 0]
    elif weights.dims[rule, 1] == 0:
        entry, step = _entry(weights, rule), min(left.shape[1] - 1, 1)
        for m in range(len(out)):
            for x in range(len(entry)):
                out[m, x] = entry[x] * left[m, x * step]
    else:
        theta = _tensor(weights, rule)
        if theta.size > SMALL:
            np.dot(_outer(left, right), theta.T, out)
        else:
            _up_small(theta, left, right, out)


@kernel
def _up_small(theta: Floats, left: Floats, right: Floats, out: Floats) -> None:
    """The same by plain loops."""
    narrow = right.shape[1]
    for m in range(len(out)):
        for x in range(theta.shape[0]):
            total = 0.0
            for y in range(left.shape[1]):
                for z in range(narrow):
                    total += theta[x, y * narrow + z] * left[m, y] * right[m, z]
            out[m, x] = total


@kernel
def down(
    weights: Dense,
    rule: int,
    parent: Floats,
    left: Floats,
    right: Floats,
    factor: Floats,
    to_left: Floats,
    to_right: Floats,
    stats: Dense,
    share: Floats,
) -> None:
    """Statistics without room (`no_statistics`) are not kept."""
    if _is_number(weights, rule):
        _down_number(weights, rule, parent, left, right, factor, to_left, to_right, share)
        if len(stats.theta) > 0:
            stats.theta[weights.start[rule]] += share.sum()
    elif weights.dims[rule, 1] == 0:
        _down_entry(weights, rule, parent, left, factor, to_left, stats, share)
    else:
        theta = _tensor(weights, rule)
        if theta.size > SMALL:
            _contract(np.dot(parent, theta), left, right, to_left, to_right)
        else:
            _down_small(theta, parent, left, right, to_left, to_right)
        for m in range(len(parent)):
            share[m] = 0.0
            for y in range(left.shape[1]):
                share[m] += factor[m] * to_left[m, y] * left[m, y]
            for x in range(parent.shape[1]):
                parent[m, x] *= factor[m]  # the gathered rows are ours to spend
        if len(stats.theta) > 0:
            counts = _tensor(stats, rule)
            if theta.size > SMALL and len(parent) > FEW:
                counts += theta * np.dot(parent.T, _outer(left, right))
            else:
                _tally_few(theta, parent, _outer(left, right), counts)


@kernel
def _down_number(
    weights: Dense,
    rule: int,
    parent: Floats,
    left: Floats,
    right: Floats,
    factor: Floats,
    to_left: Floats,
    to_right: Floats,
    share: Floats,
) -> None:
    theta = weights.theta[weights.start[rule]]
    for m in range(len(parent)):
        above = theta * parent[m, 0]
        to_left[m, 0] = above * right[m, 0]
        to_right[m, 0] = above * left[m, 0]
        share[m] = factor[m] * above * left[m, 0] * right[m, 0]


@kernel
def _down_entry(
    weights: Dense,
    rule: int,
    parent: Floats,
    left: Floats,
    factor: Floats,
    to_left: Floats,
    stats: Dense,
    share: Floats,
) -> None:
    """A lexical entry; in a tree there is nothing to its left, and `to_left` is no one's."""
    entry, step = _entry(weights, rule), min(left.shape[1] - 1, 1)
    for m in range(len(parent)):
        share[m] = 0.0
        for x in range(len(entry)):
            above = entry[x] * parent[m, x]
            to_left[m, x * step] = above
            part = factor[m] * above * left[m, x * step]
            share[m] += part
            if len(stats.theta) > 0:
                stats.theta[weights.start[rule] + x] += part


@kernel
def _down_small(theta: Floats, parent: Floats, left: Floats, right: Floats, to_left: Floats, to_right: Floats) -> None:
    """What a parent says of each child, by plain loops."""
    narrow = right.shape[1]
    to_left[:] = 0.0
    to_right[:] = 0.0
    for m in range(len(parent)):
        for y in range(left.shape[1]):
            for z in range(narrow):
                part = 0.0
                for x in range(theta.shape[0]):
                    part += parent[m, x] * theta[x, y * narrow + z]
                to_left[m, y] += part * right[m, z]
                to_right[m, z] += part * left[m, y]


@kernel
def _tally_few(theta: Floats, parent: Floats, children: Floats, counts: Floats) -> None:
    """Expectations of a few edges: one pass over the tensor each, and none over what has no share."""
    for m in range(len(parent)):
        for x in range(theta.shape[0]):
            above = parent[m, x]
            if above > 1e-30:
                for k in range(theta.shape[1]):
                    counts[x, k] += above * children[m, k] * theta[x, k]


@kernel
def _contract(spread: Floats, left: Floats, right: Floats, to_left: Floats, to_right: Floats) -> None:
    """What a parent says of each child, given what it says of the pair: spread[m, yz]."""
    wide, narrow = left.shape[1], right.shape[1]
    to_right[:] = 0.0
    for m in range(len(spread)):
        for y in range(wide):
            total = 0.0
            for z in range(narrow):
                part = spread[m, y * narrow + z]
                total += part * right[m, z]
                to_right[m, z] += part * left[m, y]
            to_left[m, y] = total


register(Dense, up=up, down=down)
