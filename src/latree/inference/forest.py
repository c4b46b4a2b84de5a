"""A packed forest: where each rule may stand.  Integers only.

An item is a symbol over a span; an edge says that its parent item may be made from its children by one rule.
A gold tree, a tag lattice, a pruned chart, a k-best list and a whole treebank laid end to end are all forests.

Items and edges are sorted by level (an item's level is one more than its children's highest), and within a level
edges are grouped by rule (lexical entries by tag): inference takes a group at a time, so that one rule meets many
sentences at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from latree.arrays import NONE, Ints, Longs, is_among, starts
from latree.inference.grammar import Grammar, rule_symbols
from latree.jit import kernel
from latree.text.binary import Node

PASS = -1  # an edge without a rule: the parent item takes over what its only child holds
P, L, R = 0, 1, 2  # the ports of a rule: parent, left, right


class Piece(NamedTuple):
    """One sentence's part of a forest, items numbered children first and edges in the order of their parents."""

    rule: Ints  # [edges] rule of the grammar, PASS, or (number of rules) + lexical entry
    ends: Ints  # [edges, 3] item at each port, NONE where there is none
    symbol: Ints  # [items]
    span: Ints  # [items, 2] start and end
    entries: int  # lexical entries that belong to this sentence alone; the root is the last item


def no_piece(entries: int) -> Piece:
    """The part of a sentence without derivations."""
    none = np.zeros(0, np.int32)
    return Piece(none, none.reshape(0, 3), none, none.reshape(0, 2), entries)


class Forest(NamedTuple):
    """Pieces laid end to end, sorted for inference."""

    rule: Ints  # [edges]
    ends: Ints  # [edges, 3]
    symbol: Ints  # [items]
    span: Ints  # [items, 2]
    sentence: Ints  # [items]
    root: Ints  # [sentences] NONE where a sentence has no derivation
    group: Longs  # [groups+1] first edge of each run of one rule, or one tag's entries, in one level
    level: Longs  # [levels+1] first group of each level
    layer: Longs  # [levels+1] first item of each level
    rules: int  # of the grammar: higher numbers are lexical entries


def assemble(pieces: Sequence[Piece], rules: int) -> Forest:
    """Lay pieces end to end (`rules`: how many the grammar has) and sort them by level and rule."""
    sizes = np.array([len(piece.symbol) for piece in pieces])
    shift = starts(sizes)
    rule, ends = _concatenate(pieces, shift, rules)
    symbol, span = (np.concatenate(columns) for columns in zip(*((p.symbol, p.span) for p in pieces), strict=True))
    sentence = np.repeat(np.arange(len(pieces), dtype=np.int32), sizes)
    return arrange(rule, ends, symbol, span, sentence, np.where(sizes > 0, shift[1:] - 1, NONE), rules)


def arrange(rule: Ints, ends: Ints, symbol: Ints, span: Ints, sentence: Ints, root: Longs, rules: int) -> Forest:
    """A forest of items that are numbered children first, and edges in the order of their parents."""
    depth = np.zeros(len(symbol), np.int64)
    _levels(ends, depth)
    item_order = _stable_order(depth)
    place = np.empty(len(depth) + 1, np.int32)
    place[item_order] = np.arange(len(depth), dtype=np.int32)
    place[-1] = NONE  # so that an absent child stays absent
    kind = _kinds(rule, ends, symbol, rules)
    edge_order = _stable_order(kind)
    edge_order = edge_order[_stable_order(depth[ends[edge_order, P]])]
    items = (symbol[item_order], span[item_order], sentence[item_order], place[root])
    edges = np.empty_like(rule), np.empty_like(ends)
    _move(rule, ends, edge_order, place, *edges)
    return _grouped(*edges, *items, depth[item_order], rules)


def _kinds(rule: Ints, ends: Ints, symbol: Ints, rules: int) -> Longs:
    """What edges are grouped by, so that each port of a group has messages of one width: the rule, or the symbol
    where an edge has a lexical entry or no rule."""
    kind = np.empty(len(rule), np.int64)
    _find_kinds(rule, ends, symbol, int(symbol.max(initial=0)) + 1, rules, kind)
    return kind


