"""Binary trees as integers: nothing is lost, and rules and forests are those of the trees themselves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from latree import Tree
from latree.inference.forest import Piece, UnknownRuleError, from_trees
from latree.inference.grammar import Grammar, count_rules, tagged_words
from latree.kinds.parser import tagged_sentences
from latree.learning import coded_trees
from latree.learning.coded_trees import CodedTrees
from latree.learning.latent_treebank import Tokens
from latree.lexicon.options import LexiconOptions
from latree.lexicon.words import Lexicon
from latree.text.binary import Binarization, Node
from tests.binary_trees import TREES, show
from tests.binary_trees import nodes as below

treebanks = st.lists(TREES, min_size=1, max_size=6)
binarizations = st.builds(
    Binarization, st.sampled_from(["left", "right"]), horizontal=st.integers(-1, 2), vertical=st.integers(1, 3)
)


def one_piece(grammar: Grammar, tree: Node, entries: list[int]) -> Piece:
    """A tree as a forest, made by what makes those of all kinds."""
    tags = [symbol for _, symbol in tagged_words(tree)]
    return from_trees(grammar, [tree], [{grammar.index[tag]: k} for tag, k in zip(tags, entries, strict=True)])


@pytest.fixture(autouse=True)
def few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have treebanks of a few trees laid out in several blocks."""
    monkeypatch.setattr(coded_trees, "TREES_AT_ONCE", 2)


@settings(deadline=None)
@given(treebanks, binarizations)
def test_trees_are_made_anew(trees: list[Tree], binarization: Binarization) -> None:
    nodes = [binarization.apply(tree) for tree in trees]
    coded = CodedTrees.of(iter(nodes))
    assert len(coded) == len(nodes)
    assert [show(node) for node in coded] == [show(node) for node in nodes]
    assert [node.symbol for tree in coded for node in below(tree)] == [
        node.symbol for tree in nodes for node in below(tree)
    ]


@settings(deadline=None)
@given(treebanks, binarizations)
def test_rules_and_forests(trees: list[Tree], binarization: Binarization) -> None:
    nodes = [binarization.apply(tree) for tree in trees]
    coded, (grammar, counts) = CodedTrees.of(nodes), count_rules(nodes)
    own, own_counts = coded.rules()
    assert (own.symbols, own.unary_steps, own.rules.tolist()) == (
        grammar.symbols,
        grammar.unary_steps,
        grammar.rules.tolist(),
    )
    assert own_counts.tolist() == counts.tolist()
    sentences = tagged_sentences(grammar, nodes)
    assert list(coded.tagged(grammar)) == sentences
    token = 0
    for piece, node, sentence in zip(
        coded.pieces(grammar, 7 + np.arange(len(coded.word))), nodes, sentences, strict=True
    ):
        expected = one_piece(grammar, node, [7 + token + k for k in range(len(sentence))])
        for mine, theirs in zip(piece[:4], expected[:4], strict=True):
            np.testing.assert_array_equal(mine, theirs)
        token += len(sentence)


@settings(deadline=None)
@given(treebanks, st.integers(1, 3))
def test_entries_are_numbered_as_they_are_met(trees: list[Tree], rare: int) -> None:
    """Each is a tag, a fine tag, a word and, where the word is rare, its class."""
    nodes = [Binarization().apply(tree) for tree in trees]
    coded = CodedTrees.of(nodes)
    grammar, _ = coded.rules()
    sentences = list(coded.tagged(grammar))
    lexicon = Lexicon.count(sentences, len(grammar.tags), "neutral", LexiconOptions(rare=rare))
    tags = coded.tags(grammar)
    fine = np.arange(len(tags)) % 2
    number, entries = Tokens(coded.words, coded.word.astype(np.int64), coded.opens, tags, fine).entries(lexicon)
    met: dict[tuple[int, ...], int] = {}
    expected: list[int] = []
    for sentence in sentences:
        for k, (word, tag) in enumerate(sentence):
            key = (len(expected) % 2, tag, *lexicon.entry(word, first=k == 0))
            expected.append(met.setdefault(key, len(met)))
    assert number.tolist() == expected
    columns = (entries.fine, entries.tag, entries.word, entries.signature)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == list(met)
    assert entries.count.tolist() == np.bincount(expected).tolist()


@pytest.mark.parametrize(
    ("other", "message"), [("(R (A (T x) (U y)))", "no rule A -> T U"), ("(R (A (V x)))", "no rule has V")]
)
def test_what_another_grammar_does_not_have_is_told(other: str, message: str) -> None:
    nodes = [Binarization().apply(Tree.read(text)) for text in ("(R (A (T x)))", "(R (U y))")]
    grammar, _ = CodedTrees.of(nodes).rules()
    with pytest.raises(UnknownRuleError, match=f"^{message}$"):
        list(CodedTrees.of([Binarization().apply(Tree.read(other))]).pieces(grammar, np.zeros(2, np.int64)))
