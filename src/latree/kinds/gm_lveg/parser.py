"""The parser of Gaussian-mixture latent vector grammars: every category has a space of subtypes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from latree.arrays import Longs
from latree.kinds.gm_lveg.model import GaussianModel
from latree.kinds.gm_lveg.options import GmLvegOptions
from latree.kinds.gm_lveg.start import Cube, Start, from_subtypes
from latree.kinds.lvg.parser import Lvg
from latree.kinds.parser import Parser
from latree.kinds.pruned import PrunedParser
from latree.learning.loop import Progress, Training
from latree.text.binary import Node


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

    def fit_pruner(self, data: list[Node], training: Training) -> None:
        """Train the pruner; what it is on the way, after so many rounds, serves as the source."""
        rounds, fresh = self.options.start_rounds, not hasattr(self.pruner, "grammar")

        def watch(progress: Progress) -> None:
            if isinstance(progress.model, Lvg) and progress.step == rounds:
                self.source = progress.model.snapshot()
            training.watch(progress)

        super().fit_pruner(data, replace(training, watch=watch))
        if self.options.start == "subtypes" and self.source is None:
            # The pruner was trained already, or has fewer rounds, or its training was taken up after that round.
            self.source = Lvg(self.pruner.options, rounds=rounds) if fresh else self._default_source(rounds)
            self.source.learn(data, Training(training.watch))

    def _default_source(self, rounds: int) -> Lvg:
        labels, binarization = self.pruner.labels, self.pruner.binarization
        return Lvg(rounds=rounds, seed=self.options.seed, labels=labels, binarization=binarization)

    def start(self, rng: np.random.Generator) -> Start:
        if self.options.start == "treebank":
            return super().start(rng)
        return from_subtypes(self.source, self.lexical, self.options.wide, Cube())

    def meetings(self) -> Longs:
        """On the vector of every phrase and tag, the slot of the rule above meets that of the rule below."""
        parents = np.append(self.grammar.rules[:, 0], self.lexical.tag + self.grammar.first_tag)
        return np.where(parents == 0, 0, 2)
