"""latree warm: compile everything ahead, so that no later command waits for it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from latree.cli.kind_options import options_from
from latree.cli.status import Count, note, status_line
from latree.data import toy
from latree.errors import LatreeError
from latree.inference.results import OBJECTIVES, Analysis, Objective
from latree.inference.sweep import sweep_inside
from latree.jit import IN_MEMORY, place_of
from latree.kinds.model import Model
from latree.kinds.parser import Parser
from latree.kinds.product.model import Product, together
from latree.kinds.registry import TAGGER, all_kinds, kind_named, load, model_class
from latree.kinds.svs.model import Svs
from latree.parallel import Pool, cores
from latree.text.formats import read_trees
from latree.text.tree import Tree

# What makes training short; a kind that is not named here is trained by its defaults.
SMALL: dict[str, dict[str, Any]] = {
    "cvg": {"rounds": 1, "epochs": 1, "dim": 3, "list": 5, "folds": 2},
    "lvg": {"rounds": 1, "split_iterations": 5, "merge_iterations": 2, "smooth_iterations": 2},
    "lvg-tagger": {"subtypes": 2, "split_iterations": 5, "smooth_iterations": 2},
    "lvg-d": {"subtypes": 2, "scales": True, "epochs": 1, "iterations": 3},
    "lvg-d-tagger": {"subtypes": 2, "epochs": 1, "iterations": 3},
    "gm-lveg": {"rounds": 1, "epochs": 1, "dim": 2, "components": 2},
    "gm-lveg-tagger": {"subtypes": 2, "epochs": 1, "dim": 2, "components": 2},
    "neural": {"rounds": 1, "epochs": 1, "width": 8, "dim": 2},
    "neural-tagger": {"epochs": 1, "width": 8, "dim": 2},
    "svs": {"clusters": 2},
}
PRODUCTS = (("lvg", "gm-lveg"), ("lvg", "lvg-d"), ("lvg-tagger", "gm-lveg-tagger"))
SIZE = 60  # trees to train on

_KINDS = [kind for kind in all_kinds().values() if kind.name != Product.kind and kind.is_usable]
TRAINED = [*chain.from_iterable(kind.places() for kind in _KINDS)]
NAMES = [*TRAINED, *(" x ".join(members) for members in PRODUCTS)]


def warm() -> None:
    """Compile all that parsing, tagging and training need, for every kind of model, and keep it on disk.

    Other commands compile what they need when they first need it.  Here a small model of every kind is trained and
    used, on all processors.
    """
    place = place_of(sweep_inside)
    if place is None:
        raise LatreeError(IN_MEMORY)
    note("compiling for every kind of model; this takes some two minutes of processor time")
    count = Count("kinds of model compiled", len(NAMES))
    with status_line(count.line), Pool(min(cores(), len(NAMES)), tuple) as pool:
        for name in pool.stream(_compile, sorted(NAMES, key=_is_pruned)):
            count.add()
            note(f"compiled what {name} needs")
    note(f"all kernels are kept in {os.path.dirname(place)}")


def _is_pruned(name: str) -> bool:
    """Whether a model of this name needs others, whose kernels are then better there already."""
    return name not in TRAINED or bool(kind_named(name).pruners)


def _compile(_: object, name: str) -> str:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "small.latree"
        small_model(name).save(path)
        use(load(path))
    return name


@cache
def small_model(name: str) -> Model:
    """Train a small model of a kind, or those whose product it is."""
    if name not in TRAINED:
        return together([small_model(member) for member in name.split(" x ")])
    tags = is_tagger(name)
    options = options_from(kind_named(name), SMALL.get(name, {}), tags=tags)
    data = [(tree.words(), tree.tags()) for tree in _trees()] if tags else _trees()
    return model_class(name)(options).fit(data)


def is_tagger(name: str) -> bool:
    """Whether a model of this name tags and does not parse."""
    return name.endswith(TAGGER) or (name in TRAINED and kind_named(name).parser is None)


@cache
def _trees() -> list[Tree]:
    return list(islice(read_trees(toy("train")), SIZE))


def use(model: Model) -> None:
    """Ask a model for everything that commands ask for; a kind may refuse some of it."""
    tree = _trees()[0]
    words = tree.words()
    for objective in OBJECTIVES:
        for ask in (model.analyse([words], objective), _listed(model, words, objective)):
            with suppress(LatreeError):
                for one in ask:
                    one.to_json()
    model.posteriors(words)
    if isinstance(model, Parser) and kind_named(model.kind).generates:
        model.surprisal(words)
    if isinstance(model, Svs):
        model.vectors(tree)


def _listed(model: Model, words: Sequence[str], objective: Objective) -> Iterator[Analysis]:
    yield from model.kbest(words, 2, objective)
