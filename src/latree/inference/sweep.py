"""Inside, outside and expectation, written once for every model.

A rule is a multilinear form with three ports: parent, left, right.  Plug messages into the children and read the
parent: that is inside.  Plug parent and one child and read the other: that is outside.  Plug all three: that is
the rule's expectation.  A form says how, for many edges m at a time, all of one rule or all lexical entries of one tag:

    up(weights, rules, left, right, out, room)
        out[:, m] = the parent's reading
    down(weights, edges, stats)
        edges.to_left[:, m], edges.to_right[:, m] = the children's readings;
        edges.share[m] = factor[m] times all three plugged in, the posterior of the edge, which is added to `stats`
    room(weights, widest)
        how many numbers up and down note for themselves for every edge, where messages have so many at most: kernels
        make no arrays (`jit.lean`)

Edges come as columns, `padded` to whole vectors: what is past the last of `rules` has messages and factors of zero, and
nobody looks at what is made of it.

Messages are rows with a log scale each: the message of item i is exp(scale[i]) * row[i].  Which form is meant is
told by the type of the weights, a NamedTuple; `register` makes it known to the compiler.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from latree.arrays import Floats, Ints, Longs, ranges
from latree.inference.forest import PASS, Forest, L, P, R
from latree.inference.lanes import padded
from latree.inference.potentials import NO_POTENTIALS, Potentials
from latree.jit import LEAN_OPTIONS, lean, lean_kernel

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

    rules: Ints  # [edges], fewer than the columns
    parent: Floats  # outside
    left: Floats  # inside
    right: Floats
    factor: Floats  # [columns] what the scales of the three messages come to
    to_left: Floats  # to be filled: what the edge says of its children
    to_right: Floats
    share: Floats  # [columns] to be filled: the posterior
    room: Floats  # for the form's own notes


_FORMS: dict[type, dict[str, Callable[..., Any]]] = {}


def register(
    weights: type, *, up: Callable[..., None], down: Callable[..., None], room: Callable[[Any, int], int]
) -> None:
    """Make a form known: its functions are compiled into the sweeps below for this type of weights."""
    _FORMS[weights] = {"up": up, "down": down, "room": room}


def _up(weights: Any, rules: Ints, left: Floats, right: Floats, out: Floats, room: Floats) -> None:
    """Stands for the form's own `up` in the kernels below."""


def _down(weights: Any, edges: Edges, stats: Any) -> None:
    """Stands for the form's own `down`."""


@overload(_up, jit_options=LEAN_OPTIONS, strict=False)
def _choose_up(
    weights: Any, rules: Ints, left: Floats, right: Floats, out: Floats, room: Floats
) -> Callable[..., None]:
    return _FORMS[weights.instance_class]["up"]


@overload(_down, jit_options=LEAN_OPTIONS, strict=False)
def _choose_down(weights: Any, edges: Edges, stats: Any) -> Callable[..., None]:
    return _FORMS[weights.instance_class]["down"]


def empty_messages(forest: Forest, width: Longs) -> Messages:
    """Messages of no mass; `width[symbol]` is how many numbers a message of that symbol has."""
    start = np.empty(len(forest.symbol) + 1, np.int64)
    _lay_out(forest.symbol, width, start)
    return Messages(start, np.zeros(start[-1]), np.full(len(forest.symbol), -np.inf))


@lean_kernel
def _lay_out(symbol: Ints, width: Longs, start: Longs) -> None:
    """Where the messages of items of these symbols begin, end to end.

    Compiled, so that other threads go on meanwhile.
    """
    start[0] = 0
    for item in range(len(symbol)):
        start[item + 1] = start[item] + width[symbol[item]]


@lean
def _width(messages: Messages, item: int) -> int:
    """How many numbers a message has; one where there is no item."""
    return 1 if item < 0 else messages.start[item + 1] - messages.start[item]


@lean
def _gather(messages: Messages, ends: Ints, lo: int, hi: int, port: int, columns: Floats) -> None:
    """The messages at one port of edges lo..hi become the columns of a matrix; ones where there is no item."""
    if ends[lo, port] < 0:
        columns[:] = 1.0
        return
    for m in range(hi - lo):
        begin = messages.start[ends[lo + m, port]]
        for x in range(len(columns)):
            columns[x, m] = messages.row[begin + x]
    for x in range(len(columns)):
        for m in range(hi - lo, columns.shape[1]):
            columns[x, m] = 0.0


@lean
def _scale(messages: Messages, item: int) -> float:
    return 0.0 if item < 0 else messages.scale[item]


@lean
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


@lean
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


@lean
def _weigh_items(messages: Messages, potentials: Potentials, first: int, last: int) -> None:
    """Add items' potentials to their scales."""
    for item in range(first, last if len(potentials.item) > 0 else first):
        messages.scale[item] += potentials.item[item]


@lean
def _of_edge(potentials: Potentials, edge: int) -> float:
    return potentials.edge[edge] if len(potentials.edge) > 0 else 0.0


def _buffers(messages: Messages, weights: Any, count: int) -> Floats:
    """Make rooms for the messages of a block of edges, whatever their width, and for the form's own notes."""
    widest = int(np.diff(messages.start).max(initial=1))
    return np.empty((count, BLOCK * max(widest, _FORMS[type(weights)]["room"](weights, widest))))


@lean
def _hand_up(ends: Ints, inside: Messages, potentials: Potentials, lo: int, hi: int, out: Floats) -> None:
    """Add what edges lo..hi say of their parents to the parents' inside messages."""
    for e in range(lo, hi):
        scale = _scale(inside, ends[e, L]) + _scale(inside, ends[e, R])
        _deposit(inside, ends[e, P], out, e - lo, scale + _of_edge(potentials, e))


