"""The discriminative latent variable grammar: a conditional random field over trees (Petrov 2009, section 2.2)."""

from __future__ import annotations

from latree.kinds.lvg.parser import Lvg
from latree.kinds.lvg_d.model import LoglinearModel
from latree.kinds.lvg_d.training import LoglinearOptions
from latree.kinds.pruned import PrunedParser


class LvgD(LoglinearModel, PrunedParser):
    """`LvgD(pruner=Lvg(rounds=2)).fit(trees).parse(tokens)`; the pruner is trained on the same trees, unless it is
    already."""

    kind = "lvg-d"

    def __init__(self, *, options: LoglinearOptions | None = None, pruner: Lvg | None = None, seed: int = 0) -> None:
        self.options, self.seed = options or LoglinearOptions(), seed
        self.pruner = pruner if pruner is not None else Lvg(rounds=2, seed=seed)
        self.training = {}
