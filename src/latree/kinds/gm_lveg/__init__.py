"""Gaussian-mixture latent vector grammars: continuous subtypes (Zhao, Zhang & Tu 2018)."""

from __future__ import annotations

from latree.kinds.gm_lveg.options import GmLvegOptions
from latree.kinds.registry import Kind

KIND = Kind(
    "gm-lveg",
    "Continuous subtypes: Gaussian mixtures over latent vectors.",
    options=GmLvegOptions,
    parser="latree.kinds.gm_lveg.parser:GmLveg",
    tagger="latree.kinds.gm_lveg.tagger:GmLvegTagger",
    report="latree.kinds.gm_lveg.report:report",
    multiplies=True,
    joins_pruner=True,
    pruners=("lvg", "hmm"),
)
