"""What models share whose categories have a space of subtypes in place of a list of them."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from latree.arrays import Floats
from latree.errors import LatreeError
from latree.files import Arrays, Header, ModelFile
from latree.inference.forest import Forest
from latree.kinds.pruned import PrunedModel


class ContinuousModel(PrunedModel):
    """Mixed into a parser or a tagger: subtypes are integrated over, and never gone through."""

    joint_by_score: ClassVar[bool] = False  # whether `joint` is left to held-out data, at the end of training

    def draw_edges(self, forest: Forest, reading: Any, rng: np.random.Generator) -> list[int]:
        raise LatreeError("continuous subtypes cannot be gone through one by one; trees are drawn from other kinds")

    def viterbi_scores(self, forest: Forest, reading: Any) -> Floats:
        raise LatreeError("continuous subtypes have no single best derivation; use another objective")

    def state(self) -> ModelFile:
        header, arrays = super().state()
        return ModelFile(header | {"joint": self.joint}, arrays)

    def restore(self, header: Header, arrays: Arrays) -> None:
        super().restore(header, arrays)
        self.joint = bool(header.get("joint", self.joint))

    def subtype_counts(self) -> None:
        """A category has a space of subtypes: there are none to count."""
