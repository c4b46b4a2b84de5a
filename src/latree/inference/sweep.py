"""Inside, outside and expectation, written once for every model.

A rule is a multilinear form with three ports: parent, left, right.  Plug messages into the children and read the
parent: that is inside.  Plug parent and one child and read the other: that is outside.  Plug all three: that is
the rule's expectation.  A form says how, for many edges m at a time, all of one rule or all lexical entries of one tag:

    up(weights, rules, left, right, out)
        out[:, m] = the parent's reading
    down(weights, edges, stats)
        edges.to_left[:, m], edges.to_right[:, m] = the children's readings;
        edges.share[m] = factor[m] times all three plugged in, the posterior of the edge, which is added to `stats`

Messages are rows with a log scale each: the message of item i is exp(scale[i]) * row[i].  Which form is meant is
told by the type of the weights, a NamedTuple; `register` makes it known to the compiler.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from latree.arrays import Floats, Ints, Longs, ranges, starts
from latree.inference.forest import PASS, Forest, L, P, R
from latree.inference.potentials import NO_POTENTIALS, Potentials
from latree.jit import OPTIONS, inner, kernel

BLOCK = 64  # edges taken at a time: enough for wide instructions, few enough for the cache


class Messages(NamedTuple):
    """One message an item, for one direction."""

    start: Longs  # [items+1] where an item's row begins
    row: Floats
    scale: Floats  # [items]


class Inference(NamedTuple):
    """What a forest's two sweeps and its expectation give."""

    log_z: Floats  # [sentences]
    inside: Messages
    outside: Messages
    posterior: Floats  # [edges] probability that the edge is in the derivation


class Edges(NamedTuple):
    """Edges of one rule, or lexical entries of one tag, on the way down: an edge is a column of its messages."""

    rules: Ints
    parent: Floats  # outside
    left: Floats  # inside
    right: Floats
    factor: Floats  # [edges] what the scales of the three messages come to
    to_left: Floats  # to be filled: what the edge says of its children
    to_right: Floats
    share: Floats  # [edges] to be filled: the posterior


_FORMS: dict[type, dict[str, Callable[..., None]]] = {}


def register(weights: type, *, up: Callable[..., None], down: Callable[..., None]) -> None:
    """Make a form known: its functions are compiled into the sweeps below for this type of weights."""
    _FORMS[weights] = {"up": up, "down": down}


def _up(weights: Any, rules: Ints, left: Floats, right: Floats, out: Floats) -> None:
    """Stands for the form's own `up` in the kernels below."""


def _down(weights: Any, edges: Edges, stats: Any) -> None:
    """Stands for the form's own `down`."""


@overload(_up, jit_options=OPTIONS, strict=False)
def _choose_up(weights: Any, rules: Ints, left: Floats, right: Floats, out: Floats) -> Callable[..., None]:
    return _FORMS[weights.instance_class]["up"]


@overload(_down, jit_options=OPTIONS, strict=False)
def _choose_down(weights: Any, edges: Edges, stats: Any) -> Callable[..., None]:
    return _FORMS[weights.instance_class]["down"]


def empty_messages(forest: Forest, width: Longs) -> Messages:
    """Messages of no mass; `width[symbol]` is how many numbers a message of that symbol has."""
    start = starts(width[forest.symbol])
    return Messages(start, np.zeros(start[-1]), np.full(len(forest.symbol), -np.inf))


@inner
def _space(messages: Messages, item: int, count: int, buffer: Floats) -> Floats:
    """Room for the messages of so many edges at the port where one of them has this item."""
    width = 1 if item < 0 else messages.start[item + 1] - messages.start[item]
    return buffer[: count * width].reshape(width, count)


@inner
def _gather(messages: Messages, items: Ints, lo: int, hi: int, port: int, buffer: Floats) -> Floats:
    """The messages at one port of edges lo..hi, as the columns of a matrix; ones where there is no item."""
    first, count = items[lo, port], hi - lo
    columns = _space(messages, first, count, buffer)
    if first < 0:
        columns[:] = 1.0
        return columns
    for m in range(count):
        begin = messages.start[items[lo + m, port]]
        for x in range(len(columns)):
            columns[x, m] = messages.row[begin + x]
    return columns


@inner
def _scale(messages: Messages, item: int) -> float:
    return 0.0 if item < 0 else messages.scale[item]


