"""The files of the page: a fixed list, read once; no request names a file."""

from __future__ import annotations

from importlib.resources import files

from starlette.responses import Response

_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
INDEX = "index.html"
NAMES = (INDEX, "style.css", "icon.svg")
SCRIPTS = (
    *("main.js", "api.js", "dom.js", "trees.js", "drawing.js", "walking.js", "inspector.js", "readings.js"),
    *("subtypes.js", "queue.js", "takeaway.js"),
)


def responses() -> dict[str, Response]:
    """What is answered for each path."""
    folder = files(__name__.rpartition(".")[0]) / "static"
    texts = {name: (folder / name).read_bytes() for name in (*NAMES, *SCRIPTS)}
    return {_path(name): Response(text, media_type=_TYPES[name.rpartition(".")[2]]) for name, text in texts.items()}


def _path(name: str) -> str:
    return "/" if name == INDEX else f"/static/{name}"
