"""The campaigns of faults, a little of each; and that they find what is wrong."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench.faults import inputs, leaks, sentences
from bench.faults.damage import DAMAGES, DEEP, LARGE, damaged
from bench.faults.frame import REFUSED, WORKED, Trial, WrongError, outcome, run_inside, write_log

from latree.cli.warm import small_model
from latree.errors import LatreeError


def test_inputs_that_are_made_wrong_are_read_or_refused() -> None:
    found = inputs.run([name for name in inputs.samples() if name != "berkeley.gr"], range(500), seed=7)
    assert found.wrong == []
    assert min(found.results[WORKED], found.results[REFUSED]) > 50


def test_very_deep_trees_are_read(tmp_path: Path) -> None:
    path = tmp_path / "trees.mrg"
    for data in (b"(S " * DEEP + b"(N x)" + b")" * DEEP, b"(S " * DEEP, b")" * DEEP):
        path.write_bytes(data)
        assert outcome(lambda: inputs.use_trees(path)) in (WORKED, REFUSED)


@pytest.mark.parametrize("damage", [*DAMAGES, *LARGE], ids=lambda damage: damage.__name__)
def test_damage_comes_again_by_its_seed(damage: Any) -> None:
    for data in (b"", b"(S (N x))\n(S (N y))\n"):
        one, other = (damage(data, np.random.default_rng(3)) for _ in range(2))
        assert one == other
    first, second = (damaged(data, np.random.default_rng([1, 2])) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("name", ["pcfg", "hmm"])
def test_hostile_sentences(name: str) -> None:
    assert sentences.run([name], 15, seed=3).wrong == []


class Dishonest:
    """A model that says something wrong of its answers."""

    certifies = False

    def __init__(self, **changes: Any) -> None:
        self.model, self.changes = small_model("pcfg"), changes

    def analyse(self, given: Any) -> Any:
        return [replace(one, **self.changes) for one in self.model.analyse(given)]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"log_joint": 0.0}, "a probability of"),
        ({"status": "recovered"}, "recovered because"),
        ({"log_marginal": math.nan}, "ok with log P"),
        ({"tokens": ("a",)}, "other tokens"),
        ({"log_joint": -1000.0, "tree": None}, "other words in the tree"),
    ],
)
def test_what_is_dishonest_is_found(changes: dict[str, Any], message: str) -> None:
    words = sentences.toy_sentences()[0]
    sentences.check(Dishonest(), words)
    with pytest.raises(WrongError, match=message):
        sentences.check(Dishonest(**changes), words)


def test_threads_and_forks() -> None:
    model = small_model("hmm")
    leaks.by_threads(model, 1)
    leaks.by_forks(model, 1)


# -- the frame


def fail(error: Exception) -> None:
    raise error


def test_a_log_tells_what_came_of_everything(tmp_path: Path) -> None:
    log = tmp_path / "log"
    errors: list[Exception] = [LatreeError("a"), MemoryError(), ValueError("two\nlines")]
    acts = [lambda: None, *(lambda error=error: fail(error) for error in errors)]
    write_log([Trial("group", "what\tis\ndone", act) for act in acts], log)
    told = [WORKED, REFUSED, REFUSED, "ValueError: two lines"]
    assert log.read_text(encoding="utf-8").splitlines() == [f"group\twhat is done\t{what}" for what in told]


def test_a_process_that_ends_is_told_with_what_it_did() -> None:
    found = run_inside("bench.faults.models", "--nonsense")
    assert found.results == {}
    assert "the process ended with 2" in found.wrong[0]
