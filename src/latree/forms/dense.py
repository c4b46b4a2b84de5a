"""The dense form: a number for every triple of subtypes, T[x, y, z] (LVG; with one subtype each, a PCFG or HMM).

Grouped by rule, inside, outside and expectation are plain matrix products over a group's edges m:

    up      out[m, x]     = sum_yz  (left[m, y] right[m, z])  T[x, yz]
    down    D[m, yz]      = sum_x   parent[m, x] T[x, yz],  then contracted with the other child
    tally   E[x, yz]     += T[x, yz] sum_m factor[m] parent[m, x] (left[m, y] right[m, z])

A lexical entry is a vector e[x] that stands on the diagonal between its parent and the rest of a tag lattice
(left port; a row of one in a tree, where nothing follows).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from latree.grammar import Grammar
from latree.infer import register
from latree.jit import kernel


class Dense(NamedTuple):
    """Weights, or statistics of the same type: all tensors laid end to end, lexical entries after the rules."""

    theta: NDArray[np.float64]
    start: NDArray[np.int64]  # [rules + entries] where a tensor begins
    dims: NDArray[np.int32]  # [rules + entries, 3]; (x, 0, 0) marks a lexical entry


def dense(grammar: Grammar, theta: NDArray[np.float64], entries: NDArray[np.float64], size: NDArray[np.int64]) -> Dense:
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


@kernel
def _outer(left, right):  # type: ignore[no-untyped-def]
    """Row by row: every product left[m, y] right[m, z]."""
    count, wide, narrow = left.shape[0], left.shape[1], right.shape[1]
    product = np.empty((count, wide * narrow))
    for m in range(count):
        for y in range(wide):
            for z in range(narrow):
                product[m, y * narrow + z] = left[m, y] * right[m, z]
    return product


@kernel
def _tensor(weights, rule):  # type: ignore[no-untyped-def]
    x, yz = weights.dims[rule, 0], weights.dims[rule, 1] * weights.dims[rule, 2]
    return weights.theta[weights.start[rule] : weights.start[rule] + x * yz].reshape(x, yz)


@kernel
def _entry(weights, rule):  # type: ignore[no-untyped-def]
    return weights.theta[weights.start[rule] : weights.start[rule] + weights.dims[rule, 0]]


@kernel
def _is_number(weights, rule):  # type: ignore[no-untyped-def]
    return weights.dims[rule, 0] == 1 and weights.dims[rule, 1] <= 1 and weights.dims[rule, 2] <= 1


@kernel
def up(weights, rule, left, right, out):  # type: ignore[no-untyped-def]
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
        np.dot(_outer(left, right), _tensor(weights, rule).T, out)


@kernel
def down(weights, rule, parent, left, right, to_left, to_right):  # type: ignore[no-untyped-def]
    if _is_number(weights, rule):
        theta = weights.theta[weights.start[rule]]
        for m in range(len(parent)):
            to_left[m, 0] = theta * parent[m, 0] * right[m, 0]
            to_right[m, 0] = theta * parent[m, 0] * left[m, 0]
    elif weights.dims[rule, 1] == 0:
        entry = _entry(weights, rule)
        for m in range(len(parent)):
            for x in range(len(entry)):
                to_left[m, x] = entry[x] * parent[m, x]
    else:
        spread = np.dot(parent, _tensor(weights, rule))
        wide, narrow = left.shape[1], right.shape[1]
        to_left[:] = 0.0
        to_right[:] = 0.0
        for m in range(len(parent)):
            for y in range(wide):
                for z in range(narrow):
                    part = spread[m, y * narrow + z]
                    to_left[m, y] += part * right[m, z]
                    to_right[m, z] += part * left[m, y]


@kernel
def tally(weights, rule, parent, left, right, factor, stats, share):  # type: ignore[no-untyped-def]
    if _is_number(weights, rule):
        theta, begin = weights.theta[weights.start[rule]], weights.start[rule]
        for m in range(len(parent)):
            share[m] = factor[m] * theta * parent[m, 0] * left[m, 0] * right[m, 0]
            stats.theta[begin] += share[m]
    elif weights.dims[rule, 1] == 0:
        entry, counts, step = _entry(weights, rule), _entry(stats, rule), min(left.shape[1] - 1, 1)
        for m in range(len(parent)):
            share[m] = 0.0
            for x in range(len(entry)):
                part = factor[m] * entry[x] * parent[m, x] * left[m, x * step]
                counts[x] += part
                share[m] += part
    else:
        theta, counts = _tensor(weights, rule), _tensor(stats, rule)
        children = _outer(left, right)
        spread = np.dot(parent, theta)
        for m in range(len(parent)):
            share[m] = factor[m] * (spread[m] * children[m]).sum()
            for x in range(parent.shape[1]):
                parent[m, x] *= factor[m]  # the gathered rows are ours to spend
        counts += theta * np.dot(parent.T, children)


register(Dense, up=up, down=down, tally=tally)
