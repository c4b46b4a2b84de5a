"""A Ray cluster whose machines are all this one, and what the processes of one take: for tests and benchmarks."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

CORES = 2  # of a machine
WORKER = b"ray::Actor"  # how Ray calls a process in which an `Actor` of latree is
NO_RAY = "Ray is not installed: pip install 'latree[cluster]'"
# A machine that is gone is missed within seconds, not after half a minute; one that is merely slow is not given up.
ATTENTIVE = {"health_check_period_ms": 500, "health_check_timeout_ms": 60_000, "health_check_failure_threshold": 4}


def has_ray() -> bool:
    return find_spec("ray") is not None


@contextmanager
def machines(**settings: Any) -> Iterator[Any]:
    """Two machines, with settings of Ray's own."""
    import ray
    from ray.cluster_utils import Cluster

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        head = {"num_cpus": CORES, "include_dashboard": False, "_system_config": settings}
        cluster: Any = Cluster(initialize_head=True, head_node_args=head)
        try:
            cluster.add_node(num_cpus=CORES)
            yield cluster
        finally:
            ray.shutdown()
            cluster.shutdown()


def _raylet(machine: Any) -> int:
    """The process that starts a machine's workers."""
    return int(machine.all_processes["raylet"][0].process.pid)


def works(process: int) -> bool:
    """Whether a process is a worker of the cluster, perhaps one that has nothing to do yet."""
    name = title(process)
    is_raylet = name.partition(b"\0")[0].endswith(b"raylet")  # which is told how to start workers
    return name.startswith((WORKER, b"ray::IDLE")) or (b"default_worker.py" in name and not is_raylet)


def workers_of(machine: Any) -> list[int]:
    """The processes of a machine in which workers of latree are."""
    return [process for process in descendants(_raylet(machine)) if title(process).startswith(WORKER)]


def take_away(cluster: Any, machine: Any) -> None:
    """End all processes of a machine at once, as where the power fails."""
    raylet = _raylet(machine)
    for process in (raylet, *descendants(raylet)):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    cluster.remove_node(machine, allow_graceful=False)


def descendants(process: int) -> list[int]:
    """The processes that a process has started, with those that they have."""
    found, waiting = list[int](), [process]
    while waiting:
        started = children(waiting.pop())
        found += started
        waiting += started
    return found


def children(process: int) -> list[int]:
    """The processes that a process has started itself."""
    found = list[int]()
    with suppress(OSError):  # it may have ended
        for thread in Path(f"/proc/{process}/task").iterdir():
            found += map(int, (thread / "children").read_text(encoding="ascii").split())
    return found


def title(process: int) -> bytes:
    """What a process calls itself; nothing where it has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


def cpu_seconds(process: int) -> float:
    """What a process has used, without those that it started; nothing where it has ended."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
