"""Latent variable grammars: categories with learned subtypes (Petrov 2009, section 2.1)."""

from __future__ import annotations

from latree.kinds.registry import Kind

KIND = Kind(
    "lvg",
    "learned subtypes of categories, by split-merge EM or a prior",
    parser="latree.kinds.lvg.parser:Lvg",
    tagger="latree.kinds.lvg.tagger:LvgTagger",
    multiplies=True,
)
