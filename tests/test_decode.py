"""Decoding against brute force: every derivation is written out, scored and sorted."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict

import numpy as np
import pytest

from latree.arrays import NONE, Floats
from latree.inference import decode
from latree.inference.forest import Forest, assemble
from latree.inference.grammar import Grammar
from latree.inference.kbest import k_best
from latree.inference.results import Objective
from latree.inference.sampling import sample_derivation
from latree.inference.sweep import inside_only
from latree.inference.trellis import chain, chain_rules, fill_trellis, lattice
from latree.text.binary import Symbol
from tests.enumerate import Anchored, Derivation, anchored_posteriors, derivations, shape, weights_of
from tests.forests import all_edge_sets
from tests.grammars import SEEDS, example
from tests.searches import attempt_of, bare_parser, full_search, shape_of


def ranked(found: list[Derivation]) -> list[Derivation]:
    return sorted(found, key=lambda d: -d.weight)


@pytest.mark.parametrize("seed", SEEDS)
def test_viterbi_is_the_most_probable_derivation(seed: int) -> None:
    grammar, theta, emissions = example(seed)
    search = full_search(grammar, theta, emissions)
    first, second = ranked(derivations(grammar, theta, emissions))[:2]
    assert first.weight > second.weight * (1 + 1e-9)
    best = search.best("viterbi")[0]
    assert shape_of(search, best.edges) == shape(first.tree)
    assert search.scores("viterbi")[best.edges].sum() == pytest.approx(math.log(first.weight))
    assert best.log_weight == pytest.approx(math.log(first.weight))


def max_rule_value(derivation: Derivation, q: dict[Anchored, float], objective: Objective) -> float:
    if objective == "max-rule":
        return sum(math.log(q[rule]) for rule in derivation.rules)
    unary = sum(rule.rule != NONE and rule.split == NONE for rule in derivation.rules)
    return sum(q[rule] for rule in derivation.rules) - unary / 2


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("objective", ["max-rule", "max-rule-sum"])
def test_max_rule_maximises_over_all_derivations(seed: int, objective: Objective) -> None:
    grammar, theta, emissions = example(seed)
    search = full_search(grammar, theta, emissions)
    found = derivations(grammar, theta, emissions)
    q = anchored_posteriors(found)
    value = {shape(d.tree): max_rule_value(d, q, objective) for d in found}
    edges = search.best(objective)[0].edges
    assert search.scores(objective)[edges].sum() == pytest.approx(max(value.values()))
    assert value[shape_of(search, edges)] == pytest.approx(max(value.values()))


def test_the_objectives_differ() -> None:
    """Otherwise the tests above would say nothing of them."""
    searches = [full_search(*example(seed)) for seed in SEEDS]
    compared: tuple[Objective, ...] = ("max-rule", "max-rule-sum", "viterbi")
    for one, other in itertools.combinations(compared, 2):
        assert any(search.best(one)[0].edges != search.best(other)[0].edges for search in searches)


@pytest.mark.parametrize("seed", SEEDS)
def test_mbr_maximises_the_expected_brackets(seed: int) -> None:
    """Each phrase counts its probability less a half; the root, which is always there, counts alike in all trees."""
    grammar, theta, emissions = example(seed)
    search = full_search(grammar, theta, emissions)
    found = derivations(grammar, theta, emissions)
    probability: dict[tuple[int, int, int], float] = defaultdict(float)
    for rule, q in anchored_posteriors(found).items():
        probability[rule.symbol, rule.start, rule.end] += q
    gains = {
        shape(one.tree): sum(
            min(probability[rule.symbol, rule.start, rule.end], 1.0) - 0.5 for rule in one.rules if rule.rule >= 0
        )
        for one in found
    }
    assert gains[shape_of(search, search.best("mbr")[0].edges)] == pytest.approx(max(gains.values()))


@pytest.mark.parametrize("seed", SEEDS)
def test_without_subtypes_the_variational_tree_is_the_most_probable(seed: int) -> None:
    """The posterior is a PCFG over the forest itself, so that the nearest PCFG is no approximation."""
    search = full_search(*example(seed))
    assert search.best("variational")[0].edges == search.best("viterbi")[0].edges


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("k", [1, 3, 10, 5000])
def test_k_best_is_the_head_of_the_sorted_list(seed: int, k: int) -> None:
    grammar, theta, emissions = example(seed)
    search = full_search(grammar, theta, emissions)
    expected = ranked(derivations(grammar, theta, emissions))[:k]
    listed = k_best(search.forest, search.scores("viterbi"), k)
    np.testing.assert_allclose([score for score, _ in listed], [math.log(d.weight) for d in expected])
    weight = {shape(d.tree): d.weight for d in derivations(grammar, theta, emissions)}
    shapes = [shape_of(search, edges) for _, edges in listed]
    assert len(set(shapes)) == len(expected)
    np.testing.assert_allclose([weight[s] for s in shapes], [d.weight for d in expected])


@pytest.mark.parametrize("seed", SEEDS)
def test_k_best_with_ties_lists_every_derivation_once(seed: int) -> None:
    """Scores of 0 and -1 alone: nearly everything is tied."""
    forest = full_search(*example(seed)).forest
    scores = -np.random.default_rng(seed).integers(0, 2, len(forest.rule)).astype(np.float64)
    every = all_edge_sets(forest, int(forest.root[0]))
    listed = k_best(forest, scores, len(every) + 1)
    assert [score for score, _ in listed] == sorted((scores[edges].sum() for edges in every), reverse=True)
    assert sorted(sorted(edges) for _, edges in listed) == sorted(map(sorted, every))


def test_k_best_leaves_out_the_impossible() -> None:
    forest = full_search(*example(1)).forest
    every = all_edge_sets(forest, int(forest.root[0]))
    banned = int(np.flatnonzero(forest.ends[:, 0] == forest.root[0])[0])
    scores = np.where(np.arange(len(forest.rule)) == banned, -np.inf, 0.0)
    listed = k_best(forest, scores, len(every))
    assert 0 < len(listed) == sum(banned not in edges for edges in every) < len(every)


def test_nothing_survives_and_nothing_is_listed() -> None:
    grammar, theta, emissions = example(0)
    model = bare_parser(grammar, theta)
    forest = assemble([model.prune(attempt_of(model, emissions).coarse, 0.999)], len(grammar.rules))
    assert len(forest.rule) == 0
    assert k_best(forest, np.zeros(0), 3) == []
    assert decode.best_edges(forest, decode.best(forest, np.zeros(0)), 0) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_samples_follow_the_posterior(seed: int) -> None:
    grammar, theta, emissions = example(seed, most=100)
    search = full_search(grammar, theta, emissions)
    found = derivations(grammar, theta, emissions)
    total, draws = sum(d.weight for d in found), 1000
    rng, model = np.random.default_rng(seed), bare_parser(grammar, theta)
    drawn = Counter(shape_of(search, model.draw_edges(search.forest, search.reading, rng)) for _ in range(draws))
    for derivation in found:
        p = derivation.weight / total
        assert abs(drawn[shape(derivation.tree)] / draws - p) < 4.5 * math.sqrt(p / draws) + 1 / draws
    assert sum(drawn[shape(d.tree)] for d in found) == draws


# -- deep forests


def independent_lattice(odds: Floats) -> tuple[Grammar, Floats, Forest]:
    """Two tags a word that do not depend on each other, so that the best sequences can be told by hand."""
    symbols = (Symbol("root", "ROOT"), Symbol("tag", "s"), Symbol("tag", "t"))
    rules = [
        (0, 1, NONE),
        (0, 2, NONE),
        *((s, t, NONE) for s in (1, 2) for t in (1, 2)),
        (1, NONE, NONE),
        (2, NONE, NONE),
    ]
    grammar = Grammar(symbols, np.array(rules, np.int32), 0)
    numbers, theta = chain_rules(grammar), np.ones(len(rules))
    piece = lattice(fill_trellis(chain(numbers, theta), odds), numbers, 0.0)
    return grammar, theta, assemble([piece], len(rules))


def test_deep_forests() -> None:
    """Three thousand words, six thousand levels: no recursion, and the order is still exact."""
    odds = np.random.default_rng(0).uniform(0.1, 0.9, (3000, 2))
    grammar, theta, forest = independent_lattice(odds)
    weights = weights_of(grammar, theta, odds, np.ones(3, np.int64))
    scores = np.log(np.append(theta, odds))[forest.rule]
    best = np.log(odds.max(1)).sum()
    edges = decode.best_edges(forest, decode.best(forest, scores), 0)
    assert scores[edges].sum() == pytest.approx(best)
    # The k-th best gives up some of the k smallest advantages.
    loss = np.sort(np.abs(np.log(odds[:, 0] / odds[:, 1])))[:6]
    sums = sorted(sum(given_up) for r in range(7) for given_up in itertools.combinations(loss, r))
    listed = k_best(forest, scores, 6)
    np.testing.assert_allclose([score for score, _ in listed], best - np.array(sums[:6]), rtol=1e-12)
    _, inside = inside_only(forest, weights, np.ones(3, np.int64))
    drawn = sample_derivation(forest, weights, inside, np.random.default_rng(1))
    tags = [int(forest.symbol[forest.ends[e, 0]]) - 1 for e in drawn if forest.rule[e] >= len(theta)]
    expected = (odds[:, 0] / odds.sum(1)).sum()
    assert len(tags) == 3000
    assert abs(tags.count(0) - expected) < 5 * math.sqrt(3000 / 4)
