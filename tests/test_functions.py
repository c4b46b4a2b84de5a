"""Function labels: scored where the phrase is right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from latree.scoring.functions import functions_of, score_functions
from latree.text.tree import Tree
from tests.command import latree

GOLD = "(ROOT (S (NP-SBJ (NN a)) (VP (VB b) (NP (NN c)) (PP-LOC-CLR (IN d) (NP (NN e)))) (. .)))"


def score(*guesses: str | None, gold: str = GOLD) -> dict[str, dict[str, float]]:
    trees = [None if guess is None else Tree.read(guess) for guess in guesses]
    figures = score_functions([Tree.read(gold)] * len(trees), trees).to_json()
    return {"all": figures["all"], **figures["by_function"]}


@pytest.mark.parametrize(
    ("label", "functions"),
    [("NP", []), ("NP-SBJ-1", ["SBJ"]), ("PP-LOC-PRD=3", ["LOC", "PRD"]), ("-LRB-", []), ("NP--X", ["X"]), ("=", [])],
)
def test_functions_are_what_stands_after_the_category(label: str, functions: list[str]) -> None:
    assert functions_of(label) == functions


def test_a_tree_is_right_in_all_of_its_own_functions() -> None:
    figures = score(GOLD)
    assert list(figures) == ["all", "CLR", "LOC", "SBJ"]
    assert figures["all"] == {"precision": 100, "recall": 100, "f1": 100, "matched": 3, "gold": 3, "test": 3} | {
        "f1_found": 100,
        "found": 3,
    }


def test_a_function_counts_with_its_phrase_and_punctuation_does_not() -> None:
    # The PP has another span, the object is called a subject, and the full stop stands elsewhere.
    other = "(ROOT (S (NP-SBJ (NN a)) (VP (VB b) (NP-SBJ (NN c))) (PP-LOC (IN d)) (NP (NN e) (. .))))"
    figures = score(other)
    assert [figures["SBJ"][name] for name in ("gold", "test", "matched", "found")] == [1, 2, 1, 1]
    assert figures["SBJ"]["precision"] == 50
    assert [figures["LOC"][name] for name in ("gold", "test", "matched", "found")] == [1, 1, 0, 0]
    assert figures["all"]["recall"] == pytest.approx(100 / 3)
    assert figures["all"]["f1_found"] == pytest.approx(200 / 3)  # one of one gold function, one of two of the parse


def test_sentences_without_a_usable_parse_miss_all() -> None:
    shorter = "(ROOT (S (NP-SBJ (NN a))))"
    assert score(None, shorter)["all"] | {"gold": 6, "test": 0, "matched": 0} == score(None, shorter)["all"]


def test_eval_tells_functions_beside_the_same_brackets(tmp_path: Path) -> None:
    gold, parsed = tmp_path / "gold.mrg", tmp_path / "parsed.mrg"
    gold.write_text(GOLD + "\n")
    parsed.write_text(GOLD.replace("NP-SBJ", "NP-TMP-1") + "\n")
    plain = json.loads(latree("eval", gold, parsed, "--json").out)
    figures = json.loads(latree("eval", gold, parsed, "--json", "--functions").out)
    functions = figures.pop("functions")
    assert figures == plain
    assert functions["all"]["matched"] == 2
    assert set(functions["by_function"]) == {"SBJ", "TMP", "LOC", "CLR"}
    assert "TMP" in latree("eval", gold, parsed, "--functions").out


def test_tables_of_tags_have_no_functions(tmp_path: Path) -> None:
    table = tmp_path / "tags.conllu"
    table.write_text("1\ta\t_\tX\t_\t_\t_\t_\t_\t_\n\n")
    assert "--functions: for trees only" in latree("eval", table, table, "--functions").err


def test_parses_without_functions_are_told(tmp_path: Path) -> None:
    gold, parsed = tmp_path / "gold.mrg", tmp_path / "parsed.mrg"
    gold.write_text(GOLD + "\n")
    parsed.write_text(GOLD.replace("-SBJ", "").replace("-LOC-CLR", "") + "\n")
    assert "no function labels there" in latree("eval", gold, parsed, "--functions").err
