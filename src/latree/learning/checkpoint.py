"""Where a training stands: written after every step, read to go on exactly from there.

A checkpoint is a whole model file (it parses as it is) that also holds the training's own state.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from latree import files
from latree.errors import LatreeError
from latree.files import Arrays, Header, part_of

_PREFIX = "checkpoint."


def fingerprint(parts: Iterable[bytes]) -> str:
    """What tells one treebank from another."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


@dataclass(frozen=True)
class Standing:
    """What the next step needs."""

    done: int  # steps
    rng: np.random.Generator
    arrays: Arrays  # the training's own
    notes: Header = field(default_factory=dict)  # the same, of what is not arrays
    header: Header = field(default_factory=dict)  # of the model as it was, where a checkpoint was read
    model: Arrays = field(default_factory=dict)  # its arrays


@dataclass(frozen=True)
class Checkpoint:
    """The file of a training, and the options that tell it from other trainings of the same treebank."""

    path: Path
    options: Header
    part: str = ""  # of the model, as "pruner", which is trained first and has the file to itself until it is done

    def _options(self) -> str:
        return fingerprint([json.dumps(self.options, sort_keys=True).encode()])

    def write(self, model: Any, treebank: str, standing: Standing) -> None:
        """`treebank` is its fingerprint."""
        header, arrays = model.state()
        header["checkpoint"] = {
            "options": self._options(),
            "part": self.part,
            "treebank": treebank,
            "done": standing.done,
            "rng": standing.rng.bit_generator.state,
            "notes": standing.notes,
        }
        arrays |= {_PREFIX + name: array for name, array in standing.arrays.items()}
        files.save(self.path, model.kind, header, arrays)

    def read(self, treebank: str) -> Standing | None:
        """Where this training stood; None where there is no checkpoint, or where it is of another part of the model."""
        if not self.path.exists():
            return None
        header, arrays = files.load(self.path)
        stored = header.get("checkpoint", {})
        same_options = stored.get("options") == self._options()
        with self.faults_told():
            if same_options and stored["part"] != self.part:
                return None
            if not same_options or stored["treebank"] != treebank:
                raise LatreeError(
                    f"{self.path}: made with other options or another treebank; remove it, or train as it was made"
                )
            rng = np.random.default_rng()
            rng.bit_generator.state = stored["rng"]
            return Standing(int(stored["done"]), rng, part_of(_PREFIX, arrays), stored["notes"], header, arrays)

    @contextmanager
    def faults_told(self) -> Iterator[None]:
        """Say what to do where a checkpoint does not have what is looked for, as those of other versions do not."""
        try:
            yield
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            what = f"it lacks {error}" if isinstance(error, KeyError) else f"{type(error).__name__}: {error}"
            raise LatreeError(
                f"{self.path}: no training of this version of latree can go on from here ({what}): "
                "remove it and train from the start, or go on with the version that made it"
            ) from error

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)
