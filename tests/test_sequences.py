"""Sums over tag lattices against every sequence written out, and against the same sums over forests."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from latree.arrays import Floats, Longs
from latree.inference.sequences import (
    Expected,
    Lattice,
    SubtypeChain,
    best_nodes,
    likely_tags,
    log_z_of,
    narrowed,
    only,
    pool,
    sum_sequences,
)
from latree.inference.trellis import Chain, fill_trellis, fill_trellises
from latree.kinds.gm_lveg.model import GmLvegTagger
from latree.kinds.gm_lveg.training import Mirror, Weights, gradient
from latree.kinds.hmm.model import Hmm
from latree.kinds.lvg.model import LvgTagger
from latree.kinds.lvg_d.lattice_batch import log_likelihood_of_lattices
from latree.kinds.lvg_d.loglinear import log_likelihood
from latree.kinds.lvg_d.model import LoglinearModel, LvgDTagger
from latree.kinds.model import ForestModel
from latree.kinds.tagger import Tagger
from latree.text.tree import Tree

SEEDS = range(6)
COLUMNS = np.array([0, 2, 3, 6])  # three tags, of two, one and three subtypes
LENGTHS = (1, 3, 4)
MAKERS: dict[str, Callable[[], Any]] = {
    "hmm": Hmm,
    "lvg": lambda: LvgTagger(subtypes=2),
    "lvg-d": lambda: LvgDTagger(subtypes=2, epochs=1, iterations=3),
    "scales": lambda: LvgDTagger(subtypes=2, scales=True, epochs=1, iterations=3),
    "gm-lveg": lambda: GmLvegTagger(epochs=1),
    "diagonal": lambda: GmLvegTagger(epochs=1, covariance="diagonal"),
}


@pytest.fixture(scope="module", params=[*MAKERS, "joint"])
def tagger(request: pytest.FixtureRequest, train: list[Tree]) -> Any:
    model = MAKERS["gm-lveg" if request.param == "joint" else request.param]().fit(train)
    if request.param == "joint":
        model.joint = True
    return model


# -- by enumeration


def random_case(seed: int) -> tuple[SubtypeChain, Lattice, Floats]:
    """A chain, a lattice of three sentences with some steps closed, and what words weigh."""
    rng = np.random.default_rng(seed)
    size, words = int(COLUMNS[-1]), sum(LENGTHS)
    chain = Chain(rng.random(size), rng.random((size, size)), rng.random(size))
    posterior = rng.random((words, len(COLUMNS) - 1))
    posterior[:, 0] = 1.0
    lattice = likely_tags(np.append(0, np.cumsum(LENGTHS)), posterior, 0.4)
    is_open = rng.random(len(lattice.is_open)) < 0.8
    return SubtypeChain(chain, COLUMNS), lattice._replace(is_open=is_open), rng.random((words, size))


def paths(lattice: Lattice, k: int) -> Iterator[tuple[Longs, list[int]]]:
    """The sequences of a sentence as nodes, and the steps that each takes, if all of them are open."""
    words = range(lattice.sentence[k], lattice.sentence[k + 1])
    for nodes in itertools.product(*(range(lattice.word[i], lattice.word[i + 1]) for i in words)):
        steps = []
        for i, (m, n) in zip(words[1:], itertools.pairwise(nodes), strict=True):
            ahead = lattice.word[i + 1] - lattice.word[i]
            steps.append(int(lattice.step[i] + (m - lattice.word[i - 1]) * ahead + n - lattice.word[i]))
        if lattice.is_open[steps].all():
            yield np.array(nodes), steps


def weight(model: SubtypeChain, lattice: Lattice, emissions: Floats, nodes: Longs, first: int) -> float:
    """The sum over the subtypes of a sequence, by products of matrices."""
    row, before = np.ones(1), slice(0)
    for i, n in enumerate(nodes):
        here = slice(*model.columns[lattice.tag[n] : lattice.tag[n] + 2])
        table = model.chain.start[None, here] if i == 0 else model.chain.step[before, here]
        row, before = (row @ table) * emissions[first + i, here], here
    return float(row @ model.chain.stop[before])


@pytest.mark.parametrize("seed", SEEDS)
def test_sums_equal_enumeration(seed: int) -> None:
    model, lattice, emissions = random_case(seed)
    size = int(COLUMNS[-1])
    expected = Expected(np.zeros((size + 1, size + 1)), np.zeros(emissions.shape))
    sums = sum_sequences(model, lattice, emissions, expected)
    node, step = np.zeros(len(lattice.tag)), np.zeros(len(lattice.is_open))
    for k in range(len(LENGTHS)):
        found = [
            (nodes, steps, weight(model, lattice, emissions, nodes, lattice.sentence[k]))
            for nodes, steps in paths(lattice, k)
        ]
        total = sum(mass for *_, mass in found)
        assert sums.log_z[k] == (pytest.approx(math.log(total)) if total else -np.inf)
        for nodes, steps, mass in found:
            node[nodes] += mass / total
            step[steps] += mass / total
    assert_allclose(sums.node, node, atol=1e-12)
    assert_allclose(sums.step, step, atol=1e-12)
    assert_allclose(expected.word.sum(), sums.node.sum())
    assert_allclose(expected.step[1:, 1:].sum(), sums.step.sum(), atol=1e-12)
    possible = np.isfinite(sums.log_z).sum()
    assert_allclose([expected.step[0].sum(), expected.step[:, 0].sum()], possible)
    assert_allclose(log_z_of(model, lattice, emissions), sums.log_z)


@pytest.mark.parametrize("seed", SEEDS)
def test_expected_numbers_are_slopes(seed: int) -> None:
    """The derivative of log Z by the log of a weight is how often it is expected."""
    model, lattice, emissions = random_case(seed)
    size, small = int(COLUMNS[-1]), 1e-6
    expected = Expected(np.zeros((size + 1, size + 1)), np.zeros(emissions.shape))
    sums = sum_sequences(model, lattice, emissions, expected)
    possible = np.isfinite(sums.log_z)

    def log_z() -> float:
        return float(log_z_of(model, lattice, emissions)[possible].sum())

    def slope(array: Floats, place: tuple[int, ...]) -> float:
        kept, values = array[place], []
        for sign in (1, -1):
            array[place] = kept * np.exp(sign * small)
            values.append(log_z())
        array[place] = kept
        return (values[0] - values[1]) / (2 * small)

    for x, y in itertools.product(range(size), repeat=2):
        assert slope(model.chain.step, (x, y)) == pytest.approx(expected.step[1 + x, 1 + y], abs=1e-7)
    for x in range(size):
        assert slope(model.chain.start, (x,)) == pytest.approx(expected.step[0, 1 + x], abs=1e-7)
        assert slope(model.chain.stop, (x,)) == pytest.approx(expected.step[1 + x, 0], abs=1e-7)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_best_sequence_has_the_highest_product_of_posteriors(seed: int) -> None:
    model, lattice, emissions = random_case(seed)
    sums = sum_sequences(model, lattice, emissions)
    chosen = best_nodes(lattice, [sums])
    for k in range(len(LENGTHS)):
        first, last = lattice.sentence[k], lattice.sentence[k + 1]
        score = {
            tuple(nodes): math.prod(sums.node[nodes])
            * math.prod(sums.step[steps])
            * sums.node[nodes[0]]
            * sums.node[nodes[-1]]
            for nodes, steps in paths(lattice, k)
        }
        if not score:
            assert (chosen[first:last] == -1).all()
            continue
        assert score[tuple(chosen[first:last])] == pytest.approx(max(score.values()))
        nodes = chosen[first:last]
        alone = log_z_of(model, only(lattice, chosen), emissions)[k]
        assert alone == pytest.approx(math.log(weight(model, lattice, emissions, nodes, first)))


@pytest.mark.parametrize("seed", SEEDS)
def test_narrowing_keeps_what_is_likely_and_a_sequence_of_every_sentence(seed: int) -> None:
    model, lattice, emissions = random_case(seed)
    sums, least = sum_sequences(model, lattice, emissions), 0.3
    smaller = narrowed(lattice, sums, least)
    after = log_z_of(model, smaller, emissions)
    assert_allclose(np.isfinite(after), np.isfinite(sums.log_z))
    assert (after <= sums.log_z + 1e-12).all()
    for k in range(len(LENGTHS)):
        kept = [
            one
            for one in paths(lattice, k)
            if (sums.node[one[0]] >= least).all() and (sums.step[one[1]] >= least).all()
        ]
        assert len([*paths(smaller, k)]) == len(kept or [*paths(lattice, k)])
    assert_allclose(log_z_of(model, narrowed(lattice, sums, 0.0), emissions), sums.log_z)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_mean_of_equal_opinions_is_each_of_them(seed: int) -> None:
    """Of a model without subtypes, which is the Markov chain that is nearest to it."""
    rng = np.random.default_rng(seed)
    _, lattice, emissions = random_case(seed)
    model = SubtypeChain(Chain(rng.random(3), rng.random((3, 3)), rng.random(3)), np.arange(4))
    sums = sum_sequences(model, lattice, emissions)
    together = pool(lattice, [sums, sums])
    assert_allclose(together.sums.log_z, sums.log_z)
    assert_allclose(together.sums.node, sums.node, atol=1e-12)
    assert_allclose(together.sums.step, sums.step, atol=1e-12)
    chosen = best_nodes(lattice, [sums])
    alone = log_z_of(model, only(lattice, chosen), emissions)
    assert_allclose(together.log_weights(lattice, chosen), alone)


def test_many_trellises_are_those_of_single_sentences() -> None:
    rng = np.random.default_rng(0)
    model, emissions = Chain(rng.random(3), rng.random((3, 3)), rng.random(3)), rng.random((8, 3))
    emissions[4:7] = 0.0  # nothing for the last sentence but one
    first = np.array([0, 1, 4, 7, 8])
    log_z, posterior = fill_trellises(model, emissions, first)
    for k, (a, b) in enumerate(itertools.pairwise(first)):
        alone = fill_trellis(model, emissions[a:b])
        assert log_z[k] == alone.log_z
        assert (posterior[a:b] == alone.tag).all()


# -- taggers


def shown(found: Any) -> tuple[Any, ...]:
    return found.tokens, found.tags, found.status


def assert_same(found: list[Any], others: list[Any]) -> None:
    assert [*map(shown, found)] == [*map(shown, others)]
    for one, other in zip(found, others, strict=True):
        assert_allclose([one.log_joint, one.log_marginal], [other.log_joint, other.log_marginal], rtol=1e-10)
        assert_allclose(one.confidences, other.confidences, atol=1e-10)


def test_sequences_say_what_forests_say(tagger: Tagger, dev: list[Tree]) -> None:
    sentences = [*(tree.words() for tree in dev[:40]), ["zzx"], ["the", "zzxing", "zzx", "zzx", "."]]
    by_forests = ForestModel.analyse_batch(tagger, sentences, "max-rule")
    assert_same([*tagger.tag_all(sentences)], by_forests)


def test_sentences_are_tagged_alike_in_any_company(tagger: Tagger, dev: list[Tree]) -> None:
    sentences = [tree.words() for tree in dev[:40]]
    together = [*tagger.tag_all(sentences)]
    assert together == [next(tagger.analyse([words])) for words in sentences]
    assert together == [*tagger.tag_all(reversed(sentences))][::-1]


def test_empty_and_long_sentences_among_others(tagger: Tagger, dev: list[Tree]) -> None:
    words = dev[0].words()
    kept, tagger.max_length = tagger.max_length, 20
    try:
        found = [*tagger.tag_all([words, [], ["the"] * 21, words])]
    finally:
        tagger.max_length = kept
    assert [one.status for one in found] == ["ok", "empty", "failed", "ok"]
    assert found[0] == found[3]


# -- training


def test_log_linear_training_is_the_same_on_lattices_and_forests(train: list[Tree]) -> None:
    model = LvgDTagger(subtypes=2, epochs=1, iterations=2).fit(train)
    examples = model.examples(model.prepare_data(train[:40]))
    rng = np.random.default_rng(1)
    weights = model.model.weights(model.delta + 0.1 * rng.standard_normal(len(model.delta)))
    value, slope = log_likelihood_of_lattices([model.batch(examples)], model.model, weights)
    other_value, other_slope = log_likelihood([LoglinearModel.batch(model, examples)], model.model, weights)
    assert value == pytest.approx(other_value)
    assert_allclose(slope, other_slope, atol=1e-9)


@pytest.mark.parametrize("covariance", ["diagonal", "spherical"])
def test_gaussian_training_is_the_same_on_lattices_and_forests(covariance: Any, train: list[Tree]) -> None:
    model = GmLvegTagger(epochs=1, covariance=covariance).fit(train)
    examples = model.examples(model.prepare_data(train[:40]))
    rng = np.random.default_rng(1)
    model.span_weights = 0.1 * rng.standard_normal(len(model.span_weights))
    mirror = Mirror(model.components, Weights(model.mixtures, model.span_weights), model.options)
    value, slope, _ = gradient(model.batch(examples), mirror)
    other_value, other, _ = gradient(super(GmLvegTagger, model).batch(examples), mirror)
    assert value == pytest.approx(other_value)
    for part, same in zip((*slope.mixtures, slope.spans), (*other.mixtures, other.spans), strict=True):
        assert_allclose(part, same, atol=1e-9)
