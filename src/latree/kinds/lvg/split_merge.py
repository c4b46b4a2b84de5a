"""Split, fit, merge, smooth: how a treebank's categories get their subtypes (Petrov et al. 2006; Petrov 2009, 2.1).

A round doubles every symbol, fits by EM on the gold trees, takes back the half of the splits that help least, fits
again, and draws sibling subtypes a little towards each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from latree.arrays import Floats, Longs
from latree.inference.forest import Forest
from latree.inference.forms.sparse import Sparse, no_statistics, sparse, without
from latree.inference.subtypes import Cells, History, Layout, normalise_rows, parent_sums, project
from latree.inference.sweep import Inference, infer
from latree.kinds.lvg import LvgOptions
from latree.kinds.lvg.smoothing import Smoother
from latree.learning.latent_treebank import LatentTreebank, LexicalLayout, Stretch
from latree.learning.loop import Progress, Watch, check_climb
from latree.learning.shards import Shards, Sum

DROP = 0.1  # share of zeros among the cells from which on they are left out


@dataclass(frozen=True)
class Refined:
    """A grammar with subtypes, in the making."""

    layout: Layout
    theta: Floats  # rules
    emissions: Floats  # P(w | t_x) of the treebank's entries
    history: History

    @property
    def subtypes(self) -> int:
        return int(self.layout.size.sum())


class Counts(NamedTuple):
    """Expected counts, of the type of the weights."""

    rules: Floats
    words: Floats


def first_grammar(treebank: LatentTreebank, counts: Floats, options: LvgOptions, rng: np.random.Generator) -> Refined:
    """One subtype a symbol; every rule's count gets some noise, so that different seeds start apart."""
    grammar = treebank.grammar
    layout = Layout(grammar, np.ones(len(grammar.symbols), np.int64))
    theta = counts + options.noise * rng.random(len(counts))
    layout.normalise(theta)
    emissions = treebank.lexical(layout).estimate(treebank.entries.count)
    return Refined(layout, theta, emissions, History())


