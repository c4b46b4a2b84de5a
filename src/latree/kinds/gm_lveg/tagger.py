"""The tagger of Gaussian-mixture latent vector grammars: an HMM whose states are tags with a vector each."""

from __future__ import annotations

import numpy as np

from latree.arrays import Longs
from latree.kinds.gm_lveg.model import GaussianModel
from latree.kinds.gm_lveg.training import LvegOptions
from latree.kinds.hmm.model import Hmm
from latree.kinds.pruned import PrunedTagger
from latree.kinds.tagger import Tagger

# The paper's numbers.  More dimensions, growth and wider forests, which help parsers, cost time here and gain little.
TAGGING = LvegOptions(dim=3, components=4, word_components=2, grow=0, looseness=1.0)


class GmLvegTagger(GaussianModel, PrunedTagger):
    """`GmLvegTagger().fit(sentences).tag(tokens)`, with sentences as (words, tags)."""

    kind = "gm-lveg-tagger"
    joint_by_score = True  # the HMM helps with some treebanks and hurts with others

    def __init__(
        self,
        *,
        options: LvegOptions | None = None,
        pruner: Tagger | None = None,
        seed: int = 0,
        column: str = "upos",
        unknown: str = "neutral",
    ) -> None:
        self.options, self.seed, self.column = options or TAGGING, seed, column
        self.pruner = pruner if pruner is not None else Hmm(column=column, unknown=unknown)
        self.training = {}

    def meetings(self) -> Longs:
        """On the vector of every tag, three slots meet: the transition's into it, the word's, and that out of it."""
        return np.append(np.zeros(len(self.grammar.rules), np.int64), np.full(len(self.lexical.tag), 3))
