"""Latent variable grammars: categories with learned subtypes (Petrov 2009, section 2.1)."""

from __future__ import annotations

from latree.kinds.lvg.options import LvgOptions
from latree.kinds.registry import Kind

KIND = Kind(
    "lvg",
    "Learned subtypes of categories, by split-merge EM or a prior.",
    options=LvgOptions,
    parser="latree.kinds.lvg.parser:Lvg",
    tagger="latree.kinds.lvg.tagger:LvgTagger",
    multiplies=True,
)
