"""What a model says of a sentence."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from latree.tree import Tree

Status = Literal["ok", "recovered", "failed", "empty"]


class Constituent(NamedTuple):
    """A phrase over words start..end-1, and the probability that it is there."""

    label: str
    start: int
    end: int
    probability: float


@dataclass(frozen=True)
class Analysis:
    """What parses and taggings share.

    status   ok: the model's own; recovered: the model derives nothing, a stand-in is given; failed: the sentence was
             not tried, a stand-in is given; empty: there were no words.  `reason` says why it is not ok.
    """

    tokens: tuple[str, ...]
    log_joint: float  # log P(T, w)
    log_marginal: float  # log P(w)
    status: Status = "ok"
    reason: str = ""

    @property
    def probability(self) -> float:
        """P(T | w); NaN where the model gives the words no probability."""
        return math.exp(min(self.log_joint - self.log_marginal, 0.0)) if math.isfinite(self.log_marginal) else math.nan

    def to_json(self) -> dict[str, Any]:
        """Plain values; what is not a number becomes null."""
        return {
            "tokens": list(self.tokens),
            "status": self.status,
            "reason": self.reason,
            "log_joint": _finite(self.log_joint),
            "log_marginal": _finite(self.log_marginal),
            "probability": _finite(self.probability),
        }


@dataclass(frozen=True)
class Parse(Analysis):
    """A tree for a sentence."""

    tree: Tree | None = None  # None only where there are no words
    constituents: tuple[Constituent, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        return "" if self.tree is None else str(self.tree)

    def to_json(self) -> dict[str, Any]:
        return super().to_json() | {"tree": str(self), "constituents": [list(c) for c in self.constituents]}


@dataclass(frozen=True)
class Tagging(Analysis):
    """A tag for every word, with its probability."""

    tags: tuple[str, ...] = ()
    confidences: tuple[float, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        return " ".join(f"{word}/{tag}" for word, tag in zip(self.tokens, self.tags, strict=True))

    def to_json(self) -> dict[str, Any]:
        return super().to_json() | {"tags": list(self.tags), "confidences": list(self.confidences)}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
