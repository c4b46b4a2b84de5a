"""Heads of a tree's nodes, found from the top down by the head rules alone."""

from __future__ import annotations

from latree.text.heads import HeadRules
from latree.text.tree import Tree


def head_place(rules: HeadRules, node: Tree) -> int:
    return rules.head(node.label, [child.label for child in node.children])


def head_word(rules: HeadRules, node: Tree) -> str:
    while not node.is_leaf:
        node = node.children[head_place(rules, node)]
    return node.word or ""
