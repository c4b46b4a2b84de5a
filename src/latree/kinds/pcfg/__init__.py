"""The treebank PCFG: rules with their relative frequencies."""

from __future__ import annotations

from latree.kinds.options import TreeOptions
from latree.kinds.registry import Kind

KIND = Kind(
    "pcfg",
    "The treebank grammar: rules with their relative frequencies.",
    options=TreeOptions,
    parser="latree.kinds.pcfg.model:Pcfg",
    generates=True,
)
