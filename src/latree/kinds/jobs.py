"""Many sentences over several processes, in order and streaming.

Batches are the same whatever the number of jobs, so that the output is too.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import chain
from multiprocessing import resource_tracker
from typing import Any, TypeVar

from latree.errors import LatreeError
from latree.inference.objectives import Objective
from latree.inference.results import Analysis
from latree.kinds.model import ForestModel, batches

Result = TypeVar("Result", bound=Analysis)

_model: ForestModel[Any]  # the worker's own copy


def _start_worker(kind: str, header: Mapping[str, Any], arrays: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    global _model
    from latree.kinds.registry import from_state

    _model = from_state(kind, header, arrays)
    for name, value in options.items():
        setattr(_model, name, value)


def _work(batch: list[Sequence[str]], objective: Objective) -> list[Any]:
    return list(_model.analyse(batch, objective))


def analyse_all(
    model: ForestModel[Result], sentences: Iterable[Sequence[str]], jobs: int, objective: Objective
) -> Iterator[Result]:
    """One analysis a sentence, in order.  Closing the iterator early stops the workers at once."""
    if jobs <= 1:
        yield from model.analyse(sentences, objective)
        return
    source = batches(sentences)
    # The first batch is done here: a short input starts no worker, and kernels are compiled once, not by every worker.
    yield from model.analyse(next(source, []), objective)
    for second in source:
        yield from _spread(model, chain([second], source), jobs, objective)


def _spread(
    model: ForestModel[Result], source: Iterable[list[Sequence[str]]], jobs: int, objective: Objective
) -> Iterator[Result]:
    options = {name: getattr(model, name) for name in model.run_options}
    # One BLAS thread a worker: the workers are the parallelism.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, context, _start_worker, (model.kind, *model.state(), options))
    waiting: deque[Future[list[Result]]] = deque()
    try:
        for batch in source:
            with interrupts_held():
                waiting.append(pool.submit(_work, batch, objective))
            # What is ready goes out before more is read, since reading may wait for a slow pipe.
            while waiting and (len(waiting) >= 4 * jobs or waiting[0].done()):
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()
    except BrokenProcessPool:
        raise LatreeError(
            "a worker process died, perhaps for want of memory; try --max-length or fewer --jobs"
        ) from None
    except BaseException:  # an interrupt, a closed pipe, a fault in the input: nobody waits for what is under way
        for worker in list((pool._processes or {}).values()):
            worker.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Workers started in here never see Ctrl-C, which a terminal sends to all; to us it comes late, but it comes."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # it is started with the first worker, and would let interrupts through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
