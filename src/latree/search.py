"""From sentences to their best derivations, for any model that has a coarse pass and weights for its forests.

Many sentences are taken at once: each is pruned by the model's coarse pass, the survivors are laid end to end as one
forest, and inference and decoding run over that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np

from latree import decode
from latree.arrays import Floats, Longs
from latree.errors import LatreeError
from latree.forest import PASS, Forest, P, Piece, assemble, union
from latree.grammar import Grammar
from latree.infer import Inference, infer, inside_only
from latree.results import Constituent

Objective = Literal["max-rule", "max-rule-sum", "viterbi"]
OBJECTIVES: tuple[Objective, ...] = ("max-rule", "max-rule-sum", "viterbi")


class Coarse(Protocol):
    """What a coarse pass leaves of a sentence: a chart or a trellis."""

    @property
    def log_z(self) -> float: ...


class Searchable(Protocol):
    """What `Search` needs of a model."""

    grammar: Grammar
    threshold: float

    def widths(self) -> Longs:
        """How many numbers a message of each symbol has."""

    def prune(self, coarse: Any, threshold: float) -> Piece:
        """The forest of what has a posterior of at least the threshold."""

    def refine(self, forest: Forest, emissions: Floats, looseness: float) -> Forest:
        """A further pruning of what the coarse pass left, all thresholds times `looseness`."""

    def log_z(self, search: Search) -> Floats:
        """log P(w) of every sentence of a search."""

    def weights(self, emissions: Floats) -> Any:
        """The weights of a forest whose lexical entries are these."""

    def no_statistics(self, weights: Any) -> Any:
        """Statistics of the weights' type that keep nothing: a search is after posteriors alone."""

    def viterbi_scores(self, forest: Forest, weights: Any) -> Floats:
        """log weight of each edge."""


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
        looseness = self.threshold / self.model.threshold
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
    def weights(self) -> Any:
        return self.model.weights(self.all_emissions)

    @cached_property
    def inference(self) -> Inference:
        nothing = self.model.no_statistics(self.weights)
        return infer(self.forest, self.weights, nothing, self.model.widths())

    @cached_property
    def log_z(self) -> Floats:
        """log P(w) of every sentence."""
        return self.model.log_z(self)

    def scores(self, objective: Objective) -> Floats:
        """One score an edge; the best derivation maximises their sum."""
        if objective == "viterbi":
            return self.model.viterbi_scores(self.forest, self.weights)
        if objective not in OBJECTIVES:
            raise LatreeError(f"unknown objective {objective!r}; expected one of {', '.join(OBJECTIVES)}")
        return decode.max_rule_scores(self.forest, self.inference.posterior, product=objective == "max-rule")

    def best(self, objective: Objective) -> list[list[int]]:
        """The edges of every sentence's best derivation."""
        choice = decode.best(self.forest, self.scores(objective))
        return [decode.best_edges(self.forest, choice, k) for k in range(len(self.coarse))]

    def log_weights(self, derivations: Sequence[Sequence[int]]) -> Floats:
        """log P(T, w) of derivations: each is a forest of its own, summed over subtypes by the same sweep."""
        if not any(derivations):
            return np.full(len(derivations), -np.inf)
        pieces = [union(self.forest, [edges]) for edges in derivations]
        alone = assemble(pieces, len(self.model.grammar.rules))
        return inside_only(alone, self.weights, self.model.widths())[0]

    @cached_property
    def item_posterior(self) -> Floats:
        """Probability that an item is in the derivation as the parent of a rule."""
        forest = self.forest
        ruled = np.where(forest.rule == PASS, 0.0, self.inference.posterior)
        return np.bincount(forest.ends[:, P], weights=ruled, minlength=len(forest.symbol)).astype(np.float64)

    @cached_property
    def phrases(self) -> PhraseTable:
        return PhraseTable.of(self.model.grammar, self.forest, self.item_posterior)


@dataclass(frozen=True)
class PhraseTable:
    """The probability of every phrase of a search, whatever its context and unary level, sorted by key.

    It is the expected number of such phrases: where a chain has the same label twice on one span, A over B over A, both
    count (up to one).
    """

    labels: tuple[str, ...]
    size: int  # no word position reaches this
    key: Longs  # sentence, start, end, label
    probability: Floats

    @classmethod
    def of(cls, grammar: Grammar, forest: Forest, item_posterior: Floats) -> PhraseTable:
        labels = tuple(sorted({symbol.label for symbol in grammar.symbols}))
        number = {label: k for k, label in enumerate(labels)}
        label = np.array([number[s.label] if s.kind in ("phrase", "root") else -1 for s in grammar.symbols])
        size = int(forest.span.max(initial=0)) + 1
        phrase = np.flatnonzero(label[forest.symbol] >= 0)
        start, end = forest.span[phrase].T
        place = (forest.sentence[phrase].astype(np.int64) * size + start) * size + end
        key, which = np.unique(place * len(labels) + label[forest.symbol[phrase]], return_inverse=True)
        probability = np.bincount(which, weights=item_posterior[phrase], minlength=len(key))
        return cls(labels, size, key, np.minimum(probability, 1.0))

    def look_up(self, sentence: int, spans: Iterable[tuple[str, int, int]]) -> list[Constituent]:
        """The probabilities of given phrases; zero for those that did not survive pruning."""
        wanted = list(spans)
        number = {label: k for k, label in enumerate(self.labels)}
        rows = [((sentence * self.size + i) * self.size + j, number[label]) for label, i, j in wanted]
        keys = np.array([place * len(self.labels) + label for place, label in rows], np.int64)
        at = np.minimum(np.searchsorted(self.key, keys), len(self.key) - 1)
        found = np.where(self.key[at] == keys, self.probability[at], 0.0)
        return [Constituent(*phrase, p) for phrase, p in zip(wanted, found.tolist(), strict=True)]

    def likely(self, least: float) -> list[Constituent]:
        """All phrases of a search over one sentence with at least the given probability, by span."""
        at = np.flatnonzero(self.probability >= least)
        place, label = np.divmod(self.key[at], len(self.labels))
        start, end = np.divmod(place, self.size)
        columns = (label.tolist(), start.tolist(), end.tolist(), self.probability[at].tolist())
        found = [Constituent(self.labels[k], i, j, p) for k, i, j, p in zip(*columns, strict=True)]
        return sorted(found, key=lambda c: (c.start, -c.end, -c.probability))


def certified(
    model: Searchable, coarse: Coarse, emissions: Floats, k: int, threshold: float
) -> tuple[Search, list[list[int]]]:
    """The k most probable derivations of one sentence, exactly.

    A tree's constituents have at least its own posterior, so a forest pruned at p lacks no tree of posterior p or more.
    While the worst tree of the list lies below p, or the list is short, p is lowered and the list made again.
    """
    while True:
        search = Search(model, [coarse], [emissions], threshold)
        found = decode.k_best(search.forest, search.scores("viterbi"), k)
        full = len(found) == k
        worst = float(np.exp(found[-1][0] - coarse.log_z)) if full else 0.0
        if worst >= threshold or threshold == 0.0:
            return search, [edges for _, edges in found]
        # A little below the worst, against rounding; a sentence may have fewer trees than were asked for.
        threshold = worst * (1 - 1e-6) if full else threshold * 1e-4 if threshold > 1e-30 else 0.0