def _grouped(
    rule: Ints, ends: Ints, symbol: Ints, span: Ints, sentence: Ints, root: Ints, depth: Longs, rules: int
) -> Forest:
    """Find the groups and levels of items and edges that are sorted already; `depth` holds each item's level."""
    kind = _kinds(rule, ends, symbol, rules)
    key = depth[ends[:, P]] * (kind.max(initial=0) + 1) + kind
    group = np.flatnonzero(np.r_[True, np.diff(key) != 0, True]) if len(key) else np.zeros(1, np.int64)
    levels = np.arange(depth.max(initial=-1) + 2)
    level, layer = np.searchsorted(depth[ends[group[:-1], P]], levels), np.searchsorted(depth, levels)
    group, level, layer = (x.astype(np.int64) for x in (group, level, layer))
    return Forest(rule, ends, symbol, span, sentence, root, group, level, layer, rules)


def _depth(forest: Forest) -> Longs:
    """The level of every item."""
    return np.repeat(np.arange(len(forest.layer) - 1), np.diff(forest.layer))


def share(forest: Forest) -> Forest:
    """A treebank's trees with every distinct subtree as one item, however often and wherever it occurs.

    Sums over derivations and expected counts stay the same, for about half the work.  What a node has around it can no
    longer be told apart from other occurrences of the same words under the same brackets.
    """
    number_of: dict[tuple[int, int, int], int] = {}
    same = [NONE] * (len(forest.symbol) + 1)  # the last stands for an absent child
    kept: list[int] = []
    for edge, (rule, (parent, left, right)) in enumerate(zip(forest.rule.tolist(), forest.ends.tolist(), strict=True)):
        key = (rule, same[left], same[right])
        if key not in number_of:
            number_of[key] = len(kept)
            kept.append(edge)
        same[parent] = number_of[key]
    items = forest.ends[kept, P]
    number = np.array(same, np.int32)
    columns = (forest.symbol[items], forest.span[items], forest.sentence[items], number[forest.root])
    return _grouped(forest.rule[kept], number[forest.ends[kept]], *columns, _depth(forest)[items], forest.rules)


def anchors(forest: Forest, size: int) -> Longs:
    """A number for every edge that tells its rule, sentence, span and split point; `size` exceeds every position.

    Edges of unary rules have the same whatever their level, and so do edges of forests of the same sentences.
    """
    return _anchors(forest.sentence[forest.ends[:, P]].astype(np.int64), forest, size)


def anchors_of_piece(piece: Piece, size: int) -> Longs:
    """The same of one sentence by itself."""
    return _anchors(np.zeros(len(piece.rule), np.int64), piece, size)


def _anchors(sentence: Longs, edges: Forest | Piece, size: int) -> Longs:
    parent, left, binary = edges.ends[:, P], edges.ends[:, L], edges.ends[:, R] >= 0
    place = sentence
    for part in (edges.span[parent, 0], edges.span[parent, 1], np.where(binary, edges.span[left, 1], 0)):
        place = place * size + part
    return place * (1 << 31) + edges.rule + 1


def restrict(forest: Forest, keep: NDArray[np.bool_]) -> Forest:
    """The forest of the kept edges, less what no whole derivation then uses."""
    alive = _alive(forest.ends, keep, len(forest.symbol), forest.root[forest.root >= 0])
    seen = np.append(alive, True)
    used = keep & alive[forest.ends[:, P]] & seen[forest.ends[:, L]] & seen[forest.ends[:, R]]
    place = np.append(np.cumsum(alive) - 1, NONE).astype(np.int32)
    root = np.where(seen[forest.root], place[forest.root], NONE).astype(np.int32)
    columns = (forest.symbol[alive], forest.span[alive], forest.sentence[alive], root)
    return _grouped(forest.rule[used], place[forest.ends[used]], *columns, _depth(forest)[alive], forest.rules)


def thin(forest: Forest, keep: NDArray[np.bool_], gold: tuple[Longs, int] | None = None) -> Forest:
    """The forest of the kept edges; a sentence that would lose all its derivations keeps its edges.

    Where the `anchors` of gold analyses are given, with the size that these have, none of their edges is dropped.
    """
    keep = keep | (forest.rule == PASS)
    if gold is not None:
        keep |= is_among(anchors(forest, gold[1]), gold[0])
    smaller = restrict(forest, keep)
    lost = smaller.root < 0
    if lost.any():
        smaller = restrict(forest, keep | lost[forest.sentence[forest.ends[:, P]]])
    return smaller


def _concatenate(pieces: Sequence[Piece], shift: Longs, rules: int) -> tuple[Ints, Ints]:
    """All edges, with items and lexical entries renumbered."""
    all_rules, all_ends, entries = [], [], 0
    for piece, first in zip(pieces, shift, strict=False):
        all_rules.append(np.where(piece.rule >= rules, piece.rule + np.int32(entries), piece.rule))
        all_ends.append(np.where(piece.ends >= 0, piece.ends + np.int32(first), piece.ends))
        entries += piece.entries
    return np.concatenate(all_rules), np.concatenate(all_ends)


