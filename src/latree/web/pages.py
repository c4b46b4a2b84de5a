"""The files of the page: a fixed list, read once; no request names a file."""

from __future__ import annotations

from importlib.resources import files

from starlette.responses import Response

_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
INDEX = "index.html"
WAITING = "waiting.html"  # in the place of a page that is not made yet
NAMES = (INDEX, "style.css", "icon.svg")
SCRIPTS = (
    *("main.js", "api.js", "dom.js", "trees.js", "drawing.js", "walking.js", "inspector.js", "readings.js"),
    *("subtypes.js", "queue.js", "takeaway.js", "link.js", "waiting.js"),
)


def responses() -> dict[str, Response]:
    """What is answered for each path."""
    return {_path(name): _response(name) for name in (*NAMES, *SCRIPTS)}


def waiting() -> Response:
    """What is answered while a page is made."""
    return _response(WAITING, 202)


def _response(name: str, status: int = 200) -> Response:
    text = (files(__name__.rpartition(".")[0]) / "static" / name).read_bytes()
    return Response(text, status, media_type=_TYPES[name.rpartition(".")[2]])


def _path(name: str) -> str:
    return "/" if name == INDEX else f"/static/{name}"
