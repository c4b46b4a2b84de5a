"""Sums over the shards of a treebank, by several processes or threads.

There are as many shards as the data ask for, whatever the number of jobs, and their sums are added up in pairs, pairs
of pairs and so on: the result is the same to the last bit, and a process that has neighbouring shards sends one sum for
all of them.  A process makes its shards once, from what it is sent for them; what is fixed it gets again where that has
changed, and the parameters with every sum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from latree.arrays import Floats

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from latree.parallel import Jobs

SHARDS = 8  # where there is no reason for another number

Part = TypeVar("Part")
Shard = TypeVar("Shard")
Item = TypeVar("Item")
Result = TypeVar("Result")
Sum = tuple[float, Floats]
Range = tuple[int, int]  # of shards: first, and the one after the last


def deal(parts: Sequence[Part], shards: int = SHARDS) -> list[list[Part]]:
    """Deal out parts in turn to so many shards, or to fewer where some would have none."""
    return [list(parts[k::shards]) for k in range(min(shards, len(parts)))]


class Shards(Generic[Shard]):
    """The shards, and the processes or threads that see to them; to be closed.

    Functions, what they are given and what shards are made of must be such that a process can be sent them.
    """

    def __init__(
        self, recipes: Sequence[Any], build: Callable[[Any], Shard], jobs: Jobs = 1, *, threads: bool = False
    ) -> None:
        """Have a shard built from each recipe; by `threads` where sums over shards are all compiled."""
        self.recipes, self.build = recipes, build
        self.fixed: Any = None  # as the processes have it
        self.version = 0  # how often that has changed
        self.workers = None
        crews = [1]
        if jobs != 1 and len(recipes) > 1:
            from latree.parallel import Residents, crews_of  # takes time to import, which parsing has no need of

            crews = crews_of(jobs, threads)
            if not isinstance(jobs, int) or len(crews) > 1:
                self.workers = Residents(jobs, Holder, list(self._dealt_to(crews[: len(recipes)])))
        self.here = Holder(build, 0, recipes, len(recipes), crews[0])

    def _dealt_to(self, crews: Sequence[int]) -> Iterator[tuple[Any, ...]]:
        """What makes a `Holder` of each crew of so many threads: neighbouring shards, more for the larger."""
        bounds = [len(self.recipes) * threads // sum(crews) for threads in accumulate(crews, initial=0)]
        for threads, first, last in zip(crews, bounds, bounds[1:], strict=False):
            if first < last:
                yield self.build, first, self.recipes[first:last], len(self.recipes), threads

    def sum(self, function: Callable[..., Sum], fixed: Any, *arguments: Any) -> Sum:
        """Add up `function(shard, fixed, *arguments)`, a number and an array of its own, over all shards."""
        sums: dict[Range, Sum] = {}
        for some in self._ask(Holder.sums, function, fixed, arguments):
            sums |= some
        return add_up(sums, (0, len(self.recipes)))

    def each(self, function: Callable[..., Result], fixed: Any, *arguments: Any) -> list[Result]:
        """Give `function(shard, fixed, *arguments)` of every shard, in order."""
        return [one for some in self._ask(Holder.each, function, fixed, arguments) for one in some]

    def make(self) -> None:
        """Have all shards made now."""
        self.each(_nothing, None)

    def _ask(self, ask: Callable[..., Any], function: Callable[..., Any], fixed: Any, arguments: Any) -> list[Any]:
        if fixed is not self.fixed:
            self.fixed, self.version = fixed, self.version + 1
            if self.workers is not None:
                self.workers.call(Holder.take, self.version, fixed)
        if self.workers is None:
            self.here.take(self.version, fixed)
            return [ask(self.here, function, self.version, arguments)]
        answers = self.workers.call(ask, function, self.version, arguments)
        for number in range(len(answers)):
            while answers[number] is None:  # the process was started anew, and does not have what is fixed
                self.workers.one(number, Holder.take, self.version, fixed)
                answers[number] = self.workers.one(number, ask, function, self.version, arguments)
        return answers

    def close(self) -> None:
        """Stop the processes and threads."""
        if self.workers is not None:
            self.workers.close()
        self.here.close()


def _nothing(shard: object, fixed: object) -> None:
    """Ask for a shard, and for nothing of it."""


def _halves(whole: Range) -> tuple[Range, Range]:
    """Divide a range of shards after the largest power of two that leaves some."""
    first, last = whole
    middle = first + (1 << (last - first - 1).bit_length() - 1)
    return (first, middle), (middle, last)


def add_up(sums: dict[Range, Sum], whole: Range) -> Sum:
    """The sum over a range of shards, from those of its parts."""
    if whole in sums:
        return sums[whole]
    (value, array), (other, more) = (add_up(sums, half) for half in _halves(whole))
    array += more
    return value + other, array


class Holder:
    """The shards of one process, of so many, for which it may have several threads."""

    version = 0
    fixed: Any = None

    def __init__(
        self, build: Callable[[Any], Any], first: int, recipes: Sequence[Any], of: int, threads: int = 1
    ) -> None:
        self.build, self.first, self.recipes, self.of = build, first, recipes, of
        self.threads = min(threads, len(recipes))

    @cached_property
    def shards(self) -> list[Any]:
        """Made when they are first asked for."""
        return self._map(self.build, self.recipes)

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        from concurrent.futures import ThreadPoolExecutor  # which several processes do without

        return ThreadPoolExecutor(self.threads - 1, "latree")

    def _map(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Do it to each, by all threads, of which this is one: so it need not be woken for what is done in a moment."""
        made: dict[int, Result] = {}
        waiting = iter(range(len(items)))

        def work() -> None:
            for k in waiting:
                made[k] = function(items[k])

        others = [self._pool.submit(work) for _ in range(1, self.threads)]
        work()
        for other in others:
            other.result()
        return [made[k] for k in range(len(items))]

    def close(self) -> None:
        """End the threads."""
        if "_pool" in vars(self):
            self._pool.shutdown(cancel_futures=True)

    def take(self, version: int, fixed: Any) -> None:
        """Keep what is fixed until there is another version of it."""
        self.version, self.fixed = version, fixed

    def each(self, function: Callable[..., Result], version: int, arguments: tuple[Any, ...]) -> list[Result] | None:
        """What comes of every shard; None where what is fixed has another version."""
        if version != self.version:
            return None
        return self._map(lambda shard: function(shard, self.fixed, *arguments), self.shards)

    def sums(self, function: Callable[..., Sum], version: int, arguments: tuple[Any, ...]) -> dict[Range, Sum] | None:
        """As few sums as the order of all additions allows; None as before."""
        found = self.each(function, version, arguments)
        if found is None:
            return None
        each = {(self.first + k, self.first + k + 1): one for k, one in enumerate(found)}
        return {whole: add_up(each, whole) for whole in self._wholes((0, self.of))}

    def _wholes(self, whole: Range) -> list[Range]:
        """The largest ranges that are added up by themselves and of which every shard is here."""
        (first, last), end = whole, self.first + len(self.recipes)
        if last <= self.first or first >= end:
            return []
        if self.first <= first and last <= end:
            return [whole]
        return [one for half in _halves(whole) for one in self._wholes(half)]
