"""The treebank PCFG: rules with their relative frequencies."""

from __future__ import annotations

from latree.kinds.registry import Kind

KIND = Kind(
    "pcfg",
    "the treebank grammar: rules with their relative frequencies",
    parser="latree.kinds.pcfg.model:Pcfg",
)
