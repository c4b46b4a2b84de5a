"""Parsing under constraints: what is left is what agrees, and sums are over all of that."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp

from latree import Bracket, InputError, LatreeError, PartialTree, Pcfg, Svs, Tree
from latree.data import toy
from latree.inference.constraints import bounds_of
from latree.inference.grammar import Grammar
from latree.inference.sweep import inside_only
from latree.kinds.search import Search, certified
from latree.lexicon.options import LexiconOptions
from latree.text.binary import Binarization, undo
from tests.command import done, toy_trees
from tests.command import latree as run
from tests.enumerate import derivations, weights_of
from tests.grammars import example, ones
from tests.kinds_matrix import PARSERS, TAGGERS, model, model_file
from tests.searches import attempt_of, bare_parser

WORDS = 4


def agrees(tree: Tree, brackets: tuple[Bracket, ...]) -> bool:
    """Whether a tree has what is given and lacks what is forbidden, by its nodes alone; the root is left aside."""
    phrases = {span for child in tree.children for span in below(child, tree)}
    tags = {(tag, i, i + 1) for i, tag in enumerate(tree.tags())}
    for label, start, end, forbidden, _ in brackets:
        there = phrases if label is None and forbidden else phrases | tags
        has = any((i, j) == (start, end) and label in (None, name) for name, i, j in there)
        if has == forbidden:
            return False
    return True


def below(child: Tree, root: Tree) -> list[tuple[str, int, int]]:
    """The phrases under a root's child."""
    before = 0
    for other in root.children:
        if other is child:
            break
        before += len(other.words())
    return [(label, before + i, before + j) for label, i, j in child.spans()]


def called(grammar: Grammar) -> Any:
    kinds = ("phrase", "tag")
    return lambda label: np.array([one.kind in kinds and one.label == label for one in grammar.symbols])


def random_brackets(tree: Tree, rng: np.random.Generator) -> tuple[Bracket, ...]:
    """Some of a tree's own nodes, and some random ones that are forbidden."""
    phrases = [span for child in tree.children for span in below(child, tree)]
    nodes = phrases + [(tag, i, i + 1) for i, tag in enumerate(tree.tags())]
    given = [
        Bracket(None if rng.random() < 0.3 else nodes[k][0], *nodes[k][1:])
        for k in rng.choice(len(nodes), min(len(nodes), int(rng.integers(1, 4))), replace=False)
    ]
    spans = [(i, j) for i in range(WORDS) for j in range(i + 1, WORDS + 1)]
    labels = [None, "A", "B", "C", "s", "t"]
    forbidden = [
        Bracket(labels[int(rng.integers(len(labels)))], *spans[int(rng.integers(len(spans)))], forbidden=True)
        for _ in range(int(rng.integers(0, 3)))
    ]
    return (*given, *forbidden)


@pytest.mark.parametrize("seed", range(30))
def test_sums_are_over_the_trees_that_agree(seed: int) -> None:
    grammar, theta, emissions = example(seed, most=600)
    every = derivations(grammar, theta, emissions)
    rng, parser = np.random.default_rng(seed), bare_parser(grammar, theta)
    free = attempt_of(parser, emissions)
    for _ in range(8):
        tree = undo(every[int(rng.integers(len(every)))].tree)
        brackets = random_brackets(tree, rng)
        left = [one for one in every if agrees(undo(one.tree), brackets)]
        bounds = bounds_of(WORDS, brackets, grammar, called(grammar))
        chart: Any = bounds.on_chart(free.coarse)  # type: ignore[arg-type]
        total = math.fsum(one.weight for one in left)
        assert math.exp(chart.log_z) == pytest.approx(total, rel=1e-9, abs=0.0)
        attempt = free._replace(coarse=chart, bounds=bounds)
        search = Search(parser, [attempt], 0.0)
        log_z = inside_only(search.forest, weights_of(grammar, theta, emissions, ones(grammar)), ones(grammar))[0][0]
        assert math.exp(log_z) == pytest.approx(total, rel=1e-9, abs=0.0)
        if left:
            best, listed = certified(parser, attempt, 3, 0.5)
            weights = sorted((one.weight for one in left), reverse=True)[:3]
            assert [math.exp(one.log_weight) for one in best.weighed(listed)] == pytest.approx(weights)
            for phrase in search.phrases.likely(1e-12):
                counts = [(one.weight, list(undo(one.tree).spans()).count(phrase[:3])) for one in left]
                expected = math.fsum(weight * count for weight, count in counts) / total
                assert phrase.probability == pytest.approx(min(expected, 1.0))


