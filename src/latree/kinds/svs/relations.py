"""Binary trees in which every branch has a head and, where it has two children, a modifier with its relation.

A phrase's modifiers are split off from the outside in, those on the right first, so that every part still has the head.
A symbol says by its context whether it is a head, which has none (l_ID of structured vectorial semantics), or else a
modifier (l_MOD), whose context is its parent's label.  Relations that are too rare have one context in common.  A part
may remember the modifier that was split off before it: where trees are flat, sisters tell more than parents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from latree.text.binary import Node, Symbol, SymbolKind
from latree.text.heads import HeadRules
from latree.text.labels import category
from latree.text.tree import Tree

ANY = "*"  # the context of modifiers whose relation is too rare
Role = Literal["head", "left", "right"]  # modifiers are to the left or to the right of the head


@dataclass(frozen=True)
class HeadBinarization:
    """Head rules, and the relations (parent's label, modifier's label) that have a context of their own."""

    heads: HeadRules
    relations: frozenset[tuple[str, str]] = frozenset()
    horizontal: int = 0  # 1: a part remembers the sister split off before it

    @classmethod
    def of(cls, trees: Iterable[Tree], heads: HeadRules, least: int, horizontal: int = 0) -> HeadBinarization:
        """Relations that these trees have at least so often."""
        counts = Counter(pair for tree in trees for pair in _modifiers(tree, heads))
        return cls(heads, frozenset(pair for pair, count in counts.items() if count >= least), horizontal)

    def apply(self, tree: Tree) -> Node:
        """The binary tree; its topmost node alone has a symbol of kind "root"."""
        return tree.fold(lambda node, children: self._join(node, children, "root" if node is tree else "phrase"))

    def _join(self, tree: Tree, children: list[Node], kind: SymbolKind) -> Node:
        """One node over `children`, from the head outwards: first those on its left, then those on its right.

        The root, which has no concept for a head to share, stands over one child: a part of its own, where need be.
        """
        if tree.word is not None:
            return Node(Symbol("tag", tree.label), word=tree.word)
        symbol, head = Symbol(kind, tree.label), head_of(tree, self.heads)
        for k, child in enumerate(children):
            if k != head:
                child.symbol = child.symbol._replace(parents=(self.context(tree.label, tree.children[k].label),))
        if len(children) == 1:
            return Node(symbol, children[0])
        node = children[head]
        steps = [(k, True) for k in range(head - 1, -1, -1)] + [(k, False) for k in range(head + 1, len(children))]
        for done, (k, on_left) in enumerate(steps, start=1):
            top = self.part(tree, None if done == len(steps) else steps[done][0])
            top = symbol if done == len(steps) and kind != "root" else top
            node = Node(top, children[k], node) if on_left else Node(top, node, children[k])
        return Node(symbol, node) if kind == "root" else node

    def part(self, tree: Tree, split_off: int | None) -> Symbol:
        """Some of a node's children, that one split off before it; None: all of the root's."""
        if self.horizontal == 0 or split_off is None:
            return Symbol("part", tree.label)
        return Symbol("part", tree.label, history=(tree.children[split_off].label,))

    def context(self, parent: str, modifier: str) -> str:
        """How a modifier is related to its parent, by their labels."""
        return parent if (parent, modifier) in self.relations else ANY

    def to_json(self) -> dict[str, Any]:
        relations = sorted(map(list, self.relations))
        return {"heads": self.heads.to_json(), "relations": relations, "horizontal": self.horizontal}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> HeadBinarization:
        relations = frozenset((parent, label) for parent, label in data["relations"])
        return cls(HeadRules.from_json(data["heads"]), relations, data.get("horizontal", 0))


def head_of(tree: Tree, heads: HeadRules) -> int:
    """Which child is the head."""
    labels = [child.label if child.is_leaf else category(child.label) for child in tree.children]
    return heads.head(category(tree.label), labels)  # functions say nothing of heads


def is_head(symbol: Symbol) -> bool:
    return not symbol.parents


class Relation(NamedTuple):
    """l of a child: what it is to its parent, and its syntactic context, the two labels (footnote 3 of the paper)."""

    role: Role
    parent: str  # ANY where the relation is too rare
    child: str


def relation_of(parent: Symbol, child: Symbol, *, on_left: bool) -> Relation:
    if is_head(child):
        return Relation("head", parent.label, child.label)
    return Relation("left" if on_left else "right", child.parents[0], child.label)


def _modifiers(tree: Tree, heads: HeadRules) -> Iterator[tuple[str, str]]:
    """(label of the parent, label of the modifier) of every modifier."""
    for node in tree.subtrees():
        if not node.is_leaf:
            head = head_of(node, heads)
            yield from ((node.label, child.label) for k, child in enumerate(node.children) if k != head)


def head_words(root: Node) -> dict[int, str]:
    """The head word of every node, by the node's identity."""
    order, words = [root], {}
    for node in order:
        order.extend(node.children())
    for node in reversed(order):
        if node.word is not None:
            words[id(node)] = node.word
        else:
            head = next(child for child in node.children() if is_head(child.symbol))
            words[id(node)] = words[id(head)]
    return words
