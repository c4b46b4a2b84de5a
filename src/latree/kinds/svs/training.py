"""How concepts are learned: headwords are clustered from several starts, then EM goes on over the trees.

The paper's models are read off counts, once headwords have their concepts (`counts`).  Since the factored form has
expectations as every form has, EM over the gold trees can go on from there: rules, relations and words are then those
under which the trees are likeliest, and the concepts, still the same for all categories, serve the trees and not only
the pairs of headwords.

Every start is a step of the training, and so are some iterations of EM over the trees together.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from latree.arrays import Floats, Ints, Longs, starts
from latree.files import Arrays, part_of
from latree.inference.forms.factored import Factored
from latree.inference.subtypes import Layout
from latree.inference.sweep import infer
from latree.kinds.svs.counts import (
    Headwords,
    Structure,
    SvsWeights,
    concepts_of_words,
    count_heads,
    from_counts,
    head_relations,
    normalised,
    rule_weights,
    smoothed,
)
from latree.kinds.svs.relational_clusters import Clustering, Clusters
from latree.learning.checkpoint import Standing
from latree.learning.coded_trees import CodedTrees
from latree.learning.latent_treebank import LatentTreebank, LexicalLayout, Stretch
from latree.learning.loop import Progress, Trainee, Training, Watch, check_climb
from latree.learning.shards import Sum
from latree.lexicon.words import Lexicon
from latree.text.binary import Node

if TYPE_CHECKING:
    from latree.kinds.svs.model import Svs
    from latree.parallel import Jobs

BLUR = 0.1  # before EM over the trees
TOGETHER = 10  # iterations of EM over the trees in a step


class Form(NamedTuple):
    """Where weights lie, or counts: all in one array, those of rules, then of relations, then of words."""

    label: Ints  # [rules, 2] the children's relations
    relations: int
    entry_start: Longs  # [entries + 1]
    width: Longs  # [symbols] concepts

    def view(self, numbers: Floats) -> Factored:
        """The numbers as inference takes them."""
        concepts = int(self.width.max())
        bounds = np.cumsum([len(self.label) * concepts, self.relations * concepts**2])
        rule, relation, entry = np.split(numbers, bounds)
        shape = (self.relations, concepts, concepts)
        return Factored(rule.reshape(-1, concepts), relation.reshape(shape), self.label, entry, self.entry_start)


def expect(stretch: Stretch, form: Form, parameters: Floats) -> Sum:
    """The log-likelihood of some trees, and the expected counts of rules, relations and entries."""
    counts = np.zeros_like(parameters)
    result = infer(stretch.shared, form.view(parameters), form.view(counts), form.width)
    return float(result.log_z.sum()), counts


class FactoredEm:
    """EM over a treebank; the likelihood never falls: checked."""

    def __init__(self, treebank: LatentTreebank, lexical: LexicalLayout, structure: Structure, width: Longs) -> None:
        self.treebank, self.lexical, self.structure = treebank, lexical, structure
        self.form = Form(structure.label, len(structure.relations), starts(lexical.size), width)
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
        emissions = self.lexical.estimate(weights.words)
        parameters = np.concatenate([weights.rule.ravel(), weights.relation.ravel(), emissions])
        log_likelihood, counts = self.treebank.shards.sum(expect, self.form, parameters)
        return log_likelihood, self.form.view(counts)

    def _occurrences(self, stats: Factored) -> Floats:
        """[symbols, concepts] expected: phrases as parents of rules, tags over words; the root has no concept."""
        rules, grammar = self.treebank.grammar.rules, self.treebank.grammar
        counts = np.zeros((len(grammar.symbols), stats.rule.shape[1]))
        np.add.at(counts, rules[:, 0], stats.rule)
        counts[0] = 0.0
        concepts = stats.entry.reshape(-1, stats.rule.shape[1])
        np.add.at(counts, grammar.first_tag + self.lexical.entries.tag, concepts)
        return counts


class Concepts(Trainee):
    """Concepts, then theta_M, theta_L, preterminals and priors."""

    scored = False  # nothing is chosen by a score, and steps are many
    model: Svs
    clusters: Clusters | None = None  # the likeliest so far
    weights: SvsWeights | None = None  # once EM over the trees has begun

    def __init__(self, model: Svs, data: list[Node], unsplit: Lexicon) -> None:
        """`unsplit` is the lexicon of tags without concepts."""
        self.model, self.options, self.unsplit = model, model.options, unsplit
        self.treebank = LatentTreebank.of(model.grammar, CodedTrees.of(data), unsplit)
        model.headwords = Headwords.of(data, self.options.headwords)
        self.head_counts = count_heads(model.grammar, model.structure, data, model.headwords)
        concepts = self.options.clusters or self.head_counts.pairs.headwords
        self.width = np.where(np.arange(len(model.grammar.symbols)) == 0, 1, concepts)
        self.lexical = self.treebank.lexical(Layout(model.grammar, self.width))
        vocabulary, entries = self.treebank.vocabulary, self.lexical.entries
        self.heads = model.headwords.numbers([vocabulary[word] for word in entries.word])
        self.em = FactoredEm(self.treebank, self.lexical, model.structure, self.width)

    @cached_property
    def clustering(self) -> Clustering:
        return Clustering(self.head_counts.pairs, self.options.clusters, self.options.iterations)

    @property
    def starts(self) -> int:
        """How many steps come before EM over the trees."""
        return max(self.options.starts, 1) if self.options.clusters > 0 else 0

    @property
    def steps(self) -> int:
        return self.starts + (-(-self.options.refinements // TOGETHER) if self.options.refines else 0)

    def fingerprint(self) -> str:
        return self.treebank.fingerprint

    def begin(self, rng: np.random.Generator, training: Training) -> None:
        self._open(training.jobs)
        if self.starts == 0:
            self.model.concept_of = np.eye(self.head_counts.pairs.headwords)
            self._take(self._count(head_relations(self.head_counts.pairs)))

    def resume(self, standing: Standing, training: Training) -> None:
        self._open(training.jobs)
        state, self.model.concept_of = standing.arrays, standing.model["svs.concept_of"]
        self.clusters = Clusters(**part_of("clusters.", state))
        self.clustering.best = float(state["reached"][0])
        if weights := part_of("weights.", state):
            self.weights, self.em.before = SvsWeights(**weights), float(state["reached"][1])
        self._take(self.weights or self._count_clusters(self.clusters))

    def _open(self, jobs: Jobs) -> None:
        """Have so many processes share EM over the trees."""
        if self.options.refines:
            self.em.treebank = self.treebank.opened(jobs)

    def close(self) -> None:
        self.em.treebank.shards.close()

    def state(self) -> Arrays:
        parts = {"clusters": vars(self.clusters), "weights": self.weights._asdict() if self.weights else {}}
        named = {f"{name}.{key}": array for name, part in parts.items() for key, array in part.items()}
        return named | {"reached": np.array([self.clustering.best, self.em.before])}

    def step(self, number: int, rng: np.random.Generator, watch: Watch) -> Progress:
        if number <= self.starts:
            return self._cluster(number, watch)
        return self._refine((number - self.starts - 1) * TOGETHER, watch)

    def _cluster(self, number: int, watch: Watch) -> Progress:
        """Cluster the headwords from one more start (eqns 13 to 17)."""
        self.clusters = self.clustering.try_start((self.options.seed, number - 1), self.clusters, watch)
        self._take(self._count_clusters(self.clusters))
        return Progress("headwords clustered", number, self.starts, self.clustering.best)

    def _refine(self, done: int, watch: Watch) -> Progress:
        """Go on with EM over the trees after so many iterations."""
        if self.weights is None:
            assert self.clusters is not None
            self.weights = self._count_clusters(self.clusters.blurred(BLUR))
        iterations = self.options.refinements
        self.weights = self.em.run(self.weights, range(done, min(done + TOGETHER, iterations)), iterations, watch)
        self.model.concept_of = concepts_of_words(self.weights, self.heads, len(self.model.concept_of))
        self._take(self.weights)
        return Progress("EM over the trees", min(done + TOGETHER, iterations), iterations, self.em.before)

    def _count_clusters(self, clusters: Clusters) -> SvsWeights:
        """Read weights off the counts, once headwords have these concepts."""
        self.model.concept_of = clusters.concept_given_word()
        return self._count(clusters.child_given_parent)

    def _count(self, relation: Floats) -> SvsWeights:
        model = self.model
        return from_counts(self.head_counts, relation, model.concept_of, model.structure, self.lexical, self.heads)

    def _take(self, weights: SvsWeights) -> None:
        """Make these weights the model's."""
        model, tokens = self.model, self.options.rule_smoothing
        model.rule = smoothed(weights.rule, weights.prior, model.theta, model.structure, model.grammar.rules, tokens)
        model.relation, model.prior = weights.relation, weights.prior
        model.lexicon = self.lexical.lexicon(weights.words, self.unsplit)
        model.prepare()
