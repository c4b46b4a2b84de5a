"""All derivations of a tree in structured vectorial semantics.

A tree does not say which children are heads.  Head rules do, and a treebank is counted by them; but a parser is free to
take any child for the head, and what it found may need rules that the head rules never lead to.  Hence a tree is read
by all its derivations at once: every choice of heads, and every order in which modifiers are added.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latree.arrays import NONE, Longs
from latree.inference.forest import Forest, Piece, assemble
from latree.inference.grammar import Grammar
from latree.kinds.svs.relations import HeadBinarization
from latree.text.binary import Symbol, SymbolKind
from latree.text.tree import Tree


class Place(NamedTuple):
    """A node of the tree."""

    tree: Tree
    context: tuple[str, ...]  # of its symbol, where it is a modifier
    start: int
    end: int
    children: list[int]


class TreeForest(NamedTuple):
    """Derivations of one tree."""

    forest: Forest
    node: Longs  # [items] the node of the tree, by its place, that a phrase's or a tag's item stands for; else NONE
    places: list[Place]  # a parent before its children


def all_derivations(tree: Tree, grammar: Grammar, binarization: HeadBinarization) -> TreeForest | None:
    """Whichever children are the heads; None where the grammar derives the tree in no way."""
    return _Derivations(tree, grammar, binarization).forest()


class _Item(NamedTuple):
    symbol: int
    span: tuple[int, int]
    node: int  # its place; NONE for parts and the root
    level: int
    edges: list[tuple[int, int, int]]  # rule and children


_Ways = list[tuple[int, int]]  # items to the left and to the right that may stand under another


class _Derivations:
    """Makes the items of every node, children first, that the grammar has rules for."""

    def __init__(self, tree: Tree, grammar: Grammar, binarization: HeadBinarization) -> None:
        self.grammar, self.binarization = grammar, binarization
        self.places = _places(tree, binarization)
        self.items: list[_Item] = []
        self.as_head = [NONE] * len(self.places)  # item of each node
        self.as_modifier = [NONE] * len(self.places)

    def forest(self) -> TreeForest | None:
        for number in reversed(range(len(self.places))):
            self._node(number)
        if self.as_head[0] == NONE:
            return None
        kept = self._reached()
        items = [self.items[k] for k in kept]
        moved = {NONE: NONE} | {old: new for new, old in enumerate(kept)}
        rows = [
            (rule, new, moved[left], moved[right]) for new, item in enumerate(items) for rule, left, right in item.edges
        ]
        table = np.array(rows, np.int32)
        symbol, span = (np.array(column, np.int32) for column in zip(*((i.symbol, i.span) for i in items), strict=True))
        entries = self.places[0].end * len(self.grammar.tags)
        piece = Piece(table[:, 0], np.ascontiguousarray(table[:, 1:]), symbol, span, entries)
        nodes = np.array([item.node for item in items])
        return TreeForest(assemble([piece], len(self.grammar.rules)), nodes, self.places)

    def _reached(self) -> list[int]:
        """The items that a whole derivation uses, by level, which is the order that a forest has them in."""
        reached = {self.as_head[0]}
        for number in range(self.as_head[0], -1, -1):
            if number in reached:
                reached.update(child for _, *children in self.items[number].edges for child in children)
        return sorted(reached - {NONE}, key=lambda k: (self.items[k].level, k))

    def _node(self, number: int) -> None:
        """Its item as a head and its item as a modifier; of the root there is one."""
        place = self.places[number]
        kind: SymbolKind = "root" if number == 0 else "tag" if place.tree.is_leaf else "phrase"
        ways: _Ways = [] if place.tree.is_leaf else self._whole(place)
        node = NONE if kind == "root" else number
        self.as_head[number] = self._item(Symbol(kind, place.tree.label), place, ways, node)
        if number:
            modifier = Symbol(kind, place.tree.label, place.context)
            self.as_modifier[number] = self._item(modifier, place, ways, node)

    def _whole(self, place: Place) -> _Ways:
        """What a phrase may consist of: its one child, or a part with a modifier on one side; the root of one part."""
        heads, modifiers = ([items[k] for k in place.children] for items in (self.as_head, self.as_modifier))
        size = len(heads)
        if size == 1:
            return [(heads[0], NONE)]  # elsewhere NONE is an item that could not be made
        # (first, last child, what was split off before): item that has the head
        part = {(k, k, outer): head for k, head in enumerate(heads) for outer in (k - 1, k + 1)}
        for width in range(2, size + 1):
            for first in range(size - width + 1):
                last = first + width - 1
                ways = [
                    (modifiers[first], part[first + 1, last, first]),
                    (part[first, last - 1, last], modifiers[last]),
                ]
                ways = [way for way in ways if NONE not in way]
                if width == size and place is not self.places[0]:
                    return ways
                part |= self._parts(place, first, last, ways)
        return [(part[0, size - 1, NONE], NONE)]

    def _parts(self, place: Place, first: int, last: int, ways: _Ways) -> dict[tuple[int, int, int], int]:
        """The items of some children, by what was split off before; one for both sides where it is the same symbol."""
        children = place.children
        span = place._replace(start=self.places[children[first]].start, end=self.places[children[last]].end)
        outers = [outer for outer in (first - 1, last + 1) if 0 <= outer < len(children)]
        symbols = {outer: self.binarization.part(place.tree, outer) for outer in outers}
        if not outers:
            symbols = {NONE: self.binarization.part(place.tree, None)}
        items = {symbol: self._item(symbol, span, ways, NONE) for symbol in dict.fromkeys(symbols.values())}
        return {(first, last, outer): items[symbol] for outer, symbol in symbols.items()}

    def _item(self, symbol: Symbol, place: Place, ways: _Ways, node: int) -> int:
        """Its number; NONE where the grammar has no rule that makes it."""
        number, rules = self.grammar.index.get(symbol, NONE), self.grammar.rule_index
        edges = []
        if number == NONE:
            return NONE
        if symbol.kind == "tag":
            entry = place.start * len(self.grammar.tags) + number - self.grammar.first_tag
            edges.append((len(self.grammar.rules) + entry, NONE, NONE))
        for left, right in ways:
            row = (number, self._symbol(left), self._symbol(right))
            if left != NONE and row in rules:
                edges.append((rules[row], left, right))
        if not edges:
            return NONE
        level = max((self.items[k].level + 1 for _, *below in edges for k in below if k != NONE), default=0)
        self.items.append(_Item(number, (place.start, place.end), node, level, edges))
        return len(self.items) - 1

    def _symbol(self, item: int) -> int:
        return NONE if item == NONE else self.items[item].symbol


def _places(tree: Tree, binarization: HeadBinarization) -> list[Place]:
    """All nodes, a parent before its children."""
    places = [Place(tree, (), 0, len(tree.words()), [])]
    stack = [0]
    while stack:
        parent = places[stack.pop()]
        start = parent.start
        for child in parent.tree.children:
            end = start + len(child.words())
            parent.children.append(len(places))
            stack.append(len(places))
            places.append(Place(child, (binarization.context(parent.tree.label, child.label),), start, end, []))
            start = end
    return places
