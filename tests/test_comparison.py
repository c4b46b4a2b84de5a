"""`latree compare`: its figures against counts by other ways, the terminal, the JSON and the page."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from latree.compare.comparison import (
    Comparison,
    best_f1,
    compare_grammars,
    complexity_of,
    overlap_matrix,
    same_best,
    shared_lists,
)
from latree.compare.report import comparison_report
from latree.compare.runs import Run, common_labels, run, run_all
from latree.errors import LatreeError
from latree.kinds.gm_lveg import GmLvegOptions
from latree.kinds.gm_lveg.model import GmLveg
from latree.kinds.jobs import pack, unpack
from latree.kinds.lvg import LvgOptions
from latree.kinds.lvg.model import Lvg
from latree.kinds.lvg_d.model import LvgD
from latree.kinds.parser import Parser
from latree.kinds.pcfg.model import Pcfg
from latree.kinds.product.model import Product
from latree.kinds.svs.model import Svs
from latree.report.html import page
from latree.report.value import Report, Table
from latree.scoring.evalb import Summary, score_pair
from latree.text.labels import LabelRules
from latree.text.tree import Tree
from tests.command import done, latree, model, toy_trees, write_conllu
from tests.pages import EVIL, Reader

NO_PRODUCT = "a pcfg cannot be multiplied; these kinds can: gm-lveg, lvg, lvg-d, neural"
QUICK = LvgOptions(split_iterations=4, merge_iterations=3, smooth_iterations=2)
K = 10


@cache
def _lvg(seed: int) -> Lvg:
    return Lvg(rounds=2, seed=seed, options=QUICK).fit(toy_trees("dev"))


@cache
def _pcfg() -> Pcfg:
    return Pcfg().fit(toy_trees("dev"))


def _gold() -> list[Tree]:
    return toy_trees("test")[:40]


@cache
def _twins() -> Comparison:
    return compare_grammars({"a": _lvg(0), "b": _lvg(1)}, _gold(), K)


@cache
def _mixed() -> Comparison:
    return compare_grammars({"pcfg": _pcfg(), EVIL: _lvg(0)}, _gold(), K)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("comparison")
    paths = folder / "a.latree", folder / "b.latree"
    for seed, path in enumerate(paths):
        _lvg(seed).save(path)
    return paths


@pytest.fixture(scope="module")
def gold(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("gold") / "gold.mrg"
    path.write_text("".join(f"{tree}\n" for tree in _gold()), encoding="utf-8")
    return path


# --- overlap and oracles


def test_a_model_agrees_with_itself() -> None:
    twice = compare_grammars({"a": _pcfg(), "b": _pcfg()}, _gold()[:10], K)
    assert twice["same_best"] == twice["shared_lists"] == [[1, 1], [1, 1]]


def _run(*lists: str) -> Run:
    """A model's lists of trees, a letter each: the label of the tree."""
    trees = {label: Tree.read(f"(ROOT ({label} (NN x)))") for label in "ABCD"}
    return Run([{label: trees[label] for label in labels} for labels in lists], 0, 1.0)


def test_overlaps_are_symmetric_shares() -> None:
    runs = [_run("ABC", "AB"), _run("ACD", "BA"), _run("D", "BC")]
    for overlap, expected in (
        (same_best, [[1, 0.5, 0], [0.5, 1, 0.5], [0, 0.5, 1]]),
        (shared_lists, [[1, 5 / 6, 0.25], [5 / 6, 1, 0.75], [0.25, 0.75, 1]]),
    ):
        np.testing.assert_allclose(overlap_matrix(runs, overlap), expected)


def test_lists_are_shared_by_the_shorter_one() -> None:
    assert shared_lists(_run("ABC"), _run("BA")) == 1.0
    assert (shared_lists(_run("ABC"), _run("C")), shared_lists(_run("BA"), _run("C"))) == (1.0, 0.0)


def test_lists_of_one_overlap_as_the_best_trees_do() -> None:
    found = compare_grammars({"a": _lvg(0), "b": _pcfg()}, _gold()[:10], 1)
    assert found["same_best"] == found["shared_lists"]
    assert found["models"][0]["oracle_f1"] == pytest.approx(found["models"][0]["f1_strict"])


def test_the_best_tree_leads_its_list_of_different_trees() -> None:
    sentences = [tree.words() for tree in _gold()[:5]]
    own = run(_lvg(0), sentences, K)
    assert own.best == [one.tree for one in _lvg(0).parse_all(sentences)]
    assert all(len(trees) == len(set(trees.values())) <= K for trees in own.lists)
    assert (own.stand_ins, own.cpu_seconds > 0) == (0, True)


