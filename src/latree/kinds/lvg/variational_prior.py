"""The prior of the infinite PCFG for grammar refinement, and what follows from it given expected counts.

A symbol A has subtypes without end, weighted by a stick-breaking prior,

    v_Ak ~ Beta(1, gamma)                       beta_Ak = v_Ak prod_{j<k} (1 - v_Aj),

and its subtype A_x chooses a rule, then the subtypes of the rule's children, around their symbols' weights:

    rho_Ax ~ Dirichlet(a_r)                     over the rules A -> B C
    psi_rx ~ Dirichlet(alpha beta_B beta_C^T)   over (y, z), for the rule r = A -> B C
    T_r[x, y, z] = rho_Ax(r) psi_rx(y, z)

and its words (the rare ones one class, as in `latent_treebank`) from phi_tx ~ Dirichlet(a_w P(. | t)).  Only the first
K subtypes of a symbol are given derivations; the rest of the stick stays with those beyond the truncation.

With n the expected counts, every multinomial becomes

    W = exp(Psi(n + a)) / exp(Psi(sum of n + a))

and takes the place of relative frequency.  As exp(Psi(n)) is about n - 1/2, and far less for n below 1, what is seldom
used is used still less.  To the evidence each adds

    D(n; a) = Gamma(a.) / Gamma(a. + n.) prod_k Gamma(a_k + n_k) / Gamma(a_k)      a., n.: sums over k

Beta raises sum log D + log p(beta) by Minka's (2000) bound on Gamma functions:

    t_yz = a_yz (Psi(a_yz + n_yz) - Psi(a_yz)),  a_yz = alpha beta_y beta_z      draws from beta behind n_yz, expected
    t_k = sum of all t in which k is a child's subtype, subtypes sorted by it
    v_k = (1 + t_k) / (1 + gamma + t_k + sum_{j>k} t_j)

which is the maximum of sum_k t_k log beta_k + log p(v) over the order of the sticks and the logits of v: in that basis
p(v_k) is proportional to v_k (1 - v_k)^gamma, and no stick is ever broken at its end.  (The paper climbs to beta by
projected gradient.)
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, psi, xlogy

from latree.arrays import NONE, Floats, Longs
from latree.inference.subtypes import LEAST, Layout
from latree.jit import kernel
from latree.kinds.lvg import VariationalOptions
from latree.learning.latent_treebank import LexicalLayout


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


def _choices(n: Floats, a: Floats | float, a_total: Floats, chooser: Longs) -> tuple[Floats, float]:
    """log W of every choice, and sum log D - sum n log W; each choice is one of its chooser's."""
    total = np.bincount(chooser, weights=n, minlength=len(a_total))
    log_w = psi(n + a) - psi(a_total + total)[chooser]
    whole = (gammaln(a_total) - gammaln(a_total + total)).sum()
    return log_w, float(whole + (gammaln(n + a) - gammaln(a)).sum() - n @ log_w)


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
        sticks = [break_stick(part, self.options.concentration) for part in np.split(draws, offset[1:-1])]
        self.beta[:-1] = np.concatenate([one.beta for one in sticks])
        self.log_prior = sum(one.log_prior for one in sticks)

    def update_beta(self, counts: Floats) -> None:
        """One step up the bound (Minka's, see above)."""
        draws = np.zeros_like(self.beta)
        _add_draws(counts, self.layout.start, self.layout.dims, self.children, self.beta, self.options.strength, draws)
        self._set_beta(draws[:-1])

    def weights(self, counts: Floats) -> tuple[Floats, float]:
        """W of every T[x, y, z], and log p(beta) + sum log D - sum n log W."""
        a = self.options.rule_prior
        a_total = np.where(self.rules_of > 0, a * self.rules_of, 1.0)  # a tag chooses no rule
        rho, score = _choices(self._row_counts(counts), a, a_total, self.parent)
        log_w = np.empty_like(counts)
        layout, strength = self.layout, self.options.strength
        score += _weigh_children(counts, layout.start, layout.dims, self.children, self.beta, strength, log_w)
        log_w += np.repeat(rho, np.repeat(layout.dims[:, 1] * layout.dims[:, 2], layout.dims[:, 0]))
        return np.exp(log_w), score + self.log_prior

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
    """The Dirichlets over words: of each tag's subtype, around the tag's own P(w | t), its rare words one class, or one
    for each of the fine tags behind it."""

    def __init__(self, lexical: LexicalLayout, prior: float) -> None:
        self.lexical, self.prior = lexical, prior
        fine = lexical.fine  # a word under another fine tag counts as another word
        key = np.where(lexical.is_rare, fine.column, fine.columns + fine.pair)
        _, first, self.kind = np.unique(key, return_index=True, return_inverse=True)
        self.column = lexical.column[first]  # [classes]
        self.factor = np.where(lexical.is_rare, fine.rare_share, 1.0)  # P(w | rare, t)
        tokens = lexical.entries.count
        by_tag = np.bincount(lexical.entries.tag, weights=tokens)
        base = np.bincount(self.kind, weights=(tokens / by_tag[lexical.entries.tag])[lexical.entry])
        self.a = np.asarray(prior * base, np.float64)

    def _class_counts(self, counts: Floats) -> Floats:
        return np.bincount(self.kind, weights=counts).astype(np.float64)

    def weights(self, counts: Floats) -> tuple[Floats, float]:
        """W of every entry, and sum log D - sum n log W; without a prior the maximum likelihood."""
        if self.prior == 0:
            return self.lexical.estimate(counts), 0.0
        n, total = self._class_counts(counts), np.full(self.lexical.columns, self.prior)
        log_w, score = _choices(n, self.a, total, self.column)
        return np.exp(log_w)[self.kind] * self.factor, score

    def merge_gains(self, counts: Floats) -> list[Floats]:
        """For each tag and pair of halves the gain in sum log D if they were one."""
        # All subtypes of a tag have the same classes, each class its subtypes side by side.
        columns = self.lexical.layout.tag_columns
        n = self._class_counts(counts)
        gains = []
        for lo, hi in pairwise(columns.tolist()):
            parts = np.stack([np.flatnonzero(self.column == column) for column in range(lo, hi)])
            table, a = n[parts], self.a[parts[0]]
            change = _gain_as_parents(table, a if self.prior else 0).sum(1)
            gains.append(change - _gain_as_parents(table.sum(1), self.prior))
        return gains

    def mean(self, counts: Floats) -> Floats:
        """The posterior mean of every entry."""
        n = self._class_counts(counts) + self.a
        return (n / np.bincount(self.column, weights=n)[self.column])[self.kind] * self.factor