# -- models


SENTENCE = toy_trees("dev")[0]


def partial(tree: Tree, number: int) -> PartialTree:
    """A few nodes of a tree, and a phrase that no tree of the grammar has, forbidden."""
    _, *phrases = tree.spans()
    tags = [Bracket(tag, i, i + 1) for i, tag in enumerate(tree.tags())]
    nowhere = Bracket("XX", 0, 1, forbidden=True)
    return PartialTree(tuple(tree.words()), (*(Bracket(*one) for one in phrases[::number]), tags[-1], nowhere))


def test_sums_of_a_binarised_grammar() -> None:
    """Parts are free to be wherever no given bracket is crossed: every tree that agrees counts."""
    seen_tags = LexiconOptions(known=0.0, frequent=0.0)  # so that there are few enough trees to list them all
    pcfg = Pcfg(lexicon=seen_tags, binarization=Binarization(horizontal=1)).fit(toy("dev"))
    lists = (pcfg.kbest(tree.words(), 2_000, "viterbi") for tree in toy_trees("dev"))
    every = next(trees for trees in lists if 20 < len(trees) < 2_000)
    trees = [one.tree for one in every if one.tree is not None]
    for tree in (trees[5], trees[-1]):
        for number in (1, 2, 3):
            sentence = partial(tree, number)
            left = [one for one in every if one.tree is not None and agrees(one.tree, sentence.brackets)]
            assert 1 <= len(left) < len(every)
            total = logsumexp([one.log_joint for one in left])
            assert pcfg.log_prob(sentence) == pytest.approx(total, abs=1e-9)
            found = pcfg.kbest(sentence, 3, "viterbi")
            assert [one.log_joint for one in found] == pytest.approx([one.log_joint for one in left[:3]])
            assert found[0].probability == pytest.approx(math.exp(left[0].log_joint - total))


@pytest.mark.parametrize("name", PARSERS)
def test_every_parser_keeps_to_what_is_given(name: str) -> None:
    parser: Any = model(name)
    words = SENTENCE.words()
    free = parser.kbest(words, 5)
    sentence = partial(free[-1].tree, 2)
    assert agrees(free[-1].tree, sentence.brackets)
    ranked = parser.kbest(sentence, 5)
    assert {one.status for one in ranked} == {"ok"}
    assert all(agrees(one.tree, sentence.brackets) for one in ranked)
    found = parser.parse(sentence)
    assert found.status == "ok"
    assert agrees(found.tree, sentence.brackets)
    assert 0 < found.probability <= 1
    for phrase in parser.posteriors(sentence):
        if any((phrase.label, phrase.start, phrase.end) == one[:3] for one in sentence.brackets):
            assert phrase.probability == pytest.approx(1.0)
    assert parser.tag(sentence)[-1] == free[-1].tree.tags()[-1]


def test_heads_share_out_what_a_bracket_has() -> None:
    """Every derivation of a phrase has one of its words as the head: sums over heads are the sum without any."""
    parser: Any = Svs(headwords=5, clusters=0).fit([Tree.read(text) for text in HEADED])
    words, compared = ("a", "b", "c", "d"), 0
    parser.threshold = 0.0
    for label, start, end in (("NP", 0, 2), ("VP", 2, 4), ("S", 0, 4)):
        whole = parser.log_prob(PartialTree(words, (Bracket(label, start, end),)))
        parts = [
            parser.log_prob(PartialTree(words, (Bracket(label, start, end, head=head),))) for head in range(start, end)
        ]
        assert math.fsum(map(math.exp, parts)) == pytest.approx(math.exp(whole))
        compared += sum(math.isfinite(part) for part in parts)
    assert compared > 3  # some phrases may have either of their words


