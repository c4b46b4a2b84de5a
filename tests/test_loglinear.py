"""Log-linear grammars: weights, gradients, scales, and the models made of them."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from latree import LatreeError, Tree, load, read_trees
from latree.arrays import NONE, Floats
from latree.data import toy
from latree.inference.forms.multiscale import MultiScale, expanded, tree_sizes
from latree.inference.forms.sparse import sparse
from latree.inference.subtypes import Layout
from latree.kinds.examples import by_length
from latree.kinds.lvg import LvgOptions
from latree.kinds.lvg.model import Lvg, LvgTagger
from latree.kinds.lvg_d import LvgDOptions
from latree.kinds.lvg_d.loglinear import log_likelihood
from latree.kinds.lvg_d.model import LoglinearModel, LvgD, LvgDTagger
from latree.kinds.lvg_d.refinement import Refinement
from latree.kinds.lvg_d.start import grown
from latree.kinds.lvg_d.training import Numbered, PenalisedLoss, divide, fit_leg, log_likelihood_of_all
from latree.kinds.span_features import Words
from latree.learning.checkpoint import Checkpoint
from latree.learning.loop import Progress, Training, after_steps
from latree.learning.owlqn import OwlQn, subgradient_violation
from latree.learning.shards import Shards, deal
from latree.text.labels import LabelRules

# Where words go by classes alone, without a guesser, weights by gradient begin exactly at a generative grammar.
QUICK = LvgOptions(unknown="neutral", split_iterations=20, merge_iterations=10, smooth_iterations=5)
SMALL = LvgDOptions(epochs=2, iterations=4, batch=32, penalty="l2", strength=1.0)
SCALES = replace(SMALL, scales=True, penalty="l1", strength=0.1, gain=1.0)
FROM_ZERO = replace(SCALES, start="zero", strength=0.01)
LEG = replace(SMALL, epochs=1)

Tagged = list[tuple[list[str], list[str]]]


@pytest.fixture(scope="module")
def trees() -> list[Tree]:
    return list(read_trees(toy("dev"), LabelRules()))


@pytest.fixture(scope="module")
def lvg(trees: list[Tree]) -> Lvg:
    return Lvg(subtypes=2, options=QUICK).fit(trees)


@pytest.fixture(scope="module")
def tagged(trees: list[Tree]) -> Tagged:
    return [(tree.words(), tree.tags()) for tree in trees]


@pytest.fixture(scope="module")
def hmm(tagged: Tagged) -> LvgTagger:
    return LvgTagger(subtypes=2, split_iterations=20, smooth_iterations=5).fit(tagged)


@pytest.fixture(scope="module")
def model(trees: list[Tree], lvg: Lvg) -> LvgD:
    return LvgD(options=SMALL, pruner=lvg).fit(trees)


@pytest.fixture(scope="module")
def multiscale(trees: list[Tree], lvg: Lvg) -> LvgD:
    return LvgD(options=SCALES, pruner=lvg).fit(trees)


def batches_of(model: LoglinearModel, data: list[Tree] | Tagged) -> list[Any]:
    examples = model.examples(model.prepare_data(data))
    return [model.batch(group) for group in by_length(examples, model.options.batch)]


def shards_of(batches: list[Any], jobs: int = 1) -> Shards[Numbered]:
    return Shards(deal(list(enumerate(batches))), dict, jobs)


def slope_by_differences(model: LoglinearModel, batches: list[Any], delta: Floats, chosen: list[int]) -> list[float]:
    found = []
    for k in chosen:
        values = []
        for step in (1e-5, -1e-5):
            moved = delta.copy()
            moved[k] += step
            values.append(log_likelihood_of_all(shards_of(batches), model.model, moved)[0])
        found.append((values[0] - values[1]) / 2e-5)
    return found


def check_gradient(model: LoglinearModel, data: list[Tree] | Tagged) -> None:
    rng = np.random.default_rng(1)
    batches = batches_of(model, data[:24])  # type: ignore[arg-type]
    delta = 0.3 * rng.standard_normal(model.model.parameters)
    _, gradient = log_likelihood_of_all(shards_of(batches), model.model, delta)
    chosen = np.concatenate([np.argsort(-np.abs(gradient))[:25], rng.integers(0, len(delta), 15)]).tolist()
    np.testing.assert_allclose(
        gradient[chosen], slope_by_differences(model, batches, delta, chosen), rtol=1e-4, atol=1e-5
    )


# -- the gradient


def test_the_gradient_is_that_of_the_likelihood(model: LvgD, trees: list[Tree]) -> None:
    check_gradient(model, trees)


def test_so_it_is_at_several_scales(multiscale: LvgD, trees: list[Tree]) -> None:
    assert multiscale.tree is not None
    assert multiscale.tree.nodes > len(multiscale.grammar.rules) + len(multiscale.lexical.tag)
    check_gradient(multiscale, trees)


@pytest.mark.parametrize("options", [LEG, replace(SCALES, epochs=1)])
def test_so_it_is_of_taggers(hmm: LvgTagger, tagged: Tagged, options: LvgDOptions) -> None:
    check_gradient(LvgDTagger(options=options, pruner=hmm).fit(tagged), tagged)


def test_so_it_is_with_features_of_spans(lvg: Lvg, trees: list[Tree]) -> None:
    model = LvgD(options=replace(LEG, spans=True), pruner=lvg).fit(trees)
    assert model.spans is not None
    batches = batches_of(model, trees[:24])
    rng = np.random.default_rng(1)
    delta = 0.3 * rng.standard_normal(model.model.parameters)
    _, gradient = log_likelihood_of_all(shards_of(batches), model.model, delta)
    of_spans = gradient[model.productions() :]
    assert len(of_spans) == len(model.spans.key) > 100
    chosen = (model.productions() + np.argsort(-np.abs(of_spans))[:30]).tolist() + np.arange(0, 300, 10).tolist()
    np.testing.assert_allclose(
        gradient[chosen], slope_by_differences(model, batches, delta, chosen), rtol=1e-4, atol=1e-5
    )


def test_the_sum_does_not_depend_on_the_jobs(model: LvgD, trees: list[Tree]) -> None:
    batches = LvgD(options=replace(SMALL, batch=4), pruner=model.pruner)
    batches.adopt(model.pruner)
    batches.lexical = model.lexical
    made = batches_of(batches, trees[:40])
    alone = log_likelihood_of_all(shards_of(made), model.model, model.delta)
    with closing(shards_of(made, jobs=2)) as shards:
        for _ in range(2):
            together = log_likelihood_of_all(shards, model.model, model.delta)
            assert together[0] == alone[0]
            np.testing.assert_array_equal(together[1], alone[1])


def test_training_does_not_depend_on_the_jobs(lvg: Lvg, hmm: LvgTagger, trees: list[Tree], tagged: Tagged) -> None:
    """With several batches, so that there is something to share."""
    options = replace(LEG, iterations=2, batch=4)
    parsers = [LvgD(options, pruner=lvg).fit(trees[:24], Training(jobs=jobs)) for jobs in (1, 2)]
    taggers = [LvgDTagger(options, pruner=hmm).fit(tagged[:24], Training(jobs=jobs)) for jobs in (1, 2)]
    for one, two in (parsers, taggers):
        assert one.delta.any()
        assert one.delta.tobytes() == two.delta.tobytes()


# -- where it starts


def test_it_starts_as_the_generative_grammar(trees: list[Tree], lvg: Lvg) -> None:
    model = LvgD(options=replace(SMALL, epochs=0, floor=1e-12), pruner=lvg).fit(trees)
    for tree in trees[:20]:
        assert model.log_prob_tree(tree) == pytest.approx(lvg.log_prob_tree(tree), abs=1e-6)


def test_at_several_scales_it_starts_as_the_unsplit_grammar(trees: list[Tree], lvg: Lvg) -> None:
    flat = Lvg(rounds=0, unknown="neutral").fit(trees)
    model = LvgD(options=replace(SCALES, epochs=0, gain=1e9), pruner=lvg).fit(trees)
    assert model.tree is not None
    assert not model.node_start.any()
    assert model.tree.nodes == len(model.grammar.rules) + len(model.lexical.tag)
    model.adopt(flat)
    model.size = flat.size
    model.model = model.structure(flat.size)
    model.prepare()
    for tree in trees[:20]:
        assert model.log_prob_tree(tree) == pytest.approx(flat.log_prob_tree(tree), abs=1e-6)


def test_dividing_changes_nothing_by_itself(trees: list[Tree], lvg: Lvg) -> None:
    options = replace(FROM_ZERO, epochs=1, noise=0.0)
    model = LvgD(options=options, pruner=Lvg(rounds=0).fit(trees)).fit(trees)
    before = [model.log_prob_tree(tree) for tree in trees[:10]]
    divide(model, np.random.default_rng(0))
    model.prepare()
    assert set(model.size.tolist()) == {1, 2}
    np.testing.assert_allclose([model.log_prob_tree(tree) for tree in trees[:10]], before)


@pytest.mark.parametrize("subtypes", [2, 4])
def test_all_scales_open_start_as_the_generative_grammar(trees: list[Tree], subtypes: int) -> None:
    lvg = Lvg(subtypes=subtypes, options=QUICK).fit(trees)
    model = LvgD(options=replace(SCALES, epochs=0, floor=1e-12, gain=-np.inf), pruner=lvg).fit(trees)
    for tree in trees:
        assert model.log_prob_tree(tree) == pytest.approx(lvg.log_prob_tree(tree), abs=1e-4)


def test_a_node_is_divided_where_that_gains(trees: list[Tree]) -> None:
    lvg = Lvg(subtypes=4, options=QUICK).fit(trees)
    lexical = LvgD(options=replace(SCALES, epochs=0), pruner=lvg).fit(trees).lexical
    nodes = [grown(lvg, lexical, 0.02, gain)[0].nodes for gain in (-np.inf, 0.5, 2.0, 1e9)]
    assert nodes == sorted(nodes, reverse=True)
    assert nodes[-1] == len(lvg.grammar.rules) + len(lexical.tag) < nodes[2] < nodes[1] < nodes[0]
    tree, delta = grown(lvg, lexical, 0.02, 2.0)
    for parent in np.unique(tree.parent[tree.parent != NONE]).tolist():
        assert delta[tree.parent == parent].any()


def test_scales_need_subtypes_that_are_not_merged(trees: list[Tree]) -> None:
    with pytest.raises(LatreeError, match="fixed number"):
        LvgD(options=SCALES, pruner=Lvg(rounds=1, options=QUICK)).fit(trees)


def test_from_zero_all_rules_weigh_the_same(trees: list[Tree], lvg: Lvg) -> None:
    model = LvgD(options=replace(SMALL, start="zero", noise=0.0, epochs=0), pruner=lvg).fit(trees)
    layout = model.model.layout
    sums = np.add.reduceat(model.learned.cells.value, layout.row[:-1])
    np.testing.assert_allclose(sums, 1.0)


# -- scales


def test_all_scales_open_are_as_good_as_one(trees: list[Tree], lvg: Lvg) -> None:
    model = LvgD(options=replace(SCALES, epochs=1, noise=0.1), pruner=lvg).fit(trees)
    assert model.tree is not None
    rules = np.concatenate([model.grammar.rules > 0, np.tile([True, False, False], (len(model.lexical.tag), 1))])
    model.tree = Refinement.whole(len(rules)).divided(np.ones(len(rules), bool), rules)
    model.node_start = np.zeros(model.tree.nodes)
    model.model = model.structure(model.size)
    rng = np.random.default_rng(0)
    model.delta = rng.standard_normal(model.model.parameters)
    weights = model.model.weights(model.delta)
    fine = expanded(model.model.layout, MultiScale(weights.cells))
    assert len(fine.value) == int(model.model.layout.start[-1]) == len(weights.cells.value)
    batches = batches_of(model, trees[:20])
    value, _ = log_likelihood(batches, model.model, weights)
    dense = replace(model.model, cells=fine, in_blocks=False)
    assert log_likelihood(batches, dense, weights._replace(cells=fine))[0] == pytest.approx(value)


def test_blocks_over_larger_trees() -> None:
    assert tree_sizes(np.array([1, 2, 8])).tolist() == [1, 3, 15]
    grammar = Lvg(rounds=0).fit([Tree.read("(ROOT (S (A a) (B b)))")]).grammar
    layout = Layout(grammar, np.where(np.arange(len(grammar.symbols)) == 0, 1, 4))
    trees = Layout(grammar, tree_sizes(layout.size))
    rule = int(np.flatnonzero(grammar.rules[:, 2] > 0)[0])
    theta = np.zeros(int(trees.start[-1]))
    trees.tensor(theta, rule)[0, 1, 6] = 2.0  # all parents; the first half of the left; the last of the right
    full = np.zeros(int(layout.start[-1]))
    layout.tensor(full, rule)[:, :2, 3] = 2.0
    found = expanded(layout, MultiScale(sparse(trees, theta)))
    np.testing.assert_array_equal(found.place, np.flatnonzero(full))
    np.testing.assert_array_equal(found.value, full[full > 0])


def test_refinement_grows_and_shrinks() -> None:
    splits = np.array([[True, True, True], [True, True, False], [True, False, False], [False, False, False]])
    whole = Refinement.whole(4)
    tree = whole.divided(np.array([True, True, True, True]), splits)
    assert np.bincount(tree.production).tolist() == [9, 5, 3, 1]
    assert {tuple(place) for place in tree.place[tree.production == 1].tolist()} == {
        (0, 0, 0),
        *((x, y, 0) for x in (1, 2) for y in (1, 2)),
    }
    deeper = tree.divided((tree.production == 2) & (tree.place[:, 0] == 2), splits)
    assert sorted(deeper.place[deeper.production == 2, 0].tolist()) == [0, 1, 2, 5, 6]
    sums = deeper.paths() @ np.ones(deeper.nodes)
    assert sums[deeper.production == 2].tolist() == [1, 2, 2, 3, 3]
    delta = np.zeros(deeper.nodes)
    assert deeper.restricted(deeper.kept(delta)).nodes == 4  # nothing matters
    delta[-1] = 1.0
    kept = deeper.restricted(deeper.kept(delta))
    assert np.bincount(kept.production).tolist() == [1, 1, 5, 1]  # the whole way down, with brothers and sisters
    np.testing.assert_array_equal(Refinement.from_arrays(kept.to_arrays(), 4).parent, kept.parent)


def test_what_is_zero_is_not_divided(multiscale: LvgD) -> None:
    assert multiscale.tree is not None
    tops = multiscale.tree.parent == -1
    weighs = multiscale.node_start + multiscale.delta
    assert 0 < np.count_nonzero(multiscale.delta) < len(multiscale.delta)
    for parent in np.unique(multiscale.tree.parent[~tops]).tolist():
        assert weighs[multiscale.tree.parent == parent].any()


# -- training


@pytest.mark.parametrize(
    "options", [SMALL, SCALES, FROM_ZERO, replace(SMALL, penalty="l1"), replace(SMALL, start="zero")]
)
def test_training_raises_the_likelihood(trees: list[Tree], lvg: Lvg, options: LvgDOptions) -> None:
    seen: list[float] = []
    how = Training(after_steps(lambda progress: seen.append(progress.value)))
    LvgD(options=replace(options, stochastic=1), pruner=lvg).fit(trees, how)
    assert len(seen) == (4 if options is FROM_ZERO else 2)
    assert seen[-1] >= seen[0]
    assert max(seen) < 0  # the gold tree is in its forest: log P(T | w) is that of a probability


def test_the_objective_never_rises(model: LvgD, trees: list[Tree]) -> None:
    shards, values = shards_of(batches_of(model, trees[:40])), []
    start = np.zeros(model.model.parameters)
    for leg in range(4):
        objective = PenalisedLoss(lambda d: log_likelihood_of_all(shards, model.model, d), SMALL, lambda value: None)
        values.append(objective(start)[0])
        start = fit_leg(objective, start)
        assert np.abs(start).max() > 0, leg
    assert values == sorted(values, reverse=True)
    assert values[0] - values[-1] > 1


def test_at_an_l1_optimum_the_subgradient_vanishes(model: LvgD, trees: list[Tree]) -> None:
    shards = shards_of(batches_of(model, trees[:40]))
    options = replace(SMALL, penalty="l1")
    objective = PenalisedLoss(lambda d: log_likelihood_of_all(shards, model.model, d), options, lambda value: None)
    found = OwlQn(iterations=400, tolerance=0.0).minimise(objective, np.zeros(model.model.parameters), 0.05)
    assert 0 < np.count_nonzero(found.x) < len(found.x)
    assert subgradient_violation(found.x, objective(found.x)[1], 0.05) < 1e-3


def test_a_word_between_rare_and_frequent_has_both_kinds_of_weights(model: LvgD) -> None:
    joined = model.lexical.joined_rules_of(["barked", *model.lexical.units[:200]])
    assert (joined >= 0).any()
    assert (joined < 0).all(1).any()
    often = [unit for unit, tokens in model.lexical._tokens.items() if tokens > 5 and unit.strip()]
    assert (model.lexical.joined_rules_of(often) < 0).all()


# -- models


def test_a_file_keeps_all(model: LvgD, multiscale: LvgD, trees: list[Tree], tmp_path: Path) -> None:
    for one in (model, multiscale):
        one.save(tmp_path / "m.latree")
        again = load(tmp_path / "m.latree")
        assert isinstance(again, LvgD)
        for tree in trees[:15]:
            assert again.parse(tree.words()).tree == one.parse(tree.words()).tree
            assert again.log_prob_tree(tree) == one.log_prob_tree(tree)


def test_span_features_are_in_parses_and_files(lvg: Lvg, trees: list[Tree], tmp_path: Path) -> None:
    options = replace(SCALES, spans=True, strength=0.01)
    model = LvgD(options=options, pruner=lvg).fit(trees)
    assert np.count_nonzero(model.learned.spans) > 10
    model.save(tmp_path / "m.latree")
    again = load(tmp_path / "m.latree")
    assert isinstance(again, LvgD)
    plain = load(tmp_path / "m.latree")
    assert isinstance(plain, LvgD)
    plain.spans = None
    words = [tree.words() for tree in trees[:20]]
    for tree, parse, one in zip(trees, again.parse_all(words), model.parse_all(words), strict=False):
        assert parse.tree == one.tree
        assert again.log_prob_tree(tree) == pytest.approx(model.log_prob_tree(tree))
        assert again.log_prob_tree(tree) != plain.log_prob_tree(tree)
        assert parse.log_joint <= parse.log_marginal + 1e-9
        assert parse.tree is not None
        assert again.log_prob_tree(parse.tree) == pytest.approx(parse.log_joint)


def test_features_of_a_span() -> None:
    tree = Tree.read("(ROOT (S (NP (D the) (N cat)) (VP (V saw) (NP (D a) (N dog)))))")
    model = LvgD(options=replace(LEG, spans=True), pruner=Lvg(rounds=0).fit([tree, tree])).fit([tree, tree])
    assert model.spans is not None
    lexical, grammar = model.lexical, model.grammar
    forest, words = batches_of(model, [tree])[0].gold, Words.of([tree.words()], lexical)
    items, keys = model.spans.keys(forest, words)
    room = len(lexical.units) + 1
    unit = [int(u) for u in lexical.units_of(tree.words())]
    names = {}
    for item, row in zip(items.tolist(), keys.tolist(), strict=True):
        span, symbol = tuple(forest.span[item].tolist()), str(grammar.symbols[forest.symbol[item]])
        names[symbol, span] = [divmod(key // len(grammar.symbols) % room**2, room) for key in row]
    edge = len(lexical.units)
    assert set(names) == {("S", (0, 5)), ("NP", (0, 2)), ("VP", (2, 5)), ("NP", (3, 5))}
    the, cat, saw, a, dog = unit
    assert names["NP", (3, 5)][:6] == [(a, 0), (dog, 0), (saw, 0), (edge, 0), (saw, a), (dog, edge)]
    assert names["NP", (0, 2)][:6] == [(the, 0), (cat, 0), (edge, 0), (saw, 0), (edge, the), (cat, saw)]
    assert names["S", (0, 5)][6] == (4, 0)
    assert model.spans.matrix(forest, words).sum() == 7 * 4


def test_parses_have_honest_probabilities(multiscale: LvgD, trees: list[Tree]) -> None:
    for tree in trees[:10]:
        best, *others = multiscale.kbest(tree.words(), 5)
        assert best.status == "ok"
        assert sum(one.probability for one in (best, *others)) <= 1 + 1e-9
        assert multiscale.parse(tree.words(), "viterbi").tree is not None


@pytest.mark.parametrize("options", [SMALL, SCALES, FROM_ZERO])
def test_a_training_cut_short_goes_on_exactly(
    trees: list[Tree], lvg: Lvg, options: LvgDOptions, tmp_path: Path
) -> None:
    class StopError(Exception):
        pass

    def stop(progress: Progress) -> None:
        raise StopError

    whole = LvgD(options=options, pruner=lvg).fit(trees)
    cut = LvgD(options=options, pruner=lvg)
    checkpoint = Checkpoint(tmp_path / "c", cut.identity())
    with pytest.raises(StopError):
        cut.fit(trees, Training(after_steps(stop), checkpoint=checkpoint))
    again = LvgD(options=options, pruner=Lvg(subtypes=2, options=QUICK))
    resumed = again.fit(trees, Training(checkpoint=checkpoint, resume=True))
    np.testing.assert_array_equal(resumed.delta, whole.delta)


def test_the_same_seed_gives_the_same_model(trees: list[Tree], lvg: Lvg) -> None:
    models = [LvgD(options=replace(FROM_ZERO, strength=0.001), pruner=lvg, seed=seed).fit(trees) for seed in (3, 3, 4)]
    np.testing.assert_array_equal(models[0].delta, models[1].delta)
    assert not np.array_equal(models[0].delta, models[2].delta)


def test_held_out_trees_choose_the_leg(trees: list[Tree], lvg: Lvg) -> None:
    kept: list[Floats] = []

    def score(model: LvgD) -> float:
        kept.append(model.delta)
        return -float(len(kept))

    model = LvgD(options=SMALL, pruner=lvg).fit(trees, Training(score=score))
    np.testing.assert_allclose(model.delta, kept[0], rtol=1e-6)


def test_complexity_counts_parameters_by_parent(model: LvgD, multiscale: LvgD) -> None:
    assert model.complexity().sum() == int(model.model.layout.start[-1])
    assert len(model.grammar.rules) <= multiscale.complexity().sum() < model.complexity().sum()


def test_the_tagger_tags(hmm: LvgTagger, tagged: Tagged, tmp_path: Path) -> None:
    model = LvgDTagger(options=SMALL, pruner=hmm).fit(tagged)
    model.save(tmp_path / "t.latree")
    again = load(tmp_path / "t.latree")
    assert isinstance(again, LvgDTagger)
    assert again.tag(tagged[0][0]) == model.tag(tagged[0][0])


def test_a_pruner_of_another_treebank_is_told(lvg: Lvg) -> None:
    with pytest.raises(LatreeError, match="another treebank"):
        LvgD(options=SMALL, pruner=lvg).fit([Tree.read("(ROOT (XYZ (QQ a) (QQ b)))")])


def test_trees_are_drawn_given_words_but_no_sentences(model: LvgD, multiscale: LvgD, trees: list[Tree]) -> None:
    for one in (model, multiscale):
        words = trees[0].words()
        drawn = [str(one.sample(words, seed=seed).tree) for seed in range(40)]
        best = one.parse(words)
        assert drawn.count(str(best.tree)) / 40 == pytest.approx(best.probability, abs=0.3)
        with pytest.raises(LatreeError, match="no sentence can be drawn"):
            one.sample(seed=1)
        with pytest.raises(LatreeError, match="k-best lists go by"):
            one.kbest(words, 3, "viterbi")
