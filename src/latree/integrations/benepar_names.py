"""What scripts for benepar name, and what stands for it here."""

from __future__ import annotations

import warnings
from pathlib import Path

from latree.data import DEFAULT
from latree.errors import LatreeError

_PREFIX, _ENGLISH = "benepar_", "benepar_en"
_ESCAPES = str.maketrans({"{": "-LCB-", "}": "-RCB-", "[": "-LSB-", "]": "-RSB-"})


def model_meant(name: str) -> str:
    """The model that a name means: for an English one of benepar's the one that ships, which is told."""
    if not name.startswith(_PREFIX) or Path(name).exists():
        return name
    if not name.startswith(_ENGLISH):
        raise LatreeError(
            f"{name} is a model of benepar's, and latree comes with none of that language; name a file that `latree "
            "train` wrote"
        )
    warnings.warn(f"{name} is a model of benepar's; {DEFAULT}, which ships with latree, takes its place", stacklevel=2)
    return DEFAULT


def escaped(brackets: str) -> str:
    """A tree whose words have no braces and no square brackets, as benepar and the Penn Treebank write it."""
    return brackets.translate(_ESCAPES)
