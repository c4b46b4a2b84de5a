"""A packed forest: where each rule may stand.  Integers only.

An item is a symbol over a span; an edge says that its parent item may be made from its children by one rule.
A gold tree, a tag lattice, a pruned chart, a k-best list and a whole treebank laid end to end are all forests.

Items and edges are sorted by level (an item's level is one more than its children's highest), and within a level
edges are grouped by rule: inference takes a group at a time, so that one rule meets many sentences at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from latree.arrays import Ints, Longs
from latree.binary import Node
from latree.grammar import NONE, Grammar, rule_symbols
from latree.jit import kernel

PASS = -1  # an edge without a rule: the parent item takes over what its only child holds
P, L, R = 0, 1, 2  # the ports of a rule: parent, left, right


class Piece(NamedTuple):
    """One sentence's part of a forest, items numbered children first and edges in the order of their parents."""

    rule: Ints  # [edges] rule of the grammar, PASS, or (number of rules) + lexical entry
    ends: Ints  # [edges, 3] item at each port, NONE where there is none
    symbol: Ints  # [items]
    span: Ints  # [items, 2] start and end
    entries: int  # lexical entries that belong to this sentence alone; the root is the last item


class Forest(NamedTuple):
    """Pieces laid end to end, sorted for inference."""

    rule: Ints  # [edges]
    ends: Ints  # [edges, 3]
    symbol: Ints  # [items]
    span: Ints  # [items, 2]
    sentence: Ints  # [items]
    root: Ints  # [sentences]
    group: Longs  # [groups+1] first edge of each run of one rule in one level
    level: Longs  # [levels+1] first group of each level
    layer: Longs  # [levels+1] first item of each level


def assemble(pieces: Sequence[Piece], rules: int) -> Forest:
    """Lay pieces end to end (`rules`: how many the grammar has) and sort them by level and rule."""
    sizes = np.array([len(piece.symbol) for piece in pieces])
    shift = np.concatenate([[0], np.cumsum(sizes)])
    rule, ends = _concatenate(pieces, shift, rules)
    depth = _levels(ends, int(shift[-1]))
    item_order = _stable_order(depth, int(depth.max(initial=0)))
    place = np.empty(len(depth) + 1, np.int32)
    place[item_order] = np.arange(len(depth), dtype=np.int32)
    place[-1] = NONE  # so that an absent child stays absent
    symbol = np.concatenate([piece.symbol for piece in pieces])
    span = np.concatenate([piece.span for piece in pieces])[item_order]
    # A group has messages of one width at each port: PASS edges, which have no rule, go by their symbol.
    kind = np.where(rule == PASS, -1 - symbol[ends[:, P]], rule).astype(np.int64)
    kind -= kind.min(initial=0)
    edge_order = _stable_order(kind, int(kind.max(initial=0)))
    edge_order = edge_order[_stable_order(depth[ends[edge_order, P]], int(depth.max(initial=0)))]
    key = (depth[ends[:, P]] * (kind.max(initial=0) + 1) + kind)[edge_order]
    rule, ends = rule[edge_order], place[ends[edge_order]]
    symbol = symbol[item_order]
    sentence = np.repeat(np.arange(len(pieces), dtype=np.int32), sizes)[item_order]
    root = place[shift[1:] - 1]
    group = np.flatnonzero(np.r_[True, np.diff(key) != 0, True]) if len(key) else np.zeros(1, np.int64)
    levels = np.arange(depth.max(initial=-1) + 2)
    level = np.searchsorted(depth[item_order][ends[group[:-1], P]], levels)
    layer = np.searchsorted(depth[item_order], levels)
    return Forest(rule, ends, symbol, span, sentence, root, *(x.astype(np.int64) for x in (group, level, layer)))


def _concatenate(pieces: Sequence[Piece], shift: Longs, rules: int) -> tuple[Ints, Ints]:
    """All edges, with items and lexical entries renumbered."""
    all_rules, all_ends, entries = [], [], 0
    for piece, first in zip(pieces, shift, strict=False):
        all_rules.append(np.where(piece.rule >= rules, piece.rule + np.int32(entries), piece.rule))
        all_ends.append(np.where(piece.ends >= 0, piece.ends + np.int32(first), piece.ends))
        entries += piece.entries
    return np.concatenate(all_rules), np.concatenate(all_ends)


@kernel
def _stable_order(key: Ints | Longs, most: int) -> Longs:
    """np.argsort(key, kind="stable") for small non-negative integers, by counting."""
    first = np.zeros(most + 2, np.int64)
    for k in key:
        first[k + 1] += 1
    for k in range(most + 1):
        first[k + 1] += first[k]
    order = np.empty(len(key), np.int64)
    for i in range(len(key)):
        order[first[key[i]]] = i
        first[key[i]] += 1
    return order


@kernel
def _levels(ends: Ints, items: int) -> Ints:
    """An item's level: the longest way down to a word."""
    depth = np.zeros(items, np.int32)
    for e in range(len(ends)):
        for port in (L, R):
            child = ends[e, port]
            if child >= 0 and depth[child] + 1 > depth[ends[e, P]]:
                depth[ends[e, P]] = depth[child] + 1
    return depth


