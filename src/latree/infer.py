"""Inside, outside and expectation, written once for every model.

A rule is a multilinear form with three ports: parent, left, right.  Plug messages into the children and read the
parent: that is inside.  Plug parent and one child and read the other: that is outside.  Plug all three: that is
the rule's expectation.  A form says how, for many edges of one rule at a time:

    up(weights, rule, left, right, out)                    out[m, :]  = the parent's reading of edge m
    down(weights, rule, parent, left, right, to_l, to_r)   to_l, to_r = the children's readings
    tally(weights, rule, parent, left, right, factor, stats, share)
                                                           adds expectations to stats, share[m] = their sum at edge m

Messages are rows with a log scale each: the message of item i is exp(scale[i]) * row[i].  Which form is meant is
told by the type of the weights, a NamedTuple; `register` makes it known to the compiler.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from latree.forest import PASS, Forest, L, P, R
from latree.jit import kernel

BLOCK = 128  # edges taken at a time: large enough for matrix products, small enough for the cache

Floats = NDArray[np.float64]


class Messages(NamedTuple):
    """One message an item, for one direction."""

    start: NDArray[np.int64]  # [items+1] where an item's row begins
    row: Floats
    scale: Floats  # [items]


class Inference(NamedTuple):
    """What a forest's two sweeps and its expectation give."""

    log_z: Floats  # [sentences]
    inside: Messages
    outside: Messages
    posterior: Floats  # [edges] probability that the edge is in the derivation


_FORMS: dict[type, dict[str, Callable[..., Any]]] = {}


def register(weights: type, *, up: Callable[..., Any], down: Callable[..., Any], tally: Callable[..., Any]) -> None:
    """Make a form known: its three functions are compiled into the sweeps below for this type of weights."""
    _FORMS[weights] = {"up": up, "down": down, "tally": tally}


def _up(weights, rule, left, right, out):  # type: ignore[no-untyped-def]
    """Stands for the form's own `up` in the kernels below."""


def _down(weights, rule, parent, left, right, to_left, to_right):  # type: ignore[no-untyped-def]
    """Stands for the form's own `down`."""


def _tally(weights, rule, parent, left, right, factor, stats, share):  # type: ignore[no-untyped-def]
    """Stands for the form's own `tally`."""


@overload(_up)
def _choose_up(weights, rule, left, right, out):  # type: ignore[no-untyped-def]
    form = _FORMS[weights.instance_class]["up"]
    return lambda weights, rule, left, right, out: form(weights, rule, left, right, out)


@overload(_down)
def _choose_down(weights, rule, parent, left, right, to_left, to_right):  # type: ignore[no-untyped-def]
    form = _FORMS[weights.instance_class]["down"]

    def down(weights, rule, parent, left, right, to_left, to_right):  # type: ignore[no-untyped-def]
        return form(weights, rule, parent, left, right, to_left, to_right)

    return down


@overload(_tally)
def _choose_tally(weights, rule, parent, left, right, factor, stats, share):  # type: ignore[no-untyped-def]
    form = _FORMS[weights.instance_class]["tally"]

    def tally(weights, rule, parent, left, right, factor, stats, share):  # type: ignore[no-untyped-def]
        return form(weights, rule, parent, left, right, factor, stats, share)

    return tally


def empty_messages(forest: Forest, width: NDArray[np.int64]) -> Messages:
    """Messages of no mass; `width[symbol]` is how many numbers a message of that symbol has."""
    start = np.concatenate([[0], np.cumsum(width[forest.symbol])]).astype(np.int64)
    return Messages(start, np.zeros(start[-1]), np.full(len(forest.symbol), -np.inf))


@kernel
def _gather(messages, items, lo, hi, port, buffer):  # type: ignore[no-untyped-def]
    """The messages at one port of edges lo..hi, as the rows of a matrix; a row of one where there is no item."""
    first, count = items[lo, port], hi - lo
    if first < 0:
        ones = buffer[:count].reshape(count, 1)
        ones[:] = 1.0
        return ones
    width = messages.start[first + 1] - messages.start[first]
    rows = buffer[: count * width].reshape(count, width)
    for m in range(count):
        begin = messages.start[items[lo + m, port]]
        for x in range(width):
            rows[m, x] = messages.row[begin + x]
    return rows


