"""Sums over the batches of a treebank, by several processes.

Batches are dealt out to a fixed number of shards, and the shards' sums are added up in order: the result is the same to
the last bit, whatever the number of jobs.  A process gets its batches once, what a sum is over again only where it has
changed, and the parameters with every sum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from latree.arrays import Floats
from latree.parallel import Residents

SHARDS = 8

Batch = TypeVar("Batch")
Fixed = TypeVar("Fixed")
Sum = tuple[float, Floats]
Summand = Callable[[Sequence[Batch], Fixed, Floats], Sum]


class Shards(Generic[Batch]):
    """Batches, and the processes that see to them; to be closed."""

    def __init__(self, batches: Sequence[Batch], jobs: int = 1) -> None:
        self.shards = [shard for k in range(SHARDS) if (shard := list(batches[k::SHARDS]))]
        self.fixed: Any = None  # as the processes have it
        jobs = min(jobs, len(self.shards))
        self.workers = Residents(_Worker, [(self.shards[k::jobs],) for k in range(jobs)]) if jobs > 1 else None

    def sum(self, function: Summand[Batch, Fixed], fixed: Fixed, parameters: Floats) -> Sum:
        """Add up `function(batches, fixed, parameters)`, a number and its gradient, over all batches.

        The function and what is fixed must be such that a process can be sent them.
        """
        if self.workers is None:
            sums = [function(shard, fixed, parameters) for shard in self.shards]
        else:
            changed, self.fixed = None if fixed is self.fixed else (fixed,), fixed
            by_worker = self.workers.call(_Worker.sums, function, changed, parameters)
            sums = [by_worker[k % len(by_worker)][k // len(by_worker)] for k in range(len(self.shards))]
        value, slope = 0.0, np.zeros(len(sums[0][1]))
        for part in sums:
            value += part[0]
            slope += part[1]
        return value, slope

    def close(self) -> None:
        """Stop the processes."""
        if self.workers is not None:
            self.workers.close()


class _Worker:
    """The shards of one process."""

    def __init__(self, shards: list[list[Any]]) -> None:
        self.shards, self.fixed = shards, None

    def sums(self, function: Summand[Any, Any], changed: tuple[Any] | None, parameters: Floats) -> list[Sum]:
        if changed is not None:
            (self.fixed,) = changed
        return [function(shard, self.fixed, parameters) for shard in self.shards]
