"""Sums over the parts of a treebank, by several processes.

There are as many shards as the data ask for, whatever the number of jobs, and their sums are added up in pairs, pairs of
pairs and so on: the result is the same to the last bit, and a process that has neighbouring shards sends one sum for all
of them.  A process gets its shards once, what a sum is over again only where that has changed, and the parameters with
every sum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Generic, TypeVar

from latree.arrays import Floats
from latree.parallel import Jobs, Residents, how_many

SHARDS = 8  # where there is no reason for another number

Part = TypeVar("Part")
Fixed = TypeVar("Fixed")
Sum = tuple[float, Floats]
Summand = Callable[[Sequence[Part], Fixed, Floats], Sum]
Range = tuple[int, int]  # of shards: first, and the one after the last


def deal(parts: Sequence[Part], shards: int = SHARDS) -> list[list[Part]]:
    """Deal out parts in turn to so many shards, or to fewer where some would have none."""
    return [list(parts[k::shards]) for k in range(min(shards, len(parts)))]


class Shards(Generic[Part]):
    """The shards, and the processes that see to them; to be closed."""

    def __init__(self, shards: Sequence[Sequence[Part]], jobs: Jobs = 1) -> None:
        self.shards = shards
        self.fixed: Any = None  # as the processes have it
        self.version = 0  # how often that has changed
        workers = min(how_many(jobs), len(shards))
        bounds = [len(shards) * k // workers for k in range(workers + 1)]
        each = [(first, shards[first:last], len(shards)) for first, last in pairwise(bounds)]
        self.workers = Residents(jobs, _Holder, each) if workers > 1 else None

    def sum(self, function: Summand[Part, Fixed], fixed: Fixed, parameters: Floats) -> Sum:
        """Add up `function(parts, fixed, parameters)`, a number and an array of its own, over all shards.

        The function and what is fixed must be such that a process can be sent them.
        """
        if self.workers is None:
            of_shard = (function(shard, fixed, parameters) for shard in self.shards)
            return _add_up({(k, k + 1): one for k, one in enumerate(of_shard)}, (0, len(self.shards)))
        if fixed is not self.fixed:
            self.fixed, self.version = fixed, self.version + 1
            self.workers.call(_Holder.take, self.version, fixed)
        sums: dict[Range, Sum] = {}
        for number, some in enumerate(self.workers.call(_Holder.sums, function, self.version, parameters)):
            while some is None:  # the process was started anew, and does not have what is fixed
                self.workers.one(number, _Holder.take, self.version, fixed)
                some = self.workers.one(number, _Holder.sums, function, self.version, parameters)
            sums |= some
        return _add_up(sums, (0, len(self.shards)))

    def close(self) -> None:
        """Stop the processes."""
        if self.workers is not None:
            self.workers.close()


def _halves(whole: Range) -> tuple[Range, Range]:
    """Divide a range of shards after the largest power of two that leaves some."""
    first, last = whole
    middle = first + (1 << (last - first - 1).bit_length() - 1)
    return (first, middle), (middle, last)


def _add_up(sums: dict[Range, Sum], whole: Range) -> Sum:
    """The sum over a range of shards, from those of its parts."""
    if whole in sums:
        return sums[whole]
    (value, array), (other, more) = (_add_up(sums, half) for half in _halves(whole))
    array += more
    return value + other, array


class _Holder:
    """The shards of one process, of so many."""

    version = 0

    def __init__(self, first: int, shards: Sequence[Sequence[Any]], of: int) -> None:
        self.first, self.shards, self.of = first, shards, of

    def take(self, version: int, fixed: Any) -> None:
        """Keep what sums are over until there is another version of it."""
        self.version, self.fixed = version, fixed

    def sums(self, function: Summand[Any, Any], version: int, parameters: Floats) -> dict[Range, Sum] | None:
        """As few sums as the order of all additions allows; None where what is fixed has another version."""
        if version != self.version:
            return None
        of_shard = (function(shard, self.fixed, parameters) for shard in self.shards)
        each = {(self.first + k, self.first + k + 1): one for k, one in enumerate(of_shard)}
        return {whole: _add_up(each, whole) for whole in self._wholes((0, self.of))}

    def _wholes(self, whole: Range) -> list[Range]:
        """The largest ranges that are added up by themselves and of which every shard is here."""
        (first, last), end = whole, self.first + len(self.shards)
        if last <= self.first or first >= end:
            return []
        if self.first <= first and last <= end:
            return [whole]
        return [one for half in _halves(whole) for one in self._wholes(half)]
