"""The thread that does what all requests wait for: batches, turns, faults, limits."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event
from typing import Any, ClassVar

import pytest

from latree.errors import LatreeError
from latree.web.metrics import Metrics
from latree.web.worker import Job, Worker


class Held:
    """A task that waits until it is let go."""

    name: ClassVar[str] = "held"
    at_once: ClassVar[int] = 32

    def __init__(self) -> None:
        self.begun, self.go = Event(), Event()
        self.batches: list[list[Any]] = []

    def __call__(self, model: Any, sentences: Sequence[Any]) -> list[dict[str, Any]]:
        self.batches.append(list(sentences))
        self.begun.set()
        self.go.wait()
        if any(sentence == "bad" for sentence in sentences):
            raise LatreeError("bad")
        return [{"sentence": sentence} for sentence in sentences]


class HeldSingly(Held):
    """The same, of one sentence at a time."""

    at_once: ClassVar[int] = 1


def worker_held(most: int = 100, held: type[Held] = Held) -> tuple[Worker, Held, Job]:
    """A worker that is at something."""
    worker, task = Worker("none", None, most, Metrics()), held()  # type: ignore[arg-type]
    first = Job(task, ["first"])
    worker.submit(first)
    task.begun.wait()
    return worker, task, first


def test_what_waits_is_done_in_one_batch_in_turns() -> None:
    worker, task, _ = worker_held()
    large, small = Job(task, [f"large {k}" for k in range(40)]), Job(task, ["small 0", "small 1"])
    for job in (large, small):
        worker.submit(job)
    task.go.set()
    assert [one["sentence"] for one in large.future.result()] == large.sentences
    assert small.future.result() == [{"sentence": "small 0"}, {"sentence": "small 1"}]
    worker.close()
    assert task.batches[1][:5] == ["large 0", "small 0", "large 1", "small 1", "large 2"]
    assert [len(batch) for batch in task.batches] == [1, 32, 10]


def test_a_batch_has_the_work_of_one_long_sentence_at_most() -> None:
    worker, task, _ = worker_held()
    longest, long, short = ["word"] * 400, ["word"] * 100, ["word"] * 10
    for sentences in ([longest, long, long, long], [short, short]):
        job = Job(task, sentences)
        worker.submit(job)
    task.go.set()
    worker.close()
    assert task.batches[1:] == [[longest], [short, long, short, long], [long]]


def test_what_gains_nothing_from_batches_is_done_one_by_one_in_turns() -> None:
    worker, task, _ = worker_held(held=HeldSingly)
    large, small = Job(task, ["large 0", "large 1", "large 2"]), Job(task, ["small 0", "small 1"])
    for job in (large, small):
        worker.submit(job)
    task.go.set()
    worker.close()
    assert task.batches[1:] == [["large 0"], ["small 0"], ["large 1"], ["small 1"], ["large 2"]]


def test_of_a_request_that_was_given_up_nothing_more_is_done() -> None:
    worker, task, first = worker_held()
    job = Job(task, [["word"] * 150] * 5)
    worker.submit(job)
    first.future.add_done_callback(lambda _: job.future.cancel())
    task.go.set()
    worker.close()
    assert task.batches == [["first"]]


def test_other_tasks_have_their_turn() -> None:
    worker, task, _ = worker_held()
    other = Held()
    other.go.set()
    long, short = Job(task, ["long"] * 70), Job(other, ["short"])
    for job in (long, short):
        worker.submit(job)
    long.future.add_done_callback(lambda _: late.append(short.future.done()))
    late: list[bool] = []
    task.go.set()
    long.future.result()
    worker.close()
    assert late == [True]


def test_a_bad_sentence_fails_its_own_request_alone() -> None:
    worker, task, _ = worker_held()
    good, bad = Job(task, ["good"]), Job(task, ["fine", "bad", "fine"])
    for job in (bad, good):
        worker.submit(job)
    task.go.set()
    assert good.future.result() == [{"sentence": "good"}]
    with pytest.raises(LatreeError, match="bad"):
        bad.future.result()
    worker.close()


def test_after_a_fault_what_nobody_waits_for_is_left_out() -> None:
    worker, task, _ = worker_held()
    bad, gone = Job(task, ["bad", "fine"]), Job(task, ["gone"])
    for job in (bad, gone):
        worker.submit(job)
    bad.future.add_done_callback(lambda _: gone.future.cancel())
    task.go.set()
    worker.close()
    assert task.batches == [["first"], ["bad", "gone", "fine"], ["bad"]]


def test_a_full_queue_refuses_and_what_nobody_wants_is_not_done() -> None:
    worker, task, first = worker_held(most=2)
    waiting = Job(task, ["a", "b"])
    worker.submit(waiting)
    with pytest.raises(Exception, match="2 sentences wait already"):
        worker.submit(Job(task, ["c"]))
    waiting.future.cancel()
    last = Job(task, ["d"])
    worker.submit(last)
    task.go.set()
    last.future.result()
    worker.close()
    assert first.future.done()
    assert task.batches == [["first"], ["d"]]
    with pytest.raises(Exception, match="stopping"):
        worker.submit(Job(task, ["e"]))
