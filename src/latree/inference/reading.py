"""What a model makes of the words of a sentence, before anything is known of its analysis.

Every kind says what its readings hold: whatever it is, there is a row a word, so that sentences can be laid end to
end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from latree.arrays import Floats


@dataclass(frozen=True, eq=False)
class Reading:
    """Holds arrays with a row a word, other readings, and tuples of these."""

    @classmethod
    def joined(cls, readings: Sequence[Self]) -> Self:
        """Lay the readings of several sentences end to end."""
        return cls(*(_end_to_end([getattr(one, field.name) for one in readings]) for field in fields(cls)))


def _end_to_end(parts: Sequence[Any]) -> Any:
    first = parts[0]
    if isinstance(first, Reading):
        return type(first).joined(parts)
    if isinstance(first, tuple):
        return tuple(_end_to_end(column) for column in zip(*parts, strict=True))
    return np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class Emissions(Reading):
    """What a generative grammar makes of words: how probable each is under every tag."""

    tags: Floats  # [words, tags] P(word | tag), for the coarse pass
    subtypes: Floats  # [words, tags' subtypes laid end to end] P(word | tag's subtype)
