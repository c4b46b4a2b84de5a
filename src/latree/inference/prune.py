"""From a chart to a forest: what survives a posterior threshold.

Every constituent and every rule of a tree has at least the tree's own posterior.  So a forest pruned at threshold p
holds every tree whose probability given the words is p or more: Viterbi and k-best lists found in it are exact when the
worst of them reaches p (`search.certified` lowers p until that holds).  Rules over a span are many and each unlikely,
so they are dropped later than constituents are.

Chains of unary rules become levels: item (span, A, l) is A built with at most l unary rules, so that it may pass
for what (span, A, 0) holds, or be made by a unary rule from level l - 1.  Where no chain of l rules makes A it is the
item of level l - 1 itself, as nearly always.  Rules above see the highest level.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from latree.arrays import NONE, Floats, Ints, Longs, Places
from latree.inference.chart import Chart, Values, cell
from latree.inference.forest import PASS, Piece, no_piece, trim
from latree.inference.grammar import Grammar
from latree.jit import lean, lean_kernel

RULE_SHARE = 0.1  # of the threshold of constituents, for rules over a span
IGNORED_SHARE = 0.01  # of it, below which outside values need not be right


@dataclass(frozen=True)
class Cascade:
    """Thresholds of coarse-to-fine parsing: of the chart, and after so many rounds of each level that follows."""

    chart: float
    levels: tuple[tuple[int, float], ...]


FAST = Cascade(1e-3, ((2, 1e-3),))
# Small treebanks with long sentences lose one constituent of seventy to a chart threshold of 1e-3, and a point of F1.
WIDE = Cascade(1e-4, ((2, 1e-3),))
ACCURATE = Cascade(1e-5, ((1, 1e-6), (2, 1e-6), (3, 1e-6)))


class RuleFinder(NamedTuple):
    """Which rules have given children: rules of pair (left, right) lie at rule[start[p] : start[p + 1]].

    The last pair stands for all that no rule has.
    """

    steps: int  # unary rules allowed on one span
    first_tag: int
    rules: int
    pair: Places  # [symbols, symbols + 1] number of the pair; last column: no right child
    start: Places
    rule: Places
    parent: Places
    prob: Floats
    most: Floats  # [pairs] the largest of each


def rule_finder(grammar: Grammar, prob: Floats) -> RuleFinder:
    """Index the rules of a grammar, which have these probabilities in the chart, by their children."""
    symbols = len(grammar.symbols)
    parent, left, right = grammar.rules.astype(np.int64).T
    key = left * (symbols + 1) + np.where(right == NONE, symbols, right)
    order = np.argsort(key, kind="stable")
    distinct, first = np.unique(key[order], return_index=True)
    pair = np.full(symbols * (symbols + 1), len(distinct), np.uint32)
    pair[distinct] = np.arange(len(distinct))
    return RuleFinder(
        grammar.unary_steps,
        grammar.first_tag,
        len(grammar.rules),
        pair.reshape(symbols, symbols + 1),
        np.append(first, [len(key), len(key)]).astype(np.uint32),
        order.astype(np.uint32),
        parent[order].astype(np.uint32),
        prob[order],
        np.append(np.maximum.reduceat(prob[order], first), 0.0),
    )


class _Store(NamedTuple):
    """A forest in the making.  Tables that turn out too small are counted past their end, and made anew."""

    item: Ints  # [room, 3] symbol, start, end
    edge: Ints  # [room, 4] rule, parent, left, right
    seen: Places  # [room, 2] symbol and item, by cell: what rules above may use
    inside: Floats  # [room] its value in the chart
    seen_start: Longs  # [cells + 1]
    place: Ints  # [levels, symbols] items of the cell at hand
    wanted: NDArray[np.bool_]  # [inner symbols] survivors of the cell at hand
    longer: NDArray[np.bool_]  # [inner symbols] what one more unary rule makes of them
    used: Longs  # rows in use of item, edge, seen


class Survivors(NamedTuple):
    """The symbols that each cell keeps: symbol[start[c] : start[c + 1]]."""

    start: Longs
    symbol: Places


@lean_kernel
def _select(inside: Floats, outside: Floats, limit: float, start: Longs, symbol: Places) -> None:
    kept = 0
    for c in range(inside.shape[0]):
        for a in range(inside.shape[1]):
            if inside[c, a] * outside[c, a] >= limit and inside[c, a] > 0.0:
                symbol[kept] = a
                kept += 1
        start[c + 1] = kept


def _survivors(inside: Floats, outside: Floats, limit: float) -> Survivors:
    """What has an inside times outside of at least the limit."""
    start, symbol = np.zeros(len(inside) + 1, np.int64), np.empty(inside.size, np.uint32)
    _select(inside, outside, limit, start, symbol)
    return Survivors(start, symbol[: start[-1]].copy())


@lean
def _add_item(store: _Store, symbol: int, start: int, end: int) -> int:
    k: int = store.used[0]
    if k < len(store.item):
        store.item[k, 0], store.item[k, 1], store.item[k, 2] = symbol, start, end
    store.used[0] += 1
    return k


@lean
def _add_edge(store: _Store, rule: int, parent: int, left: int, right: int) -> None:
    k = store.used[1]
    if k < len(store.edge):
        store.edge[k, 0], store.edge[k, 1], store.edge[k, 2], store.edge[k, 3] = rule, parent, left, right
    store.used[1] += 1


@lean
def _show(store: _Store, symbol: int, item: int, inside: float) -> None:
    """Let rules above use an item of the cell at hand."""
    k = store.used[2]
    store.seen[k, 0], store.seen[k, 1], store.inside[k] = symbol, item, inside
    store.used[2] += 1


@lean
def _tag_items(store: _Store, find: RuleFinder, i: int, tags: Survivors, inside: Floats) -> None:
    all_tags = find.pair.shape[0] - find.first_tag
    for k in range(tags.start[i], tags.start[i + 1]):
        symbol = tags.symbol[k] + find.first_tag
        item = _add_item(store, symbol, i, i + 1)
        _add_edge(store, find.rules + i * all_tags + tags.symbol[k], item, NONE, NONE)
        store.place[0, symbol] = item
        _show(store, symbol, item, inside[i, tags.symbol[k]])


@lean
def _binary_edges(store: _Store, find: RuleFinder, n: int, i: int, j: int, above: Floats, limit: float) -> None:
    """Binary edges of enough weight into the lowest items of span (i, j), whose outside values are `above`."""
    best = 0.0
    for a in range(find.first_tag):
        if store.place[0, a] != NONE:
            best = max(best, above[a])
    for s in range(i + 1, j):
        left, right = cell(n, s - i, i), cell(n, j - s, s)
        first, last = store.seen_start[right], store.seen_start[right + 1]
        symbols, masses = store.seen[first:last], store.inside[first:last]
        for x in range(store.seen_start[left], store.seen_start[left + 1]):
            pairs, item, mass = find.pair[store.seen[x, 0]], store.seen[x, 1], store.inside[x]
            for y in range(len(masses)):
                p, both = pairs[symbols[y, 0]], mass * masses[y]
                if find.most[p] * both * best < limit:
                    continue
                for q in range(find.start[p], find.start[p + 1]):
                    parent = store.place[0, find.parent[q]]
                    if parent != NONE and find.prob[q] * both * above[find.parent[q]] >= limit:
                        _add_edge(store, find.rule[q], parent, item, symbols[y, 1])


@lean
def _is_worth(find: RuleFinder, inside: Values, above: Floats, c: int, i: int, q: int, b: int, limit: float) -> bool:
    """Whether a unary rule a -> b has its share in cell c: P(a -> b) times what chains make of a above, and of b below.

    The root's unary rules come last of all.
    """
    below = inside.top[c, b] if b < find.first_tag else inside.tag[i, b - find.first_tag]
    worth: bool = find.parent[q] != 0 and find.prob[q] * below * above[find.parent[q]] >= limit
    return worth


@lean
def _find_longer(
    store: _Store, find: RuleFinder, inside: Values, above: Floats, level: int, i: int, j: int, limit: float
) -> bool:
    """Find the symbols that a chain of exactly `level` unary rules makes over span (i, j); tell whether any are."""
    symbols, c, place, found = find.pair.shape[0], cell(len(inside.tag), j - i, i), store.place, False
    store.longer[:] = False
    for b in range(1, symbols if level == 1 and j == i + 1 else find.first_tag):
        p = find.pair[b, symbols]
        if place[level - 1, b] == (NONE if level == 1 else place[level - 2, b]):
            continue
        for q in range(find.start[p], find.start[p + 1]):
            a = find.parent[q]
            if (level < find.steps or store.wanted[a]) and _is_worth(find, inside, above, c, i, q, b, limit):
                store.longer[a] = found = True
    return found


@lean
def _unary_level(
    store: _Store, find: RuleFinder, inside: Values, above: Floats, level: int, i: int, j: int, limit: float
) -> None:
    """Items of the next level of unary rules over span (i, j), and the edges into them; on top only those `wanted`."""
    symbols, c, place = find.pair.shape[0], cell(len(inside.tag), j - i, i), store.place
    for a in range(symbols if j == i + 1 else find.first_tag):
        place[level, a] = place[level - 1, a]
    if not _find_longer(store, find, inside, above, level, i, j, limit):
        return
    for a in range(1, find.first_tag):
        if store.longer[a]:
            place[level, a] = _add_item(store, a, i, j)
            if place[0, a] != NONE:
                _add_edge(store, PASS, place[level, a], place[0, a], NONE)
    for b in range(1, symbols if j == i + 1 else find.first_tag):
        child, p = place[level - 1, b], find.pair[b, symbols]
        if child == NONE:
            continue
        for q in range(find.start[p], find.start[p + 1]):
            a = find.parent[q]
            if store.longer[a] and _is_worth(find, inside, above, c, i, q, b, limit):
                _add_edge(store, find.rule[q], place[level, a], child, NONE)


@lean
def _root_edges(store: _Store, find: RuleFinder, n: int, root: int) -> None:
    """The root's unary rules over what spans the whole sentence."""
    symbols = find.pair.shape[0]
    for k in range(store.seen_start[cell(n, n, 0)], store.used[2]):
        p = find.pair[store.seen[k, 0], symbols]
        for q in range(find.start[p], find.start[p + 1]):
            if find.parent[q] == 0:
                _add_edge(store, find.rule[q], root, store.seen[k, 1], NONE)


