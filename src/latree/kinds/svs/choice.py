"""The ways in which structured vectorial semantics chooses among analyses of a span.

By concepts, every concept has the analysis that is best for it (eqn 4): children's concepts are summed over, analyses
are maximised over.  By vectors, a span and its category have one analysis for all concepts, the one whose vector has
the greatest probability under the prior, a . e (eqns 10 and 11).  By the maximum, concepts are maximised over as
analyses are, the alternative that the paper names after eqn 4: the best derivation with one concept at every node.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from latree.arrays import Floats, Longs
from latree.inference.forest import PASS, Forest, L, P, R
from latree.inference.forms.factored import NO_RELATION, Factored, up
from latree.inference.sweep import Messages, empty_messages
from latree.jit import kernel
from latree.kinds.svs import Choice


@kernel
def _message(messages: Messages, item: int) -> Floats:
    """A column; of a child that is absent a one."""
    if item < 0:
        return np.ones((1, 1))
    return messages.row[messages.start[item] : messages.start[item + 1]].copy().reshape(-1, 1)


@kernel
def _scale_of(messages: Messages, item: int) -> float:
    return 0.0 if item < 0 else messages.scale[item]


@kernel
def _offer_whole(
    messages: Messages, best: Floats, back: Longs, item: int, e: int, out: Floats, prior: Floats, scale: float
) -> None:
    """One analysis for all concepts: that of the greatest a . e."""
    value = 0.0
    for x in range(len(out)):
        value += prior[x] * out[x, 0]
    score = np.log(value) + scale if value > 0.0 else -np.inf
    begin = messages.start[item]
    if score > best[item]:
        best[item], back[begin] = score, e
        messages.scale[item] = scale
        for x in range(len(out)):
            messages.row[begin + x] = out[x, 0]


@kernel
def _offer_each(messages: Messages, back: Longs, item: int, e: int, out: Floats, scale: float) -> None:
    """Every concept takes the analysis that is best for it."""
    begin = messages.start[item]
    if messages.scale[item] < scale:
        shrink = np.exp(messages.scale[item] - scale)
        messages.scale[item] = scale
        for x in range(len(out)):
            messages.row[begin + x] *= shrink
    factor = np.exp(scale - messages.scale[item])
    for x in range(len(out)):
        if out[x, 0] * factor > messages.row[begin + x]:
            messages.row[begin + x], back[begin + x] = out[x, 0] * factor, e


@kernel
def _most_related(relation: Floats, child: Floats, out: Floats) -> None:
    """Multiply by the greatest L[x, z] child[z] that there is for each x."""
    for x in range(len(out)):
        most = 0.0
        for z in range(len(child)):
            most = max(most, relation[x, z] * child[z, 0])
        out[x, 0] *= most


@kernel
def _up_by_maximum(weights: Factored, rule: int, left: Floats, right: Floats, out: Floats) -> None:
    """Eqn 10 with the children's concepts maximised over; of a rule of the grammar."""
    number, (first, second) = weights.rule[rule], weights.label[rule]
    if first == NO_RELATION:  # the root's
        out[0, 0] = (number * left[:, 0]).max()
        return
    out[:, 0] = number
    _most_related(weights.relation[first], left, out)
    if second != NO_RELATION:
        _most_related(weights.relation[second], right, out)


@kernel
def _fill(
    forest: Forest, weights: Factored, messages: Messages, prior: Floats, back: Longs, whole: bool, most: bool
) -> None:
    """Viterbi vectors of all items (eqn 6) from the bottom up, and in `back` the edge that each number is from."""
    best, room = np.full(len(forest.symbol), -np.inf), np.empty(weights.rule.shape[1])
    for e in range(len(forest.rule)):
        parent, left, right = forest.ends[e, P], forest.ends[e, L], forest.ends[e, R]
        scale = _scale_of(messages, left) + _scale_of(messages, right)
        if scale == -np.inf:
            continue
        first = _message(messages, left)
        out = np.zeros((messages.start[parent + 1] - messages.start[parent], 1))
        if forest.rule[e] == PASS:
            out[:] = first
        elif most and forest.rule[e] < forest.rules:
            _up_by_maximum(weights, forest.rule[e], first, _message(messages, right), out)
        else:
            up(weights, forest.rule[e : e + 1], first, _message(messages, right), out, room)
        big = out.max()
        if big <= 0.0:
            continue
        out /= big
        scale += np.log(big)
        if whole:
            mine = prior[forest.symbol[parent]] if forest.symbol[parent] > 0 else np.ones(1)  # the root has none
            _offer_whole(messages, best, back, parent, e, out, mine, scale)
        else:
            _offer_each(messages, back, parent, e, out, scale)


@kernel
def _likeliest_child(forest: Forest, weights: Factored, messages: Messages, e: int, x: int, port: int) -> Any:
    """The concept of a child that gives most, for concept x of the parent."""
    child, rule = forest.ends[e, port], forest.rule[e]
    begin, count = messages.start[child], messages.start[child + 1] - messages.start[child]
    if rule == PASS:
        return x
    label = weights.label[rule, port - L]
    row = weights.rule[rule] if label == NO_RELATION else weights.relation[label, x]
    return np.argmax(row * messages.row[begin : begin + count])


def chosen_edges(forest: Forest, weights: Factored, width: Longs, prior: Floats, choice: Choice) -> list[int]:
    """The edges of every sentence's best derivation; `prior` [symbols, concepts] is a of eqn 9."""
    messages = empty_messages(forest, width)
    back = np.full(len(messages.row), -1)
    whole = choice == "vector"
    _fill(forest, weights, messages, prior, back, whole, choice == "maximum")
    edges: list[int] = []
    todo = [(int(root), 0) for root in forest.root if root >= 0]
    while todo:
        item, x = todo.pop()
        edge = int(back[messages.start[item] + (0 if whole else x)])
        if edge < 0:
            continue
        edges.append(edge)
        for port in (L, R):
            child = int(forest.ends[edge, port])
            if child >= 0:
                concept = 0 if whole else _likeliest_child(forest, weights, messages, edge, x, port)
                todo.append((child, concept))
    return edges