@kernel
def _alive(rule: Ints, ends: Ints, items: int) -> NDArray[np.bool_]:
    """Which items can be built from words and are also reached from the last item, the root."""
    built = np.zeros(items, np.bool_)
    for e in range(len(rule)):
        left, right = ends[e, L], ends[e, R]
        if (left < 0 or built[left]) and (right < 0 or built[right]):
            built[ends[e, P]] = True
    alive = np.zeros(items, np.bool_)
    alive[items - 1] = built[items - 1]
    for k in range(len(rule)):
        e = len(rule) - 1 - k
        left, right = ends[e, L], ends[e, R]
        if alive[ends[e, P]] and (left < 0 or built[left]) and (right < 0 or built[right]):
            if left >= 0:
                alive[left] = True
            if right >= 0:
                alive[right] = True
    return alive


def trim(piece: Piece) -> Piece:
    """The same piece without items that no whole derivation uses; empty where there is no derivation."""
    alive = _alive(piece.rule, piece.ends, len(piece.symbol))
    place = np.append(np.cumsum(alive) - 1, NONE).astype(np.int32)
    seen = np.append(alive, True)
    kept = alive[piece.ends[:, P]] & seen[piece.ends[:, L]] & seen[piece.ends[:, R]]
    return Piece(piece.rule[kept], place[piece.ends[kept]], piece.symbol[alive], piece.span[alive], piece.entries)


class UnknownRuleError(LookupError):
    """A tree uses a rule or a tag that the grammar does not have."""


def from_trees(grammar: Grammar, trees: Sequence[Node], entry: Sequence[dict[int, int]], entries: int = 0) -> Piece:
    """The packed union of binarised trees over the same words: one gold tree, or a k-best list.

    An item is (span, symbol, unary steps below it), so that chains never run in circles.
    `entry[i]` maps a tag symbol to the lexical entry of word i under that tag.
    """
    packer = _Packer(grammar, entry)
    for tree in trees:
        packer.add(tree)
    return packer.piece(entries)


class _Item(NamedTuple):
    """What makes two nodes of different trees the same item."""

    width: int
    steps: int  # unary rules below it on its span
    start: int
    symbol: int


_TOP = 1 << 30  # the root counts as above every chain, so that all trees share one root item


class _Packer:
    """Collects the distinct items and edges of trees, then numbers them children first."""

    def __init__(self, grammar: Grammar, entry: Sequence[dict[int, int]]) -> None:
        self.grammar, self.entry = grammar, entry
        self.edges: dict[_Item, dict[tuple[int, _Item | None, _Item | None], None]] = {}

    def add(self, tree: Node) -> None:
        """Post-order over the tree with an explicit stack; each node leaves its item key on `done`."""
        done: list[_Item] = []
        stack: list[tuple[Node, bool]] = [(tree, False)]
        position = 0
        while stack:
            node, ready = stack.pop()
            if node.word is not None:
                done.append(self._leaf(node, position))
                position += 1
            elif ready:
                right = done.pop() if node.right is not None else None
                done.append(self._inner(node, done.pop(), right))
            else:
                stack.append((node, True))
                stack.extend((child, False) for child in (node.right, node.left) if child is not None)

    def _leaf(self, node: Node, position: int) -> _Item:
        symbol = self.grammar.index.get(node.symbol, NONE)
        if symbol not in self.entry[position]:
            raise UnknownRuleError(f"{node.word!r} cannot be tagged {node.symbol}")
        item = _Item(1, 0, position, symbol)
        rule = len(self.grammar.rules) + self.entry[position][symbol]
        self.edges.setdefault(item, {})[rule, None, None] = None
        return item

    def _inner(self, node: Node, left: _Item, right: _Item | None) -> _Item:
        parent = self.grammar.index.get(node.symbol, NONE)
        rule = self.grammar.rule_index.get((parent, left.symbol, NONE if right is None else right.symbol))
        if rule is None:
            head, first, second = rule_symbols(node)
            raise UnknownRuleError(f"no rule {head} -> {first} {second or ''}".rstrip())
        steps = _TOP if node.symbol.kind == "root" else left.steps + 1 if right is None else 0
        item = _Item(left.width + (right.width if right else 0), steps, left.start, parent)
        self.edges.setdefault(item, {})[rule, left, right] = None
        return item

    def piece(self, entries: int) -> Piece:
        # Wider spans come later, and on one span more unary steps; the root, widest and highest, is last.
        items = sorted(self.edges)
        number: dict[_Item | None, int] = {None: NONE} | {item: i for i, item in enumerate(items)}
        edges = ((item, *edge) for item in items for edge in self.edges[item])
        rows = [(rule, number[item], number[left], number[right]) for item, rule, left, right in edges]
        table = np.array(rows, np.int32).reshape(-1, 4)
        symbol = np.array([item.symbol for item in items], np.int32)
        span = np.array([(item.start, item.start + item.width) for item in items], np.int32).reshape(-1, 2)
        return Piece(table[:, 0].copy(), table[:, 1:].copy(), symbol, span, entries)


def derivation(forest: Forest, edges: Sequence[int]) -> Piece:
    """One derivation of a forest by itself; its edges come with a parent's before its children's.

    Lexical entries keep their numbers, so that the weights of the forest serve.
    """
    chosen = np.asarray(edges, np.int64)[::-1]
    items = forest.ends[chosen, P]  # one edge an item, children first
    place = np.full(len(forest.symbol) + 1, NONE, np.int32)
    place[items] = np.arange(len(items), dtype=np.int32)
    return Piece(forest.rule[chosen], place[forest.ends[chosen]], forest.symbol[items], forest.span[items], 0)
