"""Heads of a tree's nodes, found from the top down by the head rules alone."""

from __future__ import annotations

import re

from latree.text.heads import HeadRules
from latree.text.tree import Tree


def without_functions(node: Tree) -> str:
    """The label, of a phrase up to the mark of a function."""
    return node.label if node.is_leaf else re.sub(r"(?<=.)[-=].*", "", node.label, flags=re.DOTALL)


def head_place(rules: HeadRules, node: Tree) -> int:
    return rules.head(without_functions(node), [without_functions(child) for child in node.children])


def head_word(rules: HeadRules, node: Tree) -> str:
    while not node.is_leaf:
        node = node.children[head_place(rules, node)]
    return node.word or ""