def split(state: Refined, options: LvgOptions, rng: np.random.Generator) -> Refined:
    """Every subtype becomes two, each half as likely as a child, told apart by a little noise."""
    old = state.layout
    size = 2 * old.size
    size[0] = 1
    new = Layout(old.grammar, size)
    place = np.flatnonzero(state.theta)
    rule, *cell = old.coordinates(place)
    factors = (new.dims // old.dims)[rule]
    theta = np.zeros(int(new.start[-1]))
    for pattern in np.unique(factors, axis=0):
        mine = np.flatnonzero((factors == pattern).all(1))
        halves = _split_cells(state.theta[place[mine]], pattern, options.noise, rng)
        x, y, z = (
            (factor * at[mine])[:, None, None, None] + offset
            for factor, at, offset in zip(pattern, cell, np.indices(pattern), strict=True)
        )
        theta[new.places(rule[mine][:, None, None, None], x, y, z)] = halves
    # A word is as likely under either half; the rules' noise will tell them apart.
    emissions = np.repeat(state.emissions, 2)
    return Refined(new, theta, emissions, state.history.grown([np.arange(n) // 2 for n in size]))


def _split_cells(value: Floats, factors: Longs, noise: float, rng: np.random.Generator) -> Floats:
    """Shares of the children's halves [cells, x, y, z], moved by up to noise/2 per cent in opposite directions."""
    moved = np.ones((len(value), *factors))
    for axis in (2, 3):
        if moved.shape[axis] == 2:
            shape = list(moved.shape)
            shape[axis] = 1
            step = noise / 100 * (rng.random(shape) - 0.5)
            moved += np.concatenate([step, -step], axis)
    return value[:, None, None, None] * moved / np.prod(factors[1:])


class Form(NamedTuple):
    """Where weights lie, or counts: all in one array, cells first."""

    cells: Sparse  # without values
    width: Longs  # [symbols] subtypes

    @classmethod
    def of(cls, weights: Sparse, width: Longs) -> Form:
        return cls(weights._replace(value=np.zeros(0), entry=np.zeros(0)), width)

    def view(self, numbers: Floats) -> Sparse:
        """The numbers as inference takes them."""
        cells = len(self.cells.place)
        return self.cells._replace(value=numbers[:cells], entry=numbers[cells:])


def expect(stretch: Stretch, form: Form, parameters: Floats) -> Sum:
    """The log-likelihood of some trees, and the expected counts of cells and entries."""
    counts = np.zeros_like(parameters)
    result = infer(stretch.shared, form.view(parameters), form.view(counts), form.width)
    return float(result.log_z.sum()), counts


class Expectation:
    """The E-step over a treebank."""

    objective = "log-likelihood"

    def __init__(
        self, shards: Shards[Stretch], lexical: LexicalLayout, state: Refined, place: Longs | None = None
    ) -> None:
        """`place` names the cells of the tensors that may have weight, otherwise those that do."""
        self.shards, self.lexical, self.layout = shards, lexical, lexical.layout
        self._take(lexical.weights(sparse(self.layout, state.theta, place), state.emissions))

    def _take(self, weights: Sparse) -> None:
        self.form, self.parameters = Form.of(weights, self.layout.size), np.append(weights.value, weights.entry)
        self.weights, self.stats = self.form.view(self.parameters), self.form.view(np.zeros_like(self.parameters))

    def run(self) -> float:
        """The log-likelihood; expected counts are then in `counts`."""
        log_likelihood, counts = self.shards.sum(expect, self.form, self.parameters)
        self.stats = self.form.view(counts)
        return log_likelihood

    @property
    def counts(self) -> Counts:
        return Counts(self._full(self.stats.value), self.stats.entry)

    def state(self, before: Refined) -> Refined:
        """The grammar as it is now."""
        return replace(before, theta=self._full(self.weights.value), emissions=self.weights.entry.copy())

    def _full(self, value: Floats) -> Floats:
        full = np.zeros(int(self.layout.start[-1]))
        full[self.weights.place] = value
        return full

    def maximise(self, smoother: Smoother | None) -> None:
        """The M-step (Petrov 2009, eqn 3), and with a smoother a step back from it."""
        self._normalise()
        emissions = self.lexical.estimate(self.stats.entry)
        if smoother is not None:
            smoother.smooth_rules(self.weights, self.stats.value)
            self._normalise()
            emissions = smoother.words(emissions)
        self.weights.value[:] = self.stats.value
        self.weights.entry[:] = emissions
        if smoother is None:
            self._drop_zeros()

    def _normalise(self) -> None:
        value, row, row_parent = self.stats.value, self.weights.row, self.weights.row_parent
        sums = parent_sums(value, row, row_parent, int(self.layout.offset[-1]))
        normalise_rows(value, row, row_parent, sums)

    def _drop_zeros(self) -> None:
        """EM never revives a cell; once enough are gone, the others move together."""
        gone = self.weights.value == 0
        if gone.sum() > DROP * len(gone):
            self._take(without(self.weights, self.layout, gone))


def fit(
    treebank: LatentTreebank,
    state: Refined,
    iterations: int,
    stage: str,
    watch: Watch,
    tolerance: float = 0.0,
    smoother: Smoother | None = None,
    step: Expectation | None = None,
) -> Refined:
    """EM (Petrov 2009, eqns 2 and 3), or what `step` does.  Without smoothing the objective never falls: checked."""
    if step is None:
        cells = None if smoother is None else smoother.cells(state.theta)
        step = Expectation(treebank.shards, treebank.lexical(state.layout), state, cells)
    before = -np.inf
    for iteration in range(1, iterations + 1):
        log_likelihood = step.run()
        where = f"{stage}, iteration {iteration}"
        check_climb(before, log_likelihood, where, what=step.objective, rising=smoother is None)
        step.maximise(smoother)
        watch(Progress(stage, iteration, iterations, log_likelihood, step.objective))
        if smoother is None and tolerance > 0 and log_likelihood - before < tolerance * treebank.words:
            break
        before = log_likelihood
    return step.state(state)


def subtype_counts(lexical: LexicalLayout, counts: Counts) -> Floats:
    """Expected number of each subtype of each symbol, numbered as in `layout.offset`."""
    layout = lexical.layout
    total = layout.parent_counts(counts.rules)
    total[layout.offset[layout.grammar.first_tag] :] += lexical.by_column(counts.words)
    return total


def merge(treebank: LatentTreebank, state: Refined, fraction: float) -> Refined:
    """Take back the splits whose loss in likelihood is among the smallest `fraction`."""
    lexical = treebank.lexical(state.layout)
    step = Expectation(treebank.shards, lexical, state)
    step.run()
    frequency = subtype_counts(lexical, step.counts)
    losses = merge_losses(step, frequency)
    real = np.sort(np.concatenate([loss[loss > 0] for loss in losses]))
    limit = real[min(int(len(real) * fraction), len(real) - 1)] if len(real) and fraction > 0 else 0.0
    return contract(lexical, state, [merged_halves(loss <= limit) for loss in losses], frequency)


class NodeSums(NamedTuple):
    """What is summed over the nodes of each symbol, a number for every pair of halves."""

    form: Form
    summand: Callable[[Floats, Floats, Floats], Floats]  # of inside and outside [nodes, subtypes] and the shares
    share: Sequence[Floats]  # [symbols] [subtypes] how frequent each subtype is


def sum_over_nodes(step: Expectation, summand: Callable[..., Floats], frequency: Floats) -> list[Floats]:
    """Sum over all nodes, symbol by symbol; the root has no halves."""
    share = np.split(frequency, step.layout.offset[1:-1])
    _, flat = step.shards.sum(_over_nodes, NodeSums(step.form, summand, share), step.parameters)
    return np.split(flat, np.cumsum(step.layout.size // 2)[:-1])


def _over_nodes(stretch: Stretch, sums: NodeSums, parameters: Floats) -> Sum:
    forest, width, weights = stretch.forest, sums.form.width, sums.form.view(parameters)
    result = infer(forest, weights, no_statistics(weights), width)
    each = [
        sums.summand(*_messages_of(symbol, int(width[symbol]), forest, result), sums.share[symbol])
        for symbol in range(1, len(width))
    ]
    return 0.0, np.concatenate(each)


def _messages_of(symbol: int, size: int, forest: Forest, result: Inference) -> tuple[Floats, Floats]:
    """Inside and outside [nodes, subtypes] of a symbol's nodes."""
    rows = result.inside.start[np.flatnonzero(forest.symbol == symbol)][:, None] + np.arange(size)
    return result.inside.row[rows], result.outside.row[rows]


def merge_losses(step: Expectation, frequency: Floats) -> list[Floats]:
    """For each symbol and each pair of halves: the log-likelihood lost, approximately, if they were one again."""
    return sum_over_nodes(step, _merge_loss, frequency)


def _merge_loss(inside: Floats, outside: Floats, p: Floats) -> Floats:
    """At a node with inside I and outside O, pair (i, j) with frequencies p: sum_k I_k O_k becomes
    sum_k I_k O_k - I_i O_i - I_j O_j + (p_i I_i + p_j I_j)(O_i + O_j).
    """
    both = inside * outside
    whole = both.sum(1, keepdims=True)
    first, second = slice(0, None, 2), slice(1, None, 2)
    pair = np.maximum(p[first] + p[second], 1e-300)
    mixed = (p[first] * inside[:, first] + p[second] * inside[:, second]) / pair
    merged = whole - both[:, first] - both[:, second] + mixed * (outside[:, first] + outside[:, second])
    return np.asarray(np.log(whole / np.maximum(merged, 1e-300)).sum(0))


def merged_halves(merged: NDArray[np.bool_]) -> Longs:
    """The map from a symbol's halves to what is left, given which pairs become one; the root has no halves."""
    if not len(merged):
        return np.zeros(1, np.int64)
    width = np.where(merged, 1, 2)
    first = np.cumsum(width) - width
    return np.stack([first, first + width - 1], 1).ravel()


def contract(lexical: LexicalLayout, state: Refined, kinds: Sequence[Longs], frequency: Floats) -> Refined:
    """The grammar over classes of subtypes: children are summed, parents averaged by frequency."""
    history = state.history
    layout, theta, mean = project(state.layout, Cells.of(state.theta), kinds, frequency)
    emissions = lexical.mapped(state.emissions, mean[layout.grammar.first_tag :])
    # A class came from where its commonest member did.
    parents = [last[matrix.argmax(1)] for last, matrix in zip(history.parents[-1], mean, strict=True)]
    return Refined(layout, theta, emissions, History(history.parents[:-1]).grown(parents))
