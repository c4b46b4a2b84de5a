"""The parser of Gaussian-mixture latent vector grammars: every category has a space of subtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from latree.arrays import Longs
from latree.kinds.gm_lveg.model import GaussianModel
from latree.kinds.gm_lveg.options import GmLvegOptions
from latree.kinds.gm_lveg.start import Cube, Start, from_subtypes
from latree.kinds.lvg.parser import Lvg
from latree.kinds.lvg.subtyped import Training
from latree.kinds.parser import Parser
from latree.kinds.pruned import PrunedParser
from latree.text.tree import Tree


class GmLveg(GaussianModel, PrunedParser):
    """`GmLveg().fit(trees).parse(tokens)`; the pruner is trained on the same trees, unless it is already."""

    kind = "gm-lveg"
    joint = True  # the two families make different mistakes

    def __init__(
        self,
        options: GmLvegOptions | None = None,
        *,
        pruner: Parser | None = None,
        source: Lvg | None = None,
        **changes: Any,
    ) -> None:
        """`source` is a trained grammar with subtypes to start from, where the options say so and there is one."""
        super().__init__(options, pruner=pruner, **changes)
        self.source = source

    def make_pruner(self) -> Lvg:
        return Lvg(**self.options.shared("rounds"))

    def fit_pruner(self, data: list[Tree]) -> None:
        """What the pruner is on the way, after so many rounds, serves as the source."""

        def keep(model: Lvg, number: int) -> None:
            if number == self.options.start_rounds:
                self.source = model.snapshot()

        if isinstance(self.pruner, Lvg) and not hasattr(self.pruner, "grammar"):
            self.pruner.fit(data, Training(after_round=keep))
        super().fit_pruner(data)
        if self.options.start == "subtypes" and self.source is None:
            labels, binarization = self.pruner.labels, self.pruner.binarization
            rounds, seed = self.options.start_rounds, self.options.seed
            self.source = Lvg(rounds=rounds, seed=seed, labels=labels, binarization=binarization).fit(data)

    def start(self, rng: np.random.Generator) -> Start:
        if self.options.start == "treebank":
            return super().start(rng)
        return from_subtypes(self.source, self.lexical, self.options.wide, Cube())

    def meetings(self) -> Longs:
        """On the vector of every phrase and tag, the slot of the rule above meets that of the rule below."""
        parents = np.append(self.grammar.rules[:, 0], self.lexical.tag + self.grammar.first_tag)
        return np.where(parents == 0, 0, 2)
