"""Several distributions over one forest: their normalised geometric mean, against derivations written out."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from latree import Tree
from latree.inference.forest import PASS
from latree.inference.forms.sparse import no_statistics
from latree.inference.pooled import pooled
from latree.inference.results import Constituent
from latree.inference.sweep import Inference, infer
from latree.kinds.analyses import rank, search_one
from latree.kinds.gm_lveg import GmLvegOptions
from latree.kinds.gm_lveg.model import GmLveg, GmLvegTagger
from latree.kinds.lvg import LvgOptions
from latree.kinds.lvg.model import Lvg, LvgTagger
from latree.kinds.parser import Parser
from latree.kinds.pcfg.model import Pcfg
from latree.kinds.product.model import Product, ProductTagger
from tests.enumerate import weights_of
from tests.forests import all_edge_sets
from tests.grammars import example, full_forest, ones

SHORT = ["the", "dog", "sleeps", "."]
QUICK = LvgOptions(split_iterations=10, merge_iterations=5, smooth_iterations=2)
SMALL = GmLvegOptions(dim=2, components=2, word_components=2, grow=0, looseness=1.0, epochs=1, batch=16)


@pytest.mark.parametrize("members", [1, 2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_the_mean_of_scalar_grammars_is_that_of_their_trees(seed: int, members: int) -> None:
    """A scalar grammar is its own nearest PCFG over the forest, so that nothing is approximated."""
    grammar, theta, emissions = example(seed, most=200)
    forest, rng, width = full_forest(grammar, theta, emissions), np.random.default_rng(seed), ones(grammar)
    opinions: list[Inference] = []
    sets = [tuple(edges) for edges in all_edge_sets(forest, int(forest.root[0]))]
    log_joint = dict.fromkeys(sets, 0.0)
    for _ in range(members):
        rules, words = rng.random(len(theta)) + 0.01, rng.random(emissions.shape) + 0.01
        weights = weights_of(grammar, rules, words, width)
        opinions.append(infer(forest, weights, no_statistics(weights), width))
        value = np.concatenate([rules, words.ravel(), [1.0]])
        for edges in sets:
            log_joint[edges] += math.log(math.prod(value[forest.rule[list(edges)]])) / members
    found = pooled(grammar, forest, opinions)
    assert found.log_z[0] == pytest.approx(np.logaddexp.reduce(list(log_joint.values())))
    posterior = np.zeros(len(forest.rule))
    for edges, log_weight in log_joint.items():
        assert found.log_weight(forest, list(edges)) == pytest.approx(log_weight)
        posterior[list(edges)] += math.exp(log_weight - found.log_z[0])
    ruled = forest.rule != PASS
    np.testing.assert_allclose(found.posterior[ruled], posterior[ruled], atol=1e-9)


def test_no_derivation_weighs_nothing() -> None:
    grammar, theta, emissions = example(0)
    forest, width = full_forest(grammar, theta, emissions), ones(grammar)
    weights = weights_of(grammar, theta, emissions, width)
    inference = infer(forest, weights, no_statistics(weights), width)
    assert pooled(grammar, forest, [inference, inference]).log_weight(forest, []) == -math.inf


# -- what people see is from the distribution that a model decodes by


@pytest.fixture(scope="module")
def joint(dev: list[Tree]) -> GmLveg:
    return GmLveg(options=SMALL, pruner=Pcfg().fit(dev[:80])).fit(dev[:80])


@pytest.fixture(scope="module")
def product(dev: list[Tree]) -> Product:
    return Product([Lvg(rounds=1, seed=seed, options=QUICK).fit(dev[:80]) for seed in (0, 1)])


def sums_over_trees(model: Parser, words: list[str]) -> tuple[dict[tuple[str, int, int], float], float]:
    """Probabilities of phrases, from those of all trees that survive pruning; and the sum of these."""
    attempt = model.attempt(tuple(words))
    assert isinstance(attempt, tuple)
    search, edges = rank(model, attempt, 10_000, "max-rule")  # type: ignore[arg-type]
    phrases: dict[tuple[str, int, int], float] = {}
    total = 0.0
    for derivation in search.weighed(edges):
        parse = model.analysis_of(tuple(words), search, derivation, 0)
        assert parse.tree is not None
        total += parse.probability
        for phrase in parse.tree.spans():
            phrases[phrase] = phrases.get(phrase, 0.0) + parse.probability
    return phrases, total


@pytest.mark.parametrize("which", ["joint", "product"])
def test_posteriors_are_sums_over_trees(which: str, request: pytest.FixtureRequest) -> None:
    model: Parser = request.getfixturevalue(which)
    phrases, total = sums_over_trees(model, SHORT)
    assert total == pytest.approx(1, abs=1e-6)
    best = model.parse(SHORT)
    for constituent in best.constituents:
        assert constituent.probability == pytest.approx(min(phrases[constituent[:3]], 1.0), abs=2e-2)


def test_posteriors_of_a_joint_model_are_not_the_mixtures_alone(joint: GmLveg, dev: list[Tree]) -> None:
    def told(model: GmLveg) -> list[list[Constituent]]:
        return [model.posteriors(tree.words()) for tree in dev[80:90]]

    together = told(joint)
    joint.joint = False
    alone = told(joint)
    joint.joint = True
    assert together != alone
    assert all(0 <= one.probability <= 1 for listed in together for one in listed)


def test_confidences_of_a_joint_tagger_are_its_posteriors(dev: list[Tree]) -> None:
    model = GmLvegTagger(options=SMALL).fit([(tree.words(), tree.tags()) for tree in dev[:80]])
    model.joint = True
    words = dev[81].words()
    tagging = next(model.analyse([words]))
    rows = model.posteriors(words, least=0.0)
    for tag, confidence, row in zip(tagging.tags, tagging.confidences, rows, strict=True):
        assert sum(row.values()) == pytest.approx(1)
        assert confidence == pytest.approx(row[tag], abs=1e-2)  # pruned more


def test_a_pruner_of_several_members_speaks_once(dev: list[Tree]) -> None:
    """Two kinds of vectors for one grammar: three opinions; the threshold is that of what prunes least."""
    grammars = [Lvg(rounds=1, seed=seed, options=QUICK).fit(dev[:80]) for seed in (0, 1)]
    members = [
        GmLveg(replace(SMALL, looseness=looseness, epochs=0), pruner=grammars[pruner]).fit(dev[:80])
        for looseness, pruner in ((1.0, 0), (0.1, 0), (0.5, 1))
    ]
    product = Product(members)
    assert [member.joint for member in product.members] == [True, False, True]
    assert all(member.joint for member in members)  # they are not the product's to be changed
    assert product.threshold == pytest.approx(0.1 * product.cascade.chart)
    search = product.searched(SHORT)
    assert search is not None
    assert len(search.opinions) == 5


def test_a_product_of_taggers_tells_what_it_decides_by(dev: list[Tree]) -> None:
    """On lattices, all sentences at once, as on forests."""
    tagged = [(tree.words(), tree.tags()) for tree in dev[:80]]
    members = [LvgTagger(subtypes=2, seed=seed, split_iterations=5).fit(tagged) for seed in (0, 1)]
    product, words = ProductTagger(members), dev[81].words()
    tagging = next(product.analyse([words]))
    rows = product.posteriors(words, least=0.0)
    for tag, confidence, row in zip(tagging.tags, tagging.confidences, rows, strict=True):
        assert sum(row.values()) == pytest.approx(1)
        assert confidence == pytest.approx(row[tag], abs=1e-2)  # pruned more
    assert ProductTagger([members[0], members[0]]).tag(words) == members[0].tag(words)
    assert len(search_one(product, product.attempt(words), product.threshold).opinions) == 2  # type: ignore[arg-type]


def test_a_pruner_of_several_taggers_speaks_once(dev: list[Tree]) -> None:
    tagged = [(tree.words(), tree.tags()) for tree in dev[:80]]
    pruner = LvgTagger(subtypes=2, split_iterations=5).fit(tagged)
    members = [GmLvegTagger(replace(SMALL, seed=seed), pruner=pruner).fit(tagged) for seed in (0, 1)]
    for member in members:
        member.joint = True
    assert [member.joint for member in ProductTagger(members).members] == [True, False]
