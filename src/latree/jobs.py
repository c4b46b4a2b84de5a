"""Many sentences over several processes, in order and streaming.

Batches are the same whatever the number of jobs, so that the output is too.
"""

from __future__ import annotations

import multiprocessing
import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import islice
from typing import Any, TypeVar

from latree.models.base import BATCH, ForestModel
from latree.results import Analysis
from latree.search import Objective

Result = TypeVar("Result", bound=Analysis)

_model: ForestModel[Any]  # the worker's own copy


def _start_worker(kind: str, header: Mapping[str, Any], arrays: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    global _model
    from latree.models import from_state

    _model = from_state(kind, header, arrays)
    _model.__dict__.update(options)


def _work(batch: list[Sequence[str]], objective: Objective) -> list[Any]:
    return list(_model.analyse(batch, objective))


def analyse_all(
    model: ForestModel[Result], sentences: Iterable[Sequence[str]], jobs: int, objective: Objective
) -> Iterator[Result]:
    """One analysis a sentence, in order."""
    if jobs <= 1:
        yield from model.analyse(sentences, objective)
        return
    options = {"threshold": model.threshold, "max_length": model.max_length}
    # One BLAS thread a worker: the workers are the parallelism.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, context, _start_worker, (model.kind, *model.state(), options))
    source = iter(sentences)
    waiting: deque[Future[list[Result]]] = deque()
    try:
        while True:
            while len(waiting) < 4 * jobs and (batch := list(islice(source, BATCH))):
                waiting.append(pool.submit(_work, batch, objective))
            if not waiting:
                return
            yield from waiting.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