@inner
def _deposit(messages: Messages, item: int, values: Floats, m: int, scale: float) -> None:
    """Add exp(scale) * values[:, m] to an item's message, whose own scale grows with its largest part."""
    if scale == -np.inf:
        return
    begin, end = messages.start[item], messages.start[item + 1]
    if messages.scale[item] == -np.inf:  # the first part, and in a tree the only one
        messages.scale[item] = scale
        for x in range(begin, end):
            messages.row[x] = values[x - begin, m]
        return
    factor = 1.0
    if scale > messages.scale[item]:
        shrink = np.exp(messages.scale[item] - scale)
        messages.scale[item] = scale
        for x in range(begin, end):
            messages.row[x] *= shrink
    else:
        factor = np.exp(scale - messages.scale[item])
    for x in range(begin, end):
        messages.row[x] += factor * values[x - begin, m]


@inner
def _settle(messages: Messages, first: int, last: int) -> None:
    """Bring finished rows to a largest entry of one."""
    for item in range(first, last):
        begin, end = messages.start[item], messages.start[item + 1]
        big = 0.0
        for x in range(begin, end):
            big = max(big, messages.row[x])
        if big > 0.0:
            messages.scale[item] += np.log(big)
            for x in range(begin, end):
                messages.row[x] /= big
        else:
            messages.scale[item] = -np.inf


@inner
def _weigh_items(messages: Messages, potentials: Potentials, first: int, last: int) -> None:
    """Add items' potentials to their scales."""
    for item in range(first, last if len(potentials.item) > 0 else first):
        messages.scale[item] += potentials.item[item]


@inner
def _of_edge(potentials: Potentials, edge: int) -> float:
    return potentials.edge[edge] if len(potentials.edge) > 0 else 0.0


def _buffers(messages: Messages, count: int) -> Floats:
    """Make rooms for the messages of a block of edges, whatever their width."""
    return np.empty((count, BLOCK * int(np.diff(messages.start).max(initial=1))))


@inner
def _hand_up(ends: Ints, inside: Messages, potentials: Potentials, lo: int, hi: int, out: Floats) -> None:
    """Add what edges lo..hi say of their parents to the parents' inside messages."""
    for e in range(lo, hi):
        scale = _scale(inside, ends[e, L]) + _scale(inside, ends[e, R])
        _deposit(inside, ends[e, P], out, e - lo, scale + _of_edge(potentials, e))


@kernel
def sweep_inside(forest: Forest, weights: Any, inside: Messages, potentials: Potentials, buffers: Floats) -> None:
    """All inside messages, level by level from the words up."""
    ends = forest.ends
    for depth in range(len(forest.level) - 1):
        for g in range(forest.level[depth], forest.level[depth + 1]):
            rule = forest.rule[forest.group[g]]
            for lo in range(forest.group[g], forest.group[g + 1], BLOCK):
                hi = min(lo + BLOCK, forest.group[g + 1])
                left = _gather(inside, ends, lo, hi, L, buffers[0])
                if rule == PASS:
                    out = left
                else:
                    right = _gather(inside, ends, lo, hi, R, buffers[1])
                    out = _space(inside, ends[lo, P], hi - lo, buffers[2])
                    _up(weights, forest.rule[lo:hi], left, right, out)
                _hand_up(ends, inside, potentials, lo, hi, out)
        _settle(inside, forest.layer[depth], forest.layer[depth + 1])
        _weigh_items(inside, potentials, forest.layer[depth], forest.layer[depth + 1])


@inner
def _edge_factors(
    forest: Forest, inside: Messages, outside: Messages, potentials: Potentials, lo: int, hi: int, factor: Floats
) -> None:
    """What the scales of an edge's three messages and its potential come to; 1 / Z is in the outside's."""
    ends = forest.ends
    for e in range(lo, hi):
        scale = outside.scale[ends[e, P]] + _scale(inside, ends[e, L]) + _scale(inside, ends[e, R])
        factor[e - lo] = np.exp(scale + _of_edge(potentials, e))


@inner
def _seed(root: Ints, log_z: Floats, outside: Messages, buffer: Floats) -> None:
    """The roots' outside message is 1 / Z.  Divided here, sentences of any length can share items."""
    buffer[:] = 1.0
    for k in range(len(root)):
        if root[k] >= 0 and log_z[k] > -np.inf:
            _deposit(outside, root[k], _space(outside, root[k], 1, buffer), 0, -log_z[k])


@inner
def _pass_down(forest: Forest, outside: Messages, potentials: Potentials, lo: int, hi: int) -> None:
    """Edges without a rule: the child hears what its parent does."""
    for e in range(lo, hi):
        parent, child = forest.ends[e, P], forest.ends[e, L]
        row = outside.row[outside.start[parent] : outside.start[parent + 1]]
        _deposit(outside, child, row.reshape(len(row), 1), 0, outside.scale[parent] + _of_edge(potentials, e))


