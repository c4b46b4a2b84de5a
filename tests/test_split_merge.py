"""Splitting, EM, merging and smoothing, on the toy treebank and on trees small enough to know the answer."""

from __future__ import annotations

import itertools
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from latree.arrays import Floats, Longs
from latree.errors import LatreeError
from latree.inference.forest import Piece
from latree.inference.forms.sparse import sparse
from latree.inference.subtypes import Layout
from latree.kinds.lvg import LvgOptions
from latree.kinds.lvg.model import Lvg
from latree.kinds.lvg.smoothing import Smoother
from latree.kinds.lvg.split_merge import (
    Expectation,
    Refined,
    contract,
    first_grammar,
    fit,
    merge,
    merge_losses,
    split,
    subtype_counts,
)
from latree.learning import latent_treebank
from latree.learning.coded_trees import CodedTrees
from latree.learning.latent_treebank import LatentTreebank, Stretch
from latree.learning.loop import Progress, Training, check_climb
from latree.learning.shards import Shards
from latree.lexicon.options import LexiconOptions
from latree.lexicon.words import Lexicon
from latree.text.tree import Tree
from tests.command import toy_trees

QUICK = LvgOptions(split_iterations=12, merge_iterations=6, smooth_iterations=3)
STILL = replace(QUICK, noise=0.0)
# Every label at most once in a tree.
ONCE = """
(ROOT (S (NP (N dogs)) (VP (V bark))))
(ROOT (S (NP (N dogs)) (VP (V bark) (R loudly))))
(ROOT (S (NP (D the) (N dog)) (VP (V barks))))
(ROOT (S (NP (D a) (N dog)) (VP (V barks) (R loudly))))
(ROOT (S (NP (D a) (N cat)) (VP (V sleeps))))
(ROOT (S (NP (N cats)) (VP (V sleep) (R softly))))
(ROOT (S (VP (V sleep)) (NP (N cats))))
"""


def ignore(_: Progress) -> None:
    pass


def prepared(trees: list[Tree], rare: int = 3) -> tuple[LatentTreebank, Floats]:
    """The treebank as training sees it, and its rules' counts."""
    nodes = CodedTrees.of(Lvg().prepare_data(trees))
    grammar, counts = nodes.rules()
    sentences = nodes.tagged(grammar)
    lexicon = Lexicon.count(sentences, len(grammar.tags), "neutral", LexiconOptions(rare=rare))
    return LatentTreebank.of(grammar, nodes, lexicon), counts


@pytest.fixture(scope="module")
def toy_bank() -> tuple[LatentTreebank, Floats]:
    return prepared(toy_trees("dev"))


@pytest.fixture(scope="module")
def bank(toy_bank: tuple[LatentTreebank, Floats]) -> LatentTreebank:
    return toy_bank[0]


def after_rounds(toy_bank: tuple[LatentTreebank, Floats], rounds: int, seed: int = 0) -> Refined:
    treebank, counts = toy_bank
    rng = np.random.default_rng(seed)
    state = first_grammar(treebank, counts, QUICK, rng)
    for _ in range(rounds):
        state = fit(treebank, split(state, QUICK, rng), QUICK.split_iterations, "split", ignore)
        state = merge(treebank, state, QUICK.merge_fraction)
        state = fit(treebank, state, QUICK.merge_iterations, "merge", ignore)
    return state


@pytest.fixture(scope="module")
def merged(toy_bank: tuple[LatentTreebank, Floats]) -> Refined:
    """Some symbols have one subtype, some two to four."""
    state = after_rounds(toy_bank, 2)
    assert {1, 2, 3} <= set(state.layout.size.tolist())
    return state


@pytest.fixture(scope="module")
def halves(bank: LatentTreebank, merged: Refined) -> Refined:
    """A fresh split, fitted a little."""
    return fit(bank, split(merged, QUICK, np.random.default_rng(1)), 12, "split", ignore)


def unshared(build: Callable[..., Stretch], pieces: Sequence[Piece]) -> Stretch:
    stretch = build(pieces)
    return stretch._replace(shared=stretch.forest)


def expectation(treebank: LatentTreebank, state: Refined, shared: bool = True) -> tuple[float, Expectation]:
    shards = treebank.shards if shared else Shards(treebank.shards.recipes, partial(unshared, treebank.shards.build))
    step = Expectation(shards, treebank.lexical(state.layout), state)
    return step.run(), step


def word_sums(treebank: LatentTreebank, state: Refined) -> Floats:
    """The sum of P(w | t_x) over the words, for every subtype of every tag."""
    lexical = treebank.lexical(state.layout)
    _, first = np.unique(lexical.pair, return_index=True)  # a rare word has an entry for each of its classes
    return np.bincount(lexical.column[first], weights=state.emissions[first]).astype(np.float64)


