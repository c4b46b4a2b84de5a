"""Several grammars as one."""

from __future__ import annotations

from latree.kinds.registry import Kind

KIND = Kind(
    "product",
    "Several grammars as one.",
    parser="latree.kinds.product.model:Product",
    tagger="latree.kinds.product.model:ProductTagger",
    report="latree.kinds.product.report:report",
)
