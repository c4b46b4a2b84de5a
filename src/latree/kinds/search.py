"""From sentences to their best derivations, for any model that has a coarse pass and weights for its forests.

Many sentences are taken at once: each is pruned by the model's coarse pass, the survivors are laid end to end as one
forest, and inference and decoding run over that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from latree.arrays import Floats, Longs
from latree.errors import LatreeError
from latree.inference import decode
from latree.inference.constituents import Allowed
from latree.inference.constraints import Bounds
from latree.inference.derivations import Derivation, Derivations
from latree.inference.forest import PASS, Forest, P, Piece, anchors, assemble
from latree.inference.kbest import k_best
from latree.inference.phrases import PhraseTable
from latree.inference.pooled import Pooled, Posteriors, pooled, tempered
from latree.inference.reading import Reading
from latree.inference.results import OBJECTIVES, Objective, Status

if TYPE_CHECKING:
    from latree.kinds.model import Model

NO_TAGS: Mapping[int, str] = MappingProxyType({})
LISTED = (4, 32, 256)  # trees to look through, where the best one cannot be


class Coarse(Protocol):
    """What a coarse pass leaves of a sentence: a chart or a trellis."""

    @property
    def log_z(self) -> float: ...


class Attempt(NamedTuple):
    """A sentence that is ready to be searched."""

    coarse: Coarse
    reading: Reading
    allowed: Allowed | None = None  # where constituents are listed: nothing else is considered, and nothing pruned
    bounds: Bounds | None = None  # where brackets are given or forbidden: only trees that agree are considered
    tags: Mapping[int, str] = NO_TAGS  # that some words are given, where the grammar's are coarser

    @property
    def is_listed(self) -> bool:
        return self.allowed is not None

    @property
    def is_limited(self) -> bool:
        """Whether some trees are not considered, whatever they weigh."""
        return self.is_listed or self.bounds is not None

    def pruned(self, model: Model, threshold: float) -> Piece:
        """What has a posterior of at least the threshold."""
        piece = model.prune(self.coarse, threshold)
        return piece if self.bounds is None else self.bounds.on_piece(piece)


class Trouble(NamedTuple):
    """Why a sentence has no derivation."""

    status: Status
    reason: str


NOTHING = Trouble("recovered", "the grammar derives nothing for these words")


@dataclass
class Search:
    """The forest of some sentences, and what can be asked of it."""

    model: Model
    attempts: Sequence[Attempt]
    threshold: float

    @cached_property
    def reading(self) -> Reading:
        """All sentences' words, end to end."""
        readings = [attempt.reading for attempt in self.attempts]
        return type(readings[0]).joined(readings)

    @cached_property
    def forest(self) -> Forest:
        if self.is_listed:
            return assemble([self._listed(one) for one in self.attempts], len(self.model.grammar.rules))
        looseness = self.threshold / self.model.threshold if self.model.threshold else 0.0
        return self.model.refine(self.survivors, self.reading, looseness)

    @cached_property
    def survivors(self) -> Forest:
        """What the coarse pass leaves."""
        return assemble([self._pruned(one) for one in self.attempts], len(self.model.grammar.rules))

    def _pruned(self, attempt: Attempt) -> Piece:
        """What survives; where that has no whole derivation, the threshold was too high for this sentence."""
        threshold = self.threshold
        piece = attempt.pruned(self.model, threshold)
        while not len(piece.symbol) and threshold > 0:
            threshold = threshold * 1e-2 if threshold > 1e-12 else 0.0
            piece = attempt.pruned(self.model, threshold)
        return piece

    def contains(self, forest: Forest, which: int) -> NDArray[np.bool_]:
        """Tell of the edges of a forest of one sentence alone, the one at this place here, which are in this forest.

        Words always are: where a rule over a tag is, its tag is.
        """
        known, size = self._anchors
        places = anchors(forest._replace(sentence=np.full_like(forest.sentence, which)), size)
        at = np.minimum(np.searchsorted(known, places), len(known) - 1)
        found: NDArray[np.bool_] = (forest.rule >= forest.rules) | (known[at] == places)
        return found

    @cached_property
    def _anchors(self) -> tuple[Longs, int]:
        """What tells edges from each other, in order, and the size that it goes by."""
        size = int(self.forest.span.max(initial=0)) + 1
        return np.unique(anchors(self.forest, size)), size

    def same_edges(self, other: Search, edges: list[int]) -> list[int]:
        """The edges of a derivation that another search of the same sentence found; none where it is not here."""
        size = self._anchors[1]
        wanted = anchors(other.forest, size)[edges]
        alike = (self.forest.rule == PASS) | np.isin(anchors(self.forest, size), wanted)
        choice = decode.best(self.forest, np.where(alike, 0.0, -np.inf))
        return decode.best_edges(self.forest, choice, 0)

    @property
    def is_listed(self) -> bool:
        """Whether the constituents are listed, of all sentences."""
        return all(one.is_listed for one in self.attempts)

    def _listed(self, attempt: Attempt) -> Piece:
        """All that the listed constituents make."""
        assert attempt.allowed is not None
        return attempt.allowed.on_piece(self.model.prune(attempt.coarse, 0.0))

    @cached_property
    def opinions(self) -> Sequence[Posteriors]:
        return self.model.opinions(self.forest, self.reading)

    @cached_property
    def inference(self) -> Posteriors | Pooled:
        """The one distribution that all probabilities are from."""
        temperature = self.model.temperature
        if temperature == 1.0:
            return self.untempered
        return tempered(self.model.grammar, self.forest, self.untempered.posterior, self.log_z, temperature)

    @cached_property
    def untempered(self) -> Posteriors | Pooled:
        """The distribution that the best derivation is chosen by, whatever the objective."""
        if len(self.opinions) == 1:
            return self.opinions[0]
        return pooled(self.model.grammar, self.forest, self.opinions)

    @cached_property
    def posterior(self) -> Floats:
        """[edges] the probability of each as it is told: sums that are one may come out a rounding above."""
        return np.minimum(self.inference.posterior, 1.0)

    @cached_property
    def log_z(self) -> Floats:
        """log P(w) of every sentence; over what survives pruning, unless the coarse pass has it exactly."""
        if self.model.certifies and not self.is_listed:
            return np.array([attempt.coarse.log_z for attempt in self.attempts])
        return self.untempered.log_z

    def scores(self, objective: Objective) -> Floats:
        """One score an edge; the best derivation maximises their sum.  A temperature changes none of them."""
        if objective not in OBJECTIVES:
            raise LatreeError(f"unknown objective {objective!r}; expected one of {', '.join(OBJECTIVES)}")
        if objective == "viterbi":
            return self.model.viterbi_scores(self.forest, self.reading)
        if objective == "max-rule":  # the product of all opinions
            parts = [decode.max_rule_scores(self.forest, self._anchored(one.posterior)) for one in self.opinions]
            return np.asarray(np.sum(parts, axis=0), np.float64)
        posterior = self.untempered.posterior
        if objective == "mbr":
            return decode.bracket_scores(self.forest, self._untempered_phrases.of_item, posterior)
        if objective == "variational":
            return decode.variational_scores(self.forest, posterior)
        return decode.max_rule_scores(self.forest, self._anchored(posterior), product=False)

    def _anchored(self, posterior: Floats) -> Floats:
        return self.model.anchored(self.forest, posterior)

    def best(self, objective: Objective) -> list[Derivation]:
        """Every sentence's best derivation; one without edges where nothing was left."""
        scores = self.scores(objective)
        choice = decode.best(self.forest, scores)
        lists = [decode.best_edges(self.forest, choice, k) for k in range(len(self.attempts))]
        possible = [
            self._possible(k, derivation, scores) for k, derivation in enumerate(self._weighed(lists, self.untempered))
        ]
        if self.inference is self.untempered:
            return possible
        return self.weighed([derivation.edges for derivation in possible])

    def _possible(self, which: int, derivation: Derivation, scores: Floats) -> Derivation:
        """Rules that are each likely may make a tree that no subtypes derive: then the next best that some do."""
        if not derivation.edges or derivation.log_weight > -np.inf:
            return derivation
        for k in LISTED:
            listed = self._weighed([edges for _, edges in k_best(self.forest, scores, k, which)], self.untempered)
            if possible := [one for one in listed if one.log_weight > -np.inf]:
                return possible[0]
        return self.weighed([[]])[0]

    def weighed(self, lists: Sequence[list[int]]) -> list[Derivation]:
        """Derivations of given edges with log P(T, w)."""
        return self._weighed(lists, self.inference)

    def _weighed(self, lists: Sequence[list[int]], inference: Posteriors | Pooled) -> list[Derivation]:
        """The same by one of two distributions, that with the temperature and that without."""
        shared = Derivations.of(self.forest, lists)
        if not len(shared.edge):
            log_weights = [-np.inf] * len(lists)
        elif isinstance(inference, Pooled):
            log_weights = [inference.log_weight(self.forest, edges) for edges in lists]
        else:  # each is a forest of its own, summed over subtypes by the same sweep
            log_weights = self.model.log_inside(shared.as_forest(), self.reading).tolist()
        rows = zip(lists, log_weights, shared.root.tolist(), strict=True)
        return [Derivation(edges, weight, shared, root) for edges, weight, root in rows]

    @cached_property
    def phrases(self) -> PhraseTable:
        """How likely every phrase is."""
        if self.inference is self.untempered:
            return self._untempered_phrases
        return self.phrases_by(self.inference.posterior)

    @cached_property
    def _untempered_phrases(self) -> PhraseTable:
        return self.phrases_by(self.untempered.posterior)

    def phrases_by(self, posterior: Floats) -> PhraseTable:
        """The same by any posteriors of edges: an item's probability is that it is the parent of a rule."""
        forest = self.forest
        ruled = np.where(forest.rule == PASS, 0.0, posterior)
        of_item = np.bincount(forest.ends[:, P], weights=ruled, minlength=len(forest.symbol)).astype(np.float64)
        return PhraseTable.of(self.model.grammar, forest, of_item)


def certified(model: Model, attempt: Attempt, k: int, threshold: float) -> tuple[Search, list[list[int]]]:
    """The k most probable derivations of one sentence, exactly.

    A tree's constituents have at least its own posterior, so a forest pruned at p lacks no tree of posterior p or more.
    While the worst tree of the list lies below p, or the list is short, p is lowered and the list made again.
    """
    while True:
        search = Search(model, [attempt], threshold)
        listed = k_best(search.forest, search.scores("viterbi"), k)
        full = len(listed) == k
        worst = float(np.exp(listed[-1][0] - attempt.coarse.log_z)) if full else 0.0
        if worst >= threshold or threshold == 0.0:
            return search, [edges for _, edges in listed]
        # A little below the worst, against rounding; a sentence may have fewer trees than were asked for.
        threshold = worst * (1 - 1e-6) if full else threshold * 1e-4 if threshold > 1e-30 else 0.0