@inner
def _hand_down(
    forest: Forest,
    inside: Messages,
    outside: Messages,
    potentials: Potentials,
    lo: int,
    hi: int,
    to_left: Floats,
    to_right: Floats,
) -> None:
    """Add what edges lo..hi say of their children to the children's outside messages."""
    ends = forest.ends
    for e in range(lo, hi):
        above = outside.scale[ends[e, P]] + _of_edge(potentials, e)
        if ends[e, L] >= 0:
            _deposit(outside, ends[e, L], to_left, e - lo, above + _scale(inside, ends[e, R]))
        if ends[e, R] >= 0:
            _deposit(outside, ends[e, R], to_right, e - lo, above + inside.scale[ends[e, L]])


@kernel
def sweep_outside(
    forest: Forest,
    weights: Any,
    inside: Messages,
    log_z: Floats,
    outside: Messages,
    stats: Any,
    posterior: Floats,
    potentials: Potentials,
    buffers: Floats,
) -> None:
    """All outside messages, level by level from the roots down; expectations and edge posteriors on the way."""
    ends, factor = forest.ends, buffers[5]
    _seed(forest.root, log_z, outside, buffers[0])
    for up in range(len(forest.level) - 1):
        depth = len(forest.level) - 2 - up
        _settle(outside, forest.layer[depth], forest.layer[depth + 1])
        _weigh_items(outside, potentials, forest.layer[depth], forest.layer[depth + 1])
        for g in range(forest.level[depth], forest.level[depth + 1]):
            rule = forest.rule[forest.group[g]]
            if rule == PASS:
                _pass_down(forest, outside, potentials, forest.group[g], forest.group[g + 1])
                continue
            for lo in range(forest.group[g], forest.group[g + 1], BLOCK):
                hi = min(lo + BLOCK, forest.group[g + 1])
                parent = _gather(outside, ends, lo, hi, P, buffers[0])
                left = _gather(inside, ends, lo, hi, L, buffers[1])
                right = _gather(inside, ends, lo, hi, R, buffers[2])
                to_left = _space(outside, ends[lo, L], hi - lo, buffers[3])
                to_right = _space(outside, ends[lo, R], hi - lo, buffers[4])
                _edge_factors(forest, inside, outside, potentials, lo, hi, factor)
                rules, share = forest.rule[lo:hi], posterior[lo:hi]
                edges = Edges(rules, parent, left, right, factor[: hi - lo], to_left, to_right, share)
                _down(weights, edges, stats)
                _hand_down(forest, inside, outside, potentials, lo, hi, to_left, to_right)


def _log_partition(forest: Forest, inside: Messages) -> Floats:
    log_z = np.full(len(forest.root), -np.inf)
    whole = np.flatnonzero(forest.root >= 0)
    root = forest.root[whole]
    start, width = inside.start[root], inside.start[root + 1] - inside.start[root]
    masses = inside.row[ranges(start, width)]
    with np.errstate(divide="ignore"):
        mass = np.log(np.add.reduceat(masses, np.cumsum(width) - width)) if len(root) else np.zeros(0)
    log_z[whole] = np.where(mass > -np.inf, mass + inside.scale[root], -np.inf)
    return log_z


def inside_only(
    forest: Forest, weights: Any, width: Longs, potentials: Potentials = NO_POTENTIALS
) -> tuple[Floats, Messages]:
    """log Z of every sentence of the forest, and the inside messages."""
    inside = empty_messages(forest, width)
    sweep_inside(forest, weights, inside, potentials.on_edges(forest), _buffers(inside, 3))
    return _log_partition(forest, inside), inside


def infer(forest: Forest, weights: Any, stats: Any, width: Longs, potentials: Potentials = NO_POTENTIALS) -> Inference:
    """Both sweeps; expectations are added to `stats`, of the same type as the weights.

    An item's potential is in its inside message, and in its outside message as the item's own edges see it.
    """
    log_z, inside = inside_only(forest, weights, width, potentials)
    outside, posterior = empty_messages(forest, width), np.zeros(len(forest.rule))
    on_edges, buffers = potentials.on_edges(forest), _buffers(inside, 6)
    sweep_outside(forest, weights, inside, log_z, outside, stats, posterior, on_edges, buffers)
    return Inference(log_z, inside, outside, posterior)
