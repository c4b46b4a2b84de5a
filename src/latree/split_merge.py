"""Split, fit, merge, smooth: how a treebank's categories get their subtypes (Petrov et al. 2006; Petrov 2009, 2.1).

A round doubles every symbol, fits by EM on the gold trees, takes back the half of the splits that help least, fits
again, and draws sibling subtypes a little towards each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from latree.arrays import Floats, Longs
from latree.errors import LatreeError
from latree.forest import Forest
from latree.forms.dense import zeros_like
from latree.infer import Inference, infer
from latree.latent_treebank import LatentTreebank, LexicalLayout
from latree.subtypes import History, Layout, averaging, membership, transform


@dataclass(frozen=True)
class SplitMergeOptions:
    """The constants of a round; the defaults are the Berkeley parser's."""

    split_iterations: int = 50
    merge_iterations: int = 20
    smooth_iterations: int = 10
    merge_fraction: float = 0.5  # of the splits, taken back
    noise: float = 1.0  # per cent by which fresh subtypes differ, and counts that the first grammar adds at most
    rule_smoothing: float = 0.01  # share that a rule's subtype takes from its siblings
    word_smoothing: float = 0.1  # the same for words
    tolerance: float = 0.0  # a stage ends early when the log-likelihood a word grows by less

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


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


class Progress(NamedTuple):
    """One EM iteration."""

    stage: str
    iteration: int
    iterations: int
    log_likelihood: float


Watch = Callable[[Progress], None]


def first_grammar(
    treebank: LatentTreebank, counts: Floats, options: SplitMergeOptions, rng: np.random.Generator
) -> Refined:
    """One subtype a symbol; every rule's count gets some noise, so that different seeds start apart."""
    grammar = treebank.grammar
    layout = Layout(grammar, np.ones(len(grammar.symbols), np.int64))
    theta = counts + options.noise * rng.random(len(counts))
    layout.normalise(theta)
    emissions = treebank.lexical(layout).estimate(treebank.entries.count)
    return Refined(layout, theta, emissions, History())


def split(state: Refined, options: SplitMergeOptions, rng: np.random.Generator) -> Refined:
    """Every subtype becomes two, each half as likely as a child, told apart by a little noise."""
    old = state.layout
    size = 2 * old.size
    size[0] = 1
    new = Layout(old.grammar, size)
    theta = np.empty(int(new.start[-1]))
    for rule in range(len(old.grammar.rules)):
        tensor = old.tensor(state.theta, rule)
        theta[new.start[rule] : new.start[rule + 1]] = _split_tensor(tensor, new.dims[rule], options.noise, rng).ravel()
    # A word is as likely under either half; the rules' noise will tell them apart.
    return replace(state, layout=new, theta=theta, emissions=np.repeat(state.emissions, 2))


def _split_tensor(tensor: Floats, dims: Longs, noise: float, rng: np.random.Generator) -> Floats:
    """Shares of the children's halves, moved by up to noise/2 per cent in opposite directions."""
    factors = dims // tensor.shape
    for axis, factor in enumerate(factors):
        tensor = np.repeat(tensor, factor, axis=axis)
    moved = np.ones_like(tensor)
    for axis in (1, 2):
        if factors[axis] == 2:
            shape = list(tensor.shape)
            shape[axis] //= 2
            step = noise / 100 * (rng.random(shape) - 0.5)
            moved += np.stack([step, -step], axis + 1).reshape(tensor.shape)
    return tensor * moved / np.prod(factors[1:])


