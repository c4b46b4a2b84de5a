"""Gaussian-mixture latent vector grammars: continuous subtypes (Zhao, Zhang & Tu 2018)."""

from __future__ import annotations

from latree.kinds.registry import Kind

KIND = Kind(
    "gm-lveg",
    "continuous subtypes: Gaussian mixtures over latent vectors",
    parser="latree.kinds.gm_lveg.parser:GmLveg",
    tagger="latree.kinds.gm_lveg.tagger:GmLvegTagger",
    multiplies=True,
    pruners=("lvg", "hmm"),
)
