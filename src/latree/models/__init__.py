"""The models by name, and how a file becomes one again."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from latree import model_file
from latree.data import english
from latree.errors import LatreeError

if TYPE_CHECKING:
    from latree.models.base import ForestModel

# kind -> module and class; a module is imported, and its kernels with it, only when it is needed.
KINDS = {
    "pcfg": ("latree.models.pcfg", "Pcfg"),
    "hmm": ("latree.models.hmm", "Hmm"),
    "lvg": ("latree.models.lvg", "Lvg"),
    "product": ("latree.models.product", "Product"),
    "lvg-tagger": ("latree.models.lvg_tagger", "LvgTagger"),
    "gm-lveg": ("latree.models.gm_lveg", "GmLveg"),
    "gm-lveg-tagger": ("latree.models.gm_lveg_tagger", "GmLvegTagger"),
    "svs": ("latree.models.svs", "Svs"),
    "lvg-d": ("latree.models.lvg_d", "LvgD"),
    "lvg-d-tagger": ("latree.models.lvg_d_tagger", "LvgDTagger"),
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
    header, arrays = model_file.load(path)
    try:
        return from_state(header["kind"], header, arrays)
    except LatreeError as error:
        raise LatreeError(f"{path}: {error}") from None
