"""The models by name, and how a file becomes one again."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from latree import files
from latree.data import english
from latree.errors import LatreeError

if TYPE_CHECKING:
    from latree.kinds.model import ForestModel

# kind -> module and class; a module is imported, and its kernels with it, only when it is needed.
KINDS = {
    "pcfg": ("latree.kinds.pcfg.model", "Pcfg"),
    "hmm": ("latree.kinds.hmm.model", "Hmm"),
    "lvg": ("latree.kinds.lvg.parser", "Lvg"),
    "product": ("latree.kinds.product.model", "Product"),
    "lvg-tagger": ("latree.kinds.lvg.tagger", "LvgTagger"),
    "gm-lveg": ("latree.kinds.gm_lveg.parser", "GmLveg"),
    "gm-lveg-tagger": ("latree.kinds.gm_lveg.tagger", "GmLvegTagger"),
    "svs": ("latree.kinds.svs.model", "Svs"),
    "lvg-d": ("latree.kinds.lvg_d.parser", "LvgD"),
    "lvg-d-tagger": ("latree.kinds.lvg_d.tagger", "LvgDTagger"),
}


def model_class(kind: str) -> type[ForestModel[Any]]:
    """The class of a kind of model."""
    if kind not in KINDS:
        raise LatreeError(f"unknown kind of model {kind!r}; this latree has {', '.join(KINDS)}")
    module, name = KINDS[kind]
    found: type[ForestModel[Any]] = getattr(import_module(module), name)
    return found


def from_state(kind: str, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> ForestModel[Any]:
    """A model from its header and arrays."""
    try:
        return model_class(kind).from_state(header, arrays)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise LatreeError(f"the {kind} model is damaged: {type(error).__name__} {error}") from error


def load(path: str | Path | None = None) -> ForestModel[Any]:
    """The model in a file that `save` wrote; without a file, the English grammar that ships with latree."""
    path = english() if path is None else path
    header, arrays = files.load(path)
    try:
        return from_state(header["kind"], header, arrays)
    except LatreeError as error:
        raise LatreeError(f"{path}: {error}") from None
