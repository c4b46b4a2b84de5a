"""The page about a model, as `latree show --html` makes it: made when it is first asked for, and kept."""

from __future__ import annotations

import re
from base64 import b64encode
from concurrent.futures import Future
from dataclasses import replace
from hashlib import sha256
from threading import Lock, Thread
from typing import TYPE_CHECKING

from starlette.responses import Response

from latree.kinds.registry import report_on
from latree.kinds.report import Ask
from latree.report.html import page

if TYPE_CHECKING:
    from latree.web.library import Shelf

PATH = "/explore/{name}"
PATIENCE = 2.0  # seconds after which a reader is told to wait
_TOP = 8  # rules and words of each
_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)


class Explorer:
    """Makes the pages, each once however many ask at the same time, in threads of their own: it takes seconds."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._pages: dict[str, Future[Response]] = {}

    def page(self, shelf: Shelf) -> Future[Response]:
        """The page about a model, now or when it is made; where that failed, whoever asks next tries again."""
        with self._lock:
            known = self._pages.get(shelf.name)
            if known is None or (known.done() and known.exception() is not None):
                known = self._pages[shelf.name] = Future()
                Thread(target=_make, args=(shelf, known), name=f"latree-explore-{shelf.name}", daemon=True).start()
            return known


def _make(shelf: Shelf, future: Future[Response]) -> None:
    try:
        report = report_on(shelf.model, Ask(_TOP, every=True))
        future.set_result(_response(page(replace(report, title=shelf.name))))
    except Exception as error:  # told to whoever waits
        future.set_exception(error)


def _response(text: str) -> Response:
    """The page with leave for its own style, and for nothing else."""
    hashes = " ".join(
        f"'sha256-{b64encode(sha256(style.encode()).digest()).decode()}'" for style in _STYLE.findall(text)
    )
    policy = f"default-src 'none'; style-src {hashes}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    return Response(text, media_type="text/html", headers={"Content-Security-Policy": policy})
