"""Gaussian-mixture grammars whose P(T, w) sum to one: how they start, train, draw sentences, and what a file keeps."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from latree import LatreeError, Pcfg, Tree, load, read_trees
from latree.arrays import NONE
from latree.data import toy
from latree.inference.gaussian.mass import InfiniteMassError, Mass
from latree.inference.gaussian.mixtures import Mixtures
from latree.inference.grammar import Grammar, inner_nodes, rule_symbols, tagged_words
from latree.kinds.gm_lveg import GmLvegOptions
from latree.kinds.gm_lveg.model import GmLveg
from latree.kinds.gm_lveg.objective import objective_of
from latree.kinds.gm_lveg.training import Mirror, Weights, gradient
from latree.learning.checkpoint import Checkpoint
from latree.learning.loop import Training, after_steps
from latree.lexicon.lexical_rules import LexicalRules
from latree.lexicon.signatures import Scheme
from latree.text.binary import Node
from latree.text.labels import LabelRules

SMALL = GmLvegOptions(dim=2, grow=1, looseness=1.0, epochs=2, batch=16, generative=0.5)
KEPT = 1e-5  # of log Z, where weights are rounded as a file keeps them


@pytest.fixture(scope="module")
def trees() -> list[Tree]:
    return list(read_trees(toy("dev"), LabelRules()))


@pytest.fixture(scope="module")
def pcfg(trees: list[Tree]) -> Pcfg:
    return Pcfg().fit(trees)


@pytest.fixture(scope="module")
def model(trees: list[Tree], pcfg: Pcfg) -> GmLveg:
    return GmLveg(options=SMALL, pruner=pcfg).fit(trees)


def mass_of(model: GmLveg, mixtures: Mixtures | None = None) -> Mass:
    assert model.normaliser is not None
    return Mass(model.normaliser.derivable(model.components), model.mixtures if mixtures is None else mixtures)


# -- where it starts


def number_of(grammar: Grammar, node: Node) -> int:
    """The number of a node's rule."""
    parent, left, right = rule_symbols(node)
    index = grammar.index
    return grammar.rule_index[index[parent], index[left], NONE if right is None else index[right]]


def test_it_starts_as_the_treebank_grammar(trees: list[Tree], pcfg: Pcfg) -> None:
    """One Gaussian a rule, all at one point: P(T, w) is that of the rules, with words that sum to one under a tag."""
    model = GmLveg(options=replace(SMALL, spread=0.0, epochs=0, generative=1.0), pruner=pcfg).fit(trees)
    grammar, log_theta = pcfg.grammar, np.log(pcfg.theta)
    log_word = np.log(model._probabilities()[len(grammar.rules) :])
    more = []
    for tree in trees[:30]:
        node = model.binarization.apply(tree)
        rules = sum(log_theta[number_of(grammar, one)] for one in inner_nodes(node))
        tagged = [(word, grammar.tag_index[tag]) for word, tag in tagged_words(node)]
        words = sum(log_word[model.lexical.rules_of_outcome(word, k == 0)[t]] for k, (word, t) in enumerate(tagged))
        more.append(model.log_prob_tree(tree) - rules - words)
    assert 0 <= more[0] < 1e-3  # what trees with longer chains of unary rules would have goes to all others alike
    np.testing.assert_allclose(more, more[0], atol=KEPT)


def test_words_of_a_tag_sum_to_one_at_the_start(trees: list[Tree], pcfg: Pcfg) -> None:
    model = GmLveg(options=replace(SMALL, epochs=0), pruner=pcfg).fit(trees)
    lexical = model.lexical
    words = model._probabilities()[len(model.grammar.rules) :]
    np.testing.assert_allclose(np.bincount(lexical.tag, words * lexical.outcomes), 1.0)


def test_outcomes_are_the_rows_of_units() -> None:
    """Every unit is one word under each of its tags, by a rule of its own or by that of what was not seen."""
    tagged = [[("a", 0), ("b", 1), ("c", 0)], [("a", 0), ("b", 1), ("d", 1)]]
    rules = LexicalRules.of(tagged, Scheme(), 2, 1)
    counted = np.zeros(len(rules.tag))
    for unit in ("a", "b"):
        for rule in rules.rules_of_outcome(unit, False):
            counted[rule] += rule >= 0
    own = ~rules.is_unseen & np.isin(rules.unit, [rules.units.index(unit) for unit in ("a", "b")])
    assert (counted[own] == 1).all()
    assert (rules.outcomes[~rules.is_unseen] == 1).all()
    assert (rules.outcomes[rules.is_unseen] >= counted[rules.is_unseen]).all()
    seldom = len(rules.units) * 2 - (~rules.is_unseen).sum()  # all of these words are open to both tags
    assert rules.outcomes[rules.is_unseen].sum() == seldom


# -- training


@pytest.mark.parametrize("weight", [0.3, 1.0])
def test_the_gradient_of_what_is_raised(trees: list[Tree], pcfg: Pcfg, weight: float) -> None:
    """By finite differences, weight log P(T, w) + (1 - weight) log P(T | w) of some sentences."""
    options = replace(SMALL, generative=weight, epochs=0)
    model = GmLveg(options=options, pruner=pcfg).fit(trees)
    examples = model.examples(model.prepare_data(trees))[:5]
    batch = model.batch(examples)

    def raised(mixtures: Mixtures) -> float:
        value, _, _ = gradient(batch, Mirror(model.components, Weights(mixtures), options))
        return value - weight * len(examples) * mass_of(model, mixtures).log_z

    _, slope, _ = gradient(batch, Mirror(model.components, Weights(model.mixtures), options))
    expected = mass_of(model).gradient()
    rng, step = np.random.default_rng(0), 1e-5
    for name, values in model.mixtures._asdict().items():
        found = getattr(slope.mixtures, name) - weight * len(examples) * getattr(expected, name)
        moves = np.argwhere(np.abs(found) > 1e-3)
        for at in map(tuple, rng.permutation(moves)[:5]):
            up, down = values.copy(), values.copy()
            up[at] += step
            down[at] -= step
            both = [raised(model.mixtures._replace(**{name: moved})) for moved in (up, down)]
            assert found[at] == pytest.approx((both[0] - both[1]) / (2 * step), rel=1e-4, abs=1e-6), (name, at)


