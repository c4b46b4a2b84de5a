"""Tags that have parts: coarse ones in the rules, whole ones in the trees."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from latree.errors import LatreeError
from latree.kinds.cvg.model import Cvg
from latree.kinds.fine_tags import FineTags, cut, places, separators_of
from latree.kinds.gm_lveg.model import GmLveg
from latree.kinds.lvg import LvgOptions, VariationalOptions
from latree.kinds.lvg.model import Lvg
from latree.kinds.lvg_d.model import LvgD
from latree.kinds.pcfg.model import Pcfg
from latree.kinds.product.model import Product
from latree.kinds.registry import load
from latree.kinds.report import Ask, report
from latree.learning.coded_trees import CodedTrees
from latree.learning.latent_treebank import LatentTreebank
from latree.lexicon.words import Lexicon
from latree.text.binary import Binarization
from latree.text.labels import LabelRules
from latree.text.partial_trees import Bracket, PartialTree
from latree.text.tree import Tree
from tests.command import toy_trees

QUICK = LvgOptions(rounds=2, split_iterations=10, merge_iterations=5, smooth_iterations=3, fine="-")


def parted(tree: Tree) -> Tree:
    """Nouns and determiners get a part: which vowel comes last in the word, if any does."""

    def relabel(node: Tree, below: list[Tree]) -> Tree:
        if node.word is None:
            return Tree(node.label, below)
        vowel = next((letter for letter in reversed(node.word.lower()) if letter in "aeiou"), None)
        has_part = vowel is not None and node.label in ("NN", "DT")
        return Tree(f"{node.label}-{vowel}" if has_part else node.label, word=node.word)

    return tree.fold(relabel)


@pytest.fixture(scope="module")
def trees() -> list[Tree]:
    return [parted(tree) for tree in toy_trees("dev")]


@pytest.fixture(scope="module")
def lvg(trees: list[Tree]) -> Lvg:
    return Lvg(options=QUICK).fit(trees)


def test_where_tags_are_cut() -> None:
    assert [cut(tag, "-_") for tag in ("N-D", "no_kvk_et", "-LRB-", "NN", "-", "N-")] == [
        *("N", "no", "-LRB-", "NN", "-", "N")
    ]
    assert separators_of(["N-D", "N-A", "N-G", "V", "ADV"]) == "-"
    assert separators_of(["no_kvk", "no_hk", "no_kk", "so"]) == "_"
    assert separators_of(["NN", "NNS", "-LRB-", "-RRB-", "PRP$"]) == ""


def test_a_separator_that_no_tag_has() -> None:
    with pytest.raises(LatreeError, match=r"no tag of the treebank is parted by '/'; --fine auto"):
        Lvg(options=replace(QUICK, fine="/")).fit(toy_trees("dev"))


@pytest.mark.parametrize("fine", ["none", "auto", ""])
def test_tags_without_parts_are_left_alone(fine: str) -> None:
    plain, told = (Lvg(options=replace(QUICK, fine=one)).fit(toy_trees("dev")) for one in ("none", fine))
    assert told.fine is None
    assert told.theta.tolist() == plain.theta.tolist()


def test_rules_have_coarse_tags_and_trees_whole_ones(lvg: Lvg, trees: list[Tree]) -> None:
    labels = {symbol.label for symbol in lvg.grammar.tags}
    whole = {tag for tree in trees for tag in tree.tags()}
    assert labels == {cut(tag, "-") for tag in whole} != whole
    parses = list(lvg.parse_all([tree.words() for tree in trees]))
    found = [parse.tree for parse in parses if parse.status == "ok" and parse.tree is not None]
    assert len(found) > 50
    assert {tag for tree in found for tag in tree.tags()} <= whole
    # The part is told by the word alone.
    pairs = [pair for tree in found for pair in zip(tree.tags(), tree.words(), strict=True) if "-" in pair[0]]
    right = sum(Tree(tag, word=word) == parted(Tree(cut(tag, "-"), word=word)) for tag, word in pairs)
    assert right > 0.95 * len(pairs) > 100


def test_emissions_of_a_subtype_sum_to_one(trees: list[Tree], lvg: Lvg) -> None:
    """Over words together with their fine tags."""
    fresh = Lvg(options=QUICK)
    data = CodedTrees.of(fresh.prepare_data(trees))
    assert fresh.fine is not None
    tags, grammar = fresh.fine.tags, lvg.grammar
    coded = [[(leaf.word or "", grammar.tag_index[leaf.symbol]) for leaf in _leaves(tree)] for tree in data]
    unsplit = Lexicon.count(coded, len(grammar.tags))
    bank = LatentTreebank.of(grammar, data, unsplit, tags.number)
    lexical = bank.lexical(lvg.layout)
    counts = np.random.default_rng(0).random(len(lexical.column)) * np.repeat(bank.entries.count, lexical.size)
    estimate = lexical.estimate(counts)
    # A rare word's entries, one for each of its classes, are one word with its fine tag.
    _, one_each = np.unique(lexical.fine.pair, return_index=True)
    totals = np.bincount(lexical.column[one_each], estimate[one_each], lexical.columns)
    np.testing.assert_allclose(totals[totals > 0], 1.0)
    assert len(np.unique(bank.entries.fine)) == len(tags.names) > len(grammar.tags)


def _leaves(tree: Any) -> list[Any]:
    return [tree] if tree.word is not None else [leaf for child in tree.children() for leaf in _leaves(child)]


def test_parts_of_phrases_remember_coarse_tags(trees: list[Tree]) -> None:
    options = replace(QUICK, rounds=1, binarization=Binarization(horizontal=1))
    grammar = Lvg(options=options).fit(trees).grammar
    remembered = {label for symbol in grammar.symbols for label in symbol.history}
    assert remembered
    assert not any("-" in label for label in remembered)


def test_trees_are_weighed_by_their_coarse_tags(lvg: Lvg, trees: list[Tree]) -> None:
    tags = FineTags("-", ())
    for tree in trees[:20]:
        assert lvg.log_prob_tree(tree) == lvg.log_prob_tree(tags.coarsened(tree)) > -np.inf
        for parse in lvg.kbest(tree.words(), 3):
            assert parse.tree is not None
            assert lvg.log_prob_tree(parse.tree) == pytest.approx(parse.log_joint)


def test_where_words_stand() -> None:
    tree = Tree.read("(ROOT (S (NP (D the) (N cat)) (VP (V saw) (NP (N dogs)))))")
    assert [(place.leaf.word, *place[1:]) for place in places(tree)] == [
        ("the", ("NP", "S", "ROOT"), "", "N", 0),
        ("cat", ("NP", "S", "ROOT"), "D", "", 1),
        ("saw", ("VP", "S", "ROOT"), "", "NP", 0),
        ("dogs", ("NP", "VP", "S"), "", "", 0),
    ]


def test_the_tree_tells_case() -> None:
    """The same word has another fine tag before the verb and after it."""
    words = ("cats", "dogs", "mice", "birds", "frogs")
    pairs = [(one, other) for one in words for other in words]
    trees = [Tree.read(f"(ROOT (S (NP (N-N {a})) (VP (V see) (NP (N-A {b})))))") for a, b in pairs]
    lvg = Lvg(options=QUICK).fit(trees)
    assert {symbol.label for symbol in lvg.grammar.tags} == {"N", "V"}
    assert str(lvg.parse(["mice", "see", "mice"]).tree) == str(
        Tree.read("(ROOT (S (NP (N-N mice)) (VP (V see) (NP (N-A mice)))))")
    )


def test_files_and_checkpoints(lvg: Lvg, trees: list[Tree], tmp_path: Path) -> None:
    lvg.save(tmp_path / "m.latree")
    again = load(tmp_path / "m.latree")
    words = [tree.words() for tree in trees[:30]]
    assert list(map(str, again.parse_all(words))) == list(map(str, lvg.parse_all(words)))  # type: ignore[attr-defined]
    assert again.log_prob_tree(trees[0]) == lvg.log_prob_tree(trees[0])  # type: ignore[attr-defined]
    smaller = lvg.trimmed()
    assert "-" in "".join(smaller.parse(words[0]).tree.tags())  # type: ignore[union-attr]


def test_a_stand_in_has_whole_tags(lvg: Lvg, trees: list[Tree]) -> None:
    names = {tag for tree in trees for tag in tree.tags()}
    limited = copy(lvg)
    limited.max_length = 3
    stand_in = limited.parse(trees[0].words())
    assert stand_in.status == "failed"
    assert stand_in.tree is not None
    assert set(stand_in.tree.tags()) <= names
    assert any("-" in tag for tag in stand_in.tree.tags())


@pytest.mark.parametrize("kind", [GmLveg, LvgD, Cvg])
def test_other_kinds_with_such_a_pruner(kind: Any, lvg: Lvg, trees: list[Tree]) -> None:
    small = {"folds": 1, "epochs": 1} if kind is Cvg else {"epochs": 1}
    model = kind(pruner=lvg, **small).fit(trees)
    whole = {tag for tree in trees for tag in tree.tags()}
    for tree in trees[:10]:
        found = model.parse(tree.words()).tree
        assert set(found.tags()) <= whole
        assert model.log_prob_tree(tree) > -np.inf
    again = model.parse(trees[0].words()).tree
    assert any("-" in tag for tag in again.tags())


def test_drawn_trees_have_whole_tags(lvg: Lvg, trees: list[Tree]) -> None:
    names = {tag for tree in trees for tag in tree.tags()}
    drawn = [lvg.sample(seed=seed) for seed in range(5)] + [lvg.sample(trees[0].words(), seed=1)]
    tags = {tag for parse in drawn for tag in (parse.tree.tags() if parse.tree is not None else [])}
    assert tags <= names
    assert any("-" in tag for tag in tags)


def test_a_product(lvg: Lvg, trees: list[Tree]) -> None:
    product = Product([lvg, Lvg(options=replace(QUICK, seed=1)).fit(trees)])
    found = product.parse(trees[0].words()).tree
    assert found is not None
    assert any("-" in tag for tag in found.tags())
    assert product.log_prob_tree(trees[0]) > -np.inf


def test_labels_may_be_cut_altogether(trees: list[Tree]) -> None:
    model = Pcfg(labels=LabelRules(tag_cuts="-")).fit(trees)
    assert model.fine is None


def test_the_report_counts_them(lvg: Lvg) -> None:
    names = lvg.fine.tags.names if lvg.fine is not None else ()
    told = f"{len(names)}; the rules have what stands before -"
    assert dict(report(lvg, Ask()).facts)["fine tags"] == told


def test_with_a_prior(trees: list[Tree]) -> None:
    """The lower bound never falls, or training would say so."""
    options = replace(QUICK, estimator="variational", prior=VariationalOptions(truncation=4))
    found = Lvg(options=options).fit(trees).parse(trees[0].words()).tree
    assert found is not None
    assert any("-" in tag for tag in found.tags())


def test_whole_tags_that_are_given(lvg: Lvg, trees: list[Tree]) -> None:
    """The grammar keeps to the coarse tag, and the tree has the whole one, likely or not."""
    words = tuple(trees[0].words())
    for place, tag in enumerate(trees[0].tags()):
        for given in {tag, "NN-a", "NN-u"}:
            found = lvg.parse(PartialTree(words, (Bracket(given, place, place + 1),)))
            assert found.tree is not None
            assert found.status == "recovered" or found.tree.tags()[place] == given
    with pytest.raises(LatreeError, match="whole tags are found last here; they can be given, not forbidden"):
        lvg.parse(PartialTree(words, (Bracket("NN-a", 0, 1, forbidden=True),)))
    with pytest.raises(LatreeError, match="a word has one tag"):
        lvg.parse(PartialTree(words, (Bracket("NN-a", 0, 1), Bracket("NN-u", 0, 1))))