@pytest.mark.parametrize("compare", [_twins, _mixed])
def test_oracles_are_at_least_as_good_as_the_best_trees(compare: Any) -> None:
    for one in compare()["models"]:
        assert one["f1_strict"] - 1e-9 <= one["oracle_f1"] <= 100.0


def test_the_best_choice_together_is_found() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        gold, test = rng.integers(1, 12, 3), rng.integers(1, 12, (3, 4))
        choices = [np.column_stack([rng.integers(0, np.minimum(g, t) + 1), t]) for g, t in zip(gold, test, strict=True)]
        totals = (np.sum(one, axis=0) for one in product(*choices))
        best = max(2 * matched / (gold.sum() + tests) for matched, tests in totals)
        assert best_f1(choices, int(gold.sum())) == pytest.approx(best)


# --- scores


@pytest.mark.parametrize("compare", [_twins, _mixed])
def test_labels_add_up_to_the_whole(compare: Any) -> None:
    report = comparison_report(compare(), "gold")
    (table,) = (block for block in _tables(report) if block.title.startswith("F1 by label"))
    gold = [int(str(row[1]).replace(",", "")) for row in table.rows]
    assert gold == sorted(gold, reverse=True)
    for one in compare()["models"]:
        matched, right, test = (
            sum(row[name] for row in one["by_label"].values()) for name in ("matched", "gold", "test")
        )
        assert sum(gold) == right
        assert one["recall_strict"] == pytest.approx(100 * matched / right)
        assert one["precision_strict"] == pytest.approx(100 * matched / test)


def test_scores_are_those_of_evalb() -> None:
    trees = [one.tree for one in _lvg(0).parse_all(tree.words() for tree in _gold())]
    pairs = zip(_gold(), trees, strict=True)
    wrapped = [(Tree("TOP", gold.children), Tree("TOP", tree.children)) for gold, tree in pairs if tree is not None]
    expected = Summary([score_pair(*pair) for pair in wrapped])
    scores = _twins()["models"][0]
    assert scores["f1"] == expected.f1
    assert (scores["exact"], scores["tag_accuracy"]) == (expected.exact, expected.tag_accuracy)


# --- products


def _names(comparison: Comparison) -> list[str]:
    return [one["name"] for one in comparison["models"]]


def test_the_product_is_one_more_model() -> None:
    assert (_names(_twins()), _twins()["no_product"]) == (["a", "b", "product"], None)
    assert len(_twins()["complexity"]["phrases"]["NP"]["parameters"]) == 2
    spent = [one["parameters"] for one in _twins()["models"]]
    assert spent[2] == spent[0] + spent[1]


def test_a_product_leaves_its_members_as_they_are() -> None:
    before = _lvg(0).cascade
    both = Product([_lvg(0), _lvg(1)])
    assert both.cascade != before == _lvg(0).cascade


def test_models_that_cannot_be_multiplied() -> None:
    assert (_names(_mixed()), _mixed()["no_product"]) == (["pcfg", EVIL], NO_PRODUCT)
    other = Lvg(rounds=1, options=QUICK).fit(toy_trees("test"))
    found = compare_grammars({"a": _lvg(0), "b": other}, _gold()[:4], 2)
    assert "other symbols or rules" in str(found["no_product"])


# --- complexity


def test_a_pcfg_has_as_many_parameters_as_rules() -> None:
    grammar = _pcfg().grammar
    by_parent = Counter(grammar.symbols[parent].label for parent, _, _ in grammar.rules.tolist())
    spent = complexity_of([_pcfg()])
    assert {label: one["parameters"] for label, one in spent["phrases"].items()} == {
        label: [number] for label, number in by_parent.items()
    }
    assert {label: one["parameters"] for label, one in spent["tags"].items()} == {
        tag.label: [0] for tag in grammar.tags
    }


def test_parameters_of_subtypes_are_cells_that_are_not_zero() -> None:
    one = _lvg(0)
    expected = np.zeros(len(one.size), np.int64)
    for rule, (parent, _, _) in enumerate(one.grammar.rules.tolist()):
        expected[parent] += np.count_nonzero(one.layout.tensor(one.theta, rule))
    assert one.complexity().tolist() == expected.tolist()
    whole = _twins()["models"][0]
    assert (whole["parameters"], whole["subtypes"]) == (int((one.theta > 0).sum()), int(one.size.sum()))
    phrase, part = (
        one.grammar.index[s] for s in one.grammar.symbols if s.label == "VP" and s.kind in ("phrase", "part")
    )
    spent = complexity_of([one, _pcfg()])["phrases"]["VP"]
    assert spent["subtypes"] == [one.size[phrase], 1]
    assert spent["parameters"][0] == expected[phrase] + expected[part]