@kernel
def _scale(messages, item):  # type: ignore[no-untyped-def]
    return 0.0 if item < 0 else messages.scale[item]


@kernel
def _deposit(messages, item, values, scale):  # type: ignore[no-untyped-def]
    """Add exp(scale) * values to an item's message, whose own scale grows with its largest part."""
    if scale == -np.inf:
        return
    begin, end = messages.start[item], messages.start[item + 1]
    factor = 1.0
    if scale > messages.scale[item]:
        shrink = np.exp(messages.scale[item] - scale)
        messages.scale[item] = scale
        for x in range(begin, end):
            messages.row[x] *= shrink
    else:
        factor = np.exp(scale - messages.scale[item])
    for x in range(begin, end):
        messages.row[x] += factor * values[x - begin]


@kernel
def _settle(messages, first, last):  # type: ignore[no-untyped-def]
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


@kernel
def _widest(messages):  # type: ignore[no-untyped-def]
    widest = 1
    for item in range(len(messages.scale)):
        widest = max(widest, messages.start[item + 1] - messages.start[item])
    return widest


@kernel
def sweep_inside(forest, weights, inside):  # type: ignore[no-untyped-def]
    """All inside messages, level by level from the words up."""
    wide = _widest(inside)
    left_buffer, right_buffer, out_buffer = np.empty(BLOCK * wide), np.empty(BLOCK * wide), np.empty(BLOCK * wide)
    ends = forest.ends
    for depth in range(len(forest.level) - 1):
        for g in range(forest.level[depth], forest.level[depth + 1]):
            rule = forest.rule[forest.group[g]]
            for lo in range(forest.group[g], forest.group[g + 1], BLOCK):
                hi = min(lo + BLOCK, forest.group[g + 1])
                left = _gather(inside, ends, lo, hi, L, left_buffer)
                if rule == PASS:
                    out = left
                else:
                    right = _gather(inside, ends, lo, hi, R, right_buffer)
                    parent = ends[lo, P]
                    width = inside.start[parent + 1] - inside.start[parent]
                    out = out_buffer[: (hi - lo) * width].reshape(hi - lo, width)
                    _up(weights, rule, left, right, out)
                for m in range(hi - lo):
                    e = lo + m
                    scale = _scale(inside, ends[e, L]) + _scale(inside, ends[e, R])
                    _deposit(inside, ends[e, P], out[m], scale)
        _settle(inside, forest.layer[depth], forest.layer[depth + 1])


@kernel
def sweep_outside(forest, weights, inside, outside):  # type: ignore[no-untyped-def]
    """All outside messages, level by level from the roots down."""
    wide = max(_widest(inside), _widest(outside))
    parent_buffer, left_buffer, right_buffer = np.empty(BLOCK * wide), np.empty(BLOCK * wide), np.empty(BLOCK * wide)
    to_left_buffer, to_right_buffer = np.empty(BLOCK * wide), np.empty(BLOCK * wide)
    ends = forest.ends
    for k in range(len(forest.root)):
        outside.scale[forest.root[k]] = 0.0
        outside.row[outside.start[forest.root[k]] : outside.start[forest.root[k] + 1]] = 1.0
    for up in range(len(forest.level) - 1):
        depth = len(forest.level) - 2 - up
        _settle(outside, forest.layer[depth], forest.layer[depth + 1])
        for g in range(forest.level[depth], forest.level[depth + 1]):
            rule = forest.rule[forest.group[g]]
            first = forest.group[g]
            if ends[first, L] < 0:
                continue
            for lo in range(first, forest.group[g + 1], BLOCK):
                hi = min(lo + BLOCK, forest.group[g + 1])
                parent = _gather(outside, ends, lo, hi, P, parent_buffer)
                if rule == PASS:
                    for m in range(hi - lo):
                        _deposit(outside, ends[lo + m, L], parent[m], outside.scale[ends[lo + m, P]])
                    continue
                left = _gather(inside, ends, lo, hi, L, left_buffer)
                right = _gather(inside, ends, lo, hi, R, right_buffer)
                to_left = _space(outside, ends[lo, L], hi - lo, to_left_buffer)
                to_right = _space(outside, ends[lo, R], hi - lo, to_right_buffer)
                _down(weights, rule, parent, left, right, to_left, to_right)
                for m in range(hi - lo):
                    e = lo + m
                    above = outside.scale[ends[e, P]]
                    _deposit(outside, ends[e, L], to_left[m], above + _scale(inside, ends[e, R]))
                    if ends[e, R] >= 0:
                        _deposit(outside, ends[e, R], to_right[m], above + inside.scale[ends[e, L]])


