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

Messages are rows with a log scale each: the message of item i is exp(scale[i]) * row[i].  Scales go by large steps, so
that nearly all that is added up has the same one already.  Which form is meant is
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

STEP = 230.0  # of a scale, in nats: rows keep within exp(-STEP / 2) and exp(STEP / 2), 1e-50 and 1e50
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
def _begin(messages: Messages, item: int) -> np.uint64:
    """Where an item's message begins: unsigned, as the number of the item, so that nobody asks whether it counts from
    the end."""
    return np.uint64(messages.start[np.uint32(item)])


@lean
def _gather(messages: Messages, ends: Ints, port: int, columns: Floats) -> None:
    """The messages at one port of some edges become the columns of a matrix; ones where there is no item."""
    if ends[0, port] < 0:
        columns[:] = 1.0
        return
    for m in range(len(ends)):
        begin = _begin(messages, ends[m, port])
        for x in range(len(columns)):
            columns[x, m] = messages.row[begin + np.uint64(x)]
    for x in range(len(columns)):
        for m in range(len(ends), columns.shape[1]):
            columns[x, m] = 0.0


@lean
def _scale(messages: Messages, item: int) -> float:
    return 0.0 if item < 0 else messages.scale[np.uint32(item)]


@lean
def _deposit(messages: Messages, item: int, values: Floats, m: int, scale: float) -> None:
    """Add exp(scale) * values[:, m] to an item's message, whose own scale is the largest of its parts."""
    begin, own = _begin(messages, item), _scale(messages, item)
    if scale == own:
        if scale > -np.inf:
            for x in range(len(values)):
                messages.row[begin + np.uint64(x)] += values[x, m]
    elif scale > own:
        shrink = np.exp(own - scale) if own > -np.inf else 0.0  # in a tree each part is the first
        messages.scale[np.uint32(item)] = scale
        for x in range(len(values)):
            at = begin + np.uint64(x)
            messages.row[at] = shrink * messages.row[at] + values[x, m]
    else:
        factor = np.exp(scale - own)
        for x in range(len(values)):
            messages.row[begin + np.uint64(x)] += factor * values[x, m]


@lean
def _settle(messages: Messages, potentials: Potentials, first: int, last: int) -> None:
    """Weigh finished rows by their items' potentials, and bring them back into range."""
    for item in range(first, last):
        begin, end = messages.start[item], messages.start[item + 1]
        big = 0.0
        for x in range(begin, end):
            big = max(big, messages.row[x])
        weight = potentials.item[item] if len(potentials.item) > 0 else 0.0
        if big <= 0.0 or weight == -np.inf:
            messages.scale[item] = -np.inf
            continue
        steps = np.round((np.log(big) + weight) / STEP)
        if weight != 0.0 or steps != 0.0:
            messages.scale[item] += steps * STEP
            half = np.exp(0.5 * (weight - steps * STEP))  # the whole may be too large for a number
            for x in range(begin, end):
                messages.row[x] = messages.row[x] * half * half


@lean
def _weight(weights: Floats, edge: int) -> float:
    """The potential of one of some edges, of which all or none have any."""
    return weights[edge] if len(weights) > 0 else 0.0


def _buffers(messages: Messages, weights: Any, count: int) -> Floats:
    """Make rooms for the messages of a block of edges, whatever their width, and for the form's own notes."""
    widest = int(np.diff(messages.start).max(initial=1))
    return np.empty((count, BLOCK * max(widest, _FORMS[type(weights)]["room"](weights, widest))))


@lean
def _hand_up(ends: Ints, inside: Messages, potentials: Floats, out: Floats) -> None:
    """Add what some edges say of their parents to the parents' inside messages."""
    for m in range(len(ends)):
        scale = _scale(inside, ends[m, L]) + _scale(inside, ends[m, R])
        _deposit(inside, ends[m, P], out, m, scale + _weight(potentials, m))


@lean
def _block_up(
    forest: Forest, weights: Any, inside: Messages, potentials: Potentials, lo: int, hi: int, buffers: Floats
) -> None:
    """Add what edges lo..hi, all of one rule, say of their parents."""
    ends, of_edges, count = forest.ends[lo:hi], potentials.edge[lo:hi], padded(hi - lo)
    wide = _width(inside, ends[0, L])
    left = buffers[0][: wide * count].reshape(wide, count)
    _gather(inside, ends, L, left)
    if forest.rule[lo] == PASS:
        _hand_up(ends, inside, of_edges, left)
        return
    wide = _width(inside, ends[0, R])
    right = buffers[1][: wide * count].reshape(wide, count)
    _gather(inside, ends, R, right)
    wide = _width(inside, ends[0, P])
    out = buffers[2][: wide * count].reshape(wide, count)
    _up(weights, forest.rule[lo:hi], left, right, out, buffers[3])
    _hand_up(ends, inside, of_edges, out)