class Expectation:
    """The E-step over a treebank, its large arrays made once."""

    objective = "log-likelihood"

    def __init__(self, forest: Forest, lexical: LexicalLayout, state: Refined) -> None:
        self.forest, self.lexical, self.rules = forest, lexical, len(state.theta)
        self.weights = lexical.weights(state.theta, state.emissions)
        self.stats = zeros_like(self.weights)

    def run(self) -> tuple[float, Inference]:
        """The log-likelihood; expected counts are then in `counts`."""
        self.stats.theta[:] = 0.0
        result = infer(self.forest, self.weights, self.stats, self.lexical.layout.size)
        return float(result.log_z.sum()), result

    @property
    def counts(self) -> Counts:
        return Counts(self.stats.theta[: self.rules], self.stats.theta[self.rules :])

    def maximise(self, smoother: Smoother | None) -> None:
        """The M-step (Petrov 2009, eqn 3), and with a smoother a step back from it."""
        rules, words = self.counts
        self.lexical.layout.normalise(rules)
        emissions = self.lexical.estimate(words)
        if smoother is not None:
            rules, emissions = smoother.rules(rules), smoother.words(emissions)
        self.weights.theta[: self.rules] = rules
        self.weights.theta[self.rules :] = emissions


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
    step = step or Expectation(treebank.shared, treebank.lexical(state.layout), state)
    before = -np.inf
    for iteration in range(1, iterations + 1):
        log_likelihood, _ = step.run()
        _check(log_likelihood, before, stage, iteration, rising=smoother is None, what=step.objective)
        step.maximise(smoother)
        watch(Progress(stage, iteration, iterations, log_likelihood))
        if smoother is None and tolerance > 0 and log_likelihood - before < tolerance * treebank.words:
            break
        before = log_likelihood
    theta = step.weights.theta
    return replace(state, theta=theta[: step.rules].copy(), emissions=theta[step.rules :].copy())


def _check(
    now: float, before: float, stage: str, iteration: int, *, rising: bool, what: str = "log-likelihood"
) -> None:
    where = f"{stage}, iteration {iteration}"
    if not np.isfinite(now):
        raise LatreeError(f"the {what} became {now} ({where}); the last checkpoint is good")
    if rising and now < before - 1e-7 * abs(before):
        raise LatreeError(f"the {what} fell from {before} to {now} ({where}); please report this")


def subtype_counts(lexical: LexicalLayout, counts: Counts) -> Floats:
    """Expected number of each subtype of each symbol, numbered as in `layout.offset`."""
    layout = lexical.layout
    total = layout.parent_counts(counts.rules)
    first = layout.offset[layout.grammar.first_tag]
    total[first:] += np.bincount(lexical.column, weights=counts.words, minlength=int(layout.tag_columns[-1]))
    return total


def merge(treebank: LatentTreebank, state: Refined, fraction: float) -> Refined:
    """Take back the splits whose loss in likelihood is among the smallest `fraction`."""
    lexical = treebank.lexical(state.layout)
    step = Expectation(treebank.forest, lexical, state)
    _, result = step.run()
    frequency = subtype_counts(lexical, step.counts)
    losses = merge_losses(treebank, state.layout, result, frequency)
    real = np.sort(np.concatenate([loss[loss > 0] for loss in losses]))
    limit = real[min(int(len(real) * fraction), len(real) - 1)] if len(real) and fraction > 0 else 0.0
    kinds = [_merged(loss <= limit) if len(loss) else np.zeros(1, np.int64) for loss in losses]
    return _merge_into(lexical, state, kinds, frequency)


