"""Recipes read from the command line, and tasks that are done once."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from latree.cli.recipes import read_recipe
from latree.errors import LatreeError
from latree.experiments.tasks import Ledger, key_of, run_tasks
from latree.kinds.lvg import LvgOptions
from latree.kinds.options import TagOptions


def test_a_recipe_has_the_options_that_train_would_have() -> None:
    recipe = read_recipe("lvg --rounds 2 --seed 7")
    assert recipe.kind == "lvg"
    assert recipe.options == LvgOptions(rounds=2, seed=7)
    assert recipe.untrained(seed=3).options == LvgOptions(rounds=2, seed=3)


def test_a_recipe_for_tags_makes_a_tagger() -> None:
    recipe = read_recipe("gm-lveg", "xpos")
    assert isinstance(recipe.options, TagOptions)
    assert recipe.options.column == "xpos"
    assert recipe.untrained().kind == "gm-lveg-tagger"


@pytest.mark.parametrize(
    "text",
    ["", "best", "lvg --no-such", "lvg --seed many", "lvg --rounds", "pcfg --rounds 2", "lvg 'open", "lvg extra"],
)
def test_what_is_no_recipe_is_told_as_a_fault_of_the_command_line(text: str) -> None:
    with pytest.raises(typer.BadParameter):
        read_recipe(text)


def test_kinds_that_do_not_do_what_is_asked_are_told() -> None:
    with pytest.raises(LatreeError, match="a hmm tags"):
        read_recipe("hmm")


# -- tasks


def halved(shared: list[int], task: int) -> int:
    shared.append(task)
    return task // 2


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_come_in_the_order_of_the_tasks_and_are_kept(tmp_path: Path, jobs: int) -> None:
    file, tasks = tmp_path / "ledger", {key_of("task", n): n for n in (8, 6, 4)}
    assert list(run_tasks(halved, tasks, jobs, Ledger(file), list)) == [4, 3, 2]
    assert list(run_tasks(_never, tasks, jobs, Ledger(file), list)) == [4, 3, 2]


def test_tasks_of_the_same_key_are_done_once() -> None:
    listed, done = [("a", 8), ("b", 6), ("a", 8), ("c", 4), ("b", 6)], list[int]()
    assert list(run_tasks(halved, listed, 1, Ledger(None), lambda kept: kept, done)) == [4, 3, 4, 2, 3]
    assert done == [8, 6, 4]


def _never(shared: list[int], task: int) -> int:
    raise AssertionError("this was done before")


def test_a_line_that_was_cut_is_done_again(tmp_path: Path) -> None:
    file, tasks = tmp_path / "ledger", {str(n): n for n in (8, 6, 4)}
    list(run_tasks(halved, tasks, 1, Ledger(file), list))
    whole = file.read_bytes()
    for end in range(len(whole)):
        file.write_bytes(whole[:end])
        done: list[int] = []
        assert list(run_tasks(halved, tasks, 1, Ledger(file), lambda kept: kept, done)) == [4, 3, 2]
        assert done == [8, 6, 4][whole[:end].count(b"\n") :]
        assert file.read_bytes() == whole


def test_a_file_of_other_lines_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "ledger"
    for text in ("something else\n", "7\n", '["key"]\n'):
        file.write_text(text)
        with pytest.raises(LatreeError, match="ledger:1: no line that latree wrote"):
            Ledger(file)
        assert file.read_text() == text
