"""Variational training: how many subtypes a symbol has is found by a prior (Liang, Petrov, Jordan & Klein 2007).

The infinite PCFG for grammar refinement.  A symbol A has subtypes without end, weighted by a stick-breaking prior,

    v_Ak ~ Beta(1, gamma)                       beta_Ak = v_Ak prod_{j<k} (1 - v_Aj),

and its subtype A_x chooses a rule, then the subtypes of the rule's children, around their symbols' weights:

    rho_Ax ~ Dirichlet(a_r)                     over the rules A -> B C
    psi_rx ~ Dirichlet(alpha beta_B beta_C^T)   over (y, z), for the rule r = A -> B C
    T_r[x, y, z] = rho_Ax(r) psi_rx(y, z)

and its words (the rare ones one class, as in `latent_treebank`) from phi_tx ~ Dirichlet(a_w P(. | t)).  Only the first
K subtypes of a symbol are given derivations; the rest of the stick stays with those beyond the truncation.

Mean field: q(derivations) q(rho) q(psi) q(phi), beta a point.  With n the expected counts, every multinomial becomes

    W = exp(Psi(n + a)) / exp(Psi(sum of n + a))

and takes the place of relative frequency.  As exp(Psi(n)) is about n - 1/2, and far less for n below 1, what is seldom
used is used still less.  The evidence lower bound after the sweep that W is used in is

    L = log Z(W) - sum n log W + sum log D(n; a) + log p(beta)
    D(n; a) = Gamma(a.) / Gamma(a. + n.) prod_k Gamma(a_k + n_k) / Gamma(a_k)      a., n.: sums over k

with n the counts that W was made of.  Beta raises sum log D + log p(beta) by Minka's (2000) bound on Gamma functions:

    t_yz = a_yz (Psi(a_yz + n_yz) - Psi(a_yz)),  a_yz = alpha beta_y beta_z      draws from beta behind n_yz, expected
    t_k = sum of all t in which k is a child's subtype, subtypes sorted by it
    v_k = (1 + t_k) / (1 + gamma + t_k + sum_{j>k} t_j)

which is the maximum of sum_k t_k log beta_k + log p(v) over the order of the sticks and the logits of v: in that basis
p(v_k) is proportional to v_k (1 - v_k)^gamma, and no stick is ever broken at its end.  None of these steps lowers L.
(The paper climbs to beta by projected gradient, and starts with all K subtypes.  Here they come by doublings, with
merges that raise L in between: that ends at a higher L, and each doubling is a level of coarse-to-fine parsing.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, psi, xlogy

from latree.arrays import Floats, Longs
from latree.errors import LatreeError
from latree.forest import Forest
from latree.grammar import NONE
from latree.infer import Inference
from latree.jit import kernel
from latree.latent_treebank import LatentTreebank, LexicalLayout, map_entries
from latree.smoothing import Smoother
from latree.split_merge import (
    Expectation,
    Refined,
    SplitMergeOptions,
    Watch,
    fit,
    keep_all,
    split,
    subtype_counts,
)
from latree.subtypes import LEAST, History, Layout, averaging, regroup


@dataclass(frozen=True)
class VariationalOptions:
    """The prior, and how long a round fits under it."""

    truncation: int = 16  # K: subtypes of a symbol at most, a power of two
    concentration: float = 1.0  # gamma: the larger, the more subtypes are expected
    strength: float = 1.0  # alpha: how closely children's subtypes follow beta
    rule_prior: float = 0.2  # a_r
    word_prior: float = 1.0  # a_w; zero: words by maximum likelihood
    iterations: int = 20  # mean-field iterations of a round
    threshold: float = 0.5  # a subtype with a smaller expected count is unused

    def __post_init__(self) -> None:
        if min(self.concentration, self.strength, self.rule_prior) <= 0 or self.word_prior < 0:
            raise LatreeError("concentration, strength and rule_prior must be positive, and word_prior not negative")

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@kernel
def digamma(x: float) -> float:
    """Psi(x) for x > 0: the recurrence up to 6, then the asymptotic series."""
    result = 0.0
    while x < 6.0:
        result -= 1.0 / x
        x += 1.0
    s = 1.0 / (x * x)
    series = s * (1 / 12 - s * (1 / 120 - s * (1 / 252 - s * (1 / 240 - s * (1 / 132 - s * 691 / 32760)))))
    return result + math.log(x) - 0.5 / x - series


class Sticks(NamedTuple):
    """One symbol's weights over its subtypes."""

    beta: Floats
    log_prior: float  # log p(v) in the basis of the sticks' logits