def half_sums(values: Floats, axis: int) -> Floats:
    """Sums of halves along an axis; nothing where there are none."""
    if values.shape[axis] == 1:
        return values.take([], axis)
    return np.asarray(np.add.reduceat(values, np.arange(0, values.shape[axis], 2), axis), np.float64)


def _log_d(n: Floats, a: Floats | float) -> Floats:
    """log Gamma(a + n) - log Gamma(a), of which log D is made; without a prior, the logarithm of the likelihood."""
    if np.ndim(a) == 0 and a == 0:
        return np.asarray(xlogy(n, n), np.float64)
    return np.asarray(gammaln(a + n) - gammaln(a), np.float64)


def _gain_as_parents(n: Floats, a: Floats | float) -> Floats:
    """The change of `_log_d` where halves' counts are put together under the prior that each had."""
    return _log_d(half_sums(n, 0), a) - half_sums(_log_d(n, a), 0)


def _gain_as_children(n: Floats, a: Floats, axis: int) -> Floats:
    """The change of `_log_d`, for each pair, where halves' counts and their priors are put together."""
    change = _log_d(half_sums(n, axis), half_sums(a, axis)) - half_sums(_log_d(n, a), axis)
    return np.asarray(change.sum(tuple({0, 1, 2} - {axis})), np.float64)
