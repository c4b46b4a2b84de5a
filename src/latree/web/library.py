"""The models that a server has: those that come with latree, and those it was given."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

from latree import files
from latree.data import DEFAULT, shipped
from latree.errors import LatreeError
from latree.kinds.lvg.model import Lvg
from latree.kinds.lvg.typical import Typical
from latree.kinds.model import Model
from latree.kinds.registry import kind_named, load
from latree.web.metrics import Metrics
from latree.web.worker import Worker


class Shelf:
    """A model and who works with it; loaded when it is first asked for."""

    def __init__(self, name: str, path: Path, most: int, metrics: Metrics) -> None:
        self.name, self.path, self.most, self.metrics = name, path, most, metrics
        self._lock = Lock()
        self._worker: Worker | None = None

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What people choose a model by; told by its file alone."""
        header = files.load(self.path).header
        kind, training = kind_named(header["kind"]), header.get("training", {})
        parses = header["kind"] != kind.tagger_name
        symbols = header.get("symbols", [])
        return {
            "name": self.name,
            "kind": header["kind"],
            "summary": training.get("summary", ""),
            "parses": parses,
            "surprisal": parses and kind.generates,
            "subtypes": parses and header["kind"] == Lvg.kind,
            "phrases": sorted({label for sort, label, *_ in symbols if sort == "phrase"}),
            "tags": sorted({label for sort, label, *_ in symbols if sort == "tag"}),
        }

    def worker(self) -> Worker:
        """Who does the model's jobs; takes a moment the first time."""
        with self._lock:
            if self._worker is None:
                self._worker = Worker(self.name, load(self.path), self.most, self.metrics)
            return self._worker

    @property
    def model(self) -> Model:
        return self.worker().model

    @cached_property
    def typical(self) -> Typical | None:
        """What tells of the subtypes in trees; None where the model has none that stand by themselves."""
        return Typical(self.model) if isinstance(self.model, Lvg) else None

    @property
    def waiting(self) -> int:
        return 0 if self._worker is None else self._worker.waiting

    def close(self) -> None:
        with self._lock:
            if self._worker is not None:
                self._worker.close()


class Library:
    """Models by their names; the first is the default."""

    def __init__(self, given: Sequence[Path], most: int, metrics: Metrics) -> None:
        """`most` is how many sentences may wait for a model."""
        paths = _named(given) | {name: path for name, path in shipped().items() if name not in _named(given)}
        self.shelves = {name: Shelf(name, path, most, metrics) for name, path in paths.items()}
        self.default = next(iter(paths), DEFAULT)

    def shelf(self, name: str | None) -> Shelf:
        """The named model, or the default."""
        found = self.shelves.get(self.default if name is None else name)
        if found is None:
            raise LatreeError(f"there is no model {name!r}; there are {', '.join(self.shelves)}")
        return found

    def close(self) -> None:
        """Have all finish what they have taken."""
        for shelf in self.shelves.values():
            shelf.close()


def _named(given: Sequence[Path]) -> dict[str, Path]:
    """Paths by the names that people see: no folder is told."""
    paths: dict[str, Path] = {}
    for one in given:
        path = shipped().get(str(one), one)
        if path.stem in paths:
            raise LatreeError(f"{one}: there is a model called {path.stem} already; rename one of the files")
        paths[path.stem] = path
    return paths
