"""Cross-validation: what is held out, what is summed up, and what the command prints."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean, stdev

import pytest

import latree
from latree.data import toy
from latree.errors import LatreeError
from latree.experiments.cross_validation import CrossValidation, blocks, cross_validate, holm
from latree.experiments.held_out import score
from latree.experiments.recipes import Recipe
from latree.scoring.score import compare
from latree.text.tree import Tree
from tests.command import done, write_conllu
from tests.command import latree as run

FEW = 45


@pytest.fixture(scope="module")
def treebank(train: list[Tree], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cv") / "few.mrg"
    path.write_text("".join(f"{tree}\n" for tree in train[:FEW]))
    return path


@pytest.mark.parametrize(("count", "folds"), [(10, 10), (10, 3), (7, 2)])
def test_folds_are_blocks_that_hold_everything_once(count: int, folds: int) -> None:
    parts = blocks(count, folds)
    assert [k for part in parts for k in part] == list(range(count))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.parametrize(("count", "folds"), [(5, 6), (5, 1), (0, 2)])
def test_folds_that_cannot_be_made_are_told(count: int, folds: int) -> None:
    with pytest.raises(LatreeError, match=f"{count} examples"):
        blocks(count, folds)


def test_p_values_are_adjusted_as_holm_has_it() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([0.2]) == [0.2]


def test_every_fold_is_scored_by_a_model_of_the_others(train: list[Tree]) -> None:
    found = cross_validate([latree.Pcfg(), latree.Pcfg(unknown="single")], train[:30], 3)
    for k, part in enumerate(found.folds):
        others = [tree for place, tree in enumerate(train[:30]) if place not in part]
        expected = score(latree.Pcfg().fit(others), train[part.start : part.stop])
        assert found.results[0][k][0]["figures"]["f1"] == expected.to_json()["f1"]
    values = found.by_fold(0, "f1")
    assert found.spread(0, "f1") == (fmean(values), stdev(values))
    (difference,) = found.differences()
    assert (difference.first, difference.second) == ("pcfg", "pcfg unknown=single")
    assert difference.test == compare(found.counts(0), found.counts(1))


def test_counts_are_summed_over_seeds() -> None:
    recipes = [Recipe.of(latree.Pcfg()), Recipe.of(latree.Lvg())]
    figures = {"f1": 50.0}
    plain = [[{"figures": figures, "counts": [(1, 2, 3)]}]]
    drawn = [[{"figures": figures, "counts": [(k, 2, 2)]} for k in (0, 2)]]
    found = CrossValidation(recipes, [range(1)], [plain, drawn])  # type: ignore[list-item]
    assert found.counts(0) == [(2, 4, 6)]
    assert found.counts(1) == [(2, 4, 4)]


def test_the_command_goes_on_and_does_not_depend_on_jobs(treebank: Path, tmp_path: Path) -> None:
    arguments: list[str | Path] = ["cv", treebank, "--recipe", "pcfg", "--recipe", "pcfg --unknown single"]
    arguments += ["--folds", "3", "--quiet"]
    ledger = tmp_path / "done"
    first = done(*arguments, "--json", "--resume", ledger)
    told = json.loads(first.out)
    assert [one["recipe"] for one in told["recipes"]] == ["pcfg", "pcfg --unknown single"]
    assert [fold["last"] for fold in told["folds"]] == [15, 30, 45]
    assert len(told["differences"]) == 1
    lines = ledger.read_text().splitlines()
    assert len(lines) == 6
    ledger.write_text("".join(f"{line}\n" for line in lines[:4]))
    assert done(*arguments, "--json", "--resume", ledger, "--jobs", "2") == first
    assert done(*arguments, "--json", "--resume", ledger) == first


def test_a_table_and_a_page(treebank: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    told = done("cv", treebank, "--recipe", "pcfg", "--folds", "2", "--quiet", "--html", page)
    assert "recipe" in told.out
    assert "±" in told.out
    assert "Differences" not in told.out
    assert "F1 by fold" in page.read_text()


def test_taggers_of_tables(train: list[Tree], tmp_path: Path) -> None:
    table = write_conllu(tmp_path / "few.conllu", train[:FEW])
    told = json.loads(done("cv", table, "--recipe", "hmm", "--folds", "2", "--json", "--quiet").out)
    assert 0 < told["recipes"][0]["token"]["mean"] <= 100


def test_taggers_of_trees(train: list[Tree]) -> None:
    found = cross_validate(latree.Hmm(), train[:20], 2)
    expected = latree.Hmm().fit(train[10:20]).tag(train[0].words())
    right = sum(tag == gold for tag, gold in zip(expected, train[0].tags(), strict=True))
    assert found.counts(0)[0] == (right, len(expected), len(expected))


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["--recipe", "pcfg", "--seeds", "2"], 2, "--seeds has no effect"),
        (["--recipe", "hmm"], 1, "a hmm tags"),
        (["--recipe", "pcfg", "--recipe", "pcfg"], 1, "given twice"),
        (["--recipe", "pcfg", "--recipe", "pcfg --labels raw"], 1, "different rules"),
        (["--recipe", "pcfg", "--folds", "99"], 1, "not 99"),
        (["--recipe", "pcfg", "--column", "upos"], 2, "--column is for CoNLL-U"),
        (["--recipe", "pcfg", "--html", "no/where.html"], 1, "does not exist"),
    ],
)
def test_what_cannot_be_done_is_told(treebank: Path, arguments: list[str], code: int, complaint: str) -> None:
    outcome = run("cv", treebank, *arguments)
    assert outcome.code == code
    assert complaint in outcome.err


def test_trees_and_tables_are_not_mixed(train: list[Tree], tmp_path: Path) -> None:
    table = write_conllu(tmp_path / "few.conllu", train[:3])
    assert "cannot be learned from together" in run("cv", toy("dev"), table).err
