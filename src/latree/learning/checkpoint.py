"""Where a long training stands: written after every round or epoch, read to go on exactly from there.

A checkpoint is a whole model file (it parses as it is) that also holds the training's own state.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from latree import files
from latree.errors import LatreeError

_PREFIX = "checkpoint."


def fingerprint(parts: Iterable[bytes]) -> str:
    """What tells one treebank from another."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


@dataclass(frozen=True)
class Standing:
    """What the next round needs."""

    done: int  # rounds
    rng: np.random.Generator
    arrays: dict[str, NDArray[Any]]  # the training's own
    notes: dict[str, Any] = field(default_factory=dict)  # the same, of what is not arrays
    header: Mapping[str, Any] = field(default_factory=dict)  # of the model as it was, where a checkpoint was read
    model: Mapping[str, NDArray[Any]] = field(default_factory=dict)  # its arrays


@dataclass(frozen=True)
class Checkpoint:
    """The file of a training, and the options that tell it from other trainings of the same treebank."""

    path: Path
    options: dict[str, Any]

    def _identity(self, treebank: str) -> str:
        return fingerprint([json.dumps(self.options, sort_keys=True).encode(), treebank.encode()])

    def write(self, model: Any, treebank: str, standing: Standing) -> None:
        """`treebank` is its fingerprint."""
        header, arrays = model.state()
        header["checkpoint"] = {
            "identity": self._identity(treebank),
            "done": standing.done,
            "rng": standing.rng.bit_generator.state,
            "notes": standing.notes,
        }
        arrays |= {_PREFIX + name: array for name, array in standing.arrays.items()}
        files.save(self.path, model.kind, header, arrays)

    def read(self, treebank: str) -> Standing | None:
        """Where this training stood; None where there is no checkpoint."""
        if not self.path.exists():
            return None
        header, arrays = files.load(self.path)
        kept = header.get("checkpoint", {})
        if kept.get("identity") != self._identity(treebank):
            raise LatreeError(
                f"{self.path}: made with other options or another treebank; remove it, or train as it was made"
            )
        rng = np.random.default_rng()
        rng.bit_generator.state = kept["rng"]
        state = files.part_of(_PREFIX, arrays)
        return Standing(int(kept["done"]), rng, state, kept["notes"], header, arrays)

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)
