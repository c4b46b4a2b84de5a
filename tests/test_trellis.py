"""The trellis and its lattice against every tag sequence, written out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest

from latree.arrays import NONE, Floats
from latree.inference.forest import Forest, P, assemble
from latree.inference.forms.sparse import zeros_like
from latree.inference.grammar import Grammar
from latree.inference.sweep import infer
from latree.inference.trellis import Chain, ChainRules, chain, chain_rules, fill_trellis, lattice
from tests.enumerate import weights_of
from tests.forests import all_edge_sets
from tests.grammars import SEEDS, TAGS, WORDS, random_chain, tag_grammar


def sequences(model: Chain, emissions: Floats) -> Iterator[tuple[tuple[int, ...], float]]:
    """Every tag sequence with its weight."""
    for tags in itertools.product(range(emissions.shape[1]), repeat=len(emissions)):
        weight = model.start[tags[0]] * model.stop[tags[-1]]
        weight *= math.prod(model.step[a, b] for a, b in itertools.pairwise(tags))
        yield tags, weight * math.prod(emissions[i, tag] for i, tag in enumerate(tags))


def lattice_sequences(forest: Forest, rules: ChainRules) -> set[tuple[int, ...]]:
    """The tag sequences of a lattice."""
    sets = all_edge_sets(forest, int(forest.root[0]))
    found = {
        tuple(int(forest.symbol[forest.ends[e, P]]) - 1 for e in es if forest.rule[e] >= rules.rules) for es in sets
    }
    assert len(found) == len(sets)
    return found


def test_rules_become_tables() -> None:
    grammar = Grammar(tag_grammar().symbols, np.array([(0, 2, NONE), (2, 3, NONE), (3, NONE, NONE)], np.int32), 0)
    rules = chain_rules(grammar)
    assert rules.rules == 3
    model = chain(rules, np.array([0.5, 0.25, 0.125]))
    assert model.start.tolist() == [0, 0.5, 0]
    assert model.stop.tolist() == [0, 0, 0.125]
    assert np.argwhere(model.step).tolist() == [[1, 2]]
    assert model.step[1, 2] == 0.25


@pytest.mark.parametrize("words", [1, 2, WORDS])
@pytest.mark.parametrize("seed", SEEDS)
def test_sums_equal_enumeration(seed: int, words: int) -> None:
    grammar, theta, emissions = random_chain(seed)
    model = chain(chain_rules(grammar), theta)
    trellis = fill_trellis(model, emissions[:words])
    total, tags = 0.0, np.zeros((words, TAGS))
    for sequence, weight in sequences(model, emissions[:words]):
        total += weight
        tags[np.arange(words), sequence] += weight
    assert trellis.log_z == pytest.approx(math.log(total))
    np.testing.assert_allclose(trellis.tag, tags / total, atol=1e-12)


def test_no_sequence_is_minus_infinity() -> None:
    model = Chain(np.array([1.0, 0.0]), np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([1.0, 0.0]))
    assert np.isfinite(fill_trellis(model, np.ones((3, 2))).log_z)
    trellis = fill_trellis(model, np.ones((2, 2)))
    assert trellis.log_z == -np.inf
    assert not trellis.tag.any()


@pytest.mark.parametrize("seed", SEEDS)
def test_the_full_lattice_sums_over_subtypes(seed: int) -> None:
    """Two subtypes for s, one for t, three for u: every sequence of tags and subtypes, one by one."""
    rng = np.random.default_rng(300 + seed)
    grammar, theta, coarse = random_chain(seed)
    rules = chain_rules(grammar)
    size = np.array([1, 2, 1, 3])
    forest = assemble([lattice(fill_trellis(chain(rules, theta), coarse), rules, 0.0)], len(grammar.rules))
    first = np.concatenate([[0], np.cumsum(size[1:])])  # where a tag's subtypes begin
    fine = int(first[-1])
    start, step, stop = rng.random(fine), rng.random((fine, fine)), rng.random(fine)
    emissions = rng.random((WORDS, fine))
    part = [slice(first[t], first[t + 1]) for t in range(TAGS)]
    tensors = [
        (start[part[b - 1]] if a == 0 else stop[part[a - 1]] if b == NONE else step[part[a - 1], part[b - 1]]).ravel()
        for a, b, _ in grammar.rules.tolist()
    ]
    weights = weights_of(grammar, np.concatenate(tensors), emissions, size)
    stats = zeros_like(weights)
    result = infer(forest, weights, stats, size)
    owner = np.repeat(np.arange(TAGS), size[1:])
    allowed = {tags for tags, weight in sequences(chain(rules, theta), coarse) if weight > 0}
    total, expected = 0.0, np.zeros((WORDS, fine))
    for subtypes, weight in sequences(Chain(start, step, stop), emissions):
        if tuple(owner[list(subtypes)]) in allowed:
            total += weight
            expected[np.arange(WORDS), subtypes] += weight
    assert allowed
    assert result.log_z[0] == pytest.approx(math.log(total))
    lexical = stats.entry.reshape(WORDS, fine)
    np.testing.assert_allclose(lexical, expected / total, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_pruned_lattice_keeps_the_likely_sequences(seed: int) -> None:
    grammar, theta, emissions = random_chain(seed)
    rules = chain_rules(grammar)
    model, threshold = chain(rules, theta), 0.05
    trellis = fill_trellis(model, emissions)
    full, pruned = (assemble([lattice(trellis, rules, p)], len(grammar.rules)) for p in (0.0, threshold))
    total = math.exp(trellis.log_z)
    weight = dict(sequences(model, emissions))
    assert lattice_sequences(full, rules) == {tags for tags, w in weight.items() if w > 0}
    kept = lattice_sequences(pruned, rules)
    assert {tags for tags, w in weight.items() if w / total >= threshold} <= kept
    assert kept == {t for t, w in weight.items() if w > 0 and min(trellis.tag[np.arange(WORDS), t]) >= threshold}


def test_five_thousand_words_do_not_underflow() -> None:
    """Tags that do not depend on each other: log Z is a sum over the words."""
    grammar, words = tag_grammar(), 5000
    rules = chain_rules(grammar)
    emissions = np.random.default_rng(0).random((words, TAGS)) * 1e-30
    theta = np.full(len(grammar.rules), 0.25)
    trellis = fill_trellis(chain(rules, theta), emissions)
    expected = np.log(emissions.sum(1)).sum() + (words + 1) * math.log(0.25)
    assert trellis.log_z == pytest.approx(expected, rel=1e-12)
    share = emissions / emissions.sum(1, keepdims=True)
    np.testing.assert_allclose(trellis.tag, share, rtol=1e-9)
    forest = assemble([lattice(trellis, rules, 0.0)], len(grammar.rules))
    size = np.ones(1 + TAGS, np.int64)
    weights = weights_of(grammar, theta, emissions, size)
    stats = zeros_like(weights)
    assert infer(forest, weights, stats, size).log_z[0] == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(stats.entry.reshape(words, TAGS), share, rtol=1e-7)
