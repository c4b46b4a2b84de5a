"""Relational clustering against the equations written out as loops, on planted clusters, and on poor data."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from math import log

import numpy as np
import pytest

from latree.arrays import Floats
from latree.kinds.svs.counts import PairCounts
from latree.kinds.svs.relational_clusters import Clustering, Clusters, expectation, maximise, random_start, uniform
from latree.learning.loop import Watch


def fit(
    counts: PairCounts,
    concepts: int,
    iterations: int = 100,
    seed: int = 0,
    starts: int = 1,
    watch: Watch = lambda progress: None,
) -> Clusters:
    clustering, clusters = Clustering(counts, concepts, iterations), None
    for start in range(starts):
        clusters = clustering.try_start((seed, start), clusters, watch)
    assert clusters is not None
    return clusters


def log_likelihood(counts: PairCounts, clusters: Clusters) -> float:
    return expectation(counts, clusters).log_likelihood


def random_counts(seed: int = 0, entries: int = 80, headwords: int = 9, relations: int = 3) -> PairCounts:
    """Some with a count of a fraction."""
    random = np.random.default_rng(seed)
    words = random.integers(0, headwords, (2, entries))
    count = random.integers(1, 5, entries) * random.choice([1.0, 0.5], entries)
    columns = (words[0], words[1], random.integers(0, relations, entries), count)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return pairs(*rows, headwords=headwords, relations=relations)


def pairs(*entries: tuple[int, int, int, float], headwords: int, relations: int) -> PairCounts:
    """Counts from (parent, child, relation, count)."""
    counts: Counter[tuple[int, int, int]] = Counter()
    for parent, child, relation, count in entries:
        counts[relation, parent, child] += count  # type: ignore[assignment]
    return PairCounts.of(counts, headwords, relations)


def loops(counts: PairCounts, now: Clusters) -> tuple[Clusters, float]:
    """One iteration of EM by the equations, a number at a time; the log-likelihood is that of `now`."""
    concepts, headwords = now.word_given_concept.shape
    prior, words, links = np.zeros(concepts), np.zeros((concepts, headwords)), np.zeros_like(now.child_given_parent)
    likelihood = 0.0
    for h, k, l, n in zip(counts.parent, counts.child, counts.relation, counts.count, strict=True):  # noqa: E741
        joint = np.zeros((concepts, concepts))
        for i in range(concepts):
            for j in range(concepts):
                joint[i, j] = now.word_given_concept[i, h] * now.word_given_concept[j, k]  # eqn 13
                joint[i, j] *= now.child_given_parent[l, i, j] * now.concept[i]
        likelihood += n * log(joint.sum())
        for i in range(concepts):
            for j in range(concepts):
                posterior = n * joint[i, j] / joint.sum()  # eqn 14
                prior[i] += posterior  # eqn 15
                words[i, h] += posterior  # eqn 16, and the next line
                words[j, k] += posterior
                links[l, i, j] += posterior  # eqn 17
    anywhere = words.sum(axis=1)
    rows = (words / anywhere[:, None], links / links.sum(axis=2, keepdims=True))
    return Clusters(*rows, prior / prior.sum(), anywhere / anywhere.sum()), likelihood


def numbers(clusters: Clusters) -> list[Floats]:
    return [clusters.word_given_concept, clusters.child_given_parent, clusters.concept, clusters.concept_anywhere]


def assert_distributions(clusters: Clusters) -> None:
    for table in [*numbers(clusters), clusters.concept_given_word()]:
        assert (table >= 0).all()
        np.testing.assert_allclose(table.sum(axis=-1), 1, rtol=1e-12)


@pytest.mark.parametrize("concepts", [1, 2, 5])
def test_em_is_that_of_the_equations(concepts: int) -> None:
    counts = random_counts()
    seen = np.ones(counts.headwords)
    clusters = random_start(counts.headwords, counts.relations, concepts, seed=3)
    for _ in range(4):
        by_loops, likelihood = loops(counts, clusters)
        expected = expectation(counts, clusters)
        clusters = maximise(expected, seen)
        assert expected.log_likelihood == pytest.approx(likelihood, rel=1e-12)
        for one, other in zip(numbers(clusters), numbers(by_loops), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-14)


def test_fit_is_so_many_iterations() -> None:
    counts = random_counts(1)
    clusters = fit_from(counts, random_start(counts.headwords, counts.relations, 3, seed=7), iterations=6)
    for one, other in zip(numbers(fit(counts, 3, iterations=6, seed=7)), numbers(clusters), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-14)


@pytest.mark.parametrize("seed", range(5))
def test_the_likelihood_never_falls(seed: int) -> None:
    counts = random_counts(seed, entries=300, headwords=25)
    seen: list[float] = []
    clusters = fit(counts, 4, iterations=200, seed=seed, watch=lambda progress: seen.append(progress.value))
    assert seen[-1] > seen[0]
    assert all(after >= before - 1e-9 * abs(before) for before, after in pairwise(seen))
    assert log_likelihood(counts, clusters) >= seen[-1] - 1e-9 * abs(seen[-1])
    assert_distributions(clusters)


def test_the_watch_sees_every_iteration() -> None:
    iterations: list[int] = []
    fit(random_counts(), 3, iterations=5, watch=lambda progress: iterations.append(progress.done))
    assert iterations == [1, 2, 3, 4, 5]


def test_planted_clusters_are_found_again() -> None:
    """Words of four concepts, two relations: in one a concept takes the next as its child, in the other itself."""
    concepts, words_each, random = 4, 10, np.random.default_rng(5)
    parent = random.integers(0, concepts, 20_000)
    relation = random.integers(0, 2, 20_000)
    child = np.where(relation == 0, (parent + 1) % concepts, parent)
    choice = random.integers(0, words_each, (2, 20_000))
    words = (parent * words_each + choice[0], child * words_each + choice[1])
    counts = PairCounts.of(Counter(zip(*(column.tolist() for column in (relation, *words)), strict=True)), 40, 2)
    found = max((fit(counts, concepts, seed=seed) for seed in range(5)), key=lambda one: log_likelihood(counts, one))
    assigned = found.concept_given_word().argmax(axis=1).reshape(concepts, words_each)
    assert (assigned == assigned[:, :1]).all()
    names = assigned[:, 0]
    assert sorted(names) == list(range(concepts))
    for planted in range(concepts):
        assert found.child_given_parent[0, names[planted], names[(planted + 1) % concepts]] > 0.99
        assert found.child_given_parent[1, names[planted], names[planted]] > 0.99
    np.testing.assert_allclose(found.concept, 0.25, atol=0.02)


def test_pairs_are_sorted_whatever_their_order() -> None:
    """By relation, then parent, then child: entries of one relation and parent stand together."""
    found = pairs((2, 0, 1, 1.0), (1, 3, 0, 2.0), (2, 1, 0, 3.0), (1, 0, 0, 4.0), headwords=4, relations=2)
    rows = list(zip(found.relation, found.parent, found.child, found.count, strict=True))
    assert rows == [(0, 1, 0, 4.0), (0, 1, 3, 2.0), (0, 2, 1, 3.0), (1, 2, 0, 1.0)]


def test_the_seed_decides() -> None:
    counts = random_counts()
    first, again, other = (fit(counts, 3, iterations=3, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.word_given_concept, again.word_given_concept)
    assert not np.allclose(first.word_given_concept, other.word_given_concept)


def test_of_several_starts_the_likeliest_is_kept() -> None:
    counts = random_counts(2)
    tries = [
        fit_from(counts, random_start(counts.headwords, counts.relations, 3, (4, start)), iterations=10)
        for start in range(5)
    ]
    found = log_likelihood(counts, fit(counts, 3, iterations=10, seed=4, starts=5))
    reached = [log_likelihood(counts, clusters) for clusters in tries]
    assert found == pytest.approx(max(reached))
    assert max(reached) > reached[0]  # else this could not tell


def fit_from(counts: PairCounts, clusters: Clusters, iterations: int) -> Clusters:
    for _ in range(iterations):
        clusters, _ = loops(counts, clusters)
    return clusters


def test_blurred_clusters_have_no_zeros() -> None:
    """And words keep their frequencies, whatever becomes of their concepts."""
    entries = [(0, 1, 0, 50.0), (0, 2, 0, 50.0), (2, 2, 1, 5.0)]
    clusters = fit(pairs(*entries, headwords=3, relations=2), 2)
    blurred = clusters.blurred(0.1)
    assert min(table.min() for table in numbers(clusters)[:2]) < 1e-12
    assert min(table.min() for table in numbers(blurred)[:2]) > 0.001
    assert_distributions(blurred)
    words = [one.concept_anywhere @ one.word_given_concept for one in (clusters, blurred)]
    np.testing.assert_allclose(words[0], words[1])
    mixed = 0.9 * clusters.concept_given_word() + 0.1 * clusters.concept_anywhere
    np.testing.assert_allclose(blurred.concept_given_word(), mixed)


def test_no_pairs_at_all() -> None:
    clusters = fit(pairs(headwords=3, relations=2), 2)
    assert_distributions(clusters)
    for one, other in zip(numbers(clusters), numbers(uniform(3, 2, 2)), strict=True):
        np.testing.assert_array_equal(one, other)
    nothing = fit(pairs(headwords=0, relations=0), 2)
    assert nothing.word_given_concept.shape == (2, 0)
    assert nothing.concept_given_word().shape == (0, 2)


def test_one_concept_is_the_words_frequencies() -> None:
    counts = pairs((0, 1, 0, 2.0), (0, 2, 1, 1.0), headwords=4, relations=2)
    clusters = fit(counts, 1)
    np.testing.assert_allclose(clusters.word_given_concept, [[3 / 6, 2 / 6, 1 / 6, 0]])
    np.testing.assert_array_equal(clusters.concept_given_word(), np.ones((4, 1)))


def test_words_at_one_end_only_and_what_was_never_seen() -> None:
    """Word 0 is only a parent, word 1 only a child, word 2 neither; relation 1 has no pairs."""
    clusters = fit(pairs((0, 1, 0, 5.0), (0, 3, 0, 2.0), (3, 1, 0, 1.0), headwords=4, relations=2), 3)
    assert_distributions(clusters)
    assert (clusters.word_given_concept[:, 2] == 0).all()
    np.testing.assert_allclose(clusters.concept_given_word()[2], clusters.concept_anywhere)
    np.testing.assert_allclose(clusters.child_given_parent[1, 0], clusters.child_given_parent[1, 1])


def test_more_concepts_than_words() -> None:
    counts = pairs((0, 1, 0, 3.0), headwords=2, relations=1)
    clusters = fit(counts, 6, iterations=300)
    assert_distributions(clusters)
    assert log_likelihood(counts, clusters) == pytest.approx(0, abs=1e-6)


def test_an_impossible_pair_has_no_likelihood() -> None:
    seen, unseen = (pairs((0, child, 0, 1.0), headwords=3, relations=1) for child in (1, 2))
    assert log_likelihood(unseen, fit(seen, 2)) == -np.inf


def test_bayes_rule_goes_by_both_ends() -> None:
    """A word that is only ever a child belongs to the concept of children, however rarely that is a parent's."""
    entries = [(0, 1, 0, 50.0), (0, 2, 0, 50.0)]
    clusters = fit(pairs(*entries, headwords=3, relations=1), 2, iterations=100)
    child_concept = clusters.word_given_concept[:, 1].argmax()
    assert clusters.concept[child_concept] < 1e-6
    assert clusters.concept_given_word()[1].argmax() == child_concept
