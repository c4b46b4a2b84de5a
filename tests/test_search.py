"""Search: exact lists whatever the first threshold, and the probabilities of phrases."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from latree.arrays import NONE
from latree.errors import LatreeError
from latree.inference.grammar import Grammar
from latree.inference.kbest import k_best
from latree.inference.results import OBJECTIVES
from latree.kinds.search import Search, certified
from latree.text.binary import undo
from tests.enumerate import PHRASES, ROOT, TAGS, Derivation, anchored_posteriors, derivations, shape
from tests.grammars import SEEDS, example
from tests.searches import attempt_of, bare_parser, full_search, shape_of

Phrase = tuple[str, int, int]


@pytest.mark.parametrize("threshold", [0.5, 1e-3])
@pytest.mark.parametrize("k", [1, 3, 10, 5000])
@pytest.mark.parametrize("seed", SEEDS)
def test_certified_lists_are_exact_from_any_threshold(seed: int, k: int, threshold: float) -> None:
    grammar, theta, emissions = example(seed)
    model = bare_parser(grammar, theta)
    search, found = certified(model, attempt_of(model, emissions), k, threshold)
    every = {shape(d.tree): d.weight for d in derivations(grammar, theta, emissions)}
    expected = sorted(every.values(), reverse=True)[:k]
    shapes = [shape_of(search, edges) for edges in found]
    assert len(set(shapes)) == len(expected)
    np.testing.assert_allclose([every[s] for s in shapes], expected)
    np.testing.assert_allclose([d.log_weight for d in search.weighed(found)], np.log(expected))


def test_pruning_alone_would_not_be_exact() -> None:
    """Otherwise the test above would say nothing."""
    kept = []
    for seed in SEEDS:
        grammar, theta, emissions = example(seed)
        model = bare_parser(grammar, theta)
        kept.append(len(model.prune(attempt_of(model, emissions).coarse, 0.5).rule))
    assert min(kept) == 0 < max(kept)
    lists = [k_best(s.forest, s.scores("viterbi"), 10) for s in (full_search(*example(k), 0.5) for k in SEEDS)]
    assert min(map(len, lists)) < 5


def phrase_probabilities(found: list[Derivation]) -> dict[Phrase, float]:
    """P(a phrase is in the tree), by going through all trees."""
    total = sum(d.weight for d in found)
    probability: Counter[Phrase] = Counter()
    for derivation in found:
        for phrase in set(undo(derivation.tree).spans()):
            probability[phrase] += derivation.weight / total  # type: ignore[assignment]
    return dict(probability)


@pytest.mark.parametrize("seed", [0, 1, 3, 4, 5, 6, 7])  # none with a phrase twice on one span
def test_phrase_probabilities_equal_enumeration(seed: int) -> None:
    grammar, theta, emissions = example(seed)
    search = full_search(grammar, theta, emissions)
    expected = phrase_probabilities(derivations(grammar, theta, emissions))
    likely = search.phrases.likely(0.0)
    assert {c[:3]: c.probability for c in likely} == pytest.approx(expected)
    assert [c[:3] for c in search.phrases.likely(0.1)] == [c[:3] for c in likely if c.probability >= 0.1]
    asked: list[Phrase] = [*expected, ("A", 3, 3)]
    looked_up = search.phrases.look_up(0, asked)
    assert [c[:3] for c in looked_up] == asked
    assert [c.probability for c in looked_up] == pytest.approx([*expected.values(), 0.0])


def test_a_phrase_twice_on_a_span_counts_twice() -> None:
    """A over B over A: the table holds the expected number of As, which is more than the share of trees with one."""
    rules = [(0, 1, NONE), (0, 3, NONE), (1, 2, NONE), (1, 4, NONE), (2, 1, NONE), (3, 4, NONE)]
    grammar = Grammar((ROOT, *PHRASES, *TAGS), np.array(rules, np.int32), 3)
    theta, emissions = np.array([0.2, 0.8, 0.5, 0.5, 1.0, 1.0]), np.array([[1.0, 0.0]])
    found = derivations(grammar, theta, emissions)
    expected = sum(q for rule, q in anchored_posteriors(found).items() if rule.rule >= 0 and rule.symbol == 1)
    assert expected > phrase_probabilities(found)["A", 0, 1]
    likely = {c[:3]: c.probability for c in full_search(grammar, theta, emissions).phrases.likely(0.0)}
    assert likely["A", 0, 1] == pytest.approx(expected)


def test_sentences_of_a_batch_do_not_mix() -> None:
    grammar, theta, emissions = example(2)
    model = bare_parser(grammar, theta)
    sentences = [emissions, emissions[::-1].copy(), emissions]
    together = Search(model, [attempt_of(model, one) for one in sentences], 0.0)
    for k, one in enumerate(sentences):
        alone = full_search(grammar, theta, one)
        assert together.inference.log_z[k] == pytest.approx(
            math.log(sum(d.weight for d in derivations(grammar, theta, one)))
        )
        for objective in OBJECTIVES:
            assert shape_of(together, together.best(objective)[k].edges) == shape_of(
                alone, alone.best(objective)[0].edges
            )
        asked = [c[:3] for c in alone.phrases.likely(0.0)]
        found = [c.probability for c in together.phrases.look_up(k, asked)]
        assert found == pytest.approx([c.probability for c in alone.phrases.likely(0.0)])


def test_an_unknown_objective_is_named() -> None:
    with pytest.raises(LatreeError, match=r"'best'; expected one of max-rule, max-rule-sum, variational, mbr, viterbi"):
        full_search(*example(0)).best("best")  # type: ignore[arg-type]
