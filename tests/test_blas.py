"""Training holds BLAS to one thread, and gives it back its own number."""

from __future__ import annotations

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import latree
from latree.learning.blas import one_thread
from latree.learning.loop import Progress


def threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_training_has_one_thread_and_gives_the_others_back(train: list[latree.Tree]) -> None:
    seen: list[set[int]] = []

    def watch(progress: Progress) -> None:
        seen.append(threads())

    with one_thread(), threadpool_limits(2, user_api="blas"):
        if (before := threads()) != {2}:
            pytest.skip("the number of threads of this BLAS cannot be set")
        latree.Lvg(rounds=1).fit(train, latree.Training(watch))
        assert threads() == before
    assert seen
    assert all(number == {1} for number in seen)
