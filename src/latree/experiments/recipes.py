"""A model to be trained as often as an experiment asks for: its kind and its options."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from latree.kinds.options import ModelOptions
from latree.kinds.registry import kind_named, model_class
from latree.learning.loop import Training


@dataclass(frozen=True)
class Recipe:
    """What `latree train` would be told, without the files."""

    text: str  # as a user writes it, such as "lvg --rounds 3"
    kind: str
    options: ModelOptions
    tags: bool = False  # whether a tagger is trained

    def untrained(self, seed: int | None = None) -> Any:
        """The model before it learns; another seed takes the place of the recipe's own."""
        kind = kind_named(self.kind)
        options = self.options if seed is None else replace(self.options, seed=seed)
        return model_class(kind.tagger_name if self.tags else kind.name)(options)

    def trained(self, examples: Iterable[Any], seed: int | None = None) -> Any:
        """The model that learned from trees as they are in a treebank, or from tagged sentences."""
        model = self.untrained(seed)
        model.fit(examples, Training())
        return model