@lean_kernel
def _harvest(
    store: _Store,
    find: RuleFinder,
    inside: Values,
    outside: Floats,
    base: Survivors,
    top: Survivors,
    tags: Survivors,
    limit: float,
) -> None:
    """All items and edges among the survivors, children first; `outside` is that of the base."""
    n, wanted = len(inside.tag), store.wanted
    for width in range(1, n + 1):
        for i in range(n - width + 1):
            c, j = cell(n, width, i), i + width
            store.place[:] = NONE
            if width == 1:
                _tag_items(store, find, i, tags, inside.tag)
            kept = top.symbol[top.start[c] : top.start[c + 1]]
            if len(kept) > 0:
                wanted[:] = False
                for a in kept:
                    wanted[a] = True
                for k in range(base.start[c], base.start[c + 1]):
                    if base.symbol[k] != 0:
                        store.place[0, base.symbol[k]] = _add_item(store, base.symbol[k], i, j)
                _binary_edges(store, find, n, i, j, outside[c], limit)
                for level in range(1, find.steps + 1):
                    _unary_level(store, find, inside, outside[c], level, i, j, limit)
                for a in kept:
                    if store.place[find.steps, a] != NONE:
                        _show(store, a, store.place[find.steps, a], inside.top[c, a])
            store.seen_start[c + 1] = store.used[2]
    store.place[:] = NONE
    root = _add_item(store, 0, 0, n)
    store.place[0, 0] = root
    _binary_edges(store, find, n, 0, n, outside[cell(n, n, 0)], limit)
    _root_edges(store, find, n, root)


