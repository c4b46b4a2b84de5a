"""Sweeps and expectations against brute force, subtypes included, and against finite differences."""

from __future__ import annotations

import numpy as np
import pytest

from latree.inference.chart import fill_chart
from latree.inference.chart_grammar import chart_grammar
from latree.inference.forest import assemble
from latree.inference.forms.sparse import zeros_like
from latree.inference.prune import prune, rule_finder
from latree.inference.sweep import infer, inside_only
from tests.enumerate import anchored_posteriors, derivations, weights_of
from tests.grammars import SEEDS, example, full_forest, ones


@pytest.mark.parametrize("seed", SEEDS)
def test_sweeps_equal_enumeration(seed: int) -> None:
    grammar, theta, emissions = example(seed)
    found = derivations(grammar, theta, emissions)
    forest = full_forest(grammar, theta, emissions)
    weights = weights_of(grammar, theta, emissions, ones(grammar))
    stats = zeros_like(weights)
    result = infer(forest, weights, stats, ones(grammar))
    assert result.log_z[0] == pytest.approx(np.log(sum(d.weight for d in found)))
    expected = np.zeros(len(grammar.rules))
    for rule, q in anchored_posteriors(found).items():
        if rule.rule >= 0:
            expected[rule.rule] += q
    np.testing.assert_allclose(stats.value, expected, atol=1e-12)
    # Every derivation has one lexical edge a word.
    assert stats.entry.sum() == pytest.approx(len(emissions))


def test_concatenation_gives_each_sentence_its_own_sum() -> None:
    grammar, theta, emissions = example(1)
    chart, find = chart_grammar(grammar, theta), rule_finder(grammar, theta)
    lengths = (4, 2, 3, 4)
    sentences = [emissions[:n] * (1 + k) for k, n in enumerate(lengths)]
    alone = [fill_chart(chart, e) for e in sentences]
    pieces = [prune(c, find, 0.0) for c in alone if np.isfinite(c.log_z)]
    kept = [e for e, c in zip(sentences, alone, strict=True) if np.isfinite(c.log_z)]
    assert len(pieces) >= 2
    weights = weights_of(grammar, theta, np.concatenate(kept), ones(grammar))
    log_z, _ = inside_only(assemble(pieces, len(grammar.rules)), weights, ones(grammar))
    np.testing.assert_allclose(log_z, [c.log_z for c in alone if np.isfinite(c.log_z)])
