"""The discriminative tagger with subtypes: a conditional random field whose states are latent (LVG-D of Zhao, Zhang &
Tu 2018)."""

from __future__ import annotations

from latree.kinds.lvg.tagger import LvgTagger
from latree.kinds.lvg_d.model import LoglinearModel
from latree.kinds.lvg_d.training import LoglinearOptions
from latree.kinds.pruned import PrunedTagger


class LvgDTagger(LoglinearModel, PrunedTagger):
    """`LvgDTagger(pruner=LvgTagger(subtypes=4)).fit(sentences).tag(tokens)`, with sentences as (words, tags)."""

    kind = "lvg-d-tagger"

    def __init__(
        self,
        *,
        options: LoglinearOptions | None = None,
        pruner: LvgTagger | None = None,
        seed: int = 0,
        column: str = "upos",
    ) -> None:
        self.options, self.seed, self.column = options or LoglinearOptions(), seed, column
        self.pruner = pruner if pruner is not None else LvgTagger(subtypes=4, seed=seed, column=column)
        self.training = {}