def check_distributions(treebank: LatentTreebank, state: Refined) -> None:
    sums = state.layout.parent_counts(state.theta)[: state.layout.offset[treebank.grammar.first_tag]]
    np.testing.assert_allclose(sums, 1.0, rtol=1e-9)
    np.testing.assert_allclose(word_sums(treebank, state), 1.0, rtol=1e-9)


# -- EM


def test_em_never_lowers_the_likelihood() -> None:
    seen: list[Progress] = []
    Lvg(rounds=3, options=QUICK).fit(toy_trees("dev"), Training(seen.append))
    assert [progress.step for progress in seen if progress.model is not None] == [1, 2, 3]
    seen = [progress for progress in seen if progress.model is None]
    starts = [k for k, progress in enumerate(seen) if progress.done == 1]
    stages = [seen[i:j] for i, j in zip(starts, [*starts[1:], len(seen)], strict=True)]
    assert [(stage[0].stage, len(stage)) for stage in stages] == 3 * [("split", 12), ("merge", 6), ("smooth", 3)]
    for stage in stages:
        values = [progress.value for progress in stage]
        if stage[0].stage != "smooth":
            assert all(later >= earlier - 1e-9 * abs(earlier) for earlier, later in itertools.pairwise(values))
            assert values[-1] > values[0] + 1
    assert stages[-2][-1].value > stages[1][-1].value


def test_the_tolerance_ends_a_stage(bank: LatentTreebank, merged: Refined) -> None:
    seen: list[Progress] = []
    fit(bank, merged, 10, "split", seen.append, tolerance=1.0)
    assert len(seen) == 2
    fit(bank, merged, 4, "split", seen.append, tolerance=1e-12)
    assert len(seen) == 6


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_likelihood_that_is_no_number_is_told(value: float) -> None:
    with pytest.raises(LatreeError, match=r"became .*\(merge, iteration 7\)"):
        check_climb(-5.0, value, "merge, iteration 7", rising=False)


def test_a_falling_likelihood_is_told() -> None:
    check_climb(-99.999999, -100.0, "split")  # rounding
    check_climb(0.0, -1e-15, "split")  # where there is nothing that it could be a share of
    check_climb(-100.0, -101.0, "smooth", rising=False)
    with pytest.raises(LatreeError, match=r"fell from -100\.0 to -101\.0"):
        check_climb(-100.0, -101.0, "split")


def test_a_fault_in_the_weights_stops_training(bank: LatentTreebank, merged: Refined) -> None:
    theta = merged.theta.copy()
    theta[0] = np.nan
    with pytest.raises(LatreeError, match="log-likelihood became"):
        fit(bank, replace(merged, theta=theta), 3, "split", ignore)


