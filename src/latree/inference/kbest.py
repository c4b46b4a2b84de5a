"""The k best derivations of a forest, found lazily (Huang & Chiang 2005, algorithm 3), without recursion."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from latree.arrays import Floats, Ints, Longs, starts
from latree.inference.forest import Forest, L, P, R
from latree.jit import lean, lean_kernel


class _Lists(NamedTuple):
    """For every item its derivations fixed so far, best first, and a heap of candidates for the next."""

    fixed: Longs  # [items] how many derivations are fixed
    entry: Longs  # [items, k, 3] their edge and the ranks of its children
    score: Floats  # [items, k]
    done: NDArray[np.bool_]  # [items] there are no more
    opened: Longs  # [items] how many of its edges have put their best on the heap
    stage: Longs  # [items] which successors of the derivation fixed last are on the heap: 0 none, 2 both
    size: Longs  # [items] candidates on the heap
    heap: Longs  # [slots, 3]
    key: Floats  # [slots]
    room: Longs  # [items+1] where an item's heap begins
    first: Longs  # [items+1] where an item's edges begin in `edges`
    edges: Longs


@lean
def _copy_row(source: Longs, row: int, target: Longs, to: int) -> None:
    for column in range(source.shape[1]):
        target[to, column] = source[row, column]


@lean
def _push(lists: _Lists, item: int, edge: int, left_rank: int, right_rank: int, score: float) -> None:
    base, k = lists.room[item], lists.size[item]
    lists.size[item] += 1
    while k > 0 and lists.key[base + (k - 1) // 2] < score:
        up = (k - 1) // 2
        lists.key[base + k] = lists.key[base + up]
        _copy_row(lists.heap, base + up, lists.heap, base + k)
        k = up
    lists.key[base + k] = score
    lists.heap[base + k, 0], lists.heap[base + k, 1], lists.heap[base + k, 2] = edge, left_rank, right_rank


@lean
def _pop(lists: _Lists, item: int) -> None:
    """Move the best candidate to the end of the fixed derivations."""
    base, rank = lists.room[item], lists.fixed[item]
    lists.score[item, rank] = lists.key[base]
    _copy_row(lists.heap, base, lists.entry[item], rank)
    lists.fixed[item] += 1
    lists.size[item] -= 1
    size, k = lists.size[item], 0
    last, last_key = base + size, lists.key[base + size]
    while 2 * k + 1 < size:
        child = 2 * k + 1
        if child + 1 < size and lists.key[base + child + 1] > lists.key[base + child]:
            child += 1
        if lists.key[base + child] <= last_key:
            break
        lists.key[base + k] = lists.key[base + child]
        _copy_row(lists.heap, base + child, lists.heap, base + k)
        k = child
    lists.key[base + k] = last_key
    _copy_row(lists.heap, last, lists.heap, base + k)


@lean
def _lacking(lists: _Lists, ends: Ints, edge: int, ranks: Longs) -> int:
    """The child port of an edge that has not yet found its derivation of the given rank, but may; 0 for none."""
    for port in (L, R):
        child = ends[edge, port]
        if child >= 0 and lists.fixed[child] <= ranks[port - 1] and not lists.done[child]:
            return port
    return 0


@lean
def _offer(lists: _Lists, ends: Ints, scores: Floats, item: int, edge: int, ranks: Longs) -> None:
    """Put an edge with the given ranks of its children on the heap, if its children have so many derivations."""
    total = scores[edge]
    for port in (L, R):
        child = ends[edge, port]
        if child >= 0:
            if lists.fixed[child] <= ranks[port - 1]:
                return
            total += lists.score[child, ranks[port - 1]]
    if total > -np.inf:
        _push(lists, item, edge, ranks[0], ranks[1], total)


@lean
def _next_candidate(lists: _Lists, ends: Ints, item: int, ranks: Longs) -> int:
    """The edge and ranks to put on the heap before the next derivation can be fixed; -1 when all are there.

    A derivation's successors go one rank down at one child.  Going down on the left only from right rank 0 meets
    every pair of ranks once.
    """
    edge: int
    if lists.opened[item] < lists.first[item + 1] - lists.first[item]:
        ranks[0] = ranks[1] = 0
        edge = lists.edges[lists.first[item] + lists.opened[item]]
        return edge
    while lists.fixed[item] > 0 and lists.stage[item] < 2:
        edge, left_rank, right_rank = lists.entry[item, lists.fixed[item] - 1]
        if lists.stage[item] == 0 and ends[edge, R] >= 0:
            ranks[0], ranks[1] = left_rank, right_rank + 1
            return edge
        if lists.stage[item] == 1 and ends[edge, L] >= 0 and right_rank == 0:
            ranks[0], ranks[1] = left_rank + 1, 0
            return edge
        lists.stage[item] += 1
    return -1


@lean
def _mark_offered(lists: _Lists, item: int) -> None:
    if lists.opened[item] < lists.first[item + 1] - lists.first[item]:
        lists.opened[item] += 1
    else:
        lists.stage[item] += 1


@lean_kernel
def _enumerate(
    lists: _Lists, ends: Ints, scores: Floats, root: int, k: int, item_of: Longs, wanted_of: Longs, ranks: Longs
) -> None:
    """Fix the root's k best derivations, and below it only what they need; requests wait on a stack."""
    item_of[0], wanted_of[0], height = root, k, 1
    while height > 0:
        item = item_of[height - 1]
        if lists.fixed[item] >= wanted_of[height - 1] or lists.done[item]:
            height -= 1
            continue
        edge = _next_candidate(lists, ends, item, ranks)
        if edge >= 0:
            port = _lacking(lists, ends, edge, ranks)
            if port > 0:
                item_of[height], wanted_of[height] = ends[edge, port], ranks[port - 1] + 1
                height += 1
            else:
                _offer(lists, ends, scores, item, edge, ranks)
                _mark_offered(lists, item)
        elif lists.size[item] == 0:
            lists.done[item] = True
        else:
            _pop(lists, item)
            lists.stage[item] = 0


