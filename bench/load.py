"""Many clients of `latree serve` at once: how many sentences a second, how long each waits, none lost, none wrong.

    python -m bench.load FILE [--clients 100] [--seconds 20] [--most-words 40] [-m MODEL]

FILE has trees in brackets, whose words are the sentences.  Each client sends one sentence a request over a connection
of its own, and the next when it is answered.  Before that the same sentences are parsed by `parse_all` in one process
that has the machine to itself; every answer is compared with the tree and the probability from there.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import latree


class Expected(NamedTuple):
    """What parse_all says of a sentence."""

    words: tuple[str, ...]
    tree: str
    probability: float


class Server(NamedTuple):
    """A server in a process of its own."""

    pid: int
    port: int

    def memory(self) -> float:
        """Megabytes that it holds."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024


class Tally:
    """What came back."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.lost = 0  # requests that were answered otherwise than with a tree, or not at all
        self.wrong = 0


def expected_of(model: Any, path: Path, most_words: int) -> list[Expected]:
    sentences = [tuple(tree.words()) for tree in latree.read_trees(path, model.labels)]
    sentences = [words for words in sentences if 0 < len(words) <= most_words]
    list(model.parse_all(sentences[:32]))  # whatever is to be compiled
    begun, cpu = time.perf_counter(), time.process_time()
    parses = list(model.parse_all(sentences))
    _tell("parse_all", len(sentences), time.perf_counter() - begun, time.process_time() - cpu)
    return [Expected(one.tokens, str(one), one.probability) for one in parses]


def _tell(who: str, sentences: int, seconds: float, cpu: float) -> None:
    print(f"{who:10} {sentences / seconds:8.1f} sentences a second, {1000 * cpu / sentences:6.1f} ms of processor each")


@contextmanager
def serving(model: str | None) -> Iterator[Server]:
    command = [sys.executable, "-m", "latree", "serve", "--port", "0", *(["-m", model] if model else [])]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        address = next(match for line in process.stderr if (match := re.search(r"http://127\.0\.0\.1:(\d+)/", line)))
        try:
            yield Server(process.pid, int(address[1]))
        finally:
            process.send_signal(signal.SIGTERM)


async def post(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, value: Any) -> Any:
    """Send a request and read its answer; None where that is an error."""
    body = json.dumps(value).encode()
    head = f"POST /parse HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    writer.write(f"{head}\r\n\r\n".encode() + body)
    answered = (await reader.readuntil(b"\r\n\r\n")).decode()
    size = re.search(r"content-length: (\d+)", answered, re.IGNORECASE)
    assert size is not None, answered
    told = json.loads(await reader.readexactly(int(size[1])))
    return told if answered.startswith("HTTP/1.1 200") else None


async def client(port: int, sentences: Iterator[Expected], until: float, tally: Tally) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while time.perf_counter() < until:
        one, begun = next(sentences), time.perf_counter()
        try:
            told = await post(reader, writer, {"sentences": [one.words]})
        except (OSError, asyncio.IncompleteReadError):
            tally.lost += 1
            return
        tally.seconds.append(time.perf_counter() - begun)
        tally.lost += told is None
        tally.wrong += told is not None and not _agrees(told["sentences"][0], one)
    writer.close()
    await writer.wait_closed()


def _agrees(told: Any, one: Expected) -> bool:
    probability = np.nan if told["probability"] is None else told["probability"]
    return told["tree"] == one.tree and bool(np.isclose(probability, one.probability, rtol=1e-9, equal_nan=True))


async def load(server: Server, expected: list[Expected], clients: int, seconds: float) -> Tally:
    tally, sentences = Tally(), itertools.cycle(expected)
    until = time.perf_counter() + seconds
    await asyncio.gather(*(client(server.port, sentences, until, tally) for _ in range(clients)))
    return tally


def cpu_of(server: Server) -> float:
    """Seconds of processor that the server has used."""
    fields = Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--clients", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--most-words", type=int, default=40)
    parser.add_argument("-m", "--model")
    given = parser.parse_args()
    expected = expected_of(latree.load(given.model), given.file, given.most_words)
    with serving(given.model) as server:
        asyncio.run(load(server, expected, given.clients, given.seconds / 5))  # what is kept of words is kept by now
        before, used, begun = server.memory(), cpu_of(server), time.perf_counter()
        tally = asyncio.run(load(server, expected, given.clients, given.seconds))
        _tell("serve", len(tally.seconds), time.perf_counter() - begun, cpu_of(server) - used)
        after = server.memory()
    middle, late = np.quantile(tally.seconds, (0.5, 0.95))
    print(f"{given.clients} clients, {len(tally.seconds)} requests: p50 {middle:.3f} s, p95 {late:.3f} s")
    print(f"lost {tally.lost}, wrong {tally.wrong}; memory {before:.0f} MB before, {after:.0f} MB after")


if __name__ == "__main__":
    main()