def test_parameters_of_mixtures_are_all_their_numbers() -> None:
    one = GmLveg(pruner=_pcfg(), options=GmLvegOptions(epochs=0, start="treebank"))
    one.fit(toy_trees("dev"))
    slots = one.components.slot[: int(one.components.first[len(one.grammar.rules)])]
    dim = one.mixtures.mean.shape[1] + one.mixtures.log_sd.shape[1]
    assert one.complexity().sum() == len(slots) + (slots >= 0).sum() * dim
    assert complexity_of([one, _pcfg()])["phrases"]["NP"]["subtypes"] == [None, 1]


def _svs() -> Svs:
    return Svs(headwords=10, clusters=2, refinements=0).fit(toy_trees("dev"))


def _lvg_d() -> LvgD:
    return LvgD(epochs=0, pruner=_lvg(0)).fit(toy_trees("dev"))


@pytest.mark.parametrize("make", [_svs, _lvg_d])
def test_every_kind_says_what_it_spends(make: Callable[[], Parser]) -> None:
    parser = make()
    spent = complexity_of([parser])["phrases"].values()
    parameters, first_tag = parser.complexity(), parser.grammar.first_tag
    assert sum(one["parameters"][0] for one in spent) == parameters[:first_tag].sum() > 0
    assert all(one["subtypes"] != [None] for one in spent)


def test_a_grammar_beside_one_of_mixtures(tmp_path: Path, saved: tuple[Path, Path]) -> None:
    """Their product has no number of subtypes, since one of them has a space of them."""
    GmLveg(pruner=_lvg(0), options=GmLvegOptions(epochs=0)).fit(toy_trees("dev")).save(tmp_path / "gm.latree")
    few = tmp_path / "few.mrg"
    few.write_text("".join(f"{tree}\n" for tree in _gold()[:3]), encoding="utf-8")
    arguments = ("compare", "-m", saved[0], "-m", tmp_path / "gm.latree", few, "--kbest", "2")
    found = json.loads(done(*arguments, "--json").out)
    assert [one["subtypes"] for one in found["models"]] == [int(_lvg(0).size.sum()), None, None]
    parameters = [one["parameters"] for one in found["models"]]
    assert parameters[2] == parameters[0] + parameters[1]
    assert done(*arguments).out


# --- faults


def test_models_of_different_label_rules() -> None:
    other = Pcfg(labels=LabelRules(tag_cuts="-")).fit(toy_trees("dev"))
    with pytest.raises(LatreeError, match="a and b were trained with different label rules"):
        common_labels({"a": _pcfg(), "b": other})


def test_too_little_to_compare() -> None:
    with pytest.raises(LatreeError, match="two models or more"):
        compare_grammars({"a": _pcfg()}, _gold())


# --- processes


def test_another_process_says_the_same() -> None:
    sentences = [tree.words() for tree in _gold()[:3]]
    here, apart = (list(run_all([_pcfg()], sentences, 3, jobs)) for jobs in (1, 2))
    assert [one.lists for one in here] == [one.lists for one in apart]


def test_a_model_as_data_keeps_its_options() -> None:
    both = Product([_lvg(0), _lvg(1)])
    sentences = [_gold()[0].words()]
    other = unpack(pack(both))
    assert isinstance(other, Product)
    assert run(other, sentences, 3).lists == run(both, sentences, 3).lists


# --- the command


def test_the_json(saved: tuple[Path, Path], gold: Path) -> None:
    found = json.loads(done("compare", "-m", saved[0], "-m", saved[1], gold, "--kbest", str(K), "--json").out)
    assert set(found) == {
        *("gold", "sentences", "kbest", "models", "no_product", "same_best", "shared_lists", "complexity")
    }
    assert (found["gold"], found["sentences"], found["kbest"], found["no_product"]) == (str(gold), 40, K, None)
    assert [one["name"] for one in found["models"]] == ["a", "b", "product"]
    for one, expected in zip(found["models"], _twins()["models"], strict=True):
        assert set(one) >= {"kind", "f1", "exact", "f1_strict", "oracle_f1", "parameters", "subtypes", "by_label"}
        assert set(one) >= {"sentences_per_cpu_second", "stand_ins", "by_length", "skipped_sentences"}
        assert (one["f1"], one["oracle_f1"]) == (expected["f1"], expected["oracle_f1"])
    assert found["same_best"] == _twins()["same_best"]
    assert set(found["complexity"]) == {"phrases", "tags"}
    assert found["complexity"]["tags"]["NN"]["parameters"] == [0, 0]
    assert len(found["complexity"]["phrases"]["NP"]["subtypes"]) == 2


def test_f1_is_that_of_parse_and_eval(saved: tuple[Path, Path], gold: Path, tmp_path: Path) -> None:
    parsed = tmp_path / "parsed.mrg"
    parsed.write_text(done("parse", "-m", saved[0], "-m", saved[1], gold).out)
    scores = json.loads(done("eval", gold, parsed, "--json").out)
    product = json.loads(done("compare", "-m", saved[0], "-m", saved[1], gold, "--kbest", "1", "--json").out)["models"][
        2
    ]
    assert {name: product[name] for name in scores} == scores


