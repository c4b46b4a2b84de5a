"""Binarising and back."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from latree.errors import LatreeError
from latree.text.binary import Binarization, Direction, Symbol, longest_unary_chain, undo
from latree.text.tree import Tree
from tests.binary_trees import DEEP, TREES, WIDE, nodes, show

SYMBOLS = st.builds(
    Symbol,
    st.sampled_from(["root", "phrase", "tag", "part"]),
    st.text(),
    st.lists(st.text()).map(tuple),
    st.lists(st.text()).map(tuple),
)
OPTIONS = st.builds(Binarization, st.sampled_from(["right", "left"]), st.integers(-1, 3), st.integers(1, 4))
FLAT = "(ROOT (NP (A a) (B b) (C c) (D d)))"


@settings(deadline=None)
@given(TREES, OPTIONS)
def test_undo_restores_the_tree(tree: Tree, options: Binarization) -> None:
    assert undo(options.apply(tree)) == tree


@settings(deadline=None)
@given(TREES, OPTIONS)
def test_every_node_is_binary_and_has_its_kind(tree: Tree, options: Binarization) -> None:
    top, *below = nodes(options.apply(tree))
    assert top.symbol.kind == ("tag" if tree.is_leaf else "root")
    for node in [top, *below]:
        assert (node.word is None) == (node.left is not None) == (node.symbol.kind != "tag")
        assert node.symbol.kind != "part" or node.right is not None
        assert len(node.symbol.parents) < options.vertical
        assert node.symbol.kind == "part" or not node.symbol.history
    assert all(node.symbol.kind != "root" for node in below)


@pytest.mark.parametrize(
    ("direction", "horizontal", "expected"),
    [
        ("right", 0, "(NP (@NP (@NP (A a) (B b)) (C c)) (D d))"),
        ("left", 0, "(NP (A a) (@NP (B b) (@NP (C c) (D d))))"),
        ("right", 1, "(NP (@NP->_D (@NP->_C (A a) (B b)) (C c)) (D d))"),
        ("left", 1, "(NP (A a) (@NP->_A (B b) (@NP->_B (C c) (D d))))"),
        ("right", 2, "(NP (@NP->_D (@NP->_D_C (A a) (B b)) (C c)) (D d))"),
        ("left", 2, "(NP (A a) (@NP->_A (B b) (@NP->_A_B (C c) (D d))))"),
        ("right", -1, "(NP (@NP->_D (@NP->_D_C (A a) (B b)) (C c)) (D d))"),
    ],
)
def test_direction_and_horizontal_context(direction: Direction, horizontal: int, expected: str) -> None:
    assert show(Binarization(direction, horizontal).apply(Tree.read(FLAT))) == f"(ROOT {expected})"


def test_all_siblings_are_more_than_two() -> None:
    tree = Tree.read("(NP (A a) (B b) (C c) (D d) (E e))")
    assert "@NP->_E_D_C " in show(Binarization(horizontal=-1).apply(tree))
    assert "@NP->_D_C " in show(Binarization(horizontal=2).apply(tree))


@pytest.mark.parametrize(
    ("vertical", "expected"),
    [
        (1, "(ROOT (S (@S (NP (A a)) (B b)) (C c)))"),
        (2, "(ROOT (S^ROOT (@S^ROOT (NP^S (A^NP a)) (B^S b)) (C^S c)))"),
        (3, "(ROOT (S^ROOT (@S^ROOT (NP^S^ROOT (A^NP^S a)) (B^S^ROOT b)) (C^S^ROOT c)))"),
    ],
)
def test_vertical_context(vertical: int, expected: str) -> None:
    tree = Tree.read("(ROOT (S (NP (A a)) (B b) (C c)))")
    assert show(Binarization(vertical=vertical).apply(tree)) == expected


def test_root_with_several_children() -> None:
    binary = Binarization().apply(Tree.read("(ROOT (A a) (B b) (C c))"))
    assert show(binary) == "(ROOT (@ROOT (A a) (B b)) (C c))"
    assert binary.left is not None
    assert [binary.symbol.kind, binary.left.symbol.kind] == ["root", "part"]


def test_phrases_tags_and_the_root_of_one_name_are_apart() -> None:
    symbols = {node.symbol for node in nodes(Binarization().apply(Tree.read("(A (A (A a) (A a) (A a)))")))}
    assert symbols == {Symbol(kind, "A") for kind in ("root", "phrase", "part", "tag")}


@settings(deadline=None)
@given(SYMBOLS)
def test_symbols_in_json(symbol: Symbol) -> None:
    assert Symbol.from_json(json.loads(json.dumps(symbol.to_json()))) == symbol


def test_symbol_of_unknown_kind() -> None:
    with pytest.raises(LatreeError, match="'word'"):
        Symbol.from_json(["word", "A", [], []])


@settings(deadline=None)
@given(OPTIONS)
def test_options_in_json(options: Binarization) -> None:
    assert Binarization.from_json(json.loads(json.dumps(options.to_json()))) == options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"direction": "up"}, "'up'"),
        ({"horizontal": -2}, "-1 (all siblings) or more, not -2"),
        ({"vertical": 0}, "1 (no parent) or more, not 0"),
    ],
)
def test_options_out_of_range(options: dict[str, object], message: str) -> None:
    with pytest.raises(LatreeError, match=re.escape(message)):
        Binarization.from_json(options)


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("(ROOT (A a))", 0),
        ("(ROOT (S (A a)))", 1),
        ("(ROOT (S (VP (V v)) (NP (N n))))", 1),
        ("(ROOT (S (NP (QP (N n)))))", 3),
        ("(ROOT (S (X (Y (A a) (B b)))) (C c))", 2),
    ],
)
def test_longest_unary_chain(text: str, steps: int) -> None:
    assert longest_unary_chain(Binarization().apply(Tree.read(text))) == steps


@pytest.mark.parametrize("direction", ["right", "left"])
@pytest.mark.parametrize(("text", "steps"), [(DEEP, 3000), (WIDE, 0)], ids=["deep", "wide"])
def test_size_is_no_limit(text: str, steps: int, direction: Direction) -> None:
    tree = Tree.read(text)
    binary = Binarization(direction, horizontal=1, vertical=2).apply(tree)
    assert undo(binary) == tree
    assert longest_unary_chain(binary) == steps
