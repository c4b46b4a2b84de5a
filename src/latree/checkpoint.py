"""Where a long training stands: written after every round, read to go on exactly from there.

A checkpoint is a whole model file (it parses as it is) that also holds the training's own state.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from latree import model_file
from latree.errors import LatreeError
from latree.latent_treebank import LatentTreebank
from latree.split_merge import Refined
from latree.subtypes import History, Layout


class Standing(NamedTuple):
    """What the next round needs."""

    rounds: int  # done
    state: Refined
    rng: np.random.Generator


@dataclass(frozen=True)
class Checkpoint:
    """The file of a training, and what tells it from other trainings: its options and its treebank."""

    path: Path
    options: dict[str, Any]

    def identity(self, treebank: LatentTreebank) -> str:
        digest = hashlib.sha256(json.dumps(self.options, sort_keys=True).encode())
        digest.update("\n".join(map(str, treebank.grammar.symbols)).encode())
        digest.update("\n".join(treebank.vocabulary).encode("utf-8", "surrogatepass"))
        for array in (treebank.forest.rule, treebank.forest.ends, treebank.entries.word):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def write(self, model: Any, treebank: LatentTreebank, standing: Standing) -> None:
        header, arrays = model.state()
        header["checkpoint"] = {
            "identity": self.identity(treebank),
            "rounds": standing.rounds,
            "rng": standing.rng.bit_generator.state,
        }
        arrays["checkpoint.theta"] = standing.state.theta
        arrays["checkpoint.emissions"] = standing.state.emissions
        model_file.save(self.path, model.kind, header, arrays)

    def read(self, treebank: LatentTreebank) -> Standing | None:
        """Where this training stood; None where there is no checkpoint."""
        if not self.path.exists():
            return None
        header, arrays = model_file.load(self.path)
        found = header.get("checkpoint", {})
        if found.get("identity") != self.identity(treebank):
            raise LatreeError(
                f"{self.path}: made with other options or another treebank; remove it, or train as it was made"
            )
        rng = np.random.default_rng()
        rng.bit_generator.state = found["rng"]
        history = History.from_arrays(arrays, int(header["rounds"]))
        layout = Layout(treebank.grammar, arrays["size"])
        state = Refined(layout, arrays["checkpoint.theta"], arrays["checkpoint.emissions"], history)
        return Standing(int(found["rounds"]), state, rng)

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)