def test_shared_subtrees_change_nothing(bank: LatentTreebank, halves: Refined) -> None:
    (stretch,) = map(bank.shards.build, bank.shards.recipes)
    assert len(stretch.shared.rule) < 0.9 * len(stretch.forest.rule)
    together, shared = expectation(bank, halves)
    apart, every_node = expectation(bank, halves, shared=False)
    assert together == pytest.approx(apart, rel=1e-12)
    for one, other in zip(shared.counts, every_node.counts, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.fixture(scope="module")
def in_stretches() -> Iterator[LatentTreebank]:
    """The toy treebank in four."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(latent_treebank, "WORDS_A_STRETCH", 500)
        yield prepared(toy_trees("dev"))[0]


def test_stretches_add_up_to_the_treebank(bank: LatentTreebank, in_stretches: LatentTreebank, halves: Refined) -> None:
    assert len(in_stretches.shards.recipes) in (2, 4, 8)
    edges = [sum(len(piece.rule) for piece in stretch) for stretch in in_stretches.shards.recipes]
    assert max(edges) < 1.3 * min(edges)
    (together, whole), (apart, cut) = (expectation(one, halves) for one in (bank, in_stretches))
    assert apart == pytest.approx(together, rel=1e-12)
    for one, other in zip(whole.counts, cut.counts, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    of_whole, of_cut = (np.concatenate(losses_of(one, halves)[0]) for one in (bank, in_stretches))
    np.testing.assert_allclose(of_whole, of_cut, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("estimator", ["em", "variational"])
def test_training_does_not_depend_on_the_jobs(estimator: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(latent_treebank, "WORDS_A_STRETCH", 500)
    options = replace(QUICK, rounds=1, estimator=estimator)
    trees = toy_trees("dev")
    one, two = (Lvg(options).fit(trees, Training(jobs=jobs)) for jobs in (1, 2))
    assert one.theta.tobytes() == two.theta.tobytes()
    assert one.lexicon.pair_count.tobytes() == two.lexicon.pair_count.tobytes()
    assert not multiprocessing.active_children()


def test_rare_words_share_their_subtypes(bank: LatentTreebank, halves: Refined) -> None:
    lexical = bank.lexical(halves.layout)
    assert 0.2 < lexical.is_rare.mean() < 0.9
    check_distributions(bank, halves)
    # P(w | t_x) / P(w' | t_x) of two rare words is the same for every x.
    start = np.cumsum(lexical.size) - lexical.size
    shares: dict[int, list[Floats]] = {}
    for entry in np.flatnonzero(bank.entries.signature >= 0):
        vector = halves.emissions[start[entry] : start[entry] + lexical.size[entry]]
        shares.setdefault(int(bank.entries.tag[entry]), []).append(vector / vector.sum())
    assert max(len(rows) for rows in shares.values()) > 20
    for rows in shares.values():
        np.testing.assert_allclose(rows, np.broadcast_to(rows[0], np.shape(rows)), rtol=1e-9)


# -- splitting


def test_a_split_keeps_what_a_rule_weighs(merged: Refined) -> None:
    fresh = split(merged, replace(QUICK, noise=50.0), np.random.default_rng(0))
    old, new = merged.layout, fresh.layout
    assert new.size.tolist() == [1, *(2 * old.size[1:])]
    for rule in range(len(old.grammar.rules)):
        before, after = old.tensor(merged.theta, rule), new.tensor(fresh.theta, rule)
        (x, y, z), (a, b, c) = before.shape, new.dims[rule] // before.shape
        np.testing.assert_allclose(
            after.reshape(x, a, y, b, z, c).sum((3, 5)), np.repeat(before[:, None], a, 1), atol=1e-15
        )
        if b * c > 1 and before.min() > 1e-9:
            assert (after.reshape(x * a, y, b, z, c).std((2, 4)) > 0).all()
    assert fresh.emissions.tolist() == np.repeat(merged.emissions, 2).tolist()


def test_a_split_without_noise_can_be_taken_back(bank: LatentTreebank, merged: Refined) -> None:
    fresh = split(merged, STILL, np.random.default_rng(0))
    assert expectation(bank, fresh)[0] == pytest.approx(expectation(bank, merged)[0], rel=1e-12)
    back = merge(bank, fresh, 1.0)
    assert back.layout.size.tolist() == merged.layout.size.tolist()
    np.testing.assert_allclose(back.theta, merged.theta, rtol=1e-12)
    np.testing.assert_allclose(back.emissions, merged.emissions, rtol=1e-12)
    for symbol, size in enumerate(merged.layout.size):
        assert back.history.ancestors(symbol, back.history.rounds - 1).tolist() == list(range(size))


def test_seeds(toy_bank: tuple[LatentTreebank, Floats], merged: Refined) -> None:
    again, other = after_rounds(toy_bank, 2), after_rounds(toy_bank, 2, seed=1)
    assert again.layout.size.tolist() == merged.layout.size.tolist()
    assert again.theta.tolist() == merged.theta.tolist()
    assert again.emissions.tolist() == merged.emissions.tolist()
    assert other.theta.tolist() != merged.theta.tolist()


# -- merging


def losses_of(treebank: LatentTreebank, state: Refined) -> tuple[list[Floats], Floats, float]:
    """The approximate losses, the subtypes' frequencies, and the log-likelihood."""
    step = Expectation(treebank.shards, treebank.lexical(state.layout), state)
    log_likelihood = step.run()
    frequency = subtype_counts(step.lexical, step.counts)
    return merge_losses(step, frequency), frequency, log_likelihood


def loss_of(
    treebank: LatentTreebank, state: Refined, symbol: int, pair: int, frequency: Floats, before: float
) -> float:
    """The true loss: one pair is merged, and the likelihood computed anew."""
    kinds: list[Longs] = [np.arange(size, dtype=np.int64) for size in state.layout.size]
    kinds[symbol][2 * pair + 1 :] -= 1
    one = contract(treebank.lexical(state.layout), state, kinds, frequency)
    assert one.layout.size.sum() == state.layout.size.sum() - 1
    return before - expectation(treebank, one)[0]


def test_the_loss_is_exact_where_a_symbol_stands_once_in_a_tree() -> None:
    treebank, counts = prepared([Tree.read(line) for line in ONCE.strip().splitlines()], rare=1)
    rng = np.random.default_rng(3)
    state = first_grammar(treebank, counts, QUICK, rng)
    for _ in range(2):  # the second time two pairs a symbol
        state = fit(treebank, split(state, replace(QUICK, noise=50.0), rng), 30, "split", ignore)
    losses, frequency, before = losses_of(treebank, state)
    for symbol in range(1, len(losses)):
        true = [loss_of(treebank, state, symbol, pair, frequency, before) for pair in range(2)]
        np.testing.assert_allclose(losses[symbol], true, rtol=1e-6, atol=1e-9)
    assert max(loss.max(initial=0) for loss in losses) > 0.1


def test_the_loss_is_nearly_right_elsewhere(bank: LatentTreebank, halves: Refined) -> None:
    losses, frequency, before = losses_of(bank, halves)
    pairs = [(symbol, pair) for symbol in range(1, len(losses)) for pair in range(len(losses[symbol]))]
    estimate = np.array([losses[symbol][pair] for symbol, pair in pairs])
    true = np.array([loss_of(bank, halves, symbol, pair, frequency, before) for symbol, pair in pairs])
    np.testing.assert_allclose(estimate, true, rtol=0.01, atol=1e-6)
    assert estimate.max() > 1


@pytest.mark.parametrize("fraction", [0.0, 0.5, 1.0])
def test_merging(bank: LatentTreebank, halves: Refined, merged: Refined, fraction: float) -> None:
    losses = np.concatenate(losses_of(bank, halves)[0])
    state = merge(bank, halves, fraction)
    check_distributions(bank, state)
    gone = int(halves.layout.size.sum() - state.layout.size.sum())
    real = int((losses > 0).sum())
    assert gone == min(int(real * fraction) + 1, real) * (fraction > 0) + (losses <= 0).sum()
    assert state.history.rounds == merged.history.rounds + 1
    for symbol, size in enumerate(merged.layout.size):
        assert sorted(set(state.history.parents[-1][symbol].tolist())) == list(range(size))


# -- smoothing


def smoothed_rules(smoother: Smoother, layout: Layout, theta: Floats) -> Floats:
    weights = sparse(layout, theta, smoother.cells(theta))
    smoother.smooth_rules(weights, weights.value)
    smoothed = np.zeros_like(theta)
    smoothed[weights.place] = weights.value
    layout.normalise(smoothed)
    return smoothed


def test_smoothing_keeps_sums_and_stays_within_branches(bank: LatentTreebank, merged: Refined) -> None:
    lexical, history = bank.lexical(merged.layout), merged.history
    smoother = Smoother(lexical, history, QUICK.rule_smoothing, QUICK.word_smoothing)
    theta, emissions = smoothed_rules(smoother, merged.layout, merged.theta), smoother.words(merged.emissions)
    smoothed = replace(merged, theta=theta, emissions=emissions)
    check_distributions(bank, smoothed)
    assert abs(theta - merged.theta).max() > 1e-3
    # Other numbers on one side of a split are not heard of on the other.
    layout = merged.layout
    symbol = next(s for s, size in enumerate(layout.size) if size > 2 and s < layout.grammar.first_tag)
    branch = history.branches(symbol)
    mine = np.flatnonzero(layout.grammar.rules[:, 0] == symbol).tolist()
    changed = merged.theta.copy()
    for rule in mine:
        layout.tensor(changed, rule)[branch == 1] = 0.5
    after = smoothed_rules(smoother, layout, changed)
    for rule in mine:
        np.testing.assert_allclose(layout.tensor(after, rule)[branch == 0], layout.tensor(theta, rule)[branch == 0])


def test_smoothing_by_hand(bank: LatentTreebank, merged: Refined) -> None:
    """0.9 of one's own and 0.1 of the others' mean; a subtype alone on its side stays as it is."""
    lexical = bank.lexical(merged.layout)
    smoother = Smoother(lexical, merged.history, QUICK.rule_smoothing, QUICK.word_smoothing)
    first_tag, sizes = merged.layout.grammar.first_tag, set()
    found = np.split(smoother.words(merged.emissions), np.cumsum(lexical.size)[:-1])
    given = np.split(merged.emissions, np.cumsum(lexical.size)[:-1])
    for tag, old, new in zip(bank.entries.tag, given, found, strict=True):
        branch = merged.history.branches(first_tag + int(tag))
        for x, side in enumerate(branch):
            others = [old[k] for k in np.flatnonzero(branch == side) if k != x]
            assert new[x] == pytest.approx(0.9 * old[x] + 0.1 * np.mean(others) if others else old[x])
            sizes.add(len(others))
    assert {0, 1} <= sizes