@lean_kernel
def sweep_inside(forest: Forest, weights: Any, inside: Messages, potentials: Potentials, buffers: Floats) -> None:
    """All inside messages, level by level from the words up."""
    for depth in range(len(forest.level) - 1):
        for g in range(forest.level[depth], forest.level[depth + 1]):
            for lo in range(forest.group[g], forest.group[g + 1], BLOCK):
                hi = min(lo + BLOCK, forest.group[g + 1])
                _block_up(forest, weights, inside, potentials, lo, hi, buffers)
        _settle(inside, potentials, forest.layer[depth], forest.layer[depth + 1])


@lean
def _edge_factors(ends: Ints, inside: Messages, outside: Messages, potentials: Floats, factor: Floats) -> None:
    """What the scales of an edge's three messages and its potential come to; 1 / Z is in the outside's."""
    for m in range(len(ends)):
        scale = _scale(outside, ends[m, P]) + _scale(inside, ends[m, L]) + _scale(inside, ends[m, R])
        scale += _weight(potentials, m)
        factor[m] = 1.0 if scale == 0.0 else np.exp(scale)
    for m in range(len(ends), len(factor)):
        factor[m] = 0.0


@lean
def _seed(root: Ints, log_z: Floats, outside: Messages, buffer: Floats) -> None:
    """The roots' outside message is 1 / Z.  Divided here, sentences of any length can share items."""
    column = buffer.reshape(len(buffer), 1)
    for k in range(len(root)):
        if root[k] >= 0 and log_z[k] > -np.inf:
            scale = STEP * np.round(-log_z[k] / STEP)
            wide = _width(outside, root[k])
            column[:wide] = np.exp(-log_z[k] - scale)
            _deposit(outside, root[k], column[:wide], 0, scale)


@lean
def _pass_down(ends: Ints, outside: Messages, potentials: Floats) -> None:
    """Edges without a rule: the child hears what its parent does."""
    for m in range(len(ends)):
        parent, child = ends[m, P], ends[m, L]
        row = outside.row[outside.start[parent] : outside.start[parent + 1]]
        _deposit(outside, child, row.reshape(len(row), 1), 0, outside.scale[parent] + _weight(potentials, m))


@lean
def _hand_down(
    ends: Ints, inside: Messages, outside: Messages, potentials: Floats, to_left: Floats, to_right: Floats
) -> None:
    """Add what some edges say of their children to the children's outside messages."""
    for m in range(len(ends)):
        above = _scale(outside, ends[m, P]) + _weight(potentials, m)
        if ends[m, L] >= 0:
            _deposit(outside, ends[m, L], to_left, m, above + _scale(inside, ends[m, R]))
        if ends[m, R] >= 0:
            _deposit(outside, ends[m, R], to_right, m, above + _scale(inside, ends[m, L]))


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
    ends, of_edges, count = forest.ends[lo:hi], potentials.edge[lo:hi], padded(hi - lo)
    factor, share = buffers[5][:count], buffers[7][:count]
    high, wide, last = _width(outside, ends[0, P]), _width(inside, ends[0, L]), _width(inside, ends[0, R])
    parent = buffers[0][: high * count].reshape(high, count)
    left, to_left = buffers[1][: wide * count].reshape(wide, count), buffers[3][: wide * count].reshape(wide, count)
    right, to_right = buffers[2][: last * count].reshape(last, count), buffers[4][: last * count].reshape(last, count)
    _gather(outside, ends, P, parent)
    _gather(inside, ends, L, left)
    _gather(inside, ends, R, right)
    _edge_factors(ends, inside, outside, of_edges, factor)
    edges = Edges(forest.rule[lo:hi], parent, left, right, factor, to_left, to_right, share, buffers[6])
    _down(weights, edges, stats)
    for m in range(len(ends)):
        posterior[lo + m] = share[m]
    _hand_down(ends, inside, outside, of_edges, to_left, to_right)


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
        _settle(outside, potentials, forest.layer[depth], forest.layer[depth + 1])
        for g in range(forest.level[depth], forest.level[depth + 1]):
            rule = forest.rule[forest.group[g]]
            if rule == PASS:
                lo, hi = forest.group[g], forest.group[g + 1]
                _pass_down(forest.ends[lo:hi], outside, potentials.edge[lo:hi])
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
