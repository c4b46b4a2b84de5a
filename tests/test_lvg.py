"""The latent variable grammar from end to end, and against brute force over subtypes where that is possible."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latree
from latree import LatreeError, Parse, Pcfg, Tree
from latree.arrays import NONE, Floats, Longs
from latree.inference.forest import Forest
from latree.inference.forms.sparse import Sparse
from latree.inference.grammar import Grammar
from latree.inference.prune import ACCURATE, FAST, WIDE, Cascade
from latree.inference.reading import Emissions
from latree.inference.results import OBJECTIVES, Objective
from latree.inference.sampling import sample_derivation
from latree.inference.subtypes import History
from latree.inference.sweep import inside_only
from latree.inference.viterbi import viterbi_edges
from latree.kinds.analyses import rank
from latree.kinds.jobs import pack, unpack
from latree.kinds.lvg import LvgOptions, read_rounds
from latree.kinds.lvg.model import Lvg
from latree.kinds.lvg.training import WORTH
from latree.kinds.product.model import Product
from latree.kinds.search import Attempt, Search, Trouble
from latree.learning.checkpoint import Checkpoint
from latree.learning.loop import Training
from latree.text.binary import Node
from tests.enumerate import PHRASES, ROOT, TAGS, weights_of
from tests.forests import all_edge_sets, subtype_weights
from tests.grammars import SEEDS, example, full_forest, random_tensors

QUICK = LvgOptions(split_iterations=20, merge_iterations=10, smooth_iterations=5)
SHORT = ["you", "like", "these", "books", "."]


@pytest.fixture(scope="module")
def trained(train: list[Tree]) -> Lvg:
    return Lvg(rounds=3, options=QUICK).fit(train)


@pytest.fixture
def model(trained: Lvg) -> Iterator[Lvg]:
    """The trained model with its usual pruning, whatever the test before did to it."""
    trained.cascade = FAST
    yield trained
    trained.cascade = FAST


def outline(parse: Parse) -> tuple[object, ...]:
    return parse.tokens, parse.status, parse.reason, str(parse)


# -- parsing


def test_subtypes_make_the_trees_likelier(model: Lvg, train: list[Tree], dev: list[Tree]) -> None:
    plain = Pcfg().fit(train)
    likelihood = []
    for one in (plain, model):
        parses = list(one.parse_all(tree.words() for tree in dev))
        assert {parse.status for parse in parses} == {"ok"}
        likelihood.append(sum(map(one.log_prob_tree, dev)) / sum(len(tree.words()) for tree in dev))
        for parse in parses:
            assert parse.tree is not None
            assert one.log_prob_tree(parse.tree) == pytest.approx(parse.log_joint)
            assert parse.log_joint <= parse.log_marginal < 0
    assert likelihood[1] > likelihood[0] + 0.2  # nats a word, far more than rounding moves


def test_two_jobs_give_the_output_of_one(model: Lvg, dev: list[Tree]) -> None:
    sentences = [*(tree.words() for tree in dev[:70]), [], ["."], ["flibber", "works"]]
    model.cascade = Cascade(0.3, ())  # coarse enough to show if workers prune in another way
    one, two = list(model.parse_all(sentences)), list(model.parse_all(sentences, jobs=2))
    assert list(map(outline, two)) == list(map(outline, one))
    assert [p.log_marginal for p in two] == pytest.approx([p.log_marginal for p in one], rel=1e-12)
    model.cascade = FAST
    assert [p.log_marginal for p in model.parse_all(sentences[:70])] != pytest.approx(
        [p.log_marginal for p in one[:70]], rel=1e-9
    )


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_objectives(model: Lvg, dev: list[Tree], objective: Objective) -> None:
    parses = list(model.parse_all((tree.words() for tree in dev), objective=objective))
    assert all(-math.inf < parse.log_joint <= parse.log_marginal + 1e-9 for parse in parses)


@pytest.mark.parametrize("objective", [objective for objective in OBJECTIVES if objective != "viterbi"])
def test_lists_are_sorted_and_name_no_tree_twice(model: Lvg, objective: Objective) -> None:
    listed = model.kbest(SHORT, 20, objective)
    assert len({str(parse) for parse in listed}) == len(listed) == 20
    assert listed[0].tree == model.parse(SHORT, objective).tree
    attempt = model.attempt(tuple(SHORT))
    assert not isinstance(attempt, Trouble)
    search, derivations = rank(model, attempt, 20, objective)
    scores = [search.scores(objective)[edges].sum() for edges in derivations]
    assert scores == pytest.approx(sorted(scores, reverse=True))
    assert max(scores) == pytest.approx(search.scores(objective)[search.best(objective)[0].edges].sum())


def test_samples(model: Lvg) -> None:
    drawn = [model.sample(seed=seed) for seed in range(8)]
    assert [parse.tree for parse in drawn] == [model.sample(seed=seed).tree for seed in range(8)]
    assert len({str(parse) for parse in drawn}) > 1
    assert all(-math.inf < parse.log_joint <= parse.log_marginal + 1e-2 for parse in drawn)
    best = model.parse(SHORT)
    given = [model.sample(SHORT, seed=seed) for seed in range(60)]
    share = sum(parse.tree == best.tree for parse in given) / 60
    assert abs(share - best.probability) < 4 * math.sqrt(0.25 / 60)


# -- from coarse to fine


def test_projections_are_grammars(model: Lvg, train: list[Tree]) -> None:
    levels = [model.level(rounds) for rounds in range(model.history.rounds)]
    assert len(levels) == 3
    sizes = [level.layout.size for level in levels]
    assert sizes[0].tolist() == [1] * len(model.grammar.symbols)
    assert all((few <= many).all() and few.sum() < many.sum() for few, many in itertools.pairwise([*sizes, model.size]))
    for level in levels:
        inner = level.layout.offset[model.grammar.first_tag]
        np.testing.assert_allclose(level.layout.parent_counts(level.theta)[:inner], 1.0, rtol=1e-6)
        np.testing.assert_allclose(np.bincount(level.columns.target, level.columns.value), 1.0, rtol=1e-6)
    plain = Pcfg().fit(train)
    assert plain.grammar.rules.tolist() == model.grammar.rules.tolist()
    occurs = np.add.reduceat(model.frequency, model.layout.offset[:-1])[model.grammar.rules[:, 0]]
    moved = occurs / occurs.max() * np.abs(model.level(0).theta - plain.theta)  # smoothing moves rules of rare parents
    assert moved.max() < 0.05
    np.testing.assert_allclose(model.read(SHORT).tags, plain.lexicon.emissions(SHORT), rtol=0.05, atol=1e-4)


def unpruned(model: Lvg, tokens: list[str]) -> Search:
    reading = model.read(tokens)
    return Search(model, [Attempt(model.coarse(reading), reading)], 0.0)


def test_the_accurate_cascade_keeps_nearly_all_that_there_is(model: Lvg, dev: list[Tree]) -> None:
    sentences = [tree.words() for tree in dev if len(tree.words()) <= 7]
    assert len(sentences) > 10
    model.cascade = ACCURATE
    for tokens, parse in zip(sentences, model.parse_all(sentences), strict=True):
        search = unpruned(model, tokens)
        exact = float(search.log_z[0])
        assert exact - 1e-2 <= parse.log_marginal <= exact + 1e-9


def test_pruning_that_leaves_nothing_is_undone(model: Lvg, dev: list[Tree]) -> None:
    sentences = [tree.words() for tree in dev]
    model.cascade = Cascade(0.99, ((1, 0.9999), (2, 1.1)))
    parses = list(model.parse_all(sentences))
    assert [(parse.status, parse.tree.words()) for parse in parses if parse.tree] == [("ok", s) for s in sentences]


def misled() -> tuple[Lvg, Floats]:
    """A grammar by hand: the coarse grammar is all but sure of an A, whose only subtype in use has not these words.

    root -> A0 0.99 | B 0.01, A0 -> s0 t, A1 -> s1 t, B -> s t; the word is s1's.
    """
    model = Lvg()
    rules = [(1, 3, 4), (2, 3, 4), (0, 1, NONE), (0, 2, NONE)]
    model.grammar = Grammar((ROOT, *PHRASES[:2], *TAGS), np.array(rules, np.int32), 0)
    model.size = np.array([1, 2, 1, 2, 1])
    tensors = [np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0.5, 0.5]), np.array([0.99, 0.0]), np.array([0.01])]
    model.theta = np.concatenate([tensor.ravel() for tensor in tensors])
    model.frequency = np.ones(7)
    none, two = np.zeros(1, np.int64), np.zeros(2, np.int64)
    model.history = History(((none, two, none, two, none),))
    model.prepare()
    return model, np.array([[0.0, 0.5, 0.0], [0.0, 0.0, 0.5]])


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_sentence_lost_to_pruning_is_searched_again(objective: Objective, monkeypatch: pytest.MonkeyPatch) -> None:
    model, emissions = misled()
    reading = Emissions(emissions @ model.level(0).columns, emissions)
    monkeypatch.setattr(model, "read", lambda tokens: reading)
    model.cascade = Cascade(0.05, ())
    coarse = model.coarse(reading)
    assert {int(s) for s in model.prune(coarse, 0.05).symbol} == {0, 1, 3, 4}  # no B
    (parse,) = model.parse_all([["v", "w"]], objective=objective)
    assert (parse.status, str(parse)) == ("ok", "(ROOT (B (s v) (t w)))")
    assert parse.log_joint == pytest.approx(math.log(0.01 * 0.5 * 0.5 * 0.5))


# -- brute force over subtypes


def subtype_sum(model: Lvg, tree: Node) -> float:
    """P(T, w): one assignment of subtypes to the nodes after the other."""
    nodes: list[Node] = []
    todo = [tree]
    while todo:
        nodes.append(todo.pop())
        todo.extend(reversed(nodes[-1].children()))
    leaves = [node for node in nodes if node.word is not None]
    emissions = model.read([str(leaf.word) for leaf in leaves]).subtypes
    index, total = model.grammar.index, 0.0
    for choice in itertools.product(*(range(model.size[index[node.symbol]]) for node in nodes)):
        at = dict(zip(map(id, nodes), choice, strict=True))
        weight = 1.0
        for node in nodes:
            symbol = index[node.symbol]
            if node.word is not None:
                column = model.layout.tag_columns[symbol - model.grammar.first_tag] + at[id(node)]
                weight *= emissions[leaves.index(node), column]
            else:
                below = [index[child.symbol] for child in node.children()]
                rule = model.grammar.rule_index[(symbol, *below, NONE)[:3]]  # type: ignore[index]
                place = (at[id(node)], *(at[id(child)] for child in node.children()), 0)[:3]
                weight *= model.layout.tensor(model.theta, rule)[place]
        total += weight
    return total


def test_the_probability_of_a_tree_is_a_sum_over_subtypes() -> None:
    lines = [
        "(ROOT (S (NP (N dogs)) (V bark)))",
        "(ROOT (S (NP (D a) (N dog)) (V barks)))",
        "(ROOT (NP (D a) (N cat)))",
    ]
    trees = [Tree.read(line) for line in lines]
    model = Lvg(subtypes=4, options=QUICK).fit([*trees, *trees[:2]])
    for tree in trees:
        (node,) = model.prepare_data([tree])
        assert model.log_prob_tree(tree) == pytest.approx(math.log(subtype_sum(model, node)))


def tiny(seed: int) -> tuple[Forest, Sparse, Longs]:
    """All derivations of three words by a random grammar, and random weights over subtypes."""
    rng = np.random.default_rng(300 + seed)
    grammar, theta, emissions = example(seed, words=3, most=12)
    size = np.array([1, 2, 2, 1, 2, 2])
    weights = weights_of(grammar, random_tensors(grammar, size, rng), rng.random((3, 4)), size)
    return full_forest(grammar, theta, emissions), weights, size


def test_viterbi_is_the_best_over_derivations_and_subtypes() -> None:
    differ = 0
    for seed in SEEDS:
        forest, weights, size = tiny(seed)
        sets = [tuple(sorted(edges)) for edges in all_edge_sets(forest, int(forest.root[0]))]
        values = {edges: subtype_weights(forest, weights, size, list(edges)) for edges in sets}
        found = tuple(sorted(viterbi_edges(forest, weights, size)))
        assert max(values[found]) == pytest.approx(max(map(max, values.values())))
        differ += sum(values[found]) < max(map(sum, values.values()))
    assert differ > 0  # the best over subtypes is not always the best sum over them


@pytest.mark.parametrize("seed", range(4))
def test_samples_follow_the_posterior(seed: int) -> None:
    forest, weights, size = tiny(seed)
    sets = all_edge_sets(forest, int(forest.root[0]))
    mass = {tuple(sorted(edges)): sum(subtype_weights(forest, weights, size, edges)) for edges in sets}
    _, inside = inside_only(forest, weights, size)
    rng, draws = np.random.default_rng(seed), 600
    drawn = Counter(tuple(sorted(sample_derivation(forest, weights, inside, rng))) for _ in range(draws))
    assert drawn.keys() <= mass.keys()
    for edges, weight in mass.items():
        p = weight / sum(mass.values())
        assert abs(drawn[edges] / draws - p) < 4.5 * math.sqrt(p / draws) + 1 / draws


# -- other numbers of subtypes


def test_a_fixed_number_of_subtypes(dev: list[Tree]) -> None:
    model = Lvg(subtypes=2, options=QUICK).fit(dev)
    assert model.size.tolist() == [1] + [2] * (len(model.grammar.symbols) - 1)
    assert model.parse(SHORT).status == "ok"
    four = Lvg(subtypes=4, options=QUICK).fit(dev)
    assert four.size.tolist() == [1] + [4] * (len(model.grammar.symbols) - 1)
    assert sum(map(four.log_prob_tree, dev)) > sum(map(model.log_prob_tree, dev))


@pytest.mark.parametrize("subtypes", [0, -2, 3, 12])
def test_a_number_that_doubling_does_not_reach(subtypes: int) -> None:
    with pytest.raises(LatreeError, match="give a power of two"):
        Lvg(subtypes=subtypes).fit([Tree.read("(ROOT (S (NN dogs) (VB run)))")])


def test_seeds(train: list[Tree]) -> None:
    first, again, other = (Lvg(rounds=1, seed=seed, options=QUICK).fit(train[:50]) for seed in (1, 1, 2))
    assert first.theta.tolist() == again.theta.tolist()
    assert first.theta.tolist() != other.theta.tolist()


def test_nothing_to_train_on() -> None:
    with pytest.raises(LatreeError, match="no trees with words"):
        Lvg().fit([Tree.read("(S (-NONE- *T*))")])


def test_a_trimmed_model_is_smaller_and_still_a_distribution(model: Lvg, dev: list[Tree], tmp_path: Path) -> None:
    smaller = model.trimmed(words=0.5, rules=1e-2)
    sums = smaller.layout.parent_counts(smaller.theta)
    assert np.allclose(sums[sums > 0], 1.0)
    assert (smaller.theta[smaller.theta > 0] >= 1e-2).all()
    assert (np.diff(smaller.lexicon.word_ptr) > 0).all()  # no word is lost
    assert smaller.parse(dev[0].words()).tree is not None
    for name, one in (("whole", model), ("trimmed", smaller)):
        one.save(tmp_path / name)
    assert (tmp_path / "trimmed").stat().st_size < (tmp_path / "whole").stat().st_size


def test_trimming_by_nothing_changes_nothing(model: Lvg, dev: list[Tree]) -> None:
    words = dev[0].words()
    assert np.isclose(
        model.trimmed(words=0.0, rules=0.0, unsplit=0.0).parse(words).log_marginal, model.parse(words).log_marginal
    )


# -- how many rounds


def test_the_round_that_is_best_on_held_out_trees_is_kept(dev: list[Tree], tmp_path: Path) -> None:
    scores = {1: 1.0, 2: 3.0, 3: 2.0, 4: 9.0}  # the fourth comes too late to be seen
    checkpoint = tmp_path / "checkpoint"

    def fit(resume: bool, most: int) -> Lvg:
        model = Lvg(rounds="auto", options=QUICK)

        def score(one: Lvg) -> float:
            if one.history.rounds > most:
                raise KeyboardInterrupt
            return scores[one.history.rounds]

        model.fit(dev, Training(score=score, checkpoint=Checkpoint(checkpoint, model.identity()), resume=resume))
        return model

    with pytest.raises(KeyboardInterrupt):
        fit(resume=False, most=2)
    model = fit(resume=True, most=9)
    assert model.training["steps"] == {"unit": "round", "kept": 2, "scores": [1.0, 3.0, 2.0]}
    assert model.history.rounds == 2
    np.testing.assert_array_equal(model.theta, Lvg(rounds=2, options=QUICK).fit(dev).theta)


@pytest.mark.parametrize("gain", [0.1, 0.3])
def test_it_prunes_less_where_that_is_better_on_held_out_trees(dev: list[Tree], tmp_path: Path, gain: float) -> None:
    model = Lvg(rounds="auto", options=QUICK)
    model.fit(dev, Training(score=lambda one: 50.0 - one.history.rounds + gain * one.prunes_less))
    wanted = WIDE if gain > WORTH else FAST
    assert (model.cascade, model.threshold) == (wanted, wanted.chart)
    assert model.training["steps"]["kept"] == 1
    assert model.training["pruning"] == {"scores": [49.0, 49.0 + gain], "less": wanted is WIDE}
    model.save(tmp_path / "model")
    again: Any = latree.load(tmp_path / "model")
    assert again.cascade == wanted


def test_one_that_prunes_less_prunes_for_others_as_any_other(model: Lvg) -> None:
    less = copy(model)
    less.prune_less(True)
    assert less.as_pruner().cascade == FAST
    assert less.cascade == WIDE  # it is as it was
    assert model.as_pruner() is model


def test_a_product_prunes_no_more_than_any_member(model: Lvg, tmp_path: Path) -> None:
    less = copy(model)
    less.prune_less(True)
    product = Product([model, less])
    assert (Product([model, model]).threshold, product.threshold) == (FAST.chart, WIDE.chart)
    product.save(tmp_path / "product")
    assert latree.load(tmp_path / "product").threshold == WIDE.chart


def test_another_process_prunes_as_this_one(model: Lvg) -> None:
    for one in (model, Product([model, model])):
        one = copy(one)
        one.cascade = ACCURATE
        one.threshold = 1e-3
        again: Any = unpack(pack(one))
        assert (again.cascade, again.threshold) == (ACCURATE, 1e-3)


def test_rounds_cannot_be_chosen_without_held_out_trees(dev: list[Tree]) -> None:
    with pytest.raises(LatreeError, match="--rounds auto needs trees kept apart"):
        Lvg(rounds="auto", options=QUICK).fit(dev)


@pytest.mark.parametrize("text", ["0", "-1", "x", "1.5", ""])
def test_what_is_no_number_of_rounds(text: str) -> None:
    with pytest.raises(LatreeError, match="is no number of rounds; give 1 or more, or auto"):
        read_rounds(text)