@pytest.mark.parametrize("weight", [0.1, 1.0])
def test_training_raises_what_it_says(trees: list[Tree], pcfg: Pcfg, weight: float) -> None:
    seen, names = list[float](), set[str]()

    def watch(progress: object) -> None:
        seen.append(progress.value)  # type: ignore[attr-defined]
        names.add(progress.objective)  # type: ignore[attr-defined]

    options = replace(SMALL, generative=weight, grow=0, epochs=6)
    model = GmLveg(options=options, pruner=pcfg).fit(trees, Training(after_steps(watch)))
    assert seen[-1] > seen[0] + 0.1
    assert max(seen) < 0  # both are logs of probabilities
    assert names == {f"{weight:g} log P(T,w) + {1 - weight:g} log P(T|w) a sentence"}
    assert mass_of(model).log_z == pytest.approx(0.0, abs=KEPT)


def test_an_infinite_sum_makes_words_lighter_and_no_tree_less_likely(model: GmLveg, trees: list[Tree]) -> None:
    words = trees[0].words()
    before = model.log_prob_tree(trees[0]) - model.log_prob(words)
    heavy, everything = copy(model), mass_of(model).derivable
    heavy.mixtures = model.mixtures._replace(log_rho=model.mixtures.log_rho.copy())
    heavy.mixtures.log_rho[everything.words] += 2.0
    with pytest.raises(InfiniteMassError):
        mass_of(heavy)
    assert heavy.normaliser is not None
    heavy.mixtures = heavy.normaliser.normalised(heavy.components, heavy.mixtures)
    assert mass_of(heavy).log_z == pytest.approx(0.0, abs=1e-9)
    assert heavy.log_prob_tree(trees[0]) - heavy.log_prob(words) == pytest.approx(before, abs=1e-9)


def test_what_was_not_seen_keeps_its_gaussians(trees: list[Tree], pcfg: Pcfg, model: GmLveg) -> None:
    """No tree of training has it: left to the likelihood it would vanish."""
    start = GmLveg(options=replace(SMALL, epochs=0), pruner=pcfg).fit(trees)
    unseen = len(model.grammar.rules) + np.flatnonzero(model.lexical.is_unseen)
    slots = [one.components.slot[one.components.first[unseen], 0] for one in (start, model)]
    np.testing.assert_allclose(model.mixtures.mean[slots[1]], start.mixtures.mean[slots[0]])


def test_resuming_gives_the_same_grammar(trees: list[Tree], pcfg: Pcfg, tmp_path: Path) -> None:
    def fit(epochs: int, path: Path, resume: bool = False) -> GmLveg:
        fresh = GmLveg(options=replace(SMALL, epochs=epochs), pruner=pcfg)
        return fresh.fit(trees, Training(checkpoint=Checkpoint(path, fresh.identity()), resume=resume))

    whole = fit(2, tmp_path / "a")
    fit(1, tmp_path / "b")
    resumed = fit(2, tmp_path / "b", resume=True)
    for one, other in zip(whole.mixtures, resumed.mixtures, strict=True):
        assert one.tolist() == other.tolist()


def test_ordinary_training_has_no_normaliser(trees: list[Tree], pcfg: Pcfg) -> None:
    model = GmLveg(options=replace(SMALL, generative=0.0, epochs=0), pruner=pcfg).fit(trees)
    objective, weights = objective_of(model.options.generative, model.normaliser), Weights(model.mixtures)
    assert objective.normalised(model.components, weights) is weights
    with pytest.raises(LatreeError, match="trained with --generative"):
        model.sample()


# -- use


def test_a_file_keeps_it_normalised(model: GmLveg, trees: list[Tree], tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert isinstance(again, GmLveg)
    assert mass_of(again).log_z == pytest.approx(0.0, abs=KEPT)
    assert again.log_prob_tree(trees[0]) == model.log_prob_tree(trees[0])
    assert again.sample(seed=1) == model.sample(seed=1)


def test_sentences_of_its_own(model: GmLveg) -> None:
    drawn = [model.sample(seed=seed) for seed in range(30)]
    assert len({one.tokens for one in drawn}) > 10
    for one in drawn:
        assert one.tree is not None
        assert -np.inf < one.log_joint == model.log_prob_tree(one.tree) < 0
        assert one.log_marginal < 0
        assert all(model.lexical.is_known(word) for word in one.tokens)


def test_log_p_of_words_is_its_own_beside_a_pruner(model: GmLveg, trees: list[Tree]) -> None:
    words, alone = trees[0].words(), copy(model)
    alone.joint = False
    assert model.joint
    assert model.log_prob(words) == alone.log_prob(words)


def test_what_is_no_grammar_is_refused() -> None:
    with pytest.raises(LatreeError, match="generative has no effect with spans True; leave out one"):
        GmLveg(generative=0.5, spans=True)
    with pytest.raises(LatreeError, match="generative has no effect with k_max 5; leave out one"):
        GmLveg(generative=0.5, k_max=5)
