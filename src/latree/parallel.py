"""One pool of workers for everything: sentences, sums over treebanks, comparisons of models.

Workers are set up once, and what they give comes in the order of what they were given, so that nothing depends on how
many there are, nor on whether they are here or on a cluster (`cluster`).  They never see Ctrl-C, which a terminal sends
to all; whoever leaves a pool with an error, or before its end, stops them at once.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from itertools import starmap
from multiprocessing import resource_tracker
from threading import Thread
from typing import Any, Protocol, Self, TypeVar

from latree.cluster import Actors, Cluster
from latree.errors import LatreeError

Item = TypeVar("Item")
Result = TypeVar("Result")

DIED = "a worker process died, perhaps for want of memory; try fewer --jobs, or leave out the longest sentences"
AHEAD = 4  # items for each worker that are taken before the first result is given

_state: Any  # what a worker was set up with


Jobs = int | Cluster  # processes of this machine, or workers on a cluster


def how_many(jobs: Jobs) -> int:
    """How many workers there are to be."""
    return jobs if isinstance(jobs, int) else jobs.size


def crews_of(jobs: Jobs, threads: bool) -> list[int]:
    """The threads of each worker: one, or where `threads` will do, all that there are to be on its machine."""
    if not threads:
        return [1] * how_many(jobs)
    return [jobs] if isinstance(jobs, int) else jobs.machines


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Processes:
    """Processes of this machine."""

    def __init__(self, workers: int, make: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the workers are the parallelism
        context = multiprocessing.get_context("spawn")
        self._executor = ProcessPoolExecutor(workers, context, _set_up, (make, arguments))

    def submit(self, function: Callable[..., Result], arguments: tuple[Any, ...]) -> Future[Result]:
        return self._submit(_call, function, arguments)

    def _submit(self, function: Callable[..., Result], *arguments: Any) -> Future[Result]:
        with interrupts_held():
            return self._executor.submit(function, *arguments)

    def shutdown(self) -> None:
        self._executor.shutdown()

    def stop(self) -> None:
        for worker in list((self._executor._processes or {}).values()):
            worker.terminate()
        self._executor.shutdown(wait=True, cancel_futures=True)


class ProcessAhead(Processes):
    """A process that is started before it is known what it will keep, and imports a module meanwhile."""

    def __init__(self, module: str) -> None:
        super().__init__(1, tuple, ())
        self._submit(import_module, module)

    def keep(self, make: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        """Have it keep what `make(*arguments)` gives, and nothing else."""
        self._submit(_keep, make, arguments)


class JobsAhead(int):
    """A number of jobs, some of whose processes were started already."""

    ready: list[ProcessAhead]


@contextmanager
def started_ahead(jobs: Jobs, most: int, module: str) -> Iterator[Jobs]:
    """Have at most so many processes begin, and import a module, while this one makes ready what they will work on.

    The jobs that come of it are to be used in the place of those given; processes that nobody took are ended.
    """
    if not isinstance(jobs, int):  # a cluster has processes that wait
        yield jobs
        return
    ahead = JobsAhead(jobs)
    ahead.ready = [ProcessAhead(module) for _ in range(1, min(jobs, most))]
    try:
        yield ahead
    finally:
        for process in ahead.ready:
            process.stop()


class Here:
    """This process itself: what is submitted is done at once."""

    def __init__(self, make: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self._make, self._arguments = make, arguments

    @cached_property
    def _state(self) -> Any:
        return self._make(*self._arguments)

    def submit(self, function: Callable[..., Result], arguments: tuple[Any, ...]) -> Future[Result]:
        done: Future[Result] = Future()
        try:
            done.set_result(function(self._state, *arguments))
        except Exception as error:  # as a process would: whoever asks for the result is told; Ctrl-C is for all
            done.set_exception(error)
        return done

    def shutdown(self) -> None:
        """Nothing was started."""

    stop = shutdown


class Pool:
    """So many workers, each of which keeps what `make(*arguments)` gives; used in a `with` statement."""

    def __init__(
        self, jobs: Jobs, make: Callable[..., Any], *arguments: Any, most: int | None = None, apart: bool = False
    ) -> None:
        """Start as many as the jobs are, but no more than `most`; a single one is this process, unless it is to be
        `apart`."""
        self.jobs = how_many(jobs) if most is None else min(how_many(jobs), max(most, 1))
        self._workers: Processes | Actors | Here
        if isinstance(jobs, Cluster):
            self._workers = Actors(jobs, self.jobs, make, arguments)
        elif self.jobs == 1 and not apart:
            self._workers = Here(make, arguments)
        else:
            self._workers = Processes(self.jobs, make, arguments)

    def submit(self, function: Callable[..., Result], *arguments: Any) -> Future[Result]:
        """Have one of the workers call `function(what it keeps, *arguments)`."""
        return self._workers.submit(function, arguments)

    def stream(self, function: Callable[[Any, Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Give `function(what a worker keeps, item)` of every item, in order, reading only a little ahead."""
        waiting: deque[Future[Result]] = deque()
        for item in items:
            waiting.append(self.submit(function, item))
            # What is ready goes out before more is read, since reading may wait for a slow pipe.
            while waiting and (len(waiting) >= AHEAD * self.jobs or waiting[0].done()):
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def stop(self) -> None:
        """End all workers at once: nobody waits for what is under way."""
        self._workers.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None:
            self._workers.shutdown()
            return
        self.stop()
        if isinstance(error, BrokenProcessPool):
            raise LatreeError(DIED) from None