@lean
def _block_up(
    forest: Forest, weights: Any, inside: Messages, potentials: Potentials, lo: int, hi: int, buffers: Floats
) -> None:
    """Add what edges lo..hi, all of one rule, say of their parents."""
    ends, count = forest.ends, padded(hi - lo)
    wide = _width(inside, ends[lo, L])
    left = buffers[0][: wide * count].reshape(wide, count)
    _gather(inside, ends, lo, hi, L, left)
    if forest.rule[lo] == PASS:
        _hand_up(ends, inside, potentials, lo, hi, left)
        return
    wide = _width(inside, ends[lo, R])
    right = buffers[1][: wide * count].reshape(wide, count)
    _gather(inside, ends, lo, hi, R, right)
    wide = _width(inside, ends[lo, P])
    out = buffers[2][: wide * count].reshape(wide, count)
    _up(weights, forest.rule[lo:hi], left, right, out, buffers[3])
    _hand_up(ends, inside, potentials, lo, hi, out)


@lean_kernel
def sweep_inside(forest: Forest, weights: Any, inside: Messages, potentials: Potentials, buffers: Floats) -> None:
    """All inside messages, level by level from the words up."""
    for depth in range(len(forest.level) - 1):
        for g in range(forest.level[depth], forest.level[depth + 1]):
            for lo in range(forest.group[g], forest.group[g + 1], BLOCK):
                hi = min(lo + BLOCK, forest.group[g + 1])
                _block_up(forest, weights, inside, potentials, lo, hi, buffers)
        _settle(inside, forest.layer[depth], forest.layer[depth + 1])
        _weigh_items(inside, potentials, forest.layer[depth], forest.layer[depth + 1])


@lean
def _edge_factors(
    forest: Forest, inside: Messages, outside: Messages, potentials: Potentials, lo: int, hi: int, factor: Floats
) -> None:
    """What the scales of an edge's three messages and its potential come to; 1 / Z is in the outside's."""
    ends = forest.ends
    for e in range(lo, hi):
        scale = outside.scale[ends[e, P]] + _scale(inside, ends[e, L]) + _scale(inside, ends[e, R])
        factor[e - lo] = np.exp(scale + _of_edge(potentials, e))
    for m in range(hi - lo, len(factor)):
        factor[m] = 0.0


@lean
def _seed(root: Ints, log_z: Floats, outside: Messages, buffer: Floats) -> None:
    """The roots' outside message is 1 / Z.  Divided here, sentences of any length can share items."""
    buffer[:] = 1.0
    ones = buffer.reshape(len(buffer), 1)
    for k in range(len(root)):
        if root[k] >= 0 and log_z[k] > -np.inf:
            _deposit(outside, root[k], ones, 0, -log_z[k])


@lean
def _pass_down(forest: Forest, outside: Messages, potentials: Potentials, lo: int, hi: int) -> None:
    """Edges without a rule: the child hears what its parent does."""
    for e in range(lo, hi):
        parent, child = forest.ends[e, P], forest.ends[e, L]
        row = outside.row[outside.start[parent] : outside.start[parent + 1]]
        _deposit(outside, child, row.reshape(len(row), 1), 0, outside.scale[parent] + _of_edge(potentials, e))


@lean
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


@lean
def _block_down(
    forest: Forest,
    weights: Any,
    inside: Messages,
    outside: Messages,
    stats: Any,
    posterior: Floats,
    potentials: Potentials,
    lo: int,
    hi: int,
    buffers: Floats,
) -> None:
    """Add what edges lo..hi, all of one rule, say of their children, and to the statistics."""
    ends, count = forest.ends, padded(hi - lo)
    factor, share = buffers[5][:count], buffers[7][:count]
    high, wide, last = _width(outside, ends[lo, P]), _width(inside, ends[lo, L]), _width(inside, ends[lo, R])
    parent = buffers[0][: high * count].reshape(high, count)
    left, to_left = buffers[1][: wide * count].reshape(wide, count), buffers[3][: wide * count].reshape(wide, count)
    right, to_right = buffers[2][: last * count].reshape(last, count), buffers[4][: last * count].reshape(last, count)
    _gather(outside, ends, lo, hi, P, parent)
    _gather(inside, ends, lo, hi, L, left)
    _gather(inside, ends, lo, hi, R, right)
    _edge_factors(forest, inside, outside, potentials, lo, hi, factor)
    edges = Edges(forest.rule[lo:hi], parent, left, right, factor, to_left, to_right, share, buffers[6])
    _down(weights, edges, stats)
    for m in range(hi - lo):
        posterior[lo + m] = share[m]
    _hand_down(forest, inside, outside, potentials, lo, hi, to_left, to_right)


@lean_kernel
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
                _block_down(forest, weights, inside, outside, stats, posterior, potentials, lo, hi, buffers)


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
    sweep_inside(forest, weights, inside, potentials.on_edges(forest), _buffers(inside, weights, 4))
    return _log_partition(forest, inside), inside


def infer(forest: Forest, weights: Any, stats: Any, width: Longs, potentials: Potentials = NO_POTENTIALS) -> Inference:
    """Both sweeps; expectations are added to `stats`, of the same type as the weights.

    An item's potential is in its inside message, and in its outside message as the item's own edges see it.
    """
    log_z, inside = inside_only(forest, weights, width, potentials)
    outside, posterior = empty_messages(forest, width), np.zeros(len(forest.rule))
    on_edges, buffers = potentials.on_edges(forest), _buffers(inside, weights, 8)
    sweep_outside(forest, weights, inside, log_z, outside, stats, posterior, on_edges, buffers)
    return Inference(log_z, inside, outside, posterior)
