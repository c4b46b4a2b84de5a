"""Binary trees with heads and relations, and back."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from latree.kinds.svs.relations import ANY, HeadBinarization, head_words, is_head
from latree.text.binary import Node, Symbol, undo
from latree.text.heads import HeadRules
from latree.text.tree import Tree
from tests.binary_trees import DEEP, TREES, WIDE, nodes, show
from tests.command import toy_trees
from tests.heads import head_word

PENN = HeadRules.named("penn")
RULES = st.sampled_from([PENN, HeadRules.default("left"), HeadRules.default("right")])
DOGS = "(ROOT (S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (DT a) (NN cat)) (ADVP (RB there))) (. .)))"


def related(trees: list[Tree], heads: HeadRules = PENN, least: int = 1) -> HeadBinarization:
    return HeadBinarization.of(trees, heads, least)


def binary_nodes(node: Node) -> list[Node]:
    return [one for one in nodes(node) if one.right is not None]


@settings(deadline=None)
@given(TREES, RULES, st.integers(1, 3))
def test_undo_restores_the_tree(tree: Tree, heads: HeadRules, least: int) -> None:
    assert undo(related([tree], heads, least).apply(tree)) == tree


@settings(deadline=None)
@given(TREES, RULES, st.integers(1, 3))
def test_two_children_are_a_head_and_a_modifier(tree: Tree, heads: HeadRules, least: int) -> None:
    top, *below = nodes(related([tree], heads, least).apply(tree))
    for node in [top, *below]:
        places = [is_head(child.symbol) for child in node.children()]
        assert sorted(places) == {0: [], 1: [True], 2: [False, True]}[len(places)]
        assert (node.word is None) == (node.symbol.kind != "tag")
    assert top.symbol.kind == ("tag" if tree.is_leaf else "root")
    assert all(node.symbol.kind != "root" for node in below)


@settings(deadline=None)
@given(TREES, RULES)
def test_the_root_has_one_child(tree: Tree, heads: HeadRules) -> None:
    """The root has no concept that a head could share, so that its rule has no room for a modifier."""
    top = related([tree], heads).apply(tree)
    assert top.right is None


@settings(deadline=None)
@given(TREES, RULES)
def test_head_words_are_those_of_the_tree(tree: Tree, heads: HeadRules) -> None:
    """Phrases come in the order of `tree.subtrees()`, once parts are left out."""
    expected = [head_word(heads, node) for node in tree.subtrees()]
    top = related([tree], heads).apply(tree)
    found = head_words(top)
    assert [found[id(node)] for node in nodes(top) if node.symbol.kind != "part"] == expected
    assert all(
        found[id(node)] in {found[id(child)] for child in node.children()} for node in nodes(top) if not node.word
    )


def test_toy_trees_come_back() -> None:
    trees = toy_trees("train")
    binarization = related(trees, HeadRules.for_labels(node.label for tree in trees for node in tree.subtrees()), 5)
    assert [undo(binarization.apply(tree)) for tree in trees] == trees


def test_the_example() -> None:
    """What stands farthest out is split off first, on the right before the left; a modifier's context is its parent."""
    tree = Tree.read(DOGS)
    assert show(related([tree]).apply(tree)) == (
        "(ROOT (S (@S (NP^S (DT^NP the) (NN dog))"
        " (VP (@VP (VBD saw) (NP^VP (DT^NP a) (NN cat))) (ADVP^VP (RB there)))) (.^S .)))"
    )


def test_parts_remember_what_was_split_off_before_them() -> None:
    tree = Tree.read(DOGS)
    assert show(HeadBinarization.of([tree], PENN, 1, horizontal=1).apply(tree)) == (
        "(ROOT (S (@S->_. (NP^S (DT^NP the) (NN dog))"
        " (VP (@VP->_ADVP (VBD saw) (NP^VP (DT^NP a) (NN cat))) (ADVP^VP (RB there)))) (.^S .)))"
    )


def test_rare_relations_have_one_context() -> None:
    tree = Tree.read(DOGS)
    symbols = [node.symbol for node in nodes(related([tree], least=2).apply(tree)) if not is_head(node.symbol)]
    assert Counter(symbols) == {
        Symbol("tag", "DT", ("NP",)): 2,  # twice under NP, all others once
        Symbol("phrase", "NP", (ANY,)): 2,
        Symbol("phrase", "ADVP", (ANY,)): 1,
        Symbol("tag", ".", (ANY,)): 1,
    }


def test_relations_are_counted_over_all_trees() -> None:
    tree = Tree.read(DOGS)
    assert related([tree] * 3, least=4).relations == {("NP", "DT")}
    assert related([tree] * 3, least=3).relations == related([tree]).relations
    assert related([tree], least=7).relations == frozenset()


def test_a_relation_never_seen_has_the_common_context() -> None:
    binarization = related([Tree.read(DOGS)])
    other = binarization.apply(Tree.read("(ROOT (S (NP (JJ big) (NN dog)) (VP (VBD saw))))"))
    assert Symbol("tag", "JJ", (ANY,)) in {node.symbol for node in nodes(other)}


@pytest.mark.parametrize("heads", [PENN, HeadRules.default("right")], ids=["penn", "default"])
def test_in_json(heads: HeadRules) -> None:
    binarization = HeadBinarization.of(toy_trees("train"), heads, 3, horizontal=1)
    read = HeadBinarization.from_json(json.loads(json.dumps(binarization.to_json())))
    assert read == binarization
    for tree in toy_trees("dev"):
        assert show(read.apply(tree)) == show(binarization.apply(tree))


@pytest.mark.parametrize("text", [DEEP, WIDE], ids=["deep", "wide"])
def test_size_is_no_limit(text: str) -> None:
    tree = Tree.read(text)
    binary = related([tree]).apply(tree)
    assert undo(binary) == tree
    assert head_words(binary)[id(binary)] == "b"
