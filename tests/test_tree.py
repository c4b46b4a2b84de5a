"""Trees and their brackets."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from latree.errors import InputError
from latree.text.tree import Tree, escape, format_brackets, read_brackets, unescape

# Anything but white space that brackets cannot hold and the escapes themselves; surrogates are not text.
WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=" \t\r\n\f\v"), min_size=1).filter(
    lambda word: "RB-" not in word
)
LABELS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=" \t\r\n\f\v()"), min_size=1)
TREES = st.recursive(
    st.builds(lambda label, word: Tree(label, word=word), LABELS, WORDS),
    lambda inner: st.builds(Tree, LABELS, st.lists(inner, min_size=1, max_size=5)),
    max_leaves=12,
)
CAT = "(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))"


def shape(tree: Tree) -> list[object]:
    """Labels and words, nested: equality that does not go through brackets."""
    return [tree.label, tree.word, *map(shape, tree.children)]


@settings(deadline=None)
@given(TREES)
def test_brackets_round_trip(tree: Tree) -> None:
    assert shape(Tree.read(str(tree))) == shape(tree)


@settings(deadline=None)
@given(st.lists(TREES, min_size=1, max_size=4))
def test_brackets_round_trip_over_lines(trees: list[Tree]) -> None:
    lines = "\n".join(map(str, trees)).replace(" ", "\n\t ").split("\n")
    assert [shape(tree) for tree in read_brackets(lines, "f")] == [shape(tree) for tree in trees]


@settings(deadline=None)
@given(TREES)
def test_repr_is_the_tree(tree: Tree) -> None:
    assert eval(repr(tree)) == tree


@settings(deadline=None)
@given(WORDS)
def test_escape_round_trip(word: str) -> None:
    assert unescape(escape(word)) == word
    assert not set(escape(word)) & set("()")


def test_white_space_in_a_word_becomes_an_underscore() -> None:
    assert str(Tree("CD", word="10 \t000")) == "(CD 10_000)"


def test_words_tags_spans() -> None:
    tree = Tree.read(CAT)
    assert tree.words() == ["the", "cat", "sleeps"]
    assert tree.tags() == ["DT", "NN", "VBZ"]
    assert list(tree.spans()) == [("S", 0, 3), ("NP", 0, 2), ("VP", 2, 3)]
    assert [node.label for node in tree.subtrees()] == ["S", "NP", "DT", "NN", "VP", "VBZ"]


def test_fold_sees_children_left_to_right() -> None:
    text = Tree.read(CAT).fold(lambda node, done: node.word or f"[{' '.join(done)}]")
    assert text == "[[the cat] [sleeps]]"


def test_parentheses_are_real_in_memory() -> None:
    tree = Tree.read("(NP (-LRB- -LRB-) (NN a-RRB-b))")
    assert tree.words() == ["(", "a)b"]
    assert tree.tags() == ["-LRB-", "NN"]


def test_outer_bracket_without_label() -> None:
    tree = Tree.read("( (S (UH yes)))")
    assert (tree.label, len(tree.children)) == ("", 1)
    assert str(tree) == "( (S (UH yes)))"


def test_several_trees_on_a_line_and_a_tree_over_lines() -> None:
    lines = ["(A a) (B b)(C\n", "\n", "  (D\n", "d\n", ")\n", ")\n"]
    assert list(map(str, read_brackets(lines, "f"))) == ["(A a)", "(B b)", "(C (D d))"]


def test_no_break_space_and_line_separators_stay_inside_words() -> None:
    assert Tree.read("(CD 10\u00a0000\u2028\x85x)").words() == ["10\u00a0000\u2028\x85x"]


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("(S (NN a)", 1, 1, "1 bracket never closed"),
        ("\n (S (NP\n (NN a)", 2, 2, "2 brackets never closed"),
        ("(NN a))", 1, 7, "without an open bracket"),
        ("(NN a)\n  word", 2, 3, "'word' outside brackets"),
        ("(S\n  ())", 2, 3, "empty bracket"),
        ("(S (NP))", 1, 4, "'(NP)' without a word or children"),
        ("(S (NN a b))", 1, 10, "second word 'b' under tag 'NN'"),
        ("(S (NN a) b)", 1, 11, "word 'b' beside a bracket"),
        ("(S a (NN b))", 1, 6, "a bracket after a word"),
        ("(S a (NP (NN b)))", 1, 6, "a bracket after a word"),
    ],
)
def test_malformed_brackets_name_line_and_column(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(InputError) as caught:
        list(read_brackets(text.splitlines(keepends=True), "bad.mrg"))
    assert (caught.value.line, caught.value.column) == (line, column)
    assert str(caught.value).startswith(f"bad.mrg:{line}:{column}: ")
    assert message in str(caught.value)


def test_trees_before_a_fault_are_read() -> None:
    trees = read_brackets(["(NN a)\n", ")\n"], "f")
    assert str(next(trees)) == "(NN a)"
    with pytest.raises(InputError):
        next(trees)


@pytest.mark.parametrize("text", ["", "(NN a) (NN b)"])
def test_read_wants_one_tree(text: str) -> None:
    with pytest.raises(InputError, match="expected one tree"):
        Tree.read(text)


@pytest.mark.parametrize(("children", "word"), [([], None), ([Tree("NN", word="a")], "b")])
def test_a_node_has_either_children_or_a_word(children: list[Tree], word: str | None) -> None:
    with pytest.raises(ValueError, match="either children or a word"):
        Tree("NP", children, word)


# --- a sequence of its children


def test_a_tree_is_the_sequence_of_its_children() -> None:
    tree = Tree.read(CAT)
    noun, verb = tree
    assert isinstance(tree, Sequence)
    assert (len(tree), tree[0], tree[-1], tree[:1]) == (2, noun, verb, (noun,))
    assert noun in tree
    assert tree[0][1] not in tree
    assert list(reversed(tree)) == [verb, noun]
    assert tree.index(verb) == tree.count(noun) == 1
    assert tree[0][0].word == "the"


def test_a_tag_has_no_children_but_is_true() -> None:
    tag = Tree("NN", word="cat")
    assert (len(tag), list(tag), bool(tag)) == (0, [], True)


@pytest.mark.parametrize("name", ["label", "children", "word", "colour"])
def test_a_tree_does_not_change(name: str) -> None:
    tree = Tree.read(CAT)
    with pytest.raises(AttributeError, match="a Tree does not change"):
        setattr(tree, name, "x")
    with pytest.raises(AttributeError, match="a Tree does not change"):
        delattr(tree, name)
    assert str(tree) == CAT


def test_what_is_not_there_is_told() -> None:
    tree = Tree.read(CAT)
    with pytest.raises(IndexError, match=r"no child 2: node 'S' has 2 children"):
        tree[2]
    with pytest.raises(TypeError, match=r"children go by number, not 'NP'; find\('NP'\) goes by label"):
        tree["NP"]  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"a child of node 'NP' must be a Tree, not 'c'"):
        Tree("NP", "cat")  # type: ignore[arg-type]


def test_children_may_come_one_by_one() -> None:
    assert str(Tree("S", (node for node in Tree.read(CAT)))) == CAT
    with pytest.raises(ValueError, match="either children or a word"):
        Tree("S", iter(()))


def test_find_and_subtrees_and_leaves() -> None:
    tree = Tree.read("(S (S (A a)) (B b))")
    assert list(map(str, tree.find("S"))) == [str(tree), "(S (A a))"]
    assert tree.find("B") == [tree[1]] == tree.leaves()[1:]
    assert tree.find("X") == []
    assert tree.subtrees() == [tree, tree[0], tree[0][0], tree[1]]


# --- equality


def test_equality_and_hash() -> None:
    assert Tree.read(CAT) == Tree.read(CAT)
    assert hash(Tree.read(CAT)) == hash(Tree.read(CAT))
    assert Tree.read(CAT) != Tree.read(CAT.replace("cat", "dog"))
    assert Tree.read(CAT) != CAT


@settings(deadline=None)
@given(TREES, TREES)
def test_equality_is_that_of_shapes(one: Tree, other: Tree) -> None:
    assert (one == other) == (shape(one) == shape(other))


def test_what_brackets_write_alike_may_differ() -> None:
    assert Tree("A", word="b c") != Tree("A", word="b_c")
    assert Tree("A", word="2") != Tree("A", [Tree("B", word="b")] * 2)


@settings(deadline=None)
@given(TREES)
def test_pickles_and_copies_are_equal(tree: Tree) -> None:
    assert shape(pickle.loads(pickle.dumps(tree))) == shape(tree) == shape(copy.deepcopy(tree))


def test_depth_is_no_limit() -> None:
    text = "(A " * 5000 + "(B b)" + ")" * 5000
    tree = Tree.read(text)
    assert format_brackets(tree) == text
    assert sum(1 for _ in tree.spans()) == len(tree.find("A")) == 5000
    assert tree == Tree.read(text) == pickle.loads(pickle.dumps(tree)) == copy.deepcopy(tree)
    assert len({tree, Tree.read(text), tree[0]}) == 2
    assert tree[0] in tree


@settings(deadline=None)
@given(TREES)
def test_nltk_round_trip(tree: Tree) -> None:
    pytest.importorskip("nltk")
    assert shape(Tree.from_nltk(tree.to_nltk())) == shape(tree)


def test_nltk_reads_what_it_is_given() -> None:
    nltk = pytest.importorskip("nltk")
    text = "(S (-LRB- -LRB-) (NN a))"
    assert nltk.Tree.fromstring(str(Tree.read(text).to_nltk())) == nltk.Tree.fromstring(text)
    assert Tree.from_nltk(nltk.Tree.fromstring(text)).words() == ["(", "a"]


def test_nltk_tree_that_mixes_words_and_phrases() -> None:
    nltk = pytest.importorskip("nltk")
    with pytest.raises(ValueError, match="'NP' mixes words and phrases"):
        Tree.from_nltk(nltk.Tree.fromstring("(NP the (NN cat))"))