def _lists(forest: Forest, k: int) -> _Lists:
    items = len(forest.symbol)
    count = np.bincount(forest.ends[:, P], minlength=items)
    first = starts(count)
    room = first + np.arange(items + 1) * (k + 1)
    return _Lists(
        np.zeros(items, np.int64),
        np.zeros((items, k, 3), np.int64),
        np.zeros((items, k)),
        np.zeros(items, np.bool_),
        np.zeros(items, np.int64),
        np.zeros(items, np.int64),
        np.zeros(items, np.int64),
        np.zeros((room[-1], 3), np.int64),
        np.zeros(room[-1]),
        room,
        first,
        np.argsort(forest.ends[:, P], kind="stable"),
    )


def k_best(forest: Forest, scores: Floats, k: int, sentence: int = 0) -> list[tuple[float, list[int]]]:
    """The k highest-scoring derivations of a sentence with their edges, best first; fewer where there are fewer."""
    root = int(forest.root[sentence])
    if root < 0:  # nothing survived pruning
        return []
    lists = _lists(forest, k)
    items, ranks = np.empty((2, len(forest.symbol) + 1), np.int64)  # a stack
    _enumerate(lists, forest.ends, scores, root, k, items, ranks, np.zeros(2, np.int64))
    count = int(lists.fixed[root])
    start, room = np.zeros(count + 1, np.int64), 1024
    while True:
        edges = np.empty(room, np.int64)
        room = _unpack(lists, forest.ends, root, edges, start, items, ranks)
        if room <= len(edges):
            break
    return [(float(lists.score[root, r]), edges[start[r] : start[r + 1]].tolist()) for r in range(count)]


@lean_kernel
def _unpack(lists: _Lists, ends: Ints, root: int, edges: Longs, start: Longs, item_of: Longs, rank_of: Longs) -> int:
    """Lay the edges of the root's derivations end to end, a parent's before its children's, left to right.

    Returns how many there are; those that find no room in `edges` are only counted.
    """
    used = 0
    for r in range(len(start) - 1):
        item_of[0], rank_of[0], height = root, r, 1
        while height > 0:
            height -= 1
            item, rank = item_of[height], rank_of[height]
            edge = lists.entry[item, rank, 0]
            if used < len(edges):
                edges[used] = edge
            used += 1
            for port in (R, L):
                if ends[edge, port] >= 0:
                    item_of[height], rank_of[height] = ends[edge, port], lists.entry[item, rank, port]
                    height += 1
        start[r + 1] = used
    return used
