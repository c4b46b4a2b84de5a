"""Training holds BLAS to one thread and has cycles looked for less often, and sets both back."""

from __future__ import annotations

import gc

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import latree
from latree.learning.loop import Progress
from latree.learning.runtime import SELDOM, set_for_training


def threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def watched(train: list[latree.Tree]) -> list[tuple[set[int], int]]:
    """The threads, and how often cycles are looked for, while a grammar is trained."""
    seen: list[tuple[set[int], int]] = []

    def watch(progress: Progress) -> None:
        seen.append((threads(), gc.get_threshold()[0]))

    latree.Lvg(rounds=1).fit(train, latree.Training(watch))
    assert seen
    return seen


def test_training_has_one_thread_and_gives_the_others_back(train: list[latree.Tree]) -> None:
    with set_for_training(), threadpool_limits(2, user_api="blas"):
        if (before := threads()) != {2}:
            pytest.skip("the number of threads of this BLAS cannot be set")
        assert all(number == {1} for number, _ in watched(train))
        assert threads() == before


@pytest.mark.parametrize(("before", "within"), [(700, SELDOM), (0, 0), (2 * SELDOM, 2 * SELDOM)])
def test_cycles_are_looked_for_less_often(train: list[latree.Tree], before: int, within: int) -> None:
    """And not at all where that was so before."""
    usual = gc.get_threshold()
    try:
        gc.set_threshold(before, *usual[1:])
        assert all(often == within for _, often in watched(train))
        assert gc.get_threshold()[0] == before
    finally:
        gc.set_threshold(*usual)