def test_the_terminal(saved: tuple[Path, Path], gold: Path) -> None:
    lines = done("compare", "-m", saved[0], "-m", saved[1], gold, "--kbest", "3", "--max-length", "9").lines
    short = sum(len(tree.words()) <= 9 for tree in _gold())
    assert lines[:2] == [f"gold trees: {short} of {gold}", "lists: up to 3 trees a sentence"]
    titles = ("accuracy:", "size and speed:", "same best tree:", "shared among", "F1 by label:", "F1 by length:")
    for title in (*titles, "complexity of phrases:", "complexity of tags:"):
        assert any(line.startswith(title) for line in lines)
    assert sum(line.split()[:1] == ["product"] for line in lines) == 4


def test_no_product_is_told(saved: tuple[Path, Path], gold: Path) -> None:
    outcome = latree("compare", "-m", saved[0], "-m", model("pcfg"), gold, "--kbest", "1")
    assert (outcome.code, outcome.err) == (0, f"latree: no product of all: {NO_PRODUCT}\n")
    assert done("compare", "-m", saved[0], "-m", model("pcfg"), gold, "--kbest", "1", "--quiet").out


def test_the_same_file_twice(saved: tuple[Path, Path], gold: Path) -> None:
    found = json.loads(done("compare", "-m", saved[0], "-m", saved[0], gold, "--kbest", "2", "--json").out)
    assert [one["name"] for one in found["models"]] == ["a#1", "a#2", "product"]
    assert found["same_best"][0][1] == found["shared_lists"][0][1] == 1.0


def test_files_that_do_not_serve(saved: tuple[Path, Path], gold: Path, tmp_path: Path) -> None:
    empty, table = tmp_path / "empty.mrg", write_conllu(tmp_path / "a.conllu", _gold()[:2])
    empty.write_text("")
    two = ["-m", saved[0], "-m", saved[1]]
    faults: list[tuple[list[Any], str]] = [
        (["-m", saved[0], "-m", model("hmm"), gold], "a hmm model tags but does not parse; only parsers are compared"),
        (["-m", saved[0], "-m", tmp_path / "no.latree", gold], "no such model file"),
        ([*two, empty], "no trees: the file is empty"),
        ([*two, tmp_path / "no.mrg"], "cannot be read: No such file or directory"),
        ([*two, table], "CoNLL-U has no trees to compare parsers on"),
        ([*two, gold, "--max-length", "1"], "none of 40 sentences has up to 1 words"),
        ([*two, gold, "--html", tmp_path / "no" / "page.html"], "does not exist"),
    ]
    for arguments, message in faults:
        outcome = latree("compare", *arguments)
        assert (outcome.code, outcome.out) == (1, "")
        assert message in outcome.err
        assert outcome.err.count("\n") == 1
    one = latree("compare", "-m", saved[0], gold)
    assert one.code == 2
    assert "two models or more" in one.err


# --- the page


def _tables(report: Report) -> list[Table]:
    return [block for section in report.sections for block in section.blocks if isinstance(block, Table)]


@pytest.mark.parametrize("compare", [_twins, _mixed])
def test_the_page_has_all_tables_and_two_plots(compare: Any) -> None:
    report = comparison_report(compare(), EVIL)
    read, tables = Reader(page(report)), _tables(report)
    for table in tables:
        assert {column.head for column in table.columns} <= {*read.texts, ""}
        assert {cell for row in table.rows for cell in row if isinstance(cell, str)} <= set(read.texts)
    assert len(tables) == read.tags["table"] == 8
    assert read.tags["svg"] == 2
    assert read.tags["circle"] == len(compare()["models"])
    assert read.tags["rect"] == 2 * min(len(compare()["complexity"]["phrases"]), 12)
    assert read.links == {f"#{place}" for place in read.ids}


def test_the_page_of_models_without_parameters() -> None:
    models = [{**one, "parameters": 0, "subtypes": None} for one in _twins()["models"]]
    mute: Comparison = {**_twins(), "models": models, "complexity": {"phrases": {}, "tags": {}}}
    assert Reader(page(comparison_report(mute, "gold"))).tags["svg"] == 0


def test_the_page_is_written(saved: tuple[Path, Path], tmp_path: Path, gold: Path) -> None:
    path = tmp_path / "page.html"
    outcome = latree("compare", "-m", saved[0], "-m", saved[1], gold, "--kbest", "2", "--html", path)
    assert (outcome.code, outcome.err) == (0, f"latree: written to {path}\n")
    assert "Comparison of a, b" in Reader(path.read_text(encoding="utf-8")).texts
