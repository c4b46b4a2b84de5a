"""The discriminative latent variable grammar: a conditional random field over trees (Petrov 2009, section 2.2)."""

from __future__ import annotations

from latree.kinds.lvg.parser import Lvg
from latree.kinds.lvg_d.model import LoglinearModel
from latree.kinds.pruned import PrunedParser


class LvgD(LoglinearModel, PrunedParser):
    """`LvgD(pruner=Lvg(rounds=2)).fit(trees).parse(tokens)`; the pruner is trained on the same trees, unless it is
    already."""

    kind = "lvg-d"

    def make_pruner(self) -> Lvg:
        """Make the generative grammar; at several scales nothing is merged, for what is not needed is not divided."""
        options, subtypes = self.options, self.options.subtypes
        if options.scales and subtypes is None:
            subtypes = 2**options.rounds
        return Lvg(**options.shared("rounds"), subtypes=subtypes)