def _stable_order(key: Longs) -> Longs:
    """np.argsort(key, kind="stable") for small non-negative integers, by counting."""
    order = np.empty(len(key), np.int64)
    _put_in_order(key, starts(np.bincount(key)), order)
    return order


@kernel
def _put_in_order(key: Longs, first: Longs, order: Longs) -> None:
    """Fill the places of each key, which begin at `first`."""
    for i in range(len(key)):
        order[first[key[i]]] = i
        first[key[i]] += 1


@kernel
def _move(rule: Ints, ends: Ints, order: Longs, place: Ints, new_rule: Ints, new_ends: Ints) -> None:
    """Put edges in this order, between items that have new places."""
    for k in range(len(order)):
        e = order[k]
        new_rule[k] = rule[e]
        for port in range(ends.shape[1]):
            new_ends[k, port] = place[ends[e, port]]


@kernel
def _find_kinds(rule: Ints, ends: Ints, symbol: Ints, symbols: int, rules: int, kind: Longs) -> None:
    for e in range(len(rule)):
        if 0 <= rule[e] < rules:
            kind[e] = symbols + rule[e]
        else:
            kind[e] = symbol[ends[e, P]] + (0 if rule[e] == PASS else symbols + rules)


@kernel
def _levels(ends: Ints, depth: Longs) -> None:
    """Find each item's level, the longest way down to a word; all are zero before."""
    for e in range(len(ends)):
        for port in (L, R):
            child = ends[e, port]
            if child >= 0 and depth[child] + 1 > depth[ends[e, P]]:
                depth[ends[e, P]] = depth[child] + 1


@kernel
def _find_alive(
    ends: Ints, roots: Ints, whole: NDArray[np.bool_], built: NDArray[np.bool_], alive: NDArray[np.bool_]
) -> None:
    """Leave those of the `whole` edges that stand on words; tell which items are so built, and reached from a root."""
    for e in range(len(ends)):
        left, right = ends[e, L], ends[e, R]
        whole[e] = whole[e] and (left < 0 or built[left]) and (right < 0 or built[right])
        if whole[e]:
            built[ends[e, P]] = True
    for k in range(len(roots)):
        alive[roots[k]] = built[roots[k]]
    for k in range(len(ends)):
        e = len(ends) - 1 - k
        if whole[e] and alive[ends[e, P]]:
            for port in (L, R):
                if ends[e, port] >= 0:
                    alive[ends[e, port]] = True


def _alive(ends: Ints, keep: NDArray[np.bool_], items: int, roots: Ints) -> NDArray[np.bool_]:
    """Which items can be built from words by the kept edges, and are also reached from a root."""
    built, alive = np.zeros((2, items), np.bool_)
    _find_alive(ends, roots, keep.copy(), built, alive)
    return alive


def trim(piece: Piece, keep: NDArray[np.bool_] | None = None) -> Piece:
    """Drop a piece's items that no whole derivation uses, by those to `keep`: all where there is no derivation."""
    items = len(piece.symbol)
    made = np.ones(len(piece.rule), np.bool_) if keep is None else keep[piece.ends[:, P]]
    alive = _alive(piece.ends, made, items, np.array([items - 1], np.int32))
    place = np.cumsum(alive, dtype=np.int32) - np.int32(1)
    rule, ends = np.empty_like(piece.rule), np.empty_like(piece.ends)
    edges = _pack(piece.rule, piece.ends, alive, place, rule, ends)
    return Piece(rule[:edges], ends[:edges], piece.symbol[alive], piece.span[alive], piece.entries)


@kernel
def _pack(rule: Ints, ends: Ints, alive: NDArray[np.bool_], place: Ints, new_rule: Ints, new_ends: Ints) -> int:
    """Copy the edges between items that are alive, which have new places; returns how many these are."""
    kept = 0
    for e in range(len(rule)):
        parent, left, right = ends[e, P], ends[e, L], ends[e, R]
        if alive[parent] and (left == NONE or alive[left]) and (right == NONE or alive[right]):
            new_rule[kept], new_ends[kept, P] = rule[e], place[parent]
            new_ends[kept, L] = place[left] if left != NONE else NONE
            new_ends[kept, R] = place[right] if right != NONE else NONE
            kept += 1
    return kept


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
