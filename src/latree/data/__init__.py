"""Data that ships with latree.

`toy("train")` is the path of a small treebank, sampled from a hand-written grammar whose subtypes (number, case, verb
frames, ...) are hidden: enough to try every command on, and to see whether a learner finds the subtypes again.
`toy("train", hidden=True)` has the same trees with the subtypes showing.

`shipped()` has the model files that come with latree, by their names.  Beside each lies a card, `english.md` and so on,
that says what it was made from and what it is good for.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

DEFAULT = "english"  # used where no model is named
TOY_PARTS = ("train", "dev", "test")
_HERE = Path(str(files(__name__)))


def shipped() -> dict[str, Path]:
    """The model files by their names."""
    return {path.stem: path for path in sorted(_HERE.glob("*.latree"), key=lambda path: (path.stem != DEFAULT, path))}


def toy(part: str, *, hidden: bool = False) -> Path:
    """The bracket file of one part of the toy treebank; with `hidden`, its labels carry their subtypes."""
    if part not in TOY_PARTS:
        raise ValueError(f"no part {part!r} in the toy treebank; expected one of {', '.join(TOY_PARTS)}")
    return _HERE / "toy" / f"{part}{'.hidden' if hidden else ''}.mrg"
