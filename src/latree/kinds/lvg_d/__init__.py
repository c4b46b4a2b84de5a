"""Log-linear latent variable grammars, trained to tell right trees from wrong ones (Petrov 2009, section 2.2)."""

from __future__ import annotations

from latree.kinds.lvg_d.options import LvgDOptions
from latree.kinds.registry import Kind

KIND = Kind(
    "lvg-d",
    "Subtypes with weights trained to tell right trees from wrong ones.",
    options=LvgDOptions,
    parser="latree.kinds.lvg_d.parser:LvgD",
    tagger="latree.kinds.lvg_d.tagger:LvgDTagger",
    report="latree.kinds.lvg_d.report:report",
    multiplies=True,
    pruners=("lvg",),
)
