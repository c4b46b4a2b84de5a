"""How the weights of structured vectorial semantics come about: from counts (eqns 18 to 21), and further by EM.

The paper's models are read off counts, once headwords have their concepts.  Since the factored form has expectations as
every form has, EM over the gold trees can go on from there: rules, relations and words are then those under which the
trees are likeliest, and the concepts, still the same for all categories, serve the trees and not only the pairs of
headwords.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latree.arrays import Floats, Ints, Longs, starts
from latree.inference.forms.factored import Factored, zeros_like
from latree.inference.sweep import infer
from latree.kinds.svs.counts import HeadCounts, Structure, normalised
from latree.learning.latent_treebank import LatentTreebank, LexicalLayout
from latree.learning.loop import Progress, Watch, check_climb


class SvsWeights(NamedTuple):
    """Everything that is learned."""

    rule: Floats  # [rules, concepts] theta_M; of the root's rules the prior of eqn 20
    relation: Floats  # [relations, concepts, concepts] theta_L
    words: Floats  # expected counts of lexical entries' concepts, end to end
    prior: Floats  # [symbols, concepts] how often each occurs (eqn 21)


def from_counts(
    counts: HeadCounts,
    relation: Floats,
    concept_of: Floats,
    structure: Structure,
    lexical: LexicalLayout,
    heads: Longs,
) -> SvsWeights:
    """With P(i | h) [headwords, concepts]: theta_M (eqn 18), preterminals (eqn 19) and priors (eqns 20 and 21).

    `heads` has the headword of every lexical entry.
    """
    prior = np.asarray(counts.symbol @ concept_of)
    rule = rule_weights(np.asarray(counts.rule @ concept_of), structure, lexical.layout.grammar.rules)
    words = (lexical.entries.count[:, None] * concept_of[heads]).ravel()
    return SvsWeights(rule, relation, words, prior)


def concepts_of_words(weights: SvsWeights, heads: Longs, headwords: int) -> Floats:
    """P(i | h) [headwords, concepts] as the weights have it."""
    words = weights.words.reshape(len(heads), -1)
    table = np.zeros((headwords, words.shape[1]))
    np.add.at(table, heads, words)
    return normalised(table)


def rule_weights(expected: Floats, structure: Structure, rules: Ints) -> Floats:
    """P(rule | lc i) from expected counts [rules, concepts]; the root's rules share one sum over all concepts."""
    total = np.zeros((int(rules[:, 0].max(initial=0)) + 1, expected.shape[1]))
    np.add.at(total, rules[:, 0], expected)
    total[0] = expected[structure.top].sum()
    below = total[rules[:, 0]]
    quotient: Floats = np.divide(expected, below, out=np.zeros_like(expected), where=below > 0)
    return quotient


def smoothed(rule: Floats, prior: Floats, theta: Floats, structure: Structure, rules: Ints, tokens: float) -> Floats:
    """theta_M with so many tokens' worth of each rule's frequency for all concepts together."""
    below = prior[rules[:, 0]]
    mixed = (rule * below + tokens * theta[:, None]) / np.maximum(below + tokens, 1e-300)
    return np.where(structure.top[:, None], rule, mixed)


class FactoredEm:
    """EM over a treebank; the likelihood never falls: checked."""

    def __init__(self, treebank: LatentTreebank, lexical: LexicalLayout, structure: Structure, width: Longs) -> None:
        self.treebank, self.lexical, self.structure, self.width = treebank, lexical, structure, width
        self.before = -np.inf  # the log-likelihood before the latest iteration

    def run(self, weights: SvsWeights, iterations: range, of: int, watch: Watch) -> SvsWeights:
        """Some iterations, numbered from 0, of so many."""
        for iteration in iterations:
            log_likelihood, stats = self._expect(weights)
            check_climb(self.before, log_likelihood, f"trees, iteration {iteration + 1}")
            self.before = log_likelihood
            rule = rule_weights(stats.rule, self.structure, self.treebank.grammar.rules)
            weights = SvsWeights(rule, normalised(stats.relation), stats.entry, self._occurrences(stats))
            watch(Progress("EM over the trees", iteration + 1, of, log_likelihood))
        return weights

    def _expect(self, weights: SvsWeights) -> tuple[float, Factored]:
        start = starts(self.lexical.size)
        emissions = self.lexical.estimate(weights.words)
        form = Factored(weights.rule, weights.relation, self.structure.label, emissions, start)
        stats = zeros_like(form)
        inference = infer(self.treebank.shared, form, stats, self.width)
        return float(inference.log_z.sum()), stats

    def _occurrences(self, stats: Factored) -> Floats:
        """[symbols, concepts] expected: phrases as parents of rules, tags over words; the root has no concept."""
        rules, grammar = self.treebank.grammar.rules, self.treebank.grammar
        counts = np.zeros((len(grammar.symbols), stats.rule.shape[1]))
        np.add.at(counts, rules[:, 0], stats.rule)
        counts[0] = 0.0
        concepts = stats.entry.reshape(-1, stats.rule.shape[1])
        np.add.at(counts, grammar.first_tag + self.lexical.entries.tag, concepts)
        return counts
