"""Structured vectorial semantics: a vector over concepts for every constituent."""

from __future__ import annotations

from latree.kinds.registry import Kind
from latree.kinds.svs.options import SvsOptions

KIND = Kind(
    "svs",
    "A vector over concepts for every constituent, by headwords or their clusters.",
    options=SvsOptions,
    parser="latree.kinds.svs.model:Svs",
    report="latree.kinds.svs.report:report",
)
