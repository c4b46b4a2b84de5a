"""Several processes: the same analyses in the same order, and workers that go when they should."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Iterator, Sequence
from itertools import chain, repeat

import pytest

from latree.errors import LatreeError
from latree.kinds.jobs import analyse_all
from latree.kinds.registry import load
from latree.kinds.sentences import BATCH
from tests.command import SLEEPS, model, toy_trees


def words(count: int) -> Iterator[Sequence[str]]:
    sentences = [tree.words() for tree in toy_trees("test")]
    return (sentences[k % len(sentences)] for k in range(count))


@pytest.mark.parametrize("kind", ["pcfg", "hmm"])
def test_several_jobs_give_what_one_gives(kind: str) -> None:
    parser = load(model(kind))
    parser.max_length, parser.threshold = 9, 1e-2  # the user's settings go to the workers too
    one, two = (list(analyse_all(parser, words(5 * BATCH + 3), jobs, "viterbi")) for jobs in (1, 2))
    assert {analysis.status for analysis in one} == {"ok", "failed"}
    assert [analysis.to_json() for analysis in one] == [analysis.to_json() for analysis in two]


def test_a_short_input_starts_no_worker() -> None:
    analyses = analyse_all(load(model("hmm")), words(BATCH), 2, "max-rule")
    assert len([(next(analyses), multiprocessing.active_children()) for _ in range(BATCH)][-1][1]) == 0
    assert list(analyses) == []


def test_input_is_read_no_further_than_needed() -> None:
    taken = 0

    def counted() -> Iterator[Sequence[str]]:
        nonlocal taken
        while True:
            taken += 1
            yield SLEEPS.split()

    for jobs, most in ((1, 2 * BATCH), (2, (1 + 4 * 2) * BATCH)):
        taken = 0
        analyses = analyse_all(load(model("hmm")), counted(), jobs, "max-rule")
        first = [next(analyses) for _ in range(BATCH)]
        assert (len(first), taken) == (BATCH, BATCH)
        next(analyses)
        assert taken <= most
        analyses.close()  # type: ignore[attr-defined]


def test_closing_ends_the_workers_at_once() -> None:
    long = ["the"] * 350  # half a second for each, and thirty-two in a batch
    sentences = chain(words(2 * BATCH), repeat(long))
    analyses = analyse_all(load(model("pcfg")), sentences, 2, "max-rule")
    for _ in range(BATCH + 1):
        next(analyses)
    assert multiprocessing.active_children()
    start = time.monotonic()
    analyses.close()  # type: ignore[attr-defined]
    assert time.monotonic() - start < 5
    assert not multiprocessing.active_children()


def test_workers_do_not_mind_an_interrupt() -> None:
    analyses = analyse_all(load(model("hmm")), words(40 * BATCH), 2, "max-rule")
    for _ in range(BATCH + 1):
        next(analyses)
    for worker in multiprocessing.active_children():
        assert worker.pid is not None
        os.kill(worker.pid, signal.SIGINT)
    assert len(list(analyses)) == 39 * BATCH - 1


def test_a_fault_in_the_input_ends_the_workers() -> None:
    def faulty() -> Iterator[Sequence[str]]:
        yield from words(3 * BATCH)
        raise LatreeError("a fault")

    with pytest.raises(LatreeError, match="a fault"):
        list(analyse_all(load(model("hmm")), faulty(), 2, "max-rule"))
    assert not multiprocessing.active_children()


def test_a_worker_that_dies_is_told() -> None:
    analyses = analyse_all(load(model("hmm")), words(10**5), 2, "max-rule")
    for _ in range(BATCH + 1):
        next(analyses)
    worker = multiprocessing.active_children()[0]
    assert worker.pid is not None
    os.kill(worker.pid, signal.SIGKILL)
    with pytest.raises(LatreeError, match="a worker process died"):
        list(analyses)
    assert not multiprocessing.active_children()