# The second child of an NP is its head, and of a VP the first; but where the second is an N, that.
HEADED = [
    "(S (NP (D a) (N b)) (VP (V c) (X d)))",
    "(S (NP (D a) (X b)) (VP (V c) (N d)))",
    "(S (NP (N a) (X b)) (VP (N c) (X d)))",
]


def test_what_is_given_as_a_head_is_one() -> None:
    parser: Any = model("svs")
    sentence = "(NP the (^ teacher)) sleeps ."
    found = parser.parse(PartialTree.read(sentence))
    assert found.status == "ok"
    assert found.log_marginal == pytest.approx(parser.log_prob(PartialTree.read(sentence.replace("^", "NN"))))
    other = parser.parse(PartialTree.read("(NP (^ the) teacher) sleeps ."))  # of an article no phrase has the head
    assert other.status == "recovered"
    assert "NP over 'the teacher' with the head 'the'" in other.reason


def test_only_svs_knows_heads() -> None:
    with pytest.raises(LatreeError, match="heads are given to svs, whose grammar knows them; this is a pcfg"):
        model("pcfg").parse(PartialTree.read("(NP the (^ teacher)) sleeps ."))


@pytest.mark.parametrize("name", ["pcfg", "lvg", "svs"])
def test_what_is_forbidden_is_not_found(name: str) -> None:
    """Whatever the best tree has, one after the other, until nothing else is left of that kind."""
    parser: Any = model(name)
    words, brackets = tuple(SENTENCE.words()), list[Bracket]()
    for _ in range(4):
        found = parser.parse(PartialTree(words, tuple(brackets)))
        assert agrees(found.tree, tuple(brackets))
        label, start, end = list(found.tree.spans())[-1]
        brackets.append(Bracket(label, start, end, forbidden=True))


@pytest.mark.parametrize("name", PARSERS)
def test_brackets_that_no_tree_has(name: str) -> None:
    parser: Any = model(name)
    words = tuple(SENTENCE.words())
    sentence = PartialTree(words, (Bracket(None, 0, 1), Bracket("XX", 0, 2)))
    free = parser.parse(words)
    for found in (parser.parse(sentence), parser.kbest(sentence, 2)[0]):
        assert (found.tree, found.status) == (free.tree, "recovered")
        assert f"no tree of this grammar has XX over {' '.join(words[:2])!r}" in found.reason
    assert parser.log_prob(sentence) == -np.inf
    assert parser.posteriors(sentence) == []


def test_brackets_that_no_tree_has_together() -> None:
    parser: Any = model("pcfg")
    words = tuple(SENTENCE.words())
    tags = {symbol.label for symbol in parser.grammar.tags}
    none = tuple(Bracket(tag, 0, 1, forbidden=True) for tag in sorted(tags))
    assert "together with the brackets before it" in parser.parse(PartialTree(words, none)).reason


def test_a_partial_tree_without_brackets_is_its_words() -> None:
    parser: Any = model("lvg")
    words = tuple(SENTENCE.words())
    bound, free = parser.parse(PartialTree(words)), parser.parse(words)
    assert bound.tree == free.tree
    assert bound.log_marginal == pytest.approx(free.log_marginal)


def test_a_whole_tree_is_all_that_is_left() -> None:
    parser: Any = model("lvg")
    free = parser.kbest(SENTENCE.words(), 3)[-1]
    found = parser.parse(PartialTree.read(str(free.tree)))
    assert found.tree == free.tree
    assert found.log_joint == pytest.approx(free.log_joint)


