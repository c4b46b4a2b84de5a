"""Data that ships with latree.

`toy("train")` is the path of a small treebank, sampled from a hand-written grammar whose subtypes (number, case, verb
frames, ...) are hidden: enough to try every command on, and to see whether a learner finds the subtypes again.
`toy("train", hidden=True)` has the same trees with the subtypes showing.

`english()` is the path of an English grammar, which is used where no model is named; `english.md` says what it is.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

TOY_PARTS = ("train", "dev", "test")


def english() -> Path:
    """The model file of the English grammar."""
    return Path(str(files(__name__))) / "english.latree"


def toy(part: str, *, hidden: bool = False) -> Path:
    """The bracket file of one part of the toy treebank; with `hidden`, its labels carry their subtypes."""
    if part not in TOY_PARTS:
        raise ValueError(f"no part {part!r} in the toy treebank; expected one of {', '.join(TOY_PARTS)}")
    return Path(str(files(__name__))) / "toy" / f"{part}{'.hidden' if hidden else ''}.mrg"
