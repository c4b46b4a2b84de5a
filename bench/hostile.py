"""Hostile clients of `latree serve`, all at once, and one that is not: what they are answered, and in what memory.

    python -m bench.hostile [--requests 10000] [--passes 1] [--words 0] [--schemathesis schemathesis] [-m MODEL]

Schemathesis, a program that is best installed in an environment of its own, makes random requests by the server's
/openapi.json, right and wrong ones.  Beside it heads of requests come byte by byte and never end, bodies are far too
large, and JSON is broken; and somebody asks for a tree every second, who must get it.  With several passes the same
server gets other random requests in each: memory that grows for good is told from tables that are made once.  With
--words so many different ones are sent before: what a model keeps of words, up to a limit, is then as large as it gets.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import subprocess
import time
import urllib.request
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import cycle

from bench.load import Server, post, serving

STATED = {503, 504}  # what a server that has too much to do may say
POSTED = 9  # paths that take requests, among which those of schemathesis are shared out
BROKEN = cycle((b"{", b'{"text": "a"', b"[1,]", b'{"text": NaN}', b'{"text": "\\ud800"}', b"\xff\xfe", b"[" * 100_000))
HUGE = 50_000_000  # bytes
PIECE = b"x" * 65_536
BEGUN = "Fuzzing"  # after which schemathesis tells what it found
SLOW = 20  # clients whose heads never end
WORDS_A_SENTENCE, WORDS_A_REQUEST, FILLING_TOLD = 10, 500, 10_000
SENTENCE_STARTS = range(0, WORDS_A_REQUEST, WORDS_A_SENTENCE)

Counts = Counter[str]


async def _connected(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", port)


def _head(size: int) -> bytes:
    head = f"POST /parse HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {size}"
    return f"{head}\r\n\r\n".encode()


async def slowly(port: int, counts: Counts) -> None:
    """Send a head byte by byte, until the server has had enough."""
    reader, writer = await _connected(port)
    gone = asyncio.ensure_future(reader.read())
    while not gone.done():
        writer.write(b"G")
        await asyncio.wait([gone], timeout=0.5)
    with suppress(OSError):  # closed is closed
        gone.result()
    counts["endless heads: closed"] += 1
    writer.close()


async def hugely(port: int, counts: Counts) -> None:
    """Send a body that is far too large, as long as somebody takes it."""
    reader, writer = await _connected(port)
    writer.write(_head(HUGE))
    answer = asyncio.ensure_future(reader.read(12))
    sent = 0
    while sent < HUGE and not answer.done():
        writer.write(PIECE)
        await writer.drain()
        sent += len(PIECE)
    counts[f"huge bodies: {(await answer).decode()[9:]}"] += 1
    writer.close()
    await asyncio.sleep(0.2)


async def brokenly(port: int, counts: Counts) -> None:
    """Send what is no JSON."""
    reader, writer = await _connected(port)
    body = next(BROKEN)
    writer.write(_head(len(body)) + body)
    counts[f"broken JSON: {(await reader.read(12)).decode()[9:]}"] += 1
    writer.close()
    await asyncio.sleep(0.05)


async def again(act: Callable[[int, Counts], Awaitable[None]], port: int, counts: Counts) -> None:
    """Do it again and again; connections that the server ends are no fault."""
    while True:
        try:
            await act(port, counts)
        except OSError:
            counts[f"{act.__name__}: cut off"] += 1


async def bystander(port: int, waited: list[float]) -> None:
    """Ask for a tree every second."""
    while True:
        reader, writer = await _connected(port)
        begun = time.perf_counter()
        told = await post(reader, writer, {"text": "The old man saw the girl with the telescope."})
        assert told is not None, "somebody did not get a tree"
        waited.append(time.perf_counter() - begun)
        writer.close()
        await asyncio.sleep(1)


async def fill(server: Server, words: int) -> None:
    """Have that many different words parsed."""
    reader, writer = await _connected(server.port)
    for first in range(0, words, WORDS_A_REQUEST):
        sentences = [[f"word{first + k + n}" for n in range(WORDS_A_SENTENCE)] for k in SENTENCE_STARTS]
        assert await post(reader, writer, {"sentences": sentences}) is not None, "words were not parsed"
        if first % FILLING_TOLD == 0:
            print(f"{first + WORDS_A_REQUEST} words: {server.memory():.0f} MB", flush=True)
    writer.close()


async def watch(server: Server, sizes: list[float]) -> None:
    while True:
        sizes.append(server.memory())
        await asyncio.sleep(1)


async def fuzz(program: str, port: int, requests: int, seed: int) -> str:
    """Have schemathesis send requests; what it found, in its words."""
    options = f"--phases fuzzing --mode all --seed {seed} --workers 2 --no-color --max-examples {requests // POSTED}"
    checks = "--checks not_a_server_error,response_schema_conformance,content_type_conformance --continue-on-failure"
    address = f"http://127.0.0.1:{port}/openapi.json"
    ran = await asyncio.create_subprocess_exec(
        program, "run", address, *options.split(), *checks.split(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    told, _ = await ran.communicate()
    return told.decode()


async def campaign(server: Server, program: str, requests: int, seed: int) -> None:
    counts, waited, sizes = Counts(), list[float](), list[float]()
    hostile = [again(slowly, server.port, counts) for _ in range(SLOW)]
    hostile += [again(hugely, server.port, counts), again(brokenly, server.port, counts)]
    beside = [asyncio.ensure_future(one) for one in (*hostile, bystander(server.port, waited), watch(server, sizes))]
    told = await fuzz(program, server.port, requests, seed)
    over = [one for one in beside if one.done()]
    for one in beside:
        one.cancel()
    await asyncio.gather(*over)  # a bystander without a tree is told of here
    print(told.partition(BEGUN)[2])
    for what, count in sorted(counts.items()):
        print(f"{what:30} {count:6d}")
    print(f"trees meanwhile {len(waited)}: {sorted(waited)[len(waited) // 2]:.2f} s, at most {max(waited):.2f} s")
    parts = [max(sizes[k * len(sizes) // 4 : (k + 1) * len(sizes) // 4]) for k in range(4)]
    most = ", ".join(f"{size:.0f}" for size in parts)
    print(f"memory, the most in each quarter of {len(sizes)} s: {most} MB, at the end {sizes[-1]:.0f}", flush=True)


def statuses(server: Server) -> Counter[int]:
    """How many requests were answered with each status, by the server's own counts."""
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics") as answer:
        text = answer.read().decode()
    counted: Counter[int] = Counter()
    for status, count in re.findall(r'^latree_requests_total\{.*status="(\d+)"\} (\d+)$', text, re.MULTILINE):
        counted[int(status)] += int(count)
    return counted


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--passes", type=int, default=1)
    parser.add_argument("--words", type=int, default=0)
    parser.add_argument("--schemathesis", default="schemathesis", help="the program, by its name or path")
    parser.add_argument("-m", "--model")
    given = parser.parse_args()
    with serving(given.model) as server:
        asyncio.run(fill(server, given.words))
        for seed in range(given.passes):
            asyncio.run(campaign(server, given.schemathesis, given.requests, seed))
        counted = statuses(server)
    print(f"answered {sum(counted.values())}:", ", ".join(f"{count} x {one}" for one, count in sorted(counted.items())))
    unstated = sum(count for one, count in counted.items() if one >= 500 and one not in STATED)
    print(f"{unstated} faults of the server")


if __name__ == "__main__":
    main()
