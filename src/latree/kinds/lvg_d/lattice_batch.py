"""Log-linear training on tag lattices: what `loglinear` does on forests, for sequences in a fraction of the time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from latree.arrays import NONE, Floats, Longs
from latree.inference.sequences import Expected, Lattice, SubtypeChain, cell_places, subtype_chain, sum_sequences
from latree.jit import kernel
from latree.kinds.lvg_d.loglinear import LogLinear, Weights
from latree.kinds.span_features import Spans


class LatticeBatch(NamedTuple):
    """Some sentences' lattices, made once: the gold tags, and all that the pruner leaves."""

    gold: Lattice
    all: Lattice
    is_gold: Floats  # [nodes of all] 1 or 0
    own: Longs  # [nodes of all] the lexical rule of each
    joined: Longs  # [nodes of all] its class's where both count, else NONE
    letters: Floats  # [nodes of all] logs of factors
    spans: Spans | None = None  # of the nodes of all

    @property
    def sentences(self) -> int:
        return len(self.gold.sentence) - 1


def log_likelihood_of_lattices(
    batches: Sequence[LatticeBatch], model: LogLinear, weights: Weights
) -> tuple[float, Floats]:
    """The sum of log P(T | w) (eqn 4), and its gradient with respect to all log weights (eqn 5)."""
    chain, columns = subtype_chain(model.layout, weights.cells), int(model.layout.offset[-1])
    right, everything = np.zeros((2, columns, columns))
    lexical, spans = np.zeros(len(weights.lexical)), np.zeros(len(weights.spans))
    total = sum(_add_batch(one, model, weights, chain, (right, everything), lexical, spans) for one in batches)
    cells = (right - everything)[cell_places(model.layout, weights.cells.place)]
    return total, np.concatenate([cells, lexical, spans])


def _add_batch(
    batch: LatticeBatch,
    model: LogLinear,
    weights: Weights,
    chain: SubtypeChain,
    tables: tuple[Floats, Floats],
    lexical: Floats,
    spans: Floats,
) -> float:
    """One batch's part of the gradient; returns its log likelihood."""
    factors = batch.letters if batch.spans is None else batch.letters + batch.spans.weigh(weights.spans)
    shape, start = (len(batch.all.word) - 1, int(chain.columns[-1])), model.lexical_start
    words, counts = np.zeros(shape), np.zeros((2, *shape))
    _weigh_words(
        batch.all, batch.own, batch.joined, chain.columns, start, weights.lexical, weights.change, factors, words
    )
    gold = sum_sequences(chain, batch.gold, words, Expected(tables[0], counts[0]))
    sums = sum_sequences(chain, batch.all, words, Expected(tables[1], counts[1]))
    _add_words(batch.all, batch.own, batch.joined, chain.columns, start, counts[0] - counts[1], lexical)
    if batch.spans is not None:
        spans += batch.spans.slope(batch.is_gold - sums.node)
    return float((gold.log_z - sums.log_z).sum())


@kernel
def _weigh_words(
    lattice: Lattice,
    own: Longs,
    joined: Longs,
    columns: Longs,
    start: Longs,
    lexical: Floats,
    change: Floats,
    factors: Floats,
    words: Floats,
) -> None:
    """Fill what words weigh under the subtypes of the tags that they may have."""
    for i in range(len(lattice.word) - 1):
        for n in range(lattice.word[i], lattice.word[i + 1]):
            tag = lattice.tag[n]
            for x in range(columns[tag + 1] - columns[tag]):
                log = lexical[start[own[n]] + x] + factors[n]
                if joined[n] != NONE:
                    log += change[start[joined[n]] + x]
                words[i, columns[tag] + x] = np.exp(log)


@kernel
def _add_words(
    lattice: Lattice, own: Longs, joined: Longs, columns: Longs, start: Longs, counts: Floats, lexical: Floats
) -> None:
    """Add expected counts of words under subtypes to those of lexical rules."""
    for i in range(len(lattice.word) - 1):
        for n in range(lattice.word[i], lattice.word[i + 1]):
            tag = lattice.tag[n]
            for x in range(columns[tag + 1] - columns[tag]):
                lexical[start[own[n]] + x] += counts[i, columns[tag] + x]
                if joined[n] != NONE:
                    lexical[start[joined[n]] + x] += counts[i, columns[tag] + x]
