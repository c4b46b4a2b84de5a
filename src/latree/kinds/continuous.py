"""What models share whose categories have a space of subtypes in place of a list of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from latree.arrays import Floats
from latree.errors import LatreeError
from latree.inference.forest import Forest
from latree.kinds.pruned import PrunedModel


class ContinuousModel(PrunedModel):
    """Mixed into a parser or a tagger: subtypes are integrated over, and never gone through."""

    def draw_edges(self, forest: Forest, reading: Any, rng: np.random.Generator) -> list[int]:
        raise LatreeError("continuous subtypes cannot be gone through one by one; trees are drawn from other kinds")

    def viterbi_scores(self, forest: Forest, reading: Any) -> Floats:
        raise LatreeError("continuous subtypes have no single best derivation; use another objective")

    def subtype_counts(self) -> None:
        """A category has a space of subtypes: there are none to count."""
