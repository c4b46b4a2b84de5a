"""A small model of every kind that is registered, and products of some, each trained once."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from latree.cli.warm import NAMES, SIZE, SMALL, TRAINED, is_tagger
from latree.kinds.model import ForestModel
from latree.kinds.product.model import together
from latree.kinds.registry import kind_named, load
from tests.command import done, folder, toy_trees, write_conllu

PARSERS = [name for name in NAMES if not is_tagger(name)]
TAGGERS = [name for name in NAMES if is_tagger(name)]


@cache
def treebank(tagged: bool) -> Path:
    """The first trees of the toy treebank, in brackets or as CoNLL-U."""
    trees = toy_trees("train")[:SIZE]
    if tagged:
        return write_conllu(folder() / "small.conllu", trees)
    path = folder() / "small.mrg"
    path.write_text("".join(f"{tree}\n" for tree in trees), encoding="utf-8")
    return path


def train(name: str, path: Path) -> ForestModel[Any]:
    """Train a small model as the command line does; what that wrote to the file is the model given."""
    saved, save = [], ForestModel.save

    def save_and_keep(model: ForestModel[Any], to: str | Path) -> None:
        saved.append(model)
        save(model, to)

    with patch.object(ForestModel, "save", save_and_keep):
        kind = kind_named(name).name
        done("train", kind, treebank(is_tagger(name)), "-o", path, "--quiet", *_flags(name))
    return saved[-1]


def _flags(name: str) -> list[str]:
    """What makes the training short, as a user would write it."""
    pairs = ((f"--{option.replace('_', '-')}", value) for option, value in SMALL.get(name, {}).items())
    return [word for flag, value in pairs for word in ([flag] if value is True else [flag, str(value)])]


@cache
def made(name: str) -> tuple[ForestModel[Any], Path]:
    """A small model that never came from a file, and its file."""
    path = folder() / f"small {name}.latree"
    if name in TRAINED:
        return train(name, path), path
    product = together([model(member) for member in name.split(" x ")])
    product.save(path)
    return product, path


def model_file(name: str) -> Path:
    return made(name)[1]


@cache
def model(name: str) -> ForestModel[Any]:
    """A small model, from its file."""
    return load(model_file(name))
