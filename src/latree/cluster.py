"""Workers on a Ray cluster, in the place of processes of this machine.

A worker is an actor that keeps what it was set up with.  Ray starts it anew where it dies, with its machine or alone,
and gives it again what it was doing: a task may be begun twice, its result is taken once.  Everything travels as bytes
that are packed here, so that arrays arrive as a process of this machine would get them, and may be written to.
"""

from __future__ import annotations

import ctypes
import logging
import os
import pickle
import socket
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any

from latree.errors import LatreeError

TIMEOUT = 10.0  # seconds to answer
# Ray sends what is smaller than 100,000 bytes with a call itself, and the rest by way of stores that machines have for
# it, which for half a megabyte takes three times the processor time of so many pieces.
PIECE, MOST_PIECES = 95_000, 20
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _KEPT = -1, -3, 1 << 28  # of mallopt, and bytes
START = "start one with `ray start`, or give the address of one that runs"


@dataclass(frozen=True)
class Cluster:
    """A cluster by its address; "auto" is the one that this machine is part of, "local" a new one on this machine."""

    address: str = "auto"

    @cached_property
    def ray(self) -> Any:
        """The library, connected to this cluster."""
        try:
            import ray
        except ImportError:
            raise LatreeError("clusters need Ray; install it with: pip install 'latree[cluster]'") from None
        if not ray.is_initialized():
            _check_answer(self.address)
            # A worker with variables of its own could not be one of the processes that Ray has ready.
            path = os.environ.get("PYTHONPATH")
            environment = {"env_vars": {"PYTHONPATH": path}} if path else None
            try:
                ray.init(self.address, log_to_driver=False, logging_level=logging.ERROR, runtime_env=environment)
            except (ConnectionError, RuntimeError, ValueError, OSError) as error:
                reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
                raise LatreeError(f"no Ray cluster answers at {self.address!r} ({reason}); {START}") from None
        return ray

    @property
    def size(self) -> int:
        """How many workers there is room for: as many as the cluster has cores now."""
        return max(1, int(self.ray.cluster_resources().get("CPU", 1)))

    @property
    def machines(self) -> list[int]:
        """The cores of each machine now."""
        alive = (node["Resources"] for node in self.ray.nodes() if node["Alive"])
        return [int(has["CPU"]) for has in alive if has.get("CPU", 0) >= 1] or [1]


def _check_answer(address: str) -> None:
    """Say at once where nobody listens, for which Ray would wait for minutes."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        return
    try:
        socket.create_connection((host.rpartition("/")[2].strip("[]"), int(port)), TIMEOUT).close()
    except OSError as error:
        raise LatreeError(f"no Ray cluster answers at {address!r} ({error.strerror or error}); {START}") from None


def in_pieces(packed: bytes, count: int) -> list[bytes]:
    """Cut into so many pieces, of which the last may be larger than the others, and some be empty."""
    cuts = [packed[k * PIECE : (k + 1) * PIECE] for k in range(count - 1)]
    return [*cuts, packed[(count - 1) * PIECE :]]


def _keep_memory() -> None:
    """Have what is freed kept for what comes next.

    In Ray's workers the C library gives large arrays back to the system at once, and takes them anew: sums over a
    treebank, which make the same arrays again and again, take a fifth longer for it.
    """
    with suppress(AttributeError, OSError):  # where this is not the C library of GNU
        library = ctypes.CDLL(None)
        library.mallopt(_MMAP_THRESHOLD, _KEPT)
        library.mallopt(_TRIM_THRESHOLD, _KEPT)


class Actor:
    """What a worker is on the cluster."""

    def __init__(self) -> None:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is there: the workers are the parallelism
        _keep_memory()

    def call(self, recipe: list[Any], *pieces: bytes) -> bytes | list[bytes]:
        """Return what came of a call, in as many pieces as it has, or the error, so that this is raised as it was."""
        packed = self._made(recipe, b"".join(pieces))
        return packed if len(pieces) == 1 else in_pieces(packed, len(pieces))

    def _made(self, recipe: list[Any], packed: bytes) -> bytes:
        try:
            function, arguments = pickle.loads(packed)
            return pickle.dumps((function(self._kept(*recipe), *arguments), None), protocol=5)
        except Exception as error:
            return pickle.dumps((None, error))

    def _kept(self, recipe: Any) -> Any:
        """What this worker keeps, made when it is first asked for: one that was started anew begins with nothing."""
        if not hasattr(self, "kept"):
            import ray

            make, arguments = pickle.loads(ray.get(recipe))
            self.kept = make(*arguments)
        return self.kept


class Actors:
    """So many workers on a cluster; what is submitted goes to the one that has least to do."""

    def __init__(self, cluster: Cluster, workers: int, make: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.ray = cluster.ray
        # No cores are asked for: a worker whose machine is gone must find room on those that are left.  But a byte of
        # memory is: workers that ask for nothing are not spread, and one machine may get all of them.
        options = {"num_cpus": 0, "memory": 1, "max_restarts": -1, "max_task_retries": -1}
        kind = self.ray.remote(**options, scheduling_strategy="SPREAD")(Actor)
        # Sent once to a machine, and kept as long as the workers are: one that is started anew asks for it again.  In a
        # list it is not looked up for every call.
        self.recipe = [self.ray.put(pickle.dumps((make, arguments), protocol=5))]
        self.actors = [kind.remote() for _ in range(workers)]
        self.busy, self.lock = [0] * workers, Lock()

    def submit(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Future[Any]:
        """Have a worker call `function(what it keeps, *arguments)`."""
        packed = pickle.dumps((function, arguments), protocol=5)
        count = -(-len(packed) // PIECE)
        pieces = in_pieces(packed, count) if count <= MOST_PIECES else [packed]
        with self.lock:
            number = min(range(len(self.actors)), key=self.busy.__getitem__)
            self.busy[number] += 1
        answers = self.actors[number].call.options(num_returns=len(pieces)).remote(self.recipe, *pieces)
        parts: list[Future[bytes]] = [one.future() for one in (answers if len(pieces) > 1 else [answers])]
        missing, result = len(parts), Future[Any]()

        def hand_over(_: Future[bytes]) -> None:
            nonlocal missing
            with self.lock:  # Ray calls this in a thread of its own
                missing -= 1
                if missing:
                    return
                self.busy[number] -= 1
            try:
                value, error = pickle.loads(b"".join(part.result() for part in parts))
            except Exception as fault:
                value, error = None, LatreeError(f"a worker on the cluster was lost for good: {fault}")
            if error is None:
                result.set_result(value)
            else:
                result.set_exception(error)

        for part in parts:
            part.add_done_callback(hand_over)
        return result

    def shutdown(self) -> None:
        """End the workers, which have nothing to do any more."""
        self.stop()

    def stop(self) -> None:
        """End the workers at once."""
        for actor in self.actors:
            self.ray.kill(actor)
