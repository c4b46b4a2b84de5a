"""The discriminative tagger with subtypes: a conditional random field whose states are latent (LVG-D of Zhao, Zhang &
Tu 2018)."""

from __future__ import annotations

from latree.kinds.lvg.tagger import LvgTagger
from latree.kinds.lvg_d.model import LoglinearModel
from latree.kinds.pruned import PrunedTagger


class LvgDTagger(LoglinearModel, PrunedTagger):
    """`LvgDTagger(pruner=LvgTagger(subtypes=4)).fit(sentences).tag(tokens)`, with sentences as (words, tags)."""

    kind = "lvg-d-tagger"

    def make_pruner(self) -> LvgTagger:
        return LvgTagger(**self.options.shared("subtypes"))
