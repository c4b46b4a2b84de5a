"""Edits of a tree: a phrase is taken out, put in or renamed, or neighbours are moved to where the words leave room.

A place in a tree is a path: which child of the root, which child of that one, and so on.  No edit changes the order of
the words.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from latree.text.tree import Tree

Path = tuple[int, ...]


class Node:
    """A node of a tree that changes; `settle` says where everything is after a change."""

    __slots__ = ("children", "end", "label", "parent", "start", "word")

    def __init__(self, label: str, children: list[Node], word: str | None = None) -> None:
        self.label, self.children, self.word = label, children, word
        self.parent: Node | None = None
        self.start = self.end = 0

    @classmethod
    def of(cls, tree: Tree) -> Node:
        """Copy a tree."""
        root = tree.fold(lambda node, done: cls(node.label, done, node.word))
        root.settle()
        return root

    def subtree(self) -> list[Node]:
        """This node and all below it, a parent before its children, left to right."""
        nodes, stack = [], [self]
        while stack:
            node = stack.pop()
            nodes.append(node)
            stack.extend(reversed(node.children))
        return nodes

    def settle(self) -> None:
        """Number the words below a root, and tell all nodes their spans and parents."""
        nodes, words = self.subtree(), 0
        for node in nodes:
            node.start = words
            words += node.word is not None
            for child in node.children:
                child.parent = node
        for node in reversed(nodes):
            node.end = node.children[-1].end if node.children else node.start + 1

    @property
    def place(self) -> int:
        """Which child of its parent it is."""
        assert self.parent is not None
        return next(place for place, child in enumerate(self.parent.children) if child is self)

    @property
    def path(self) -> Path:
        steps, node = [], self
        while node.parent is not None:
            steps.append(node.place)
            node = node.parent
        return tuple(reversed(steps))

    def at(self, path: Path) -> Node:
        """The node at the end of a path from here."""
        node = self
        for step in path:
            node = node.children[step]
        return node

    def tree(self) -> Tree:
        """Make it a tree again."""
        done: list[Tree] = []
        for node in reversed(self.subtree()):
            children = [done.pop() for _ in node.children]
            done.append(Tree(node.label, children, node.word))
        return done[0]


@dataclass(frozen=True)
class Delete:
    """Take out a phrase; its children stay where it was."""

    at: Path

    def apply(self, root: Node) -> None:
        node = root.at(self.at)
        assert node.parent is not None
        node.parent.children[node.place : node.place + 1] = node.children
        root.settle()


@dataclass(frozen=True)
class Insert:
    """Put a phrase over the children `first` to `last` (without the last) of a node."""

    at: Path
    first: int
    last: int
    label: str

    def apply(self, root: Node) -> None:
        below = root.at(self.at).children
        below[self.first : self.last] = [Node(self.label, below[self.first : self.last])]
        root.settle()


@dataclass(frozen=True)
class Relabel:
    """Give a phrase or a word another label."""

    at: Path
    label: str

    def apply(self, root: Node) -> None:
        root.at(self.at).label = self.label


@dataclass(frozen=True)
class Move:
    """Move the children `first` to `last` of one node to another, before its child number `place`."""

    at: Path
    first: int
    last: int
    to: Path
    place: int

    def apply(self, root: Node) -> None:
        source, target = root.at(self.at), root.at(self.to)
        run = source.children[self.first : self.last]
        del source.children[self.first : self.last]
        target.children[self.place : self.place] = run
        root.settle()


Edit = Delete | Insert | Relabel | Move


def apply_edits(tree: Tree, edits: Iterable[Edit]) -> Tree:
    """Make a tree of a tree, an edit after the other."""
    root = Node.of(tree)
    for edit in edits:
        edit.apply(root)
    return root.tree()
