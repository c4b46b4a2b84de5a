"""Subtypes against functions: what is counted, and how much either tells of the other."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from latree.compare.agreement import Agreement
from latree.compare.functions import NO_FUNCTION, functions_by_place, study_functions
from latree.kinds.lvg.model import Lvg
from latree.kinds.registry import load
from latree.text.labels import LabelRules
from latree.text.tree import Tree
from tests.command import latree, model, toy_trees


@pytest.mark.parametrize(
    ("table", "columns_told", "rows_told", "v_measure"),
    [
        ([[2.0, 0.0], [0.0, 2.0]], 100, 100, 100),
        ([[1.0, 1.0], [1.0, 1.0]], 0, 0, 0),
        ([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 2.0]], 100, 100, 100),
        ([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]], 50, 100, 200 / 3),
        ([[3.0], [5.0]], 100, 0, 0),
    ],
)
def test_what_rows_and_columns_tell(
    table: list[list[float]], columns_told: float, rows_told: float, v_measure: float
) -> None:
    agreement = Agreement.of(np.array(table))
    assert agreement.of_columns == pytest.approx(columns_told)
    assert agreement.of_rows == pytest.approx(rows_told)
    assert agreement.v_measure == pytest.approx(v_measure)


def test_functions_stand_at_places_by_their_category() -> None:
    tree = Tree.read("( (S (NP-SBJ-1 (NP (NN a))) (VP (VB b) (NP-TMP-CLR (NN c)))))")
    places = functions_by_place(tree, LabelRules())
    assert places["NP", 0, 1] == [NO_FUNCTION, "SBJ"]
    assert places["NP", 2, 3] == ["TMP-CLR"]


def with_functions(tree: Tree, parent: str = "") -> Tree:
    """The tree with SBJ on every NP under S."""
    if tree.word is not None:
        return tree
    label = f"{tree.label}-SBJ-1" if (parent, tree.label) == ("S", "NP") else tree.label
    return Tree(label, [with_functions(child, tree.label) for child in tree.children])


def test_every_node_of_every_tree_is_counted_once() -> None:
    grammar, trees = load(model("lvg")), [with_functions(tree) for tree in toy_trees("test")[:12]]
    assert isinstance(grammar, Lvg)
    study = study_functions(grammar, trees)
    derived = [tree for tree in trees if np.isfinite(grammar.log_prob_tree(tree))]
    assert (study.trees, study.derived) == (12, len(derived))
    counted = Counter(label for tree in derived for label, _, _ in tree.spans())
    (uses,) = study.uses
    totals = dict(zip(uses.functions, uses.counts.sum(0).tolist(), strict=True))
    assert totals == pytest.approx({"SBJ": counted["NP-SBJ-1"], NO_FUNCTION: counted["NP"]})


def test_show_tells_of_functions(tmp_path: Path) -> None:
    trees = tmp_path / "functions.mrg"
    trees.write_text("".join(f"{with_functions(tree)}\n" for tree in toy_trees("test")[:30]))
    told = latree("show", "-m", model("lvg"), "--functions", trees, "--symbol", "NP")
    assert "told by subtype" in told.out
    assert "SBJ" in told.out
    page = tmp_path / "functions.html"
    assert latree("show", "-m", model("lvg"), "--functions", trees, "--html", page).code == 0
    assert "Subtypes against functions" in page.read_text()
    assert json.loads(latree("show", "-m", model("lvg"), "--functions", trees, "--json").out)["sections"]


def test_what_cannot_be_shown_is_told(tmp_path: Path) -> None:
    trees = tmp_path / "plain.mrg"
    trees.write_text("".join(f"{tree}\n" for tree in toy_trees("test")[:3]))
    assert "no NP with functions" in latree("show", "-m", model("lvg"), "--functions", trees, "--symbol", "NP").err
    assert "for the subtypes of an lvg; this is a pcfg" in latree("show", "-m", model("pcfg"), "--functions", trees).err
    assert latree("show", "-m", model("lvg"), "--functions", trees, "--top", "3").code == 2
