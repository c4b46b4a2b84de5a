"""Trees to binarise, and binary trees as text."""

from __future__ import annotations

from hypothesis import strategies as st

from latree.text.binary import Node
from latree.text.tree import Tree

# Few labels, so that phrases, tags and the root share them; "@" and "^" are what string marks would trip over.
LABELS = st.sampled_from(["ROOT", "NP", "@", "@NP", "A^B", "X->_Y", ""])


TREES = st.recursive(
    st.builds(lambda label, word: Tree(label, word=word), LABELS.filter(bool), st.sampled_from(["a", "(", "@"])),
    lambda inner: st.builds(Tree, LABELS, st.lists(inner, min_size=1, max_size=7)),
    max_leaves=25,
)


DEEP = "(ROOT " + "(A " * 3000 + "(B b)" + ")" * 3001


WIDE = f"(ROOT (A {'(B b) ' * 2000}))"


def show(node: Node) -> str:
    """The binary tree in brackets, with its symbols' names."""
    inside = node.word or " ".join(show(child) for child in node.children())
    return f"({node.symbol} {inside})"


def nodes(node: Node) -> list[Node]:
    return [node, *(below for child in node.children() for below in nodes(child))]
