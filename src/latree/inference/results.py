"""What a model says of a sentence."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, Self, get_args

from latree.errors import LatreeError
from latree.text.draw import Picture
from latree.text.tokenize import offsets
from latree.text.tree import Tree

Status = Literal["ok", "recovered", "failed", "empty"]
Objective = Literal["max-rule", "max-rule-sum", "variational", "mbr", "viterbi"]  # by what the best is chosen
OBJECTIVES: tuple[Objective, ...] = get_args(Objective)


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
             not tried, a stand-in is given; empty: there were no words.  `reason` says why it is not ok, and whose
             the stand-in is, which has no probabilities: the model itself gives the words none.
    """

    tokens: tuple[str, ...]
    log_joint: float  # log P(T, w)
    log_marginal: float  # log P(w)
    status: Status = "ok"
    reason: str = ""

    def as_stand_in(self, reason: str) -> Self:
        """What another model says, where the one that was asked derives nothing."""
        return replace(self, status="recovered", reason=reason, log_joint=-math.inf, log_marginal=-math.inf)

    @property
    def probability(self) -> float:
        """P(T | w); NaN where the model gives the words no probability."""
        return math.exp(self.log_joint - self.log_marginal) if math.isfinite(self.log_marginal) else math.nan

    def to_json(self) -> dict[str, Any]:
        """Plain values; what is not a number becomes null.  Tokens of running text have their places with them."""
        places = offsets(self.tokens)
        return {
            "tokens": list(self.tokens),
            **({"offsets": places} if places else {}),
            "status": self.status,
            "reason": self.reason,
            "log_joint": finite(self.log_joint),
            "log_marginal": finite(self.log_marginal),
            "probability": finite(self.probability),
        }


@dataclass(frozen=True)
class Parse(Analysis):
    """A tree for a sentence."""

    tree: Tree | None = None  # None only where there are no words
    look_up: Callable[[Tree], Sequence[Constituent]] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def constituents(self) -> tuple[Constituent, ...]:
        """The tree's phrases with their probabilities, a parent before its children; looked up when asked for."""
        return tuple(self.look_up(self.tree)) if self.look_up is not None and self.tree is not None else ()

    def as_stand_in(self, reason: str) -> Self:
        return replace(super().as_stand_in(reason), look_up=None)

    def draw(self, shade: bool = False) -> Picture:
        """Make a picture of the tree, to be printed, shown in a notebook, or saved.

        With `shade` it tells how likely each phrase is, by the shade behind its label; a stand-in has no probabilities.
        """
        if self.tree is None:
            raise LatreeError("there are no words, and so no tree to draw")
        return Picture(self.tree, tuple(one.probability for one in self.constituents) if shade else ())

    def _repr_svg_(self) -> str | None:
        return None if self.tree is None else self.draw()._repr_svg_()

    def _repr_html_(self) -> str | None:
        """How a notebook shows the parse."""
        return None if self.tree is None else self.draw()._repr_html_()

    def __getstate__(self) -> dict[str, Any]:
        """What another process gets: the probabilities, not the whole table that they come from."""
        return {**self.__dict__, "constituents": self.constituents, "look_up": None}

    def __str__(self) -> str:
        return "" if self.tree is None else str(self.tree)

    def to_json(self, *, constituents: bool = True) -> dict[str, Any]:
        """With or without the phrases, whose probabilities take time to look up."""
        phrases = {"constituents": [list(c) for c in self.constituents]} if constituents else {}
        return super().to_json() | {"tree": str(self)} | phrases

    def tagging(self) -> Tagging:
        """The tree's tags alone, which have no probabilities of their own."""
        tags = () if self.tree is None else tuple(self.tree.tags())
        return Tagging(self.tokens, self.log_joint, self.log_marginal, self.status, self.reason, tags=tags)


@dataclass(frozen=True)
class Tagging(Analysis):
    """A tag for every word, with its probability."""

    tags: tuple[str, ...] = ()
    confidences: tuple[float, ...] = field(default=(), repr=False)

    def as_stand_in(self, reason: str) -> Self:
        return replace(super().as_stand_in(reason), confidences=())

    def __str__(self) -> str:
        return " ".join(f"{word}/{tag}" for word, tag in zip(self.tokens, self.tags, strict=True))

    def to_json(self) -> dict[str, Any]:
        return super().to_json() | {"tags": list(self.tags), "confidences": list(self.confidences)}


def finite(value: float) -> float | None:
    """A number, or None where it is none that JSON has."""
    return value if math.isfinite(value) else None
