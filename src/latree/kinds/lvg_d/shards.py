"""The gradient of a log-linear grammar over several processes.

Batches are dealt out to a fixed number of shards, and the shards' sums are added up in order: the result is the same to
the last bit, whatever the number of jobs.  A worker gets its batches once, and the parameters with every evaluation.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any, NamedTuple, Self

import numpy as np

from latree.arrays import Floats
from latree.errors import LatreeError
from latree.kinds.jobs import interrupts_held
from latree.kinds.lvg_d.loglinear import Batch, LogLinear, log_likelihood

SHARDS = 8

Sum = tuple[float, Floats]


class Spread:
    """Batches, and the processes that see to them; to be closed."""

    def __init__(self, batches: Sequence[Batch], jobs: int = 1) -> None:
        self.shards = [shard for k in range(SHARDS) if (shard := list(batches[k::SHARDS]))]
        self.model: LogLinear | None = None
        self.workers = [_start(self.shards[k::jobs]) for k in range(min(jobs, len(self.shards)))] if jobs > 1 else []

    def log_likelihood(self, model: LogLinear, delta: Floats) -> Sum:
        """The sum over all sentences of log P(T | w), and its gradient with respect to delta."""
        sums = self._remote(model, delta) if self.workers else [_shard_sum(s, model, delta) for s in self.shards]
        value, slope = 0.0, np.zeros(len(model.base))
        for part in sums:
            value += part[0]
            slope += part[1]
        return value, model.transposed @ slope

    def _remote(self, model: LogLinear, delta: Floats) -> list[Sum]:
        """Of every shard, in order."""
        try:
            for worker in self.workers:
                if model is not self.model:
                    worker.pipe.send(model)
                worker.pipe.send(delta)
            self.model = model
            found = [worker.pipe.recv() for worker in self.workers]
        except (EOFError, BrokenPipeError, ConnectionResetError):
            raise LatreeError("a worker process died, perhaps for want of memory; try fewer --jobs") from None
        return [found[k % len(found)][k // len(found)] for k in range(len(self.shards))]

    def close(self) -> None:
        for worker in self.workers:
            worker.process.terminate()
            worker.process.join()
            worker.pipe.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class _Worker(NamedTuple):
    process: Any
    pipe: Connection


def _start(shards: list[list[Batch]]) -> _Worker:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the workers are the parallelism
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs,), daemon=True)
    with interrupts_held():
        process.start()
    theirs.close()
    ours.send(shards)
    return _Worker(process, ours)


def _work(pipe: Connection) -> None:
    """A worker's life: shards first, then models and parameters as they come."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    shards, model = pipe.recv(), None
    while True:
        try:
            message = pipe.recv()
        except EOFError:
            return
        if isinstance(message, LogLinear):
            model = message
        elif model is not None:
            pipe.send([_shard_sum(shard, model, message) for shard in shards])


def _shard_sum(batches: Sequence[Batch], model: LogLinear, delta: Floats) -> Sum:
    return log_likelihood(batches, model, model.weights(delta))