def break_stick(draws: Floats, concentration: float) -> Sticks:
    """The best sticks given the draws t behind each subtype's counts."""
    order = np.argsort(-draws, kind="stable")
    t = draws[order]
    after = np.append(np.cumsum(t[:0:-1])[::-1], 0.0)
    v = (1 + t) / (1 + concentration + t + after)
    beta = np.empty_like(t)
    beta[order] = v * np.concatenate([[1.0], np.cumprod(1 - v)[:-1]])
    return Sticks(beta, float(np.log(concentration * v * (1 - v) ** concentration).sum()))


class RulePrior:
    """The Dirichlets over rules and over children's subtypes, and beta."""

    def __init__(self, layout: Layout, options: VariationalOptions) -> None:
        self.layout, self.options = layout, options
        rules = layout.grammar.rules
        last = int(layout.offset[-1])  # stands for an absent child, whose weight is one
        self.children: Longs = np.where(rules[:, 1:] == NONE, last, layout.offset[rules[:, 1:]])
        self.parent = layout.row_parent  # [rows] the subtype whose choice it is
        self.rules_of = np.bincount(self.parent, minlength=last)
        self.beta = np.ones(last + 1)
        self.log_prior = 0.0
        self._set_beta(np.zeros(last))

    def _set_beta(self, draws: Floats) -> None:
        offset = self.layout.offset
        found = [break_stick(part, self.options.concentration) for part in np.split(draws, offset[1:-1])]
        self.beta[:-1] = np.concatenate([one.beta for one in found])
        self.log_prior = sum(one.log_prior for one in found)

    def update_beta(self, counts: Floats) -> None:
        """One step up the bound (Minka's, see above)."""
        draws = np.zeros_like(self.beta)
        _add_draws(counts, self.layout.start, self.layout.dims, self.children, self.beta, self.options.strength, draws)
        self._set_beta(draws[:-1])

    def weights(self, counts: Floats) -> tuple[Floats, float]:
        """W of every T[x, y, z], and log p(beta) + sum log D - sum n log W."""
        rho, score = self._rule_choice(self._row_counts(counts))
        log_w = np.empty_like(counts)
        layout, strength = self.layout, self.options.strength
        score += _weigh_children(counts, layout.start, layout.dims, self.children, self.beta, strength, log_w)
        log_w += np.repeat(rho, np.repeat(layout.dims[:, 1] * layout.dims[:, 2], layout.dims[:, 0]))
        return np.exp(log_w), score + self.log_prior

    def _rule_choice(self, n: Floats) -> tuple[Floats, float]:
        """log W of every (rule, x), and sum log D - sum n log W."""
        a, is_parent = self.options.rule_prior, self.rules_of > 0
        total = np.bincount(self.parent, weights=n, minlength=len(is_parent))
        a_total = np.where(is_parent, a * self.rules_of, 1.0)  # a tag chooses no rule
        log_w = psi(n + a) - psi(a_total + total)[self.parent]
        whole = (gammaln(a_total) - gammaln(a_total + total)).sum()
        return log_w, float(whole + (gammaln(n + a) - gammaln(a)).sum() - n @ log_w)

    def _row_counts(self, counts: Floats) -> Floats:
        return np.add.reduceat(counts, self.layout.row[:-1])

    def merge_gains(self, counts: Floats) -> list[Floats]:
        """For each symbol and pair of halves the gain in sum log D if they were one."""
        layout, strength, a = self.layout, self.options.strength, self.options.rule_prior
        gains = [np.zeros(size // 2) for size in layout.size]
        for rule, (parent, b, c) in enumerate(layout.grammar.rules.tolist()):
            n, prior = layout.tensor(counts, rule), self._child_prior(rule)[None]
            rows = n.sum((1, 2))
            gains[parent] += _gain_as_parents(n, prior).sum((1, 2)) - _gain_as_parents(rows, strength)
            gains[parent] += _gain_as_parents(rows, a)
            for child, axis in ((b, 1), (c, 2)):
                if child != NONE:
                    gains[child] += _gain_as_children(n, prior, axis)
        totals = np.split(layout.parent_counts(counts), layout.offset[1:-1])
        for gain, n, rules in zip(gains, totals, self.rules_of[layout.offset[:-1]], strict=True):
            gain -= _gain_as_parents(n, a * rules) if rules else 0.0
        return gains

    def _child_prior(self, rule: int) -> Floats:
        """alpha beta_B beta_C^T."""
        (b, c), (_, wide, narrow) = self.children[rule], self.layout.dims[rule]
        return np.asarray(self.options.strength * np.outer(self.beta[b : b + wide], self.beta[c : c + narrow]))

    def mean(self, counts: Floats) -> Floats:
        """The rules' posterior mean, given that no subtype beyond the truncation is drawn."""
        n, layout = self._row_counts(counts) + self.options.rule_prior, self.layout
        rho = n / np.bincount(self.parent, weights=n, minlength=len(self.rules_of))[self.parent]
        theta = np.empty_like(counts)
        for rule in range(len(self.children)):
            psi_mean = layout.tensor(counts, rule) + self._child_prior(rule)
            psi_mean *= (rho[layout.rule_row[rule] : layout.rule_row[rule + 1]] / psi_mean.sum((1, 2)))[:, None, None]
            theta[layout.start[rule] : layout.start[rule + 1]] = psi_mean.ravel()
        return theta


@kernel
def _add_draws(
    counts: Floats, start: Longs, dims: Longs, children: Longs, beta: Floats, strength: float, draws: Floats
) -> None:
    """t_yz of every rule and parent, for both children."""
    for rule in range(len(dims)):
        cell = start[rule]
        for _ in range(dims[rule, 0]):
            for y in range(children[rule, 0], children[rule, 0] + dims[rule, 1]):
                for z in range(children[rule, 1], children[rule, 1] + dims[rule, 2]):
                    n, a = counts[cell], strength * beta[y] * beta[z]
                    cell += 1
                    if n > LEAST:
                        t = a * (digamma(a + n) - digamma(a))
                        draws[y] += t
                        draws[z] += t


@kernel
def _weigh_children(
    counts: Floats, start: Longs, dims: Longs, children: Longs, beta: Floats, strength: float, log_w: Floats
) -> float:
    """log W of the children's subtypes given rule and parent; sum log D - sum n log W."""
    score = 0.0
    for rule in range(len(dims)):
        cell = start[rule]
        wide = dims[rule, 1] * dims[rule, 2]
        for _ in range(dims[rule, 0]):
            total = counts[cell : cell + wide].sum()
            whole = digamma(total + strength)
            score += math.lgamma(strength) - math.lgamma(strength + total)
            for y in range(children[rule, 0], children[rule, 0] + dims[rule, 1]):
                for z in range(children[rule, 1], children[rule, 1] + dims[rule, 2]):
                    n, a = counts[cell], strength * beta[y] * beta[z]
                    log_w[cell] = digamma(a + n) - whole
                    if n > 0.0:
                        score += math.lgamma(a + n) - math.lgamma(a) - n * log_w[cell]
                    cell += 1
    return score


class WordPrior:
    """The Dirichlets over words: of each tag's subtype, around the tag's own P(w | t), its rare words one class."""

    def __init__(self, lexical: LexicalLayout, prior: float) -> None:
        self.lexical, self.prior = lexical, prior
        columns = int(lexical.layout.tag_columns[-1])
        key = np.where(lexical.is_rare, lexical.column, columns + lexical.pair)
        _, first, self.kind = np.unique(key, return_index=True, return_inverse=True)
        self.column = lexical.column[first]  # [classes]
        self.factor = np.where(lexical.is_rare, lexical.rare_share, 1.0)  # P(w | rare, t)
        tokens = lexical.entries.count
        by_tag = np.bincount(lexical.entries.tag, weights=tokens)
        base = np.bincount(self.kind, weights=(tokens / by_tag[lexical.entries.tag])[lexical.entry])
        self.a = np.asarray(prior * base, np.float64)

    def weights(self, counts: Floats) -> tuple[Floats, float]:
        """W of every entry, and sum log D - sum n log W; without a prior the maximum likelihood."""
        if self.prior == 0:
            return self.lexical.estimate(counts), 0.0
        n = np.bincount(self.kind, weights=counts)
        total = np.bincount(self.column, weights=n)
        log_w = psi(n + self.a) - psi(total + self.prior)[self.column]
        score = (gammaln(self.prior) - gammaln(self.prior + total)).sum()
        score += (gammaln(self.a + n) - gammaln(self.a)).sum() - n @ log_w
        return np.exp(log_w)[self.kind] * self.factor, float(score)

    def merge_gains(self, counts: Floats) -> list[Floats]:
        """For each tag and pair of halves the gain in sum log D if they were one."""
        # All subtypes of a tag have the same classes, each class its subtypes side by side.
        columns = self.lexical.layout.tag_columns
        n = np.bincount(self.kind, weights=counts)
        gains = []
        for lo, hi in pairwise(columns.tolist()):
            parts = np.stack([np.flatnonzero(self.column == column) for column in range(lo, hi)])
            table, a = np.asarray(n[parts], np.float64), self.a[parts[0]]
            change = _gain_as_parents(table, a if self.prior else 0).sum(1)
            gains.append(change - _gain_as_parents(table.sum(1), self.prior))
        return gains

    def mean(self, counts: Floats) -> Floats:
        """The posterior mean of every entry."""
        n = np.bincount(self.kind, weights=counts) + self.a
        return (n / np.bincount(self.column, weights=n)[self.column])[self.kind] * self.factor


class MeanField(Expectation):
    """Sweeps with mean-field weights in place of relative frequencies; what rises is the bound."""

    objective = "evidence lower bound"

    def __init__(self, forest: Forest, lexical: LexicalLayout, state: Refined, options: VariationalOptions) -> None:
        """The first mean-field weights are made from the given ones by a sweep."""
        super().__init__(forest, lexical, state, np.arange(len(state.theta)))
        self.rule_prior, self.word_prior = RulePrior(lexical.layout, options), WordPrior(lexical, options.word_prior)
        self.score = 0.0  # what the bound adds to log Z(W)
        super().run()
        self.maximise(None)

    def run(self) -> tuple[float, Inference]:
        """The evidence lower bound; expected counts are then in `counts`."""
        log_z, result = super().run()
        return log_z + self.score, result

    def maximise(self, smoother: Smoother | None) -> None:
        """Beta, then W, from the expected counts; the prior takes the place of a smoother."""
        rules, words = self.counts
        self.rule_prior.update_beta(rules)
        theta, score = self.rule_prior.weights(rules)
        emissions, word_score = self.word_prior.weights(words)
        self.score = score + word_score
        self.weights.value[:] = theta
        self.weights.entry[:] = emissions

    def mean(self, state: Refined) -> Refined:
        """An ordinary grammar: the posterior mean given the counts of the last sweep."""
        rules, words = self.counts
        return replace(state, theta=self.rule_prior.mean(rules), emissions=self.word_prior.mean(words))


def variational_round(
    treebank: LatentTreebank,
    state: Refined,
    options: SplitMergeOptions,
    prior: VariationalOptions,
    rng: np.random.Generator,
    watch: Watch,
) -> Refined:
    """Double the subtypes, tell the halves apart by EM, fit under the prior, and drop what it finds no use for.

    From almost equal halves, mean-field updates would follow the noise: they settle before the counts say anything.
    Nor do two halves that are both in use become one by themselves: they are merged where that raises the bound.
    """
    state = keep_all(split(state, options, rng))
    state = fit(treebank, state, options.split_iterations, "split", watch, options.tolerance)
    for choose in (merged_halves, used):
        step = MeanField(treebank.shared, treebank.lexical(state.layout), state, prior)
        fit(treebank, state, prior.iterations, "variational", watch, options.tolerance, step=step)
        frequency = subtype_counts(step.lexical, step.counts)
        kinds = choose(treebank, step, frequency, prior.threshold)
        state = contract(step.lexical, step.mean(state), kinds, frequency)
    return state


def contract(lexical: LexicalLayout, state: Refined, kinds: Sequence[Longs], frequency: Floats) -> Refined:
    """The grammar over classes of subtypes: children are summed, parents averaged by frequency."""
    old, history = state.layout, state.history
    size = np.array([int(kind.max()) + 1 for kind in kinds])
    new = Layout(old.grammar, size)
    parts = np.split(frequency, old.offset[1:-1])
    mean = [averaging(kind, part, int(n)) for kind, part, n in zip(kinds, parts, size, strict=True)]
    theta = regroup(old, state.theta, new, kinds, mean)
    emissions = map_entries(lexical, state.emissions, mean[old.grammar.first_tag :])
    # A class came from where its commonest member did.
    parents = [last[matrix.argmax(1)] for last, matrix in zip(history.parents[-1], mean, strict=True)]
    return Refined(new, theta, emissions, History(history.parents[:-1]).grown(parents))


def used(_: LatentTreebank, step: MeanField, frequency: Floats, threshold: float) -> list[Longs]:
    """The classes of `contract` that leave the used subtypes; the others become part of their symbol's commonest."""
    kinds = []
    for part in np.split(frequency, step.lexical.layout.offset[1:-1]):
        kept = part >= threshold
        kept[part.argmax()] = True
        number = np.cumsum(kept) - 1
        kinds.append(np.where(kept, number, number[part.argmax()]))
    return kinds


def merged_halves(treebank: LatentTreebank, step: MeanField, frequency: Floats, threshold: float) -> list[Longs]:
    """The classes of `contract` that make one of all halves whose merge raises the bound."""
    kinds = []
    for gain in merge_gains(treebank, step):
        width = np.where(gain > 0, 1, 2)
        first = np.cumsum(width) - width
        kinds.append(np.stack([first, first + width - 1], 1).ravel() if len(gain) else np.zeros(1, np.int64))
    return kinds


def merge_gains(treebank: LatentTreebank, step: MeanField) -> list[Floats]:
    """For each symbol and each pair of fresh halves: about what the bound gains if they were one again.

    The bound is sum log D(n) plus the entropy of q(derivations).  One half more is one multinomial more, and counts n
    that were one are shared out: that is the gain in log D, taken port by port.  What is lost is the entropy of the
    choice between the halves, which is at most the sum over nodes, with posteriors p, of

        (p_i + p_j) log (p_i + p_j) - p_i log p_i - p_j log p_j.

    So the gain is no less than this, but for rules that have a symbol twice; that beta has a stick less is left out.
    """
    layout, (rules, words) = step.lexical.layout, step.counts
    gains = step.rule_prior.merge_gains(rules)
    for tag, gain in enumerate(step.word_prior.merge_gains(words)):
        gains[layout.grammar.first_tag + tag] += gain
    for symbol, lost in enumerate(_half_entropies(treebank, step)):
        gains[symbol] -= lost
    return gains


def _half_entropies(treebank: LatentTreebank, step: MeanField) -> list[Floats]:
    """The sum over nodes above, for each symbol and pair."""
    lexical = step.lexical
    state = step.state(Refined(lexical.layout, np.zeros(0), np.zeros(0), History()))
    _, result = Expectation(treebank.forest, lexical, state).run()
    entropies = []
    for symbol, size in enumerate(lexical.layout.size):
        items = np.flatnonzero(treebank.forest.symbol == symbol)
        rows = result.inside.start[items][:, None] + np.arange(size)
        both = result.inside.row[rows] * result.outside.row[rows]
        p = both / both.sum(1, keepdims=True)
        entropies.append(xlogy(_pairs(p, 1), _pairs(p, 1)).sum(0) - _pairs(xlogy(p, p), 1).sum(0))
    return entropies


def _pairs(values: Floats, axis: int) -> Floats:
    """Sums of halves along an axis; nothing where there are none."""
    if values.shape[axis] == 1:
        return values.take([], axis)
    return np.asarray(np.add.reduceat(values, np.arange(0, values.shape[axis], 2), axis), np.float64)


def _log_d(n: Floats, a: Any) -> Floats:
    """log Gamma(a + n) - log Gamma(a), of which log D is made; without a prior, the logarithm of the likelihood."""
    if np.ndim(a) == 0 and a == 0:
        return np.asarray(xlogy(n, n), np.float64)
    return np.asarray(gammaln(a + n) - gammaln(a), np.float64)


def _gain_as_parents(n: Floats, a: Any, axis: int = 0) -> Floats:
    """The change of `_log_d` where halves' counts are put together under the prior that each had."""
    return _log_d(_pairs(n, axis), a) - _pairs(_log_d(n, a), axis)


def _gain_as_children(n: Floats, a: Floats, axis: int) -> Floats:
    """The same where their prior is put together as well, for each pair."""
    change = _log_d(_pairs(n, axis), _pairs(a, axis)) - _pairs(_log_d(n, a), axis)
    return np.asarray(change.sum(tuple({0, 1, 2} - {axis})), np.float64)
