"""From sentences to their best derivations, for any model that has a coarse pass and weights for its forests.

Many sentences are taken at once: each is pruned by the model's coarse pass, the survivors are laid end to end as one
forest, and inference and decoding run over that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from latree.arrays import Floats
from latree.errors import LatreeError
from latree.inference import decode
from latree.inference.derivations import Derivation, Derivations
from latree.inference.forest import PASS, Forest, P, Piece, assemble
from latree.inference.grammar import Grammar
from latree.inference.kbest import k_best
from latree.inference.objectives import OBJECTIVES, Objective
from latree.inference.phrases import PhraseTable
from latree.inference.sweep import Inference


class Coarse(Protocol):
    """What a coarse pass leaves of a sentence: a chart or a trellis."""

    @property
    def log_z(self) -> float: ...


class Searchable(Protocol):
    """What `Search` needs of a model."""

    grammar: Grammar
    threshold: float

    def prune(self, coarse: Any, threshold: float) -> Piece:
        """The forest of what has a posterior of at least the threshold."""

    def refine(self, forest: Forest, emissions: Floats, looseness: float) -> Forest:
        """A further pruning of what the coarse pass left, all thresholds times `looseness`."""

    def infer(self, forest: Forest, emissions: Floats) -> Inference:
        """Posteriors of a forest whose lexical entries are these."""

    def log_inside(self, forest: Forest, emissions: Floats) -> Floats:
        """log of the sum over the derivations of each sentence."""

    def log_z(self, search: Search) -> Floats:
        """log P(w) of every sentence of a search."""

    def edge_scores(self, search: Search, objective: Objective) -> Floats:
        """One score an edge; the best derivation maximises their sum."""


@dataclass
class Search:
    """The forest of some sentences, and what can be asked of it."""

    model: Searchable
    coarse: Sequence[Coarse]
    emissions: Sequence[Floats]
    threshold: float

    @cached_property
    def forest(self) -> Forest:
        survivors = assemble([self._pruned(one) for one in self.coarse], len(self.model.grammar.rules))
        looseness = self.threshold / self.model.threshold if self.model.threshold else 0.0
        return self.model.refine(survivors, self.all_emissions, looseness)

    @cached_property
    def all_emissions(self) -> Floats:
        return np.concatenate(list(self.emissions))

    def _pruned(self, coarse: Coarse) -> Piece:
        """What survives; where that has no whole derivation, the threshold was too high for this sentence."""
        threshold = self.threshold
        piece = self.model.prune(coarse, threshold)
        while not len(piece.symbol) and threshold > 0:
            threshold = threshold * 1e-2 if threshold > 1e-12 else 0.0
            piece = self.model.prune(coarse, threshold)
        return piece

    @cached_property
    def inference(self) -> Inference:
        return self.model.infer(self.forest, self.all_emissions)

    @cached_property
    def log_z(self) -> Floats:
        """log P(w) of every sentence."""
        return self.model.log_z(self)

    def scores(self, objective: Objective) -> Floats:
        """One score an edge; the best derivation maximises their sum."""
        if objective not in OBJECTIVES:
            raise LatreeError(f"unknown objective {objective!r}; expected one of {', '.join(OBJECTIVES)}")
        return self.model.edge_scores(self, objective)

    def best(self, objective: Objective) -> list[Derivation]:
        """Every sentence's best derivation; one without edges where nothing was left."""
        choice = decode.best(self.forest, self.scores(objective))
        return self.weighed([decode.best_edges(self.forest, choice, k) for k in range(len(self.coarse))])

    def weighed(self, lists: Sequence[list[int]]) -> list[Derivation]:
        """Derivations of given edges with log P(T, w): each is a forest of its own, summed over subtypes by the same
        sweep."""
        shared = Derivations.of(self.forest, lists)
        log_weights = np.full(len(lists), -np.inf)
        if len(shared.edge):
            log_weights = self.model.log_inside(shared.as_forest(), self.all_emissions)
        rows = zip(lists, log_weights.tolist(), shared.root.tolist(), strict=True)
        return [Derivation(edges, weight, shared, root) for edges, weight, root in rows]

    @cached_property
    def item_posterior(self) -> Floats:
        """Probability that an item is in the derivation as the parent of a rule."""
        forest = self.forest
        ruled = np.where(forest.rule == PASS, 0.0, self.inference.posterior)
        return np.bincount(forest.ends[:, P], weights=ruled, minlength=len(forest.symbol)).astype(np.float64)

    @cached_property
    def phrases(self) -> PhraseTable:
        return PhraseTable.of(self.model.grammar, self.forest, self.item_posterior)


def certified(
    model: Searchable, coarse: Coarse, emissions: Floats, k: int, threshold: float
) -> tuple[Search, list[list[int]]]:
    """The k most probable derivations of one sentence, exactly.

    A tree's constituents have at least its own posterior, so a forest pruned at p lacks no tree of posterior p or more.
    While the worst tree of the list lies below p, or the list is short, p is lowered and the list made again.
    """
    while True:
        search = Search(model, [coarse], [emissions], threshold)
        found = k_best(search.forest, search.scores("viterbi"), k)
        full = len(found) == k
        worst = float(np.exp(found[-1][0] - coarse.log_z)) if full else 0.0
        if worst >= threshold or threshold == 0.0:
            return search, [edges for _, edges in found]
        # A little below the worst, against rounding; a sentence may have fewer trees than were asked for.
        threshold = worst * (1 - 1e-6) if full else threshold * 1e-4 if threshold > 1e-30 else 0.0
