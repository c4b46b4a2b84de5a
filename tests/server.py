"""A server for tests: it listens in a thread of this process, and is asked over real connections."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import pytest

from latree.kinds.lvg.model import Lvg
from latree.web.limits import Limits
from latree.web.service import Service
from tests.command import folder, toy_trees


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Running(NamedTuple):
    """A server that listens."""

    port: int
    service: Service

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
            response = connection.getresponse()
            return Answer(
                response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
            )
        finally:
            connection.close()

    def get(self, path: str) -> Answer:
        return self.ask("GET", path)

    def post(self, path: str, value: Any, **headers: str) -> Answer:
        return self.ask("POST", path, json.dumps(value).encode(), Content_Type="application/json", **headers)

    def error(self, path: str, value: Any, status: int = 422) -> str:
        """What is told of a request that must be refused."""
        answer = self.post(path, value)
        assert answer.status == status, answer
        return str(answer.json["error"])


@cache
def split_model() -> Path:
    """A grammar in which every category has two subtypes, made once."""
    path = folder() / "split.latree"
    Lvg(subtypes=2).fit(toy_trees("dev")).save(path)
    return path


@contextmanager
def running(
    *models: Path, limits: Limits | None = None, folder: Path | None = None, hosts: frozenset[str] | None = None
) -> Iterator[Running]:
    """A server of these models, until the end of the block; tests skip where its parts are not installed."""
    for name in ("starlette", "uvicorn"):
        pytest.importorskip(name, reason=f"needs {name}, of the extra web")
    from latree.web.running import make_server

    service = Service(models, limits, folder)
    server = make_server(service, hosts)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            yield Running(listener.getsockname()[1], service)
        finally:
            server.should_exit = True
            thread.join()