@kernel
def _space(messages, item, count, buffer):  # type: ignore[no-untyped-def]
    width = 1 if item < 0 else messages.start[item + 1] - messages.start[item]
    return buffer[: count * width].reshape(count, width)


@kernel
def expectations(forest, weights, inside, outside, log_z, stats, posterior):  # type: ignore[no-untyped-def]
    """Add every rule's expectation to `stats` and set the posterior of every edge that has a rule."""
    wide = max(_widest(inside), _widest(outside))
    parent_buffer, left_buffer, right_buffer = np.empty(BLOCK * wide), np.empty(BLOCK * wide), np.empty(BLOCK * wide)
    factor = np.empty(BLOCK)
    ends = forest.ends
    for g in range(len(forest.group) - 1):
        rule = forest.rule[forest.group[g]]
        if rule == PASS:
            continue
        for lo in range(forest.group[g], forest.group[g + 1], BLOCK):
            hi = min(lo + BLOCK, forest.group[g + 1])
            for m in range(hi - lo):
                e = lo + m
                scale = outside.scale[ends[e, P]] + _scale(inside, ends[e, L]) + _scale(inside, ends[e, R])
                # Divided before exponentiating, so that long sentences do not underflow.
                z = log_z[forest.sentence[ends[e, P]]]
                factor[m] = 0.0 if z == -np.inf else np.exp(scale - z)
            parent = _gather(outside, ends, lo, hi, P, parent_buffer)
            left = _gather(inside, ends, lo, hi, L, left_buffer)
            right = _gather(inside, ends, lo, hi, R, right_buffer)
            _tally(weights, rule, parent, left, right, factor[: hi - lo], stats, posterior[lo:hi])


@kernel
def _log_partition(forest, inside):  # type: ignore[no-untyped-def]
    log_z = np.full(len(forest.root), -np.inf)
    for k in range(len(forest.root)):
        root = forest.root[k]
        mass = inside.row[inside.start[root] : inside.start[root + 1]].sum()
        if mass > 0.0:
            log_z[k] = np.log(mass) + inside.scale[root]
    return log_z


def inside_only(forest: Forest, weights: Any, width: NDArray[np.int64]) -> tuple[Floats, Messages]:
    """log Z of every sentence of the forest, and the inside messages."""
    inside = empty_messages(forest, width)
    sweep_inside(forest, weights, inside)
    return _log_partition(forest, inside), inside


def infer(
    forest: Forest, weights: Any, stats: Any, width: NDArray[np.int64], outside_width: NDArray[np.int64] | None = None
) -> Inference:
    """Both sweeps and the expectations, which are added to `stats` (of the same type as the weights)."""
    log_z, inside = inside_only(forest, weights, width)
    outside = empty_messages(forest, width if outside_width is None else outside_width)
    sweep_outside(forest, weights, inside, outside)
    posterior = np.zeros(len(forest.rule))
    expectations(forest, weights, inside, outside, log_z, stats, posterior)
    return Inference(log_z, inside, outside, posterior)
