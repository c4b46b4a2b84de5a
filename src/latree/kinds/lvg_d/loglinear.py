"""Log-linear grammars: log weights that are sums of parameters, and the gradient of log P(T | w) (Petrov 2009, eqns 1,
4 and 5).

log weight = base + features @ delta.  The base is where training begins: a generative grammar, or nothing.  With one
parameter for every cell of every tensor the features are the identity; at several scales (`refinement`) a cell has all
the parameters on its path.  A frequent word has a lexical rule of its own, an unknown one that of its class; a word in
between has both, and their deltas add up.  Spans may have weights of their own beside the rules' (`span_features`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_diag, csr_array, eye_array

from latree.arrays import NONE, Floats, Ints, Longs, ranges, starts
from latree.inference.forest import Forest, restrict
from latree.inference.forms.multiscale import MultiScale, leaves_below, tree_sizes
from latree.inference.forms.sparse import Sparse, sparse, with_entries, zeros_like
from latree.inference.potentials import NO_POTENTIALS, Potentials
from latree.inference.subtypes import Layout
from latree.inference.sweep import infer
from latree.kinds.lvg_d.refinement import Refinement
from latree.kinds.span_features import SpanFeatures, Spans, Words


@dataclass(frozen=True, eq=False)
class LogLinear:
    """How parameters make weights."""

    layout: Layout
    cells: Sparse  # which triples, or blocks of triples, have a weight; the values do not matter
    lexical_start: Longs  # [lexical rules + 1] first number of each, one a subtype of its tag
    base: Floats  # [cells, then lexical numbers, then features of spans]
    features: csr_array  # [the same, parameters]
    in_blocks: bool  # cells are blocks over split trees

    @property
    def parameters(self) -> int:
        return int(self.features.shape[1])

    def weights(self, delta: Floats) -> Weights:
        change: Floats = self.features @ delta
        rules, words = len(self.cells.place), int(self.lexical_start[-1])
        lexical = slice(rules, rules + words)
        with np.errstate(over="ignore"):
            value = np.exp(self.base[:rules] + change[:rules])
        cells = self.cells._replace(value=value)
        return Weights(cells, self.base[lexical] + change[lexical], change[lexical], change[rules + words :])

    def moved(self, delta: Floats) -> LogLinear:
        """Take these parameters into the base."""
        return replace(self, base=self.base + self.features @ delta)

    def with_spans(self, count: int) -> LogLinear:
        """Add so many features of spans, a parameter each."""
        features = csr_array(block_diag([self.features, eye_array(count)], format="csr"))
        return replace(self, base=np.append(self.base, np.zeros(count)), features=features)

    def as_form(self, cells: Sparse) -> Sparse | MultiScale:
        """Weights or statistics, as inference takes them."""
        return MultiScale(cells) if self.in_blocks else cells

    @cached_property
    def transposed(self) -> csr_array:
        return csr_array(self.features.T)


class Weights(NamedTuple):
    """At some point of the way."""

    cells: Sparse
    lexical: Floats  # [lexical numbers] log weights
    change: Floats  # [lexical numbers] of these what was learned
    spans: Floats  # [features of spans]


def one_scale(layout: Layout, lexical_tag: Longs, rule_base: Floats, lexical_base: Floats) -> LogLinear:
    """A parameter for every triple of subtypes of every rule."""
    cells = sparse(layout, rule_base, np.arange(int(layout.start[-1])))
    width = layout.size[layout.grammar.first_tag + lexical_tag]
    base = np.concatenate([rule_base, lexical_base])
    return LogLinear(layout, cells, starts(width), base, eye_array(len(base), format="csr"), in_blocks=False)


def many_scales(
    layout: Layout, lexical_tag: Longs, rule_base: Floats, lexical_base: Floats, tree: Refinement
) -> LogLinear:
    """A parameter for every node of the productions' trees: rules first, then lexical rules; a base for each."""
    rules = len(layout.grammar.rules)
    size = layout.size
    paths, is_leaf = tree.paths(), tree.is_leaf
    own = np.flatnonzero(is_leaf & (tree.production < rules))
    trees = Layout(layout.grammar, tree_sizes(size))
    place = trees.places(tree.production[own], *tree.place[own].T)
    order = np.argsort(place)
    own = own[order]
    rule = tree.production[own]
    cells = sparse(trees, np.zeros(int(trees.start[-1])), place[order])
    width = size[layout.grammar.first_tag + lexical_tag]
    leaf_of = _word_leaves(tree, is_leaf, rules, width)
    features = csr_array(paths[np.concatenate([own, leaf_of])])
    children = np.log(layout.dims[rule, 1] * layout.dims[rule, 2])
    base = np.concatenate([rule_base[rule] - children, np.repeat(lexical_base, width)])
    return LogLinear(layout, cells, starts(width), base, features, in_blocks=True)


