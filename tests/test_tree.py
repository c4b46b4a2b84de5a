"""Trees and their brackets."""

from __future__ import annotations

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
    assert [node.label for node in tree.nodes()] == ["S", "NP", "DT", "NN", "VP", "VBZ"]


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


def test_equality_and_hash() -> None:
    assert Tree.read(CAT) == Tree.read(CAT)
    assert hash(Tree.read(CAT)) == hash(Tree.read(CAT))
    assert Tree.read(CAT) != Tree.read(CAT.replace("cat", "dog"))
    assert Tree.read(CAT) != CAT


def test_depth_is_no_limit() -> None:
    text = "(A " * 5000 + "(B b)" + ")" * 5000
    tree = Tree.read(text)
    assert format_brackets(tree) == text
    assert sum(1 for _ in tree.spans()) == 5000


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
