"""Binary trees: a treebank tree binarised for the chart, and the way back.

A symbol is a value and not a marked string, so that nothing is ever parsed back out of a label: a phrase and a tag
of the same name, or a tag that is really called "@", cannot be confused.  No function here is recursive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple, get_args

from latree.errors import LatreeError
from latree.options import Options, option
from latree.text.tree import Tree

SymbolKind = Literal["root", "phrase", "tag", "part"]
Direction = Literal["right", "left"]


class Symbol(NamedTuple):
    """A category of the binarised grammar; a "part" stands for some of a node's children, the way to its whole."""

    kind: SymbolKind
    label: str
    parents: tuple[str, ...] = ()  # vertical context, the nearest first
    history: tuple[str, ...] = ()  # of a part: the siblings already split off, the latest last

    def __str__(self) -> str:
        """A name to read: `NP`, `NP^S`, `@NP`, `@NP->_JJ_NN`."""
        name = "^".join([self.label, *self.parents])
        if self.kind == "part":
            name = f"@{name}"
        return "_".join([f"{name}->", *self.history]) if self.history else name

    def to_json(self) -> list[Any]:
        return [self.kind, self.label, list(self.parents), list(self.history)]

    @classmethod
    def from_json(cls, data: Sequence[Any]) -> Symbol:
        kind, label, parents, history = data
        if kind not in get_args(SymbolKind):
            raise LatreeError(f"unknown kind of symbol {kind!r}; expected one of {', '.join(get_args(SymbolKind))}")
        if not all(isinstance(name, str) for name in (label, *parents, *history)):
            raise LatreeError(f"the symbol {data!r} has a name that is no text")
        return cls(kind, label, tuple(parents), tuple(history))


# Equal symbols of many trees are one object: less memory, and faster to look up.
_symbol = lru_cache(maxsize=1 << 16)(Symbol)


class Node:
    """A binary node: a tag with its `word`, a unary node with `left` alone, or `left` and `right`.

    A tag may have a finer one behind it, of which the grammar knows nothing.
    """

    __slots__ = ("fine", "left", "right", "symbol", "word")

    def __init__(
        self, symbol: Symbol, left: Node | None = None, right: Node | None = None, word: str | None = None
    ) -> None:
        self.symbol, self.left, self.right, self.word = symbol, left, right, word
        self.fine: str | None = None

    def children(self) -> list[Node]:
        return [child for child in (self.left, self.right) if child is not None]

    def __repr__(self) -> str:
        return f"Node({self.symbol}, {self.word or ' '.join(str(child.symbol) for child in self.children())})"


@dataclass(frozen=True)
class Binarization(Options):
    """How nodes with more than two children become binary, and how much context their symbols keep.

    "right" (the papers' word) splits off the rightmost child at the top, so the parts lean left:
    P -> @P c3, @P -> c1 c2; "left" is the mirror.  `horizontal` siblings stay in a part's name (-1: all of them);
    `vertical` counts a node's own label, so that 2 adds its parent and 3 its grandparent, on phrases and tags.
    """

    direction: Direction = option(
        "right",
        "Trees are made binary: the side on which the first child is split off a node with more than two children.",
        name="binarize",
    )
    horizontal: int = option(
        0,
        "How many sisters, already split off, the rest of a long phrase remembers in its label; -1: all of them.",
        least=-1,
    )
    vertical: int = option(
        1, "Generations in a label: 1 is the label alone, 2 adds the parent's label, 3 the grandparent's.", least=1
    )

    def __post_init__(self) -> None:
        if self.direction not in get_args(Direction):
            raise LatreeError(f"unknown direction {self.direction!r} of binarisation; expected right or left")
        if self.horizontal < -1:
            raise LatreeError(f"horizontal context must be -1 (all siblings) or more, not {self.horizontal}")
        if self.vertical < 1:
            raise LatreeError(f"vertical context must be 1 (no parent) or more, not {self.vertical}")

    def apply(self, tree: Tree) -> Node:
        """The binary tree; its topmost node alone has a symbol of kind "root"."""
        levels: list[list[Node]] = [[]]  # the finished children of every open node
        todo: list[Symbol | tuple[Tree, tuple[str, ...]]] = [(tree, ())]  # a symbol: all its children are finished
        while todo:
            item = todo.pop()
            if isinstance(item, Symbol):
                node = self._join(item, levels.pop())
                levels[-1].append(node)
                continue
            tree, parents = item
            if tree.word is not None:
                levels[-1].append(Node(_symbol("tag", tree.label, parents), word=tree.word))
                continue
            todo.append(_symbol("root" if len(levels) == 1 else "phrase", tree.label, parents))
            levels.append([])
            context = (tree.label, *parents)[: self.vertical - 1]
            todo.extend((child, context) for child in reversed(tree.children))
        return levels[0][0]

    def _join(self, symbol: Symbol, children: list[Node]) -> Node:
        """One node over `children`, built from the lowest part up."""
        if len(children) == 1:
            return Node(symbol, children[0])
        leans_left = self.direction == "right"
        inner_first = children if leans_left else children[::-1]
        node = inner_first[0]
        for outer, split_off in enumerate(inner_first[1:], start=1):
            top = symbol if outer == len(children) - 1 else self._part(symbol, inner_first, outer)
            node = Node(top, node, split_off) if leans_left else Node(top, split_off, node)
        return node

    def _part(self, symbol: Symbol, inner_first: list[Node], outer: int) -> Symbol:
        """The part of `symbol` that reaches up to child `outer`; those beyond were split off before it."""
        stop = None if self.horizontal < 0 else outer + 1 + self.horizontal
        history = tuple(child.symbol.label for child in reversed(inner_first[outer + 1 : stop]))
        return _symbol("part", symbol.label, symbol.parents, history)


def undo(node: Node) -> Tree:
    """The tree that was binarised: parts give way to their children, contexts are dropped."""
    levels: list[list[Tree]] = [[]]
    todo: list[Node | str] = [node]  # a label: all its children are finished
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            tree = Tree(item, levels.pop())
            levels[-1].append(tree)
        elif item.word is not None:
            levels[-1].append(Tree(item.symbol.label, word=item.word))
        else:
            if item.symbol.kind != "part":
                todo.append(item.symbol.label)
                levels.append([])
            todo.extend(reversed(item.children()))
    return levels[0][0]


def longest_unary_chain(node: Node) -> int:
    """The most unary steps in a row over one span; the step from the root is not counted, nor that to the word."""
    longest, todo = 0, [(node, 0)]
    while todo:
        node, steps = todo.pop()
        longest = max(longest, steps)
        if node.left is None:
            continue
        if node.right is not None:
            todo += (node.left, 0), (node.right, 0)
        else:
            todo.append((node.left, 0 if node.symbol.kind == "root" else steps + 1))
    return longest