def _word_leaves(tree: Refinement, is_leaf: NDArray[np.bool_], rules: int, width: Longs) -> Longs:
    """For every lexical rule and subtype of its tag the leaf that it falls into."""
    first = starts(width)
    leaf = np.full(int(first[-1]), NONE)
    for node in np.flatnonzero(is_leaf & (tree.production >= rules)).tolist():
        lexical = int(tree.production[node]) - rules
        subtypes = leaf[first[lexical] : first[lexical + 1]]
        subtypes[leaves_below(int(tree.place[node, 0]), len(subtypes))] = node
    return leaf


# -- sentences


class Entries(NamedTuple):
    """The lexical entries of some sentences: an entry is a word's own rule, and its class's where both count."""

    own: Longs
    joined: Longs  # NONE where there is none

    def numbers(self, start: Longs) -> tuple[Longs, Longs, Longs]:
        """Each entry's lexical numbers end to end, own and joined (NONE: none); and how many each has."""
        width = start[self.own + 1] - start[self.own]
        alone = np.repeat(self.joined == NONE, width)
        return ranges(start[self.own], width), np.where(alone, NONE, ranges(start[self.joined], width)), width


class Batch(NamedTuple):
    """Some sentences' forests, made once: gold analyses, and all that the pruner leaves."""

    gold: Forest
    all: Forest
    entries: Entries
    spans: tuple[Spans, Spans] | None = None  # of gold and all
    letters: tuple[Potentials, Potentials] = (NO_POTENTIALS, NO_POTENTIALS)  # the same

    @property
    def sentences(self) -> int:
        return len(self.gold.root)

    @classmethod
    def of(cls, gold: Forest, everything: Forest, own: Longs, joined: Longs, letters: Potentials) -> Batch:
        """`own` and `joined` hold a lexical rule, or NONE, for every word and tag laid end to end."""
        rules = gold.rules
        has_rule = own[np.maximum(everything.rule - rules, 0)] != NONE
        everything = restrict(everything, (everything.rule < rules) | has_rule)
        used = np.unique(np.concatenate([f.rule[f.rule >= rules] for f in (gold, everything)])) - rules
        pairs, number = np.unique(np.stack([own[used], joined[used]], 1), axis=0, return_inverse=True)
        entry = np.full(len(own), NONE, np.int32)
        entry[used] = number.ravel()
        factors = (letters.on_edges(gold), letters.on_edges(everything))
        gold, everything = (f._replace(rule=_renumbered(f.rule, rules, entry)) for f in (gold, everything))
        return cls(gold, everything, Entries(pairs[:, 0], pairs[:, 1]), letters=factors)

    def with_spans(self, features: SpanFeatures, words: Words) -> Batch:
        return self._replace(spans=(features.on(self.gold, words), features.on(self.all, words)))


def _renumbered(rule: Ints, rules: int, entry: Ints) -> Ints:
    """Edges' rules, with other numbers for lexical entries."""
    return np.where(rule < rules, rule, rules + entry[np.maximum(rule - rules, 0)]).astype(np.int32)


class _Slope(NamedTuple):
    """Gradients with respect to log weights, in the making."""

    cells: tuple[Sparse, Sparse]  # expected counts in gold analyses, and in all
    lexical: Floats
    spans: Floats


def log_likelihood(batches: Sequence[Batch], model: LogLinear, weights: Weights) -> tuple[float, Floats]:
    """The sum of log P(T | w) (eqn 4), and its gradient with respect to all log weights: expected counts given the
    trees less those given the words (eqn 5)."""
    counts = (zeros_like(weights.cells), zeros_like(weights.cells))
    slope = _Slope(counts, np.zeros(len(weights.lexical)), np.zeros(len(weights.spans)))
    total = sum(_add_batch(batch, model, weights, slope) for batch in batches)
    return total, np.concatenate([counts[0].value - counts[1].value, slope.lexical, slope.spans])


def _add_batch(batch: Batch, model: LogLinear, weights: Weights, slope: _Slope) -> float:
    """One batch's part of the gradient; returns its log likelihood."""
    own, joined, width = batch.entries.numbers(model.lexical_start)
    change = np.append(weights.change, 0.0)  # the last is for what is not joined
    with np.errstate(over="ignore"):
        entry = np.exp(weights.lexical[own] + change[joined])
    form, both, total = model.as_form(with_entries(weights.cells, entry, width)), joined != NONE, 0.0
    for sign, forest, counts, k in ((1.0, batch.gold, slope.cells[0], 0), (-1.0, batch.all, slope.cells[1], 1)):
        stats = with_entries(counts, np.zeros(len(entry)), width)
        potentials = batch.letters[k]
        if batch.spans is not None:
            potentials = potentials._replace(item=batch.spans[k].weigh(weights.spans))
        found = infer(forest, form, model.as_form(stats), model.layout.size, potentials)
        total += sign * float(found.log_z.sum())
        slope.lexical[:] += sign * np.bincount(own, stats.entry, len(slope.lexical))
        slope.lexical[:] += sign * np.bincount(joined[both], stats.entry[both], len(slope.lexical))
        if batch.spans is not None:
            slope.spans[:] += sign * batch.spans[k].slope(found.posterior)
    return total
