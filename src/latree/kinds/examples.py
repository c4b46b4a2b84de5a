"""Sentences to learn from, and what is considered of them: what a pruner leaves, with the gold analysis always kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from latree.arrays import NONE, Floats, Longs, hold_all, starts
from latree.errors import LatreeError
from latree.inference.forest import Forest, Piece, anchors, anchors_of_piece, assemble
from latree.inference.sequences import Lattice, chosen_steps, likely_tags, narrowed, only, restricted

if TYPE_CHECKING:
    from latree.kinds.pruned import PrunedModel, PrunedTagger


@dataclass(frozen=True, eq=False)
class Example:
    """A sentence to learn from."""

    words: tuple[str, ...]
    tags: list[int]
    derive: Callable[[], Piece]

    @cached_property
    def gold(self) -> Piece:
        """Its gold derivation as a forest, lexical entries numbered word * tags + tag; made when asked for."""
        return self.derive()


def by_length(examples: Sequence[Example], size: int) -> list[list[Example]]:
    """Groups of so many sentences of like length."""
    ordered = sorted(examples, key=lambda one: len(one.words))
    return [ordered[k : k + size] for k in range(0, len(ordered), size)]


def forests_with_gold(model: PrunedModel, examples: Sequence[Example], looseness: float = 1.0) -> tuple[Forest, Forest]:
    """Lay sentences end to end as two forests: the gold analyses, and what the pruner leaves around them.

    Thresholds are multiplied by the looseness.
    """
    rules = len(model.grammar.rules)
    gold = assemble([one.gold for one in examples], rules)
    size = max(len(one.words) for one in examples) + 1
    readings = [model.pruner.read(one.words) for one in examples]
    coarse = [model.pruner.coarse(reading) for reading in readings]
    pieces = [_prune_around(model, one, part, looseness) for one, part in zip(examples, coarse, strict=True)]
    kept = (anchors(gold, size), size)
    joined = type(readings[0]).joined(readings)
    return gold, model.prune_further(assemble(pieces, rules), joined, looseness, kept)


def _prune_around(model: PrunedModel, example: Example, coarse: Any, looseness: float) -> Piece:
    """What the coarse pass leaves, with a threshold so low that the gold derivation is among it."""
    threshold, size = model.pruner.threshold * looseness, len(example.words) + 1
    gold = np.unique(anchors_of_piece(example.gold, size))
    while True:
        piece = model.pruner.prune(coarse, threshold)
        if hold_all(anchors_of_piece(piece, size), gold):
            return piece
        if threshold == 0.0:
            raise LatreeError(f"the pruner does not derive the gold analysis of: {' '.join(example.words)}")
        threshold = threshold * 1e-2 if threshold > 1e-15 else 0.0


def lattices_with_gold(
    model: PrunedTagger, examples: Sequence[Example], has_rule: NDArray[np.bool_], looseness: float = 1.0
) -> tuple[Lattice, Lattice]:
    """The same as lattices, for training on sequences: the gold tags, and what the pruner leaves around them.

    Tags that a word has no rule for [words, tags] are left out.
    """
    sentences = [one.words for one in examples]
    reading, first = model.pruner.read_all(sentences), starts([len(words) for words in sentences])
    _, posterior = model.pruner.coarse_all(reading, first)
    gold = np.concatenate([one.tags for one in examples])
    least = _thresholds(model, examples, posterior[np.arange(len(gold)), gold], first, looseness)
    lattice = likely_tags(first, np.where(posterior >= least[:, None], posterior, 0.0), 0.0)
    chosen = np.flatnonzero(lattice.tag == gold[lattice.word_of_node])
    if model.edge_threshold > 0.0:
        sums, steps = model.pruner.sum_sequences(lattice, reading), chosen_steps(lattice, chosen)
        sums.node[chosen] = sums.step[steps[steps != NONE]] = np.inf  # these are kept
        lattice = narrowed(lattice, sums, model.edge_threshold * looseness)
    lattice = restricted(lattice, has_rule[lattice.word_of_node, lattice.tag], lattice.is_open)
    return only(lattice, np.flatnonzero(lattice.tag == gold[lattice.word_of_node])), lattice


def _thresholds(
    model: PrunedTagger, examples: Sequence[Example], posterior: Floats, first: Longs, looseness: float
) -> Floats:
    """[words] thresholds so low that all gold tags of a sentence are among what is left, given their posteriors."""
    lowest = np.minimum.reduceat(posterior, first[:-1])
    if not lowest.all():
        words = examples[int(np.argmin(lowest))].words
        raise LatreeError(f"the pruner does not derive the gold analysis of: {' '.join(words)}")
    least = np.full(len(lowest), model.pruner.threshold * looseness)
    while (high := least > lowest).any():
        least[high] = np.where(least[high] > 1e-15, least[high] * 1e-2, 0.0)
    return np.repeat(least, np.diff(first))
