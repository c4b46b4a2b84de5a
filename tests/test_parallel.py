"""The pool of worker processes: set up once, in order, and gone when it should be."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from latree.arrays import Floats
from latree.cluster import PIECE, in_pieces
from latree.errors import LatreeError
from latree.learning.shards import SHARDS, Holder, Range, Shards, Sum, add_up, deal
from latree.parallel import AHEAD, Pool, Residents, interrupts_held


def keep(*state: int) -> list[int]:
    return list(state)


def add(state: list[int], number: int) -> int:
    time.sleep(0.02 * (number % 3 == 0))  # some take longer
    return sum(state) + number


def remember(state: list[int], number: int) -> list[int]:
    state.append(number)
    return state


def process_of(state: list[int], _: int) -> int:
    return os.getpid()


def die(state: list[int], number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def fail(state: list[int], number: int) -> int:
    raise LatreeError(f"a fault in {number}")


def sleep(state: list[int], seconds: float) -> None:
    time.sleep(seconds)


def test_results_come_in_order_from_workers_that_are_set_up() -> None:
    with Pool(2, keep, 40, 2) as pool:
        assert list(pool.stream(add, range(30))) == [42 + number for number in range(30)]
        assert os.getpid() not in set(pool.stream(process_of, range(4)))
    assert not multiprocessing.active_children()


def test_little_is_read_ahead() -> None:
    taken: list[int] = []

    def source() -> Iterator[int]:
        for number in range(1000):
            taken.append(number)
            yield number

    with Pool(2, keep) as pool:
        results = pool.stream(add, source())
        assert next(results) == 0
        assert len(taken) <= AHEAD * 2


def test_leaving_early_ends_the_workers_at_once() -> None:
    def first() -> Iterator[None]:
        with Pool(2, keep) as pool:
            yield from pool.stream(sleep, [0.0, 600.0, 600.0])

    start = time.monotonic()
    with closing(first()) as results:  # type: ignore[type-var]
        next(results)
        assert multiprocessing.active_children()
    assert time.monotonic() - start < 60
    assert not multiprocessing.active_children()


@pytest.mark.parametrize(("function", "told"), [(die, "a worker process died"), (fail, "a fault in 0")])
def test_faults_of_workers_are_told(function: object, told: str) -> None:
    with pytest.raises(LatreeError, match=told), Pool(2, keep) as pool:
        list(pool.stream(function, range(8)))  # type: ignore[arg-type]
    assert not multiprocessing.active_children()


def test_workers_do_not_mind_an_interrupt() -> None:
    with Pool(2, keep) as pool:
        results = pool.stream(add, range(40))
        assert next(results) == 0
        for worker in multiprocessing.active_children():
            assert worker.pid is not None
            os.kill(worker.pid, signal.SIGINT)
        assert list(results) == list(range(1, 40))


def test_residents_stay_with_their_states() -> None:
    with closing(Residents(2, keep, [(1,), (2, 3)])) as residents:
        assert residents.call(remember, 4) == [[1, 4], [2, 3, 4]]
        assert residents.call(remember, 5) == [[1, 4, 5], [2, 3, 4, 5]]
        with pytest.raises(LatreeError, match="a worker process died"):
            residents.one(1, die, 3)
    assert not multiprocessing.active_children()


def scaled(batches: Sequence[Floats], scale: float, parameters: Floats) -> tuple[float, Floats]:
    slope = np.sum([scale * batch * parameters for batch in batches], axis=0)
    return float(slope.sum()), slope


@pytest.mark.parametrize("threads", [False, True])
@pytest.mark.parametrize("count", [3, 2 * SHARDS + 1])
def test_sums_over_shards_do_not_depend_on_the_jobs(count: int, threads: bool) -> None:
    rng = np.random.default_rng(0)
    batches, parameters = [rng.standard_normal(5) for _ in range(count)], rng.standard_normal(5)
    alone = Shards(deal(batches), list)
    with closing(Shards(deal(batches), list, jobs=2, threads=threads)) as shards:
        for scale in (1.0, 1.0, 3.0):
            value, slope = shards.sum(scaled, scale, parameters)
            wanted, wanted_slope = alone.sum(scaled, scale, parameters)
            assert value == wanted == pytest.approx(scale * sum(float(batch @ parameters) for batch in batches))
            np.testing.assert_array_equal(slope, wanted_slope)


@pytest.mark.parametrize("threads", [False, True])
def test_shards_are_made_before_anything_is_fixed_and_this_process_has_some(threads: bool) -> None:
    with closing(Shards([[np.ones(2)], [np.ones(2)]], list, jobs=2, threads=threads)) as shards:
        shards.make()
        first, second = shards.each(process_of, None)
        assert first == os.getpid()
        assert (second == first) == threads


@pytest.mark.parametrize("jobs", range(1, 8))
def test_shards_are_added_up_in_one_order(jobs: int) -> None:
    """However they are dealt out: by holders that stand for the processes of so many jobs."""
    rng = np.random.default_rng(1)
    shards = [[part] for part in rng.standard_normal((7, 40)) * 10.0 ** rng.integers(-9, 9, (7, 40))]
    parameters = rng.standard_normal(40)
    bounds = [7 * k // jobs for k in range(jobs + 1)]
    sums: dict[Range, Sum] = {}
    for first, last in pairwise(bounds):
        holder = Holder(list, first, shards[first:last], 7)
        holder.take(1, 2.0)
        found = holder.sums(scaled, 1, (parameters,))
        assert found is not None
        sums |= found
    value, slope = add_up(sums, (0, 7))
    wanted, wanted_slope = Shards(shards, list).sum(scaled, 2.0, parameters)
    assert value == wanted
    assert slope.tobytes() == wanted_slope.tobytes()


def test_a_process_that_has_lost_what_is_fixed_gets_it_again() -> None:
    shards = Shards([[np.ones(2)], [np.ones(2)]], list, jobs=2)
    with closing(shards):
        assert shards.sum(scaled, 3.0, np.ones(2))[0] == 12.0
        assert shards.workers is not None
        shards.workers.one(1, Holder.take, 0, None)  # as one is that was started anew
        assert shards.sum(scaled, 3.0, np.ones(2))[0] == 12.0


def test_an_interrupt_that_was_held_comes_late() -> None:
    reached = []

    def interrupted() -> None:
        with interrupts_held():
            # To this thread: one sent to the process may be taken by another, which holds nothing back.
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)
            time.sleep(0.05)
            reached.append("the end")

    heard = signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell in the background has ignored
    try:
        with pytest.raises(KeyboardInterrupt):
            interrupted()
    finally:
        signal.signal(signal.SIGINT, heard)
    assert reached == ["the end"]
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, set())


def keep_waiting(jobs: int) -> None:
    """Have workers that wait for more to do, in a process that is to be killed."""
    residents = Residents(jobs, keep, [(k,) for k in range(jobs)])
    print(*residents.call(process_of, 0), flush=True)
    time.sleep(60)


def test_workers_end_with_the_process_that_they_work_for() -> None:
    command = [sys.executable, "-c", "from tests.test_parallel import keep_waiting\nkeep_waiting(3)"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        _, *workers = map(int, process.stdout.readline().split())
        process.kill()
    assert len(workers) == 2
    until = time.monotonic() + 30
    while any(is_running(worker) for worker in workers):
        assert time.monotonic() < until, "workers were left behind"
        time.sleep(0.05)


def is_running(process: int) -> bool:
    """Whether there is such a process, not only what is left of one until somebody asks how it ended."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{process}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize("size", [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 7])
@pytest.mark.parametrize("count", [1, 2, 3, 6])
def test_messages_in_pieces_are_whole_again(size: int, count: int) -> None:
    message = bytes(k % 251 for k in range(size))
    pieces = in_pieces(message, count)
    assert (len(pieces), b"".join(pieces)) == (count, message)
    assert all(len(piece) <= PIECE for piece in pieces[:-1])
