"""A small model of every kind that is registered, and products of some, each trained once."""

from __future__ import annotations

from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any
from unittest.mock import patch

from latree.kinds.model import ForestModel
from latree.kinds.product.model import Product
from latree.kinds.registry import TAGGER, all_kinds, kind_named, load
from tests.command import done, folder, toy_trees, write_conllu

# What makes training short; a kind that is not named here is trained by its defaults.
SMALL = {
    "lvg": ("--rounds", "1", "--split-iterations", "5", "--merge-iterations", "2", "--smooth-iterations", "2"),
    "lvg-tagger": ("--subtypes", "2", "--split-iterations", "5", "--smooth-iterations", "2"),
    "lvg-d": ("--subtypes", "2", "--scales", "--epochs", "1", "--iterations", "3"),
    "lvg-d-tagger": ("--subtypes", "2", "--epochs", "1", "--iterations", "3"),
    "gm-lveg": ("--rounds", "1", "--epochs", "1", "--dim", "2", "--components", "2"),
    "gm-lveg-tagger": ("--epochs", "1", "--dim", "2", "--components", "2"),
    "svs": (
        "--clusters",
        "2",
    ),
}
PRODUCTS = (("lvg", "gm-lveg"), ("lvg", "lvg-d"))
SIZE = 60  # trees to train on

TRAINED = [*chain.from_iterable(kind.places() for kind in all_kinds().values() if kind.name != Product.kind)]
NAMES = [*TRAINED, *(" x ".join(members) for members in PRODUCTS)]


def is_tagger(name: str) -> bool:
    return name.endswith(TAGGER) or (name in TRAINED and kind_named(name).parser is None)


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
        done("train", kind, treebank(is_tagger(name)), "-o", path, "--quiet", *SMALL.get(name, ()))
    return saved[-1]


@cache
def made(name: str) -> tuple[ForestModel[Any], Path]:
    """A small model that never came from a file, and its file."""
    path = folder() / f"small {name}.latree"
    if name in TRAINED:
        return train(name, path), path
    product = Product([model(member) for member in name.split(" x ")])
    product.save(path)
    return product, path


def model_file(name: str) -> Path:
    return made(name)[1]


@cache
def model(name: str) -> ForestModel[Any]:
    """A small model, from its file."""
    return load(model_file(name))
