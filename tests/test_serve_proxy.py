"""The recipe of docs/serve.md for a server behind nginx, as it stands there, but for places and ports."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from latree.web.guard import LOCAL
from tests.command import SLEEPS, model
from tests.documents import blocks
from tests.server import Answer, Running, running

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
KINDS = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")  # of which nginx wants a folder each
LOGIN = {"Authorization": f"Basic {b64encode(b'anna:secret').decode()}"}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def configuration(server: Running, port: int, folder: Path) -> str:
    """The recipe inside a whole configuration that keeps to a folder."""
    (recipe,) = (block for language, block in blocks("docs/serve.md") if language == "nginx")
    passwords = folder / "trees.htpasswd"
    passwords.write_text("anna:{PLAIN}secret\n")
    recipe = recipe.replace("http://127.0.0.1:8000/", f"{server.address}/")
    recipe = recipe.replace("/etc/nginx/trees.htpasswd", str(passwords))
    places = " ".join(f"{kind}_temp_path {folder};" for kind in KINDS)
    return (
        f"user root; daemon off; pid {folder}/pid; error_log {folder}/log; events {{}}\n"
        f"http {{ access_log off; {places} server {{ listen 127.0.0.1:{port};\n{recipe}}} }}\n"
    )


@contextmanager
def proxied(server: Running, folder: Path) -> Iterator[Running]:
    """The server as it is seen through nginx."""
    assert NGINX is not None
    port, file = free_port(), folder / "nginx.conf"
    file.write_text(configuration(server, port, folder))
    with subprocess.Popen([NGINX, "-e", str(folder / "log"), "-c", str(file)]) as process:
        try:
            wait_for(port)
            yield server._replace(port=port)
        finally:
            process.terminate()


def wait_for(port: int) -> None:
    for _ in range(200):
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.1)
    raise AssertionError("nginx does not listen")


@pytest.mark.skipif(NGINX is None, reason="needs nginx, which is not here")
def test_the_recipe_behind_a_proxy(tmp_path: Path) -> None:
    request = {"sentences": [SLEEPS.split()]}
    with running(model("pcfg"), hosts=LOCAL) as server, proxied(server, tmp_path) as seen:
        assert seen.get("/trees/").status == 401
        page = asked(seen, "/trees/")
        assert (page.status, page.body) == (200, server.get("/").body)
        assert "content-security-policy" in page.headers
        assert asked(seen, "/trees/static/main.js").status == 200
        parsed = post(seen, request)
        assert (parsed.status, parsed.json) == (200, server.post("/parse", request).json)
        assert post(seen, {"text": "x" * 2_000_000}).status == 413
        assert asked(seen, "/trees/parse", "DELETE").status == 403


def asked(seen: Running, path: str, method: str = "GET") -> Answer:
    return seen.ask(method, path, None, **LOGIN)


def post(seen: Running, value: object) -> Answer:
    return seen.post("/trees/parse", value, **LOGIN)