class Worker(Protocol):
    """Who keeps a state, wherever that is."""

    def submit(self, function: Callable[..., Result], arguments: tuple[Any, ...]) -> Future[Result]: ...

    def stop(self) -> None: ...


class Residents:
    """A worker for each of some states, which stays with it; to be closed.

    On this machine the first state is kept by this very process, which would otherwise wait for the others.
    """

    def __init__(self, jobs: Jobs, make: Callable[..., Any], each: Sequence[tuple[Any, ...]]) -> None:
        """Have each worker keep what `make` gives for its arguments."""

        def worker(number: int, arguments: tuple[Any, ...]) -> Worker:
            if isinstance(jobs, Cluster):
                return Actors(jobs, 1, make, arguments)
            if number == 0:
                return Here(make, arguments)
            if not ahead:
                return Processes(1, make, arguments)
            process = ahead.pop()
            process.keep(make, arguments)
            return process

        ahead = jobs.ready if isinstance(jobs, JobsAhead) else []
        self._workers = list(starmap(worker, enumerate(each)))

    def call(self, function: Callable[..., Result], *arguments: Any) -> list[Result]:
        """Give `function(state, *arguments)` of every state, in order."""
        # The last is asked first: what this process does itself it begins when all others are at work.
        return self._results([worker.submit(function, arguments) for worker in reversed(self._workers)])[::-1]

    def one(self, number: int, function: Callable[..., Result], *arguments: Any) -> Result:
        """Give the same of one of the states."""
        return self._results([self._workers[number].submit(function, arguments)])[0]

    def _results(self, futures: Sequence[Future[Result]]) -> list[Result]:
        try:
            return [future.result() for future in futures]
        except BrokenProcessPool:
            raise LatreeError(DIED) from None

    def close(self) -> None:
        """End all workers at once."""
        for worker in self._workers:
            worker.stop()


def _set_up(make: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    Thread(target=_end_with_parent, daemon=True).start()
    _keep(make, arguments)


def _keep(make: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    global _state
    _state = make(*arguments)


def _end_with_parent() -> None:
    """Leave no worker behind where the process that it works for is killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _call(function: Callable[..., Result], arguments: tuple[Any, ...]) -> Result:
    return function(_state, *arguments)


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Start workers that never see Ctrl-C; to us it comes late, but it comes."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # it is started with the first worker, and would let interrupts through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