def _store(find: RuleFinder, words: int, items: int, edges: int, seen: int) -> _Store:
    return _Store(
        np.empty((items, 3), np.int32),
        np.empty((edges, 4), np.int32),
        np.empty((seen, 2), np.uint32),
        np.empty(seen),
        np.zeros(words * (words + 1) // 2 + 1, np.int64),
        np.empty((find.steps + 1, len(find.pair)), np.int32),
        np.empty(find.first_tag, np.bool_),
        np.empty(find.first_tag, np.bool_),
        np.zeros(3, np.int64),
    )


def prune(chart: Chart, find: RuleFinder, threshold: float) -> Piece:
    """The forest of what has a posterior of at least `threshold`; lexical entry: word * tags + tag."""
    words, limit, inside = chart.words, threshold * chart.root, chart.inside
    entries = words * inside.tag.shape[1]
    if chart.root == 0.0:
        return no_piece(entries)
    outside = chart.outside(threshold * IGNORED_SHARE)
    base, top, tags = (_survivors(one, other, limit) for one, other in zip(inside, outside, strict=True))
    items, edges = 512 * words, 2048 * words
    while True:
        store = _store(find, words, items, edges, len(top.symbol) + len(tags.symbol))
        _harvest(store, find, inside, outside.base, base, top, tags, limit * RULE_SHARE)
        if store.used[0] <= items and store.used[1] <= edges:
            break
        items, edges = int(store.used[0]), int(store.used[1])
    item, edge = store.item[: store.used[0]], store.edge[: store.used[1]]
    return trim(Piece(edge[:, 0].copy(), edge[:, 1:].copy(), item[:, 0].copy(), item[:, 1:].copy(), entries))
