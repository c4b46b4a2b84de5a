"""The tagger of Gaussian-mixture latent vector grammars: an HMM whose states are tags with a vector each."""

from __future__ import annotations

import numpy as np

from latree.arrays import Longs
from latree.kinds.gm_lveg.model import GaussianModel
from latree.kinds.hmm.model import Hmm
from latree.kinds.pruned import PrunedTagger


class GmLvegTagger(GaussianModel, PrunedTagger):
    """`GmLvegTagger().fit(sentences).tag(tokens)`, with sentences as (words, tags)."""

    kind = "gm-lveg-tagger"
    joint_by_score = True  # the HMM helps with some treebanks and hurts with others

    def make_pruner(self) -> Hmm:
        options = self.options
        return Hmm(seed=options.seed, unknown=options.unknown, lexicon=options.lexicon, column=options.column)

    def meetings(self) -> Longs:
        """On the vector of every tag, three slots meet: the transition's into it, the word's, and that out of it."""
        return np.append(np.zeros(len(self.grammar.rules), np.int64), np.full(len(self.lexical.tag), 3))