def keep_all(state: Refined) -> Refined:
    """All fresh halves stay."""
    parents = [np.arange(n, dtype=np.int64) // 2 for n in state.layout.size]
    return replace(state, history=state.history.grown(parents))


def merge_losses(treebank: LatentTreebank, layout: Layout, result: Inference, frequency: Floats) -> list[Floats]:
    """For each symbol and each pair of halves: the log-likelihood lost, approximately, if they were one again.

    At a node with inside I and outside O, pair (i, j) with frequencies p: sum_k I_k O_k becomes
    sum_k I_k O_k - I_i O_i - I_j O_j + (p_i I_i + p_j I_j)(O_i + O_j).
    """
    forest = treebank.forest
    losses = []
    for symbol, size in enumerate(layout.size):
        if symbol == 0:
            losses.append(np.zeros(0))
            continue
        items = np.flatnonzero(forest.symbol == symbol)
        rows = result.inside.start[items][:, None] + np.arange(size)
        inside, outside = result.inside.row[rows], result.outside.row[rows]
        both = inside * outside
        whole = both.sum(1, keepdims=True)
        first, second = slice(0, None, 2), slice(1, None, 2)
        p = frequency[layout.offset[symbol] : layout.offset[symbol + 1]]
        pair = np.maximum(p[first] + p[second], 1e-300)
        mixed = (p[first] * inside[:, first] + p[second] * inside[:, second]) / pair
        merged = whole - both[:, first] - both[:, second] + mixed * (outside[:, first] + outside[:, second])
        losses.append(np.log(whole / np.maximum(merged, 1e-300)).sum(0))
    return losses


def _merged(gone: Any) -> Longs:
    """The map from halves to what is left, given which pairs become one."""
    width = np.where(gone, 1, 2)
    first = np.cumsum(width) - width
    return np.stack([first, first + width - 1], 1).ravel().astype(np.int64)


def _merge_into(lexical: LexicalLayout, state: Refined, kinds: list[Longs], frequency: Floats) -> Refined:
    """The grammar over merged subtypes: children are summed, parents averaged by frequency."""
    old = state.layout
    size = np.array([int(kind.max()) + 1 for kind in kinds])
    new = Layout(old.grammar, size)
    parts = [frequency[old.offset[s] : old.offset[s + 1]] for s in range(len(kinds))]
    mean = [averaging(kind, part, int(n)) for kind, part, n in zip(kinds, parts, size, strict=True)]
    total = [membership(kind, int(n)) for kind, n in zip(kinds, size, strict=True)]
    theta = transform(old, state.theta, new, mean, total)
    emissions = map_entries(lexical, state.emissions, mean[old.grammar.first_tag :])
    parents = []
    for kind, n in zip(kinds, size, strict=True):
        parent = np.zeros(n, np.int64)
        parent[kind] = np.arange(len(kind)) // 2
        parents.append(parent)
    return Refined(new, theta, emissions, state.history.grown(parents))


def map_entries(lexical: LexicalLayout, vectors: Floats, maps: list[Floats]) -> Floats:
    """Every entry's vector v becomes M v, with the matrix M of its tag."""
    entries = lexical.entries
    size = np.array([len(matrix) for matrix in maps])[entries.tag]
    start, old_start = np.cumsum(size) - size, np.cumsum(lexical.size) - lexical.size
    result = np.empty(int(size.sum()))
    for tag, matrix in enumerate(maps):
        mine = np.flatnonzero(entries.tag == tag)
        rows = vectors[old_start[mine][:, None] + np.arange(matrix.shape[1])]
        result[start[mine][:, None] + np.arange(matrix.shape[0])] = rows @ matrix.T
    return result


class Smoother:
    """Draws sibling subtypes towards each other, within the same side of a symbol's first split."""

    def __init__(self, lexical: LexicalLayout, history: History, options: SplitMergeOptions) -> None:
        self.lexical, self.layout = lexical, lexical.layout
        symbols = range(len(self.layout.size))
        self.rule_maps = [_smoothing(history.branches(s), options.rule_smoothing) for s in symbols]
        self.word_maps = word_smoothing(self.layout, history, options.word_smoothing)

    def rules(self, theta: Floats) -> Floats:
        smoothed = transform(self.layout, theta, self.layout, self.rule_maps, None)
        self.layout.normalise(smoothed)
        return smoothed

    def words(self, emissions: Floats) -> Floats:
        return map_entries(self.lexical, emissions, self.word_maps)


def word_smoothing(layout: Layout, history: History, share: float) -> list[Floats]:
    """The smoothing matrix of every tag."""
    return [_smoothing(history.branches(s), share) for s in range(layout.grammar.first_tag, len(layout.size))]


def _smoothing(branch: Longs, share: float) -> Floats:
    """p_i <- (1 - share) p_i + share / (n - 1) * sum of the others on the same branch of n; alone: unchanged."""
    same = branch[:, None] == branch[None, :]
    others = same.sum(1) - 1
    matrix = np.where(same, share / np.maximum(others, 1)[:, None], 0.0)
    np.fill_diagonal(matrix, np.where(others > 0, 1 - share, 1.0))
    return matrix
