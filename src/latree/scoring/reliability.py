"""Whether probabilities mean what they say: of all that is said with 0.8, 80 % should be right."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

BINS = 10
Claim = tuple[float, bool]  # a probability, and whether what it was given to is so


@dataclass(frozen=True)
class Bin:
    """What is said with a probability between two bounds."""

    low: float
    high: float
    count: int
    said: float  # the mean probability
    right: float  # the share that is right


@dataclass(frozen=True)
class Reliability:
    """Claims by their probabilities."""

    bins: tuple[Bin, ...]  # without those that are empty
    count: int
    error: float  # how far the share of right claims is from what is said, a bin's weight being its claims (ECE)
    squared_error: float  # the mean of (probability - 1 if right)^2 over claims (Brier's score)

    @property
    def said(self) -> float:
        """The mean probability of all."""
        return sum(one.count * one.said for one in self.bins) / max(self.count, 1)

    @property
    def right(self) -> float:
        """The share of all that is right."""
        return sum(one.count * one.right for one in self.bins) / max(self.count, 1)

    def to_json(self) -> dict[str, Any]:
        figures = {"ece": self.error, "brier": self.squared_error, "said": self.said, "right": self.right}
        return {"count": self.count, **figures, "bins": [asdict(one) for one in self.bins]}


def reliability(claims: Iterable[Claim], bins: int = BINS) -> Reliability:
    """Sort claims into bins of equal width; a bin has its upper bound."""
    sorted_in: dict[int, list[Claim]] = {}
    squares = 0.0
    for probability, is_right in claims:
        place = min(max(math.ceil(probability * bins) - 1, 0), bins - 1)
        sorted_in.setdefault(place, []).append((probability, is_right))
        squares += (probability - is_right) ** 2
    told = tuple(_told(sorted_in, bins))
    count = sum(one.count for one in told)
    error = sum(one.count * abs(one.said - one.right) for one in told)
    return Reliability(told, count, error / max(count, 1), squares / max(count, 1))


def _told(sorted_in: dict[int, list[Claim]], bins: int) -> Iterator[Bin]:
    for place in sorted(sorted_in):
        claims = sorted_in[place]
        said, right = (sum(values) / len(claims) for values in zip(*claims, strict=True))
        yield Bin(place / bins, (place + 1) / bins, len(claims), said, right)