def test_draws_agree() -> None:
    parser: Any = model("pcfg")
    sentence = partial(parser.kbest(SENTENCE.words(), 5)[-1].tree, 2)
    assert all(agrees(parser.sample(sentence, seed=seed).tree, sentence.brackets) for seed in range(5))


@pytest.mark.parametrize("name", TAGGERS[:1])
def test_taggers_take_words(name: str) -> None:
    parser: Any = model(name)
    with pytest.raises(LatreeError, match="brackets are for parsers"):
        parser.tag(PartialTree(("a",), (Bracket("X", 0, 1),)))


# -- partial trees as text


def test_reading() -> None:
    found = PartialTree.read("(NP the old (NN man)) saw (!PP with -LRB-) ( it ) (! a b)")
    assert found.words == ("the", "old", "man", "saw", "with", "(", "it", "a", "b")
    assert set(found.brackets) == {
        *(Bracket("NP", 0, 3), Bracket("NN", 2, 3), Bracket(None, 6, 7)),
        *(Bracket("PP", 4, 6, forbidden=True), Bracket(None, 7, 9, forbidden=True)),
    }
    assert PartialTree.read(" ") == PartialTree(())
    assert PartialTree.read("(NP the (^ man)) saw").brackets == (Bracket("NP", 0, 2, head=1),)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("(NP a", ":1:1: a bracket never closed"),
        ("a) b", ":1:2: ')' without an open bracket"),
        ("a (NP) b", ":1:3: bracket '(NP)' without words"),
        ("(NP (!NP a b))", ":1: NP over 'a b' is both given and forbidden"),
        ("(NP (^ a b))", ":1:5: '(^ ...)' has more than one word"),
        ("(^ a) b", ":1:1: '(^ ...)' is the head of nothing"),
        ("(NP (^ a) (^ b))", ":1:11: 'NP' has two heads"),
        ("(!NP (^ a) b)", ":1: a head is one of the words of a bracket that is given"),
    ],
)
def test_faults_of_text(text: str, told: str) -> None:
    with pytest.raises(InputError) as caught:
        PartialTree.read(text)
    assert told in str(caught.value)


def test_faults_of_brackets() -> None:
    with pytest.raises(LatreeError, match="A over 'a b' crosses B over 'b c'"):
        PartialTree(("a", "b", "c"), (Bracket("A", 0, 2), Bracket("B", 1, 3)))
    with pytest.raises(LatreeError, match="there are no words 0 to 3 in 1"):
        PartialTree(("a",), (Bracket("A", 0, 4),))


# -- the command line


def test_a_file_of_partial_trees(tmp_path: Path) -> None:
    path = tmp_path / "partial"
    words = SENTENCE.words()
    free = done("parse", "-m", model_file("pcfg"), stdin=" ".join(words)).out
    lines = [" ".join(words), "", f"(XX {words[0]}) {' '.join(words[1:])}", free.strip()]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    found = run("parse", "-m", model_file("pcfg"), "--constraints", path)
    assert found.out.splitlines() == [free.strip(), "", free.strip(), free.strip()]
    assert f"sentence 3: recovered: no tree of this grammar has XX over {words[0]!r}" in found.err
    assert run("parse", "-m", model_file("pcfg"), "--constraints", path, "--jobs", "2").out == found.out


def test_what_constraints_exclude(tmp_path: Path) -> None:
    path = tmp_path / "partial"
    path.write_text("(NP a\n", encoding="utf-8")
    for more in ([str(path)], ["--tokenize"], ["--constituents", str(path)]):
        outcome = run("parse", "-m", model_file("pcfg"), "--constraints", path, *more)
        assert outcome.code == 2
        assert "no effect with --constraints" in outcome.err
    outcome = run("parse", "-m", model_file("pcfg"), "--constraints", path)
    assert outcome.code == 1
    assert f"{path}:1:1: a bracket never closed" in outcome.err
