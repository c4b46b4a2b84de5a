"""Relational clusters of headwords ("Structured Vectorial Semantics for Broad-coverage Parsing", eqns 13 to 17).

The data is a table of how often a constituent of headword h has a child of headword h' in a relation l; where the child
is the head, h' is h.  Behind every word stands a latent concept, i behind the parent's and i' behind the child's, and a
pair is made in four steps:

    P(h, h' | l) = sum over i, i' of  P_E(i)  P_H(h | i)  P_L(i' | i; l)  P_H(h' | i')            (eqn 13, less P(l))

P_E, P_L and P_H are learned by EM; P(l) is the relation's share of the pairs, which EM has no say in.

Two of the printed equations are read so that they are EM, whose likelihood never falls:

- Eqn 14 divides by a sum over what is seen (h, h', l).  For a posterior it must run over the concepts, i and i'.
- Eqn 16 counts a concept's words at the parent alone.  Since eqn 13 draws the child's word from the same P_H, its
  maximum counts them at both ends; with the parent alone, a word that is never a parent would become impossible.

For entries of one relation and one parent word, which stand together, everything but the child's row is the same: what
takes concepts squared is done once for all of them, and an entry by itself takes a few vector operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from latree.arrays import Floats, Longs
from latree.jit import kernel
from latree.kinds.svs.counts import PairCounts, normalised
from latree.learning.loop import Progress, Watch, check_climb


@dataclass(frozen=True)
class Clusters:
    """The three models that EM learns; every distribution sums to one, also where nothing was seen."""

    word_given_concept: Floats  # P_H(h | i) [concepts, headwords]
    child_given_parent: Floats  # P_L(i' | i; l) [relations, concepts, concepts]: parent, then child
    concept: Floats  # P_E(i), of a parent [concepts]
    concept_anywhere: Floats  # the same of a parent or a child, either as likely [concepts]

    def concept_given_word(self) -> Floats:
        """P(i | h) [headwords, concepts] by Bayes' rule from P_H and a prior; for a word never seen, the prior itself.

        The paper has no other prior than P_E, which is of parents.  Concepts of words that are hardly ever parents,
        such as articles, get next to none of it, and Bayes' rule would put such words anywhere but there; hence the
        prior is of both ends, and the result is the share of h's occurrences that EM gives to i.
        """
        return normalised(self.word_given_concept.T * self.concept_anywhere, self.concept_anywhere)

    def blurred(self, share: float) -> Clusters:
        """So much of what words and relations say whatever the concept: without zeros, which EM could not leave."""
        words, children = self.concept_anywhere @ self.word_given_concept, 1 / len(self.concept)
        return replace(
            self,
            word_given_concept=(1 - share) * self.word_given_concept + share * words,
            child_given_parent=(1 - share) * self.child_given_parent + share * children,
        )


@dataclass
class Clustering:
    """EM from random starts, of which the likeliest clusters are kept."""

    counts: PairCounts
    concepts: int
    iterations: int
    best: float = -np.inf  # the log-likelihood (natural, without P(l)) of the likeliest clusters so far

    def try_start(self, seed: int | Sequence[int], kept: Clusters | None, watch: Watch) -> Clusters:
        """Run EM from the start that `seed` draws; return these clusters or those kept so far, the likelier ones.

        EM stops early where the likelihood no longer rises at all.  Without a single pair everything is uniform.
        """
        shape = self.counts.headwords, self.counts.relations, self.concepts
        if not len(self.counts.count):
            return uniform(*shape)
        clusters = self._climb(random_start(*shape, seed), watch)
        reached = expectation(self.counts, clusters).log_likelihood
        if kept is not None and reached <= self.best:
            return kept
        self.best = reached
        return clusters

    def _climb(self, clusters: Clusters, watch: Watch) -> Clusters:
        seen, before = _seen_words(self.counts), -np.inf
        for iteration in range(1, self.iterations + 1):
            expected = expectation(self.counts, clusters)
            check_climb(before, expected.log_likelihood, f"relational clusters, iteration {iteration}")
            watch(Progress("clustering headwords", iteration, self.iterations, expected.log_likelihood))
            if expected.log_likelihood <= before:
                break
            clusters = maximise(expected, seen)
            before = expected.log_likelihood
        return clusters


def uniform(headwords: int, relations: int, concepts: int) -> Clusters:
    """What is believed without data."""
    shapes = _shapes(headwords, relations, concepts)
    return Clusters(*(np.full(shape, 1 / max(shape[-1], 1)) for shape in shapes))


def random_start(headwords: int, relations: int, concepts: int, seed: int | Sequence[int]) -> Clusters:
    """Random parameters, as the paper starts from; none is zero, since EM never leaves zero."""
    random = np.random.default_rng(seed)
    shapes = _shapes(headwords, relations, concepts)
    return Clusters(*(normalised(1 - random.random(shape), np.ones(shape[-1])) for shape in shapes))


def _shapes(headwords: int, relations: int, concepts: int) -> tuple[tuple[int, ...], ...]:
    return (concepts, headwords), (relations, concepts, concepts), (concepts,), (concepts,)


@dataclass(frozen=True)
class Expected:
    """What the E-step counts under the posterior of eqn 14, and how likely the data was."""

    parent_words: Floats  # of parent concept i with word h [concepts, headwords]
    child_words: Floats  # of child concept i' with word h' [concepts, headwords]
    concept_pairs: Floats  # of i and i' in relation l [relations, concepts, concepts]
    log_likelihood: float


def expectation(counts: PairCounts, clusters: Clusters) -> Expected:
    """The E-step (eqns 13 and 14)."""
    group = counts.relation * counts.headwords + counts.parent
    starts = np.append(np.unique(group, return_index=True)[1], len(group))
    word_rows = np.ascontiguousarray(clusters.word_given_concept.T)
    parent_words, child_words = np.zeros_like(word_rows), np.zeros_like(word_rows)
    pairs = np.zeros_like(clusters.child_given_parent)
    # P_E(i) P_L(i' | i; l): the part of eqn 13 that does not depend on the words
    joint = clusters.concept[:, None] * clusters.child_given_parent
    log_likelihood = _expect(
        starts, counts.relation, counts.parent, counts.child, counts.count, word_rows, joint,
        parent_words, child_words, pairs,
    )  # fmt: skip
    # Laid out as a checkpoint keeps them: sums over another layout would differ in the last bit.
    of_parents, of_children = (np.ascontiguousarray(one.T) for one in (parent_words, child_words))
    return Expected(of_parents, of_children, pairs, float(log_likelihood))


@kernel
def _expect(
    starts: Longs,
    relation: Longs,
    parent: Longs,
    child: Longs,
    count: Floats,
    words: Floats,  # P_H [headwords, concepts]
    joint: Floats,  # P_E P_L [relations, i, i']
    parent_words: Floats,  # added to, [headwords, concepts]
    child_words: Floats,
    pairs: Floats,  # added to, [relations, i, i']
) -> float:
    """Entries from starts[g] to starts[g + 1] share relation and parent word, and so the row from_parent."""
    concepts = words.shape[1]
    from_parent = np.empty(concepts)  # by i': sum over i of P_E(i) P_H(h | i) P_L(i' | i; l)
    from_children = np.empty(concepts)  # by i': sum over the entries of n / P(h, h' | l) P_H(h' | i')
    log_likelihood = 0.0
    for group in range(len(starts) - 1):
        begin, end = starts[group], starts[group + 1]
        table, above = joint[relation[begin]], words[parent[begin]]
        from_parent[:] = 0.0
        from_children[:] = 0.0
        for i in range(concepts):
            for j in range(concepts):
                from_parent[j] += above[i] * table[i, j]
        for entry in range(begin, end):
            below = words[child[entry]]
            probability = 0.0  # eqn 13 summed over i and i': the divisor of eqn 14
            for j in range(concepts):
                probability += from_parent[j] * below[j]
            log_likelihood += count[entry] * np.log(probability)
            weight = count[entry] / probability
            to_child = child_words[child[entry]]
            for j in range(concepts):
                share = weight * below[j]
                from_children[j] += share
                to_child[j] += share * from_parent[j]
        to_parent, to_pairs = parent_words[parent[begin]], pairs[relation[begin]]
        for i in range(concepts):
            total = 0.0
            for j in range(concepts):
                expected = above[i] * table[i, j] * from_children[j]
                to_pairs[i, j] += expected
                total += expected
            to_parent[i] += total
    return log_likelihood


def maximise(expected: Expected, seen: Floats) -> Clusters:
    """The M-step (eqns 15 to 17).

    Where a concept was not counted at all, its distribution may be anything: then its words are as in all of the data
    (`seen`), and its child's concept is as in all relations together.
    """
    words = expected.parent_words + expected.child_words
    parents, children = expected.parent_words.sum(axis=1), expected.child_words.sum(axis=1)
    even = np.ones(len(parents))
    return Clusters(
        normalised(words, seen),  # eqn 16, both ends
        normalised(expected.concept_pairs, children),  # eqn 17
        normalised(parents, even),  # eqn 15
        normalised(parents + children, even),
    )


def _seen_words(counts: PairCounts) -> Floats:
    """How often each headword stands at either end of a pair."""
    ends = np.concatenate([counts.parent, counts.child])
    return np.bincount(ends, np.tile(counts.count, 2), counts.headwords).astype(np.float64)
