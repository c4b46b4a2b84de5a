"""Structured vectorial semantics: a vector over concepts for every constituent."""

from __future__ import annotations

from latree.kinds.registry import Kind

KIND = Kind(
    "svs",
    "a vector over concepts for every constituent, by headwords or their clusters",
    parser="latree.kinds.svs.model:Svs",
)
