"""Variational training: how many subtypes a symbol has is found by a prior (Liang, Petrov, Jordan & Klein 2007).

Mean field for the infinite PCFG, whose distributions are in `variational_prior`: q(derivations) q(rho) q(psi) q(phi),
beta a point.  The evidence lower bound after the sweep that W is used in is

    L = log Z(W) - sum n log W + sum log D(n; a) + log p(beta)

with n the counts that W was made of.  None of the steps lowers L.  (The paper starts with all K subtypes.  Here they
come by doublings, with merges that raise L in between: that ends at a higher L, and each doubling is a level of
coarse-to-fine parsing.)
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import xlogy

from latree.arrays import Floats, Longs
from latree.kinds.lvg import LvgOptions, VariationalOptions
from latree.kinds.lvg.smoothing import Smoother
from latree.kinds.lvg.split_merge import (
    Expectation,
    Refined,
    contract,
    fit,
    merged_halves,
    split,
    subtype_counts,
    sum_over_nodes,
)
from latree.kinds.lvg.variational_prior import RulePrior, WordPrior, half_sums
from latree.learning.latent_treebank import LatentTreebank, LexicalLayout, Stretch
from latree.learning.loop import Watch
from latree.learning.shards import Shards


class MeanField(Expectation):
    """Sweeps with mean-field weights in place of relative frequencies; what rises is the bound."""

    objective = "evidence lower bound"

    def __init__(
        self, shards: Shards[Stretch], lexical: LexicalLayout, state: Refined, options: VariationalOptions
    ) -> None:
        """The first mean-field weights are made from the given ones by a sweep."""
        super().__init__(shards, lexical, state, np.arange(len(state.theta)))
        self.rule_prior, self.word_prior = RulePrior(lexical.layout, options), WordPrior(lexical, options.word_prior)
        self.score = 0.0  # what the bound adds to log Z(W)
        super().run()
        self.maximise(None)

    def run(self) -> float:
        """The evidence lower bound; expected counts are then in `counts`."""
        return super().run() + self.score

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
    options: LvgOptions,
    rng: np.random.Generator,
    watch: Watch,
) -> Refined:
    """Double the subtypes, tell the halves apart by EM, fit under the prior, and drop what it finds no use for.

    From almost equal halves, mean-field updates would follow the noise: they settle before the counts say anything.
    Nor do two halves that are both in use become one by themselves: they are merged where that raises the bound.
    """
    prior, state = options.prior, split(state, options, rng)
    state = fit(treebank, state, options.split_iterations, "split", watch, options.tolerance)
    for choose in (gainful, used):
        step = MeanField(treebank.shards, treebank.lexical(state.layout), state, prior)
        fit(treebank, state, prior.iterations, "variational", watch, options.tolerance, step=step)
        frequency = subtype_counts(step.lexical, step.counts)
        kinds = choose(step, frequency, prior.threshold)
        state = contract(step.lexical, step.mean(state), kinds, frequency)
    return state


def used(step: MeanField, frequency: Floats, threshold: float) -> list[Longs]:
    """The classes of `contract` that leave the used subtypes; the others become part of their symbol's commonest."""
    kinds = []
    for part in np.split(frequency, step.lexical.layout.offset[1:-1]):
        kept = part >= threshold
        kept[part.argmax()] = True
        number = np.cumsum(kept) - 1
        kinds.append(np.where(kept, number, number[part.argmax()]))
    return kinds


def gainful(step: MeanField, frequency: Floats, threshold: float) -> list[Longs]:
    """The classes of `contract` that make one of all halves whose merge raises the bound."""
    return [merged_halves(gain > 0) for gain in merge_gains(step)]


def merge_gains(step: MeanField) -> list[Floats]:
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
    for symbol, lost in enumerate(_half_entropies(step)):
        gains[symbol] -= lost
    return gains


def _half_entropies(step: MeanField) -> list[Floats]:
    """The sum over nodes above, for each symbol and pair."""
    layout = step.lexical.layout
    return sum_over_nodes(step, _half_entropy, np.zeros(int(layout.offset[-1])))


def _half_entropy(inside: Floats, outside: Floats, _: Floats) -> Floats:
    both = inside * outside
    p = both / both.sum(1, keepdims=True)
    return np.asarray(xlogy(half_sums(p, 1), half_sums(p, 1)).sum(0) - half_sums(xlogy(p, p), 1).sum(0))
