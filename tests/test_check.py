"""`latree check`: odds against sums over all trees, rules and variations found by hand, the command and its page."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from bench.planted_errors import KINDS, Place, Planted, Ranked, plant, share_found

from latree.check.beliefs import Beliefs
from latree.check.doubts import Doubts
from latree.check.drawings import around_differences, both_drawn
from latree.check.findings import NO_BRACKET, Finding
from latree.check.nodes import Spot, differing, nodes_of, spots_of
from latree.check.report import check_page
from latree.check.treebank import check_treebank
from latree.check.variation import Source, variations
from latree.errors import LatreeError
from latree.experiments.recipes import Recipe
from latree.experiments.tasks import Ledger
from latree.kinds.pcfg.model import Pcfg
from latree.report.html import page
from latree.text.tree import Tree
from tests.command import done, toy_trees
from tests.command import latree as command
from tests.pages import Reader

RIGHT = Tree.read("(ROOT (S (NP (DT the) (NN dog)) (VP (VB sees) (NP (DT a) (NN cat))) (. .)))")
OTHER = Tree.read("(ROOT (S (NP (DT a) (NN cat)) (VP (VB sleeps)) (. .)))")
WRONG_TAG = Tree.read("(ROOT (S (NP (DT the) (NN dog)) (VP (NN sees) (NP (DT a) (NN cat))) (. .)))")
FLAT = Tree.read("(ROOT (S (NP (DT the) (NN dog)) (VP (VB sees) (DT a) (NN cat)) (. .)))")


@cache
def pcfg() -> Pcfg:
    return Pcfg().fit(toy_trees("train"))


@cache
def small() -> Pcfg:
    return Pcfg().fit([RIGHT, OTHER] * 5)


# -- beliefs and doubts


def test_a_node_is_as_likely_as_all_trees_that_have_it() -> None:
    beliefs = Beliefs(pcfg(), tuple(toy_trees("dev")[2].words()))
    likely = {spot: p for spot, p in beliefs.probabilities.items() if p > 0.01}
    assert any(spot.is_tag for spot in likely)
    for spot, probability in likely.items():
        assert math.exp(beliefs.log_prob(spot.bracket) - beliefs.log_prob()) == pytest.approx(probability, abs=1e-3)


def odds_among(trees: list[Any], kept: list[Spot], spot: Spot) -> tuple[float, float]:
    """Weights of all trees that have the kept nodes, without and with one more."""
    weights = [0.0, 0.0]
    for parse in trees:
        there = spots_of(parse.tree)
        if set(kept) <= set(there):
            weights[spot in there] += math.exp(parse.log_joint)
    return weights[0], weights[1]


LOW = Tree.read("(ROOT (S (NP (PRP he)) (VP (VB saw) (NP (NP (NN men)) (PP (IN with) (NP (NN dogs)))))))")
HIGH = Tree.read("(ROOT (S (NP (PRP he)) (VP (VB saw) (NP (NN men)) (PP (IN with) (NP (NN dogs))))))")
HIGH_LABEL = Tree.read(str(HIGH).replace("(PP (IN with)", "(NP (IN with)"))


def test_odds_are_those_of_all_trees_with_the_rest() -> None:
    parser = Pcfg().fit([LOW] * 30 + [HIGH, HIGH_LABEL])
    trees = parser.kbest(HIGH.words(), 3000, "viterbi")
    assert sum(one.probability for one in trees) == pytest.approx(1.0, abs=1e-6)
    spots, checked = spots_of(HIGH_LABEL), 0
    for finding in Doubts(parser, HIGH_LABEL).findings():
        if finding.given_rest is not None and finding.kind != "missing":
            spot = Spot(finding.gold, finding.start, finding.end, finding.kind == "tag")
            without, having = odds_among(trees, [one for one in spots if one != spot], spot)
            assert finding.given_rest == pytest.approx(math.log(without / having), abs=1e-2)
            without, having = odds_among(trees, [], spot)
            assert finding.given_words == pytest.approx(math.log(without / having), abs=1e-2)
            assert finding.score == min(finding.given_rest, finding.given_words or 0.0)
            checked += 1
    assert checked


def test_a_wrong_tag_and_a_dropped_bracket_are_told_with_what_is_expected() -> None:
    wrong, dropped = (max(Doubts(small(), one).findings(), key=lambda one: one.score) for one in (WRONG_TAG, FLAT))
    assert (wrong.kind, wrong.start, wrong.end, wrong.gold, wrong.expected) == ("tag", 2, 3, "NN", "VB")
    assert Tree.read(wrong.suggestion) == RIGHT
    doubts = [one for one in Doubts(small(), FLAT).findings() if one.kind == "missing"]
    assert [(one.start, one.end, one.gold, one.expected) for one in doubts] == [(3, 5, NO_BRACKET, "NP")]
    assert dropped.score > 0


def test_what_the_model_agrees_with_is_no_finding() -> None:
    assert list(Doubts(small(), RIGHT).findings()) == []


def test_labels_that_the_model_never_saw_are_told_with_their_rules() -> None:
    strange = Tree.read(str(RIGHT).replace("(DT a)", "(QQ a)"))
    findings = list(Doubts(small(), strange).findings())
    assert not [one for one in findings if one.gold == "QQ"]
    assert [one.gold for one in findings if one.kind == "rule"] == ["NP -> QQ NN"]


def test_a_rule_that_is_not_known_is_told_as_the_tree_has_it() -> None:
    (rule,) = (one for one in Doubts(small(), FLAT).findings() if one.kind == "rule")
    assert (rule.gold, rule.start, rule.end) == ("VP -> VB DT NN", 2, 5)
    assert rule.note == "VP -> @VP NN, @VP -> VB DT"


# -- variation


def naive_variations(sources: list[Source]) -> set[tuple[tuple[str, ...], frozenset[str]]]:
    """Words with one more on each side, and all ways in which they are annotated, of one word by its phrases alone."""
    spots = [defaultdict[tuple[int, int], list[str]](list) for _ in sources]
    for labels, source in zip(spots, sources, strict=True):
        for spot in spots_of(source.tree):
            if not spot.is_tag:
                labels[spot.span].append(spot.label)
    ways = defaultdict[tuple[str, ...], set[str]](set)
    for labels, source in zip(spots, sources, strict=True):
        words = ["", *source.tree.words(), ""]
        for start in range(len(words) - 2):
            for end in range(start + 1, len(words) - 1):
                ways[tuple(words[start : end + 2])].add("/".join(labels.get((start, end), [NO_BRACKET])))
    return {(words, frozenset(names)) for words, names in ways.items() if len(names) > 1}


def test_variations_are_all_words_that_are_annotated_unlike() -> None:
    trees = [*toy_trees("train")[:150], RIGHT, FLAT, WRONG_TAG]
    planted, _ = plant(trees, 60, 3)
    sources = [Source(tree, "", number) for number, tree in enumerate([*trees, *planted], start=1)]
    found = set()
    for one in variations(sources):
        if one.note.startswith("annotated"):
            words = ["", *Tree.read(one.tree).words(), ""]
            ways = frozenset(part.rpartition(" ")[0] for part in one.note.removeprefix("annotated ").split(", "))
            found.add((tuple(words[one.start : one.end + 2]), ways))
    assert found == naive_variations(sources)


def test_a_tag_that_is_rare_between_the_same_words_is_told() -> None:
    sources = [Source(tree, "a.mrg", number) for number, tree in enumerate([RIGHT, RIGHT, WRONG_TAG], start=1)]
    (finding,) = variations(sources)
    assert (finding.sentence, finding.start, finding.gold, finding.expected) == (3, 2, "NN", "VB")
    assert finding.elsewhere == ("VB: a.mrg:1", "VB: a.mrg:2")
    assert variations([one._replace(is_checked=one.sentence < 3) for one in sources]) == []


# -- treebanks


def test_every_tree_is_judged_by_a_model_of_the_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    learned: list[list[Tree]] = []
    trained = Recipe.trained

    def watched(recipe: Recipe, examples: Any, seed: int | None = None) -> Any:
        learned.append(list(examples))
        return trained(recipe, learned[-1], seed)

    monkeypatch.setattr(Recipe, "trained", watched)
    trees = [RIGHT, OTHER, RIGHT, OTHER, WRONG_TAG, OTHER]
    checked = check_treebank(trees, Pcfg(), folds=3, ledger=Ledger(tmp_path / "done"))
    assert learned == [[trees[k] for k in range(6) if k % 3 != fold] for fold in range(3)]
    assert checked.doubts[0].sentence == 5
    again = check_treebank(trees, Pcfg(), folds=3, ledger=Ledger(tmp_path / "done"))
    assert (again, len(learned)) == (checked, 3)


def test_trusted_trees_are_learned_from_and_not_checked() -> None:
    checked = check_treebank([WRONG_TAG], Pcfg(), trusted=[RIGHT, OTHER])
    assert {one.sentence for one in checked.findings} == {1}
    assert check_treebank([WRONG_TAG], Pcfg().fit([RIGHT, OTHER])).doubts == checked.doubts


def test_what_cannot_be_cut_is_told() -> None:
    with pytest.raises(LatreeError, match="2 trees cannot be cut into 5 folds"):
        check_treebank([RIGHT, OTHER], Pcfg())
    with pytest.raises(LatreeError, match="nothing to learn from"):
        check_treebank([RIGHT, OTHER], Pcfg(), folds=1)


def test_findings_survive_json() -> None:
    for one in check_treebank([WRONG_TAG, FLAT], small()).findings:
        data = json.loads(json.dumps(one.to_json()))
        assert Finding.from_json(data) == Finding.from_json(one.to_json())


# -- drawings


def test_nodes_that_differ_are_marked_in_both_trees() -> None:
    assert [WRONG_TAG.subtrees()[k].label for k in differing(WRONG_TAG, RIGHT)] == ["NN"]
    assert differing(FLAT, RIGHT) == []
    assert [RIGHT.subtrees()[k].label for k in differing(RIGHT, FLAT)] == ["NP"]
    assert [one.label for one in around_differences(RIGHT, FLAT)] == ["VP", "VP"]
    drawn = both_drawn(RIGHT, FLAT)
    assert [one.svg().count("<rect") for one in drawn] == [1, 0]
    assert [one.svg().count(">VB<") for one in drawn] == [1, 1]  # what differs is drawn in both, whichever has the node


def test_spots_are_where_their_nodes_are() -> None:
    words = RIGHT.words()
    assert all(node.words() == words[spot.start : spot.end] for spot, node in nodes_of(RIGHT))


# -- the command


def written(path: Path, *trees: Tree) -> Path:
    path.write_text("".join(f"{tree}\n" for tree in trees))
    return path


def test_the_command_tells_the_worst_first(tmp_path: Path) -> None:
    trees = written(tmp_path / "a.mrg", RIGHT, OTHER, WRONG_TAG)
    trust = written(tmp_path / "b.mrg", *[RIGHT, OTHER] * 3)
    options = ("--trust", trust, "--recipe", "pcfg", "--quiet")
    told = json.loads(done("check", trees, *options, "--json").out)
    assert {"sentence", "score", "gold", "expected"} <= set(told[0])
    assert [one["score"] for one in told] == sorted((one["score"] for one in told), reverse=True)
    assert {one["sentence"] for one in told} == {3}
    assert len(json.loads(done("check", trees, *options, "--json", "--most", "1").out)) == 1
    out = done("check", trees, *options, "--html", tmp_path / "a.html").out
    assert "the dog [sees] a cat" in out
    drawn = Reader((tmp_path / "a.html").read_text())
    assert drawn.tags["figure"] == 2 * len([one for one in told if one["kind"] == "tag"])


@pytest.mark.parametrize(
    "arguments", [("--folds", "1"), ("-m", "x.latree", "--folds", "2"), ("-m", "x.latree", "--recipe", "pcfg")]
)
def test_options_without_effect_are_refused(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert command("check", written(tmp_path / "a.mrg", RIGHT), *arguments).code == 2


def test_a_page_shows_hostile_words_as_words() -> None:
    hostile = Tree.read(str(WRONG_TAG).replace("dog", "<script>"))
    text = page(check_page(check_treebank([hostile], small()), "<b>", 5))
    assert "<script>" in "".join(Reader(text).texts)


# -- planted errors


def test_planted_errors_change_trees_and_not_words(dev: list[Tree]) -> None:
    changed, planted = plant(dev, 40, 7)
    assert [tree.words() for tree in changed] == [tree.words() for tree in dev]
    touched = {place.sentence for one in planted for place in one.places}
    assert {number for number, tree in enumerate(changed) if tree != dev[number]} == touched
    assert [one.kind for one in planted] == [*KINDS] * 10
    assert plant(dev, 40, 7) == (changed, planted)


def test_an_error_is_found_where_its_place_is_within_the_share() -> None:
    planted = [Planted("tag", frozenset({Place(0, 2, 3, True)})), Planted("label", frozenset({Place(1, 0, 2)}))]
    ranked = Ranked([Place(0, 2, 3, True), Place(0, 0, 1), Place(1, 0, 2)], 10)
    assert [share_found(planted, ranked, share) for share in (0.05, 0.1, 0.2, 0.3)] == [0.0, 0.5, 0.5, 1.0]
