"""Training under the infinite PCFG's prior: its updates, its bound, what it leaves unused, and the command."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln, psi

from latree.arrays import NONE, Floats
from latree.cli.training import Reporter
from latree.data import toy
from latree.errors import LatreeError
from latree.inference.subtypes import Cells, Layout, regroup
from latree.kinds.lvg import LvgOptions, VariationalOptions
from latree.kinds.lvg.model import Lvg
from latree.kinds.lvg.split_merge import (
    Expectation,
    Refined,
    contract,
    expect,
    first_grammar,
    fit,
    split,
    subtype_counts,
)
from latree.kinds.lvg.variational import MeanField, gainful, used
from latree.kinds.lvg.variational_prior import RulePrior, WordPrior, break_stick, digamma
from latree.kinds.registry import load
from latree.learning.checkpoint import Checkpoint
from latree.learning.coded_trees import CodedTrees
from latree.learning.latent_treebank import LatentTreebank
from latree.learning.loop import Progress, Training, after_steps
from latree.lexicon.options import LexiconOptions
from latree.lexicon.words import Lexicon
from latree.text.tree import Tree
from tests.command import done, latree, toy_trees

QUICK = LvgOptions(split_iterations=8)
PRIOR = VariationalOptions(truncation=4, iterations=8)
TREES = [
    Tree.read(line)
    for line in (
        "(ROOT (S (NP (N dogs)) (VP (V bark))))",
        "(ROOT (S (NP (N dogs)) (VP (V bark) (NP (N cats)))))",
        "(ROOT (S (NP (D the) (N dog)) (VP (V barks))))",
        "(ROOT (S (NP (D a) (N cat)) (VP (V sleeps))))",
    )
]


def ignore(_: Progress) -> None:
    pass


def prepared(trees: list[Tree], rounds: int = 1, noise: float = 20.0) -> tuple[LatentTreebank, Refined]:
    """A treebank, and a grammar whose symbols were split so often, halves well apart."""
    nodes = CodedTrees.of(Lvg().prepare_data(trees))
    grammar, counts = nodes.rules()
    sentences = nodes.tagged(grammar)
    lexicon = Lexicon.count(sentences, len(grammar.tags), "neutral", LexiconOptions(rare=1))
    treebank = LatentTreebank.of(grammar, nodes, lexicon)
    options, rng = LvgOptions(noise=noise), np.random.default_rng(3)
    state = first_grammar(treebank, counts, options, rng)
    for _ in range(rounds):
        state = split(state, options, rng)
    return treebank, state


def mean_field(treebank: LatentTreebank, state: Refined, prior: VariationalOptions) -> MeanField:
    return MeanField(treebank.shards, treebank.lexical(state.layout), state, prior)


def log_likelihood(treebank: LatentTreebank, state: Refined) -> float:
    return Expectation(treebank.shards, treebank.lexical(state.layout), state).run()


# -- the updates


@pytest.mark.parametrize("x", [1e-12, 1e-3, 0.3, 1.0, 5.99, 6.0, 17.5, 1e6])
def test_digamma(x: float) -> None:
    assert digamma(x) == pytest.approx(psi(x), rel=1e-11)


def test_sticks_by_hand() -> None:
    # Sorted: t = 3, 1, 0; v = 4/(4+2+1), 2/(2+2), 1/(1+2).
    beta, log_prior = break_stick(np.array([1.0, 3.0, 0.0]), 2.0)
    np.testing.assert_allclose(beta, [3 / 7 / 2, 4 / 7, 3 / 7 / 2 / 3])
    expected = sum(np.log(2 * v * (1 - v) ** 2) for v in (4 / 7, 1 / 2, 1 / 3))
    assert log_prior == pytest.approx(expected)


def test_sticks_are_the_best_of_their_kind() -> None:
    rng, t, gamma = np.random.default_rng(0), np.array([4.0, 2.5, 0.3]), 0.7

    def objective(beta: Floats, log_prior: float) -> float:
        return float(t @ np.log(beta)) + log_prior

    best = objective(*break_stick(t, gamma))
    for _ in range(200):
        v, order = rng.random(3), rng.permutation(3)
        beta = np.empty(3)
        beta[order] = v * np.append(1.0, np.cumprod(1 - v)[:-1])
        assert objective(beta, float(np.log(gamma * v * (1 - v) ** gamma).sum())) <= best


def test_rule_weights_by_hand() -> None:
    treebank, state = prepared(TREES)
    prior = RulePrior(state.layout, replace(PRIOR, strength=2.0, rule_prior=0.5))
    counts = np.random.default_rng(1).random(len(state.theta)) * 3
    prior.update_beta(counts)
    theta, _ = prior.weights(counts)
    layout, rules = state.layout, treebank.grammar.rules
    rule = int(np.flatnonzero(rules[:, 2] != NONE)[0])
    a, b, c = rules[rule]
    n = layout.tensor(counts, rule)[1 if layout.size[a] > 1 else 0]
    x = 1 if layout.size[a] > 1 else 0
    siblings = np.flatnonzero(rules[:, 0] == a)
    total = sum(layout.tensor(counts, int(r))[x].sum() for r in siblings)
    rho = np.exp(psi(n.sum() + 0.5) - psi(total + 0.5 * len(siblings)))
    beta_b, beta_c = (prior.beta[layout.offset[s] : layout.offset[s + 1]] for s in (b, c))
    expected = rho * np.exp(psi(n + 2.0 * np.outer(beta_b, beta_c)) - psi(n.sum() + 2.0))
    np.testing.assert_allclose(layout.tensor(theta, rule)[x], expected)


def test_word_weights_by_hand() -> None:
    treebank, state = prepared(TREES)
    lexical = treebank.lexical(state.layout)
    counts = np.random.default_rng(1).random(len(state.emissions))
    emissions, _ = WordPrior(lexical, 2.0).weights(counts)
    tag = treebank.grammar.tag_index[next(s for s in treebank.grammar.tags if s.label == "N")]
    mine = lexical.column == lexical.layout.tag_columns[tag]
    frequent = np.flatnonzero(mine & ~lexical.is_rare)
    assert len(frequent) == 1  # "dogs", two of five
    expected = np.exp(psi(counts[frequent] + 2.0 * 2 / 5) - psi(counts[mine].sum() + 2.0))
    np.testing.assert_allclose(emissions[frequent], expected)
    rare = np.flatnonzero(mine & lexical.is_rare)  # one class, shared by three
    expected = np.exp(psi(counts[rare].sum() + 2.0 * 3 / 5) - psi(counts[mine].sum() + 2.0)) / 3
    np.testing.assert_allclose(emissions[rare], expected)


def test_large_counts_give_relative_frequencies() -> None:
    treebank, state = prepared(TREES)
    lexical = treebank.lexical(state.layout)
    counts = 1e8 * (0.1 + np.random.default_rng(1).random(len(state.theta)))
    words = 1e8 * (0.1 + np.random.default_rng(2).random(len(state.emissions)))
    theta, _ = RulePrior(state.layout, PRIOR).weights(counts)
    emissions, _ = WordPrior(lexical, 1.0).weights(words)
    np.testing.assert_allclose(emissions, lexical.estimate(words), rtol=1e-6)
    state.layout.normalise(counts)
    np.testing.assert_allclose(theta, counts, rtol=1e-6)


def test_the_mean_is_a_grammar() -> None:
    treebank, state = prepared(TREES)
    mean = mean_field(treebank, state, PRIOR).mean(state)
    totals = state.layout.parent_counts(mean.theta)
    first = state.layout.offset[treebank.grammar.first_tag]
    np.testing.assert_allclose(totals[:first], 1.0)
    assert mean.theta.min() > 0


# -- the bound


def _divergence(q: Floats, p: Floats) -> float:
    """KL of two Dirichlets, given all of their parameters."""
    expected = psi(q) - psi(q.sum())
    whole = gammaln(q.sum()) - gammaln(q).sum() - gammaln(p.sum()) + gammaln(p).sum()
    return float(whole + ((q - p) * expected).sum())


def _rule_divergence(layout: Layout, prior: RulePrior, counts: Floats) -> float:
    total, options = 0.0, prior.options
    for symbol, size in enumerate(layout.size):
        mine = np.flatnonzero(layout.grammar.rules[:, 0] == symbol)
        for x in range(size if len(mine) else 0):
            n = [layout.tensor(counts, int(r))[x] for r in mine]
            rows = np.array([one.sum() for one in n])
            total += _divergence(rows + options.rule_prior, np.full(len(mine), options.rule_prior))
            for rule, one in zip(mine, n, strict=True):
                parts = [
                    np.ones(1) if s == NONE else prior.beta[layout.offset[s] : layout.offset[s + 1]]
                    for s in layout.grammar.rules[rule, 1:]
                ]
                p = options.strength * np.outer(*parts).ravel()
                rest = options.strength - p.sum()
                if rest > 1e-9:  # what lies beyond the truncation
                    total += _divergence(np.append(one.ravel() + p, rest), np.append(p, rest))
                else:
                    total += _divergence(one.ravel() + p, p)
    return total


def test_the_bound_is_that_of_its_definition() -> None:
    treebank, state = prepared(TREES, rounds=2)
    step = mean_field(treebank, state, replace(PRIOR, word_prior=0.0))
    for _ in range(3):
        counts = step.counts.rules.copy()
        step.maximise(None)
        bound = step.run()
        log_z, _ = treebank.shards.sum(expect, step.form, step.parameters)
        expected = log_z - _rule_divergence(state.layout, step.rule_prior, counts)
        assert bound == pytest.approx(expected + step.rule_prior.log_prior, rel=1e-9)


@pytest.mark.parametrize(
    "prior",
    [
        PRIOR,
        replace(PRIOR, strength=0.05, rule_prior=0.05, word_prior=0.1),
        replace(PRIOR, strength=20.0, concentration=5.0, word_prior=0.0),
        replace(PRIOR, concentration=0.1),
    ],
)
def test_the_bound_never_falls(prior: VariationalOptions) -> None:
    treebank, state = prepared(toy_trees("dev"), rounds=2, noise=5.0)
    step = mean_field(treebank, state, prior)
    bounds: list[float] = []
    fit(treebank, state, 30, "variational", lambda p: bounds.append(p.value), step=step)
    assert len(bounds) == 30
    assert np.diff(bounds).min() > -1e-7 * abs(bounds[-1])
    assert bounds[-1] > bounds[0] + 10


def test_a_bound_that_is_no_number_is_told() -> None:
    treebank, state = prepared(TREES)
    step = mean_field(treebank, state, PRIOR)
    step.score = np.nan
    with pytest.raises(LatreeError, match="the evidence lower bound became nan"):
        fit(treebank, state, 1, "variational", ignore, step=step)


# -- fewer subtypes


def _log_d(layout: Layout, prior: RulePrior, beta: Floats, counts: Floats) -> float:
    """The sum of log D over all Dirichlets of rules, by its definition."""

    def log_d(n: Floats, a: Floats, whole: float) -> float:
        total = gammaln(whole) - gammaln(whole + n.sum())
        return float(total + (gammaln(a + n) - gammaln(a)).sum())

    total, options, rules = 0.0, prior.options, layout.grammar.rules
    for symbol, size in enumerate(layout.size):
        mine = np.flatnonzero(rules[:, 0] == symbol)
        for x in range(size if len(mine) else 0):
            n = [layout.tensor(counts, int(r))[x] for r in mine]
            a = np.full(len(mine), options.rule_prior)
            total += log_d(np.array([one.sum() for one in n]), a, float(a.sum()))
            for rule, one in zip(mine, n, strict=True):
                spans = [slice(layout.offset[s], layout.offset[s + 1]) for s in rules[rule, 1:]]
                parts = [
                    np.ones(1) if s == NONE else beta[span] for s, span in zip(rules[rule, 1:], spans, strict=True)
                ]
                total += log_d(one, options.strength * np.outer(*parts), options.strength)
    return total


def test_gains_of_merges_are_exact_where_a_rule_has_a_symbol_once() -> None:
    _, state = prepared(TREES, rounds=2)
    layout = state.layout
    prior = RulePrior(layout, replace(PRIOR, strength=2.0, rule_prior=0.3))
    counts = np.random.default_rng(1).random(len(state.theta)) * 3
    prior.update_beta(counts)
    before = _log_d(layout, prior, prior.beta, counts)
    for symbol, gains in enumerate(prior.merge_gains(counts)):
        assert len(gains) == (2 if symbol else 0)
        for pair, gain in enumerate(gains):
            kinds = [np.arange(n) for n in layout.size]
            kinds[symbol] = kinds[symbol] - (kinds[symbol] > 2 * pair)
            maps = [np.arange(kind.max() + 1)[:, None] == kind for kind in kinds]
            new = Layout(layout.grammar, np.array([len(one) for one in maps]))
            beta = np.concatenate(
                [one @ part for one, part in zip(maps, np.split(prior.beta[:-1], layout.offset[1:-1]), strict=True)]
            )
            after = _log_d(new, prior, beta, regroup(layout, Cells.of(counts), new, kinds, maps))
            assert gain == pytest.approx(after - before, abs=1e-9)


@pytest.mark.parametrize("prior", [0.0, 0.5])
def test_gains_of_words_by_hand(prior: float) -> None:
    treebank, state = prepared(TREES)
    counts = np.random.default_rng(1).random(len(state.emissions))
    lexical = treebank.lexical(state.layout)
    words = WordPrior(lexical, prior)
    tag = next(k for k, symbol in enumerate(treebank.grammar.tags) if symbol.label == "D")
    # "the" and "a" are both rare, one class: the word itself tells nothing of the subtype.
    assert words.merge_gains(counts)[tag] == pytest.approx([0.0], abs=1e-12)


def test_merging_raises_the_bound() -> None:
    treebank, state = prepared(toy_trees("dev"), rounds=1, noise=2.0)
    state = fit(treebank, state, 20, "split", ignore)
    step = mean_field(treebank, state, PRIOR)
    fit(treebank, state, 20, "variational", ignore, step=step)
    before = step.run()
    frequency = subtype_counts(step.lexical, step.counts)
    kinds = gainful(step, frequency, 0.5)
    small = contract(step.lexical, step.mean(state), kinds, frequency)
    assert len(small.layout.size) < small.subtypes < state.subtypes
    again = mean_field(treebank, small, PRIOR)
    fit(treebank, small, 3, "variational", ignore, step=again)
    assert again.run() > before


def test_unused_subtypes_are_dropped() -> None:
    treebank, state = prepared(toy_trees("dev"), rounds=1)
    state = fit(treebank, state, 10, "split", ignore)
    step = mean_field(treebank, state, PRIOR)
    frequency = np.append(1.0, np.tile([1e-9, 3.0], (int(state.layout.offset[-1]) - 1) // 2))
    frequency[-2] = 0.6
    kinds = used(step, frequency, 0.5)
    small = contract(step.lexical, state, kinds, frequency)
    assert small.layout.size.tolist() == [1] * (len(kinds) - 1) + [2]
    assert [len(parent) for parent in small.history.parents[-1]] == small.layout.size.tolist()
    assert small.history.rounds == 1
    totals = small.layout.parent_counts(small.theta)
    np.testing.assert_allclose(totals[: small.layout.offset[treebank.grammar.first_tag]], 1.0)


def test_dropping_the_unused_hardly_changes_the_likelihood() -> None:
    treebank, state = prepared(toy_trees("dev"), rounds=3, noise=5.0)
    step = mean_field(treebank, state, replace(PRIOR, strength=0.1, rule_prior=0.1))
    fit(treebank, state, 40, "variational", ignore, step=step)
    mean, frequency = step.mean(state), subtype_counts(step.lexical, step.counts)
    small = contract(step.lexical, mean, used(step, frequency, 0.5), frequency)
    assert small.subtypes < 0.8 * mean.subtypes
    assert log_likelihood(treebank, small) == pytest.approx(log_likelihood(treebank, mean), rel=0.01)


def planted(sentences: int = 300) -> list[Tree]:
    """Subject and verb agree in number, singulars have a determiner, plurals often an adverb; no more is hidden."""
    rng, trees = np.random.default_rng(0), []
    nouns, verbs = [["dog", "cat", "bird"], ["dogs", "cats", "birds"]], [["runs", "sits"], ["run", "sit"]]
    for _ in range(sentences):
        k = int(rng.random() < 0.5)
        determiner = "(D the) " if k == 0 or rng.random() < 0.3 else ""
        adverb = " (R often)" if rng.random() < (0.2, 0.7)[k] else ""
        noun, verb = rng.choice(nouns[k]), rng.choice(verbs[k])
        trees.append(Tree.read(f"(ROOT (S (NP {determiner}(N {noun})) (VP (V {verb}){adverb})))"))
    return trees


@pytest.mark.parametrize("seed", range(3))
def test_the_prior_allows_no_more_subtypes_than_were_planted(seed: int) -> None:
    # Whether agreement (NP and VP) is found depends on the start: EM must leave the saddle between equal halves.
    options = LvgOptions(noise=20.0, split_iterations=100)
    prior = VariationalOptions(truncation=8)
    model = Lvg(estimator="variational", prior=prior, options=options, seed=seed).fit(planted())
    size = {str(symbol): n for symbol, n in zip(model.grammar.symbols, model.size.tolist(), strict=True)}
    assert size["N"] == size["V"] == 2
    assert size["NP"] <= 2
    assert size["VP"] <= 2
    assert size["S"] == size["D"] == size["R"] == 1


# -- the model


def variational(seed: int = 0, **changes: Any) -> Lvg:
    return Lvg(estimator="variational", prior=replace(PRIOR, **changes), options=QUICK, seed=seed)


def test_seeds_repeat() -> None:
    trees = toy_trees("dev")
    one, same, other = (variational(seed).fit(trees) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.theta, same.theta)
    assert one.theta.shape != other.theta.shape or not np.array_equal(one.theta, other.theta)


def test_it_is_an_ordinary_model(tmp_path: Path) -> None:
    trees = toy_trees("dev")
    model = variational().fit(trees)
    assert model.size.max() <= 4
    assert model.history.rounds == 2
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert isinstance(loaded, Lvg)
    assert loaded.options.prior.truncation == 4
    for tree in trees[:10]:
        parse = loaded.parse(tree.words())
        assert parse.status == "ok"
        assert parse.tree == model.parse(tree.words()).tree


def test_a_training_taken_up_again_ends_where_it_would_have(tmp_path: Path) -> None:
    def stop(progress: Progress) -> None:
        raise KeyboardInterrupt

    trees = toy_trees("dev")
    checkpoint = Checkpoint(tmp_path / "checkpoint", variational().identity())
    with pytest.raises(KeyboardInterrupt):
        variational().fit(trees, Training(after_steps(stop), checkpoint=checkpoint))
    resumed = variational().fit(trees, Training(checkpoint=checkpoint, resume=True))
    np.testing.assert_array_equal(resumed.theta, variational().fit(trees).theta)
    for other in (Lvg(options=QUICK), variational(concentration=2.0)):
        with pytest.raises(LatreeError, match="other options"):
            other.fit(trees, Training(checkpoint=Checkpoint(checkpoint.path, other.identity()), resume=True))


@pytest.mark.parametrize(
    "options",
    [
        {"estimator": "variational", "subtypes": 4},
        {"prior": PRIOR},
        {"subtypes": 6},
    ],
)
def test_options_that_contradict(options: dict[str, Any]) -> None:
    with pytest.raises(LatreeError):
        Lvg(**options)


@pytest.mark.parametrize("options", [{"concentration": 0.0}, {"strength": -1.0}, {"word_prior": -1.0}])
def test_priors_that_are_none(options: dict[str, float]) -> None:
    with pytest.raises(LatreeError, match="positive"):
        VariationalOptions(**options)  # type: ignore[arg-type]
    with pytest.raises(LatreeError, match="power of two"):
        VariationalOptions(truncation=6)


# -- the command

COMMAND = ("train", "lvg", toy("dev"), "--estimator", "variational", "--truncation", "4", "--split-iterations", "8")


def test_command(tmp_path: Path) -> None:
    outcome = latree(*COMMAND, "--dev", toy("dev"), "-o", tmp_path / "model")
    assert outcome.code == 0, outcome.err
    assert "round 2 of 2" in outcome.err
    assert "lower bound -" in outcome.err
    assert "subtypes used, of 4 at most: " in outcome.err
    assert not (tmp_path / "model.checkpoint").exists()
    parsed = done("parse", "-m", tmp_path / "model", stdin="the teacher sleeps .\n")
    assert parsed.out.startswith("(ROOT (S (NP")
    assert done("show", "-m", tmp_path / "model").out


def test_command_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(self: Reporter, progress: Progress) -> None:
        if progress.model is not None:
            raise KeyboardInterrupt

    done(*COMMAND, "-o", tmp_path / "whole", "--quiet")
    with monkeypatch.context() as patched:
        patched.setattr(Reporter, "watch", stop)
        assert latree(*COMMAND, "-o", tmp_path / "model", "--quiet").code != 0
    assert (tmp_path / "model.checkpoint").exists()
    done(*COMMAND, "-o", tmp_path / "model", "--quiet", "--resume")
    whole, resumed = load(tmp_path / "whole"), load(tmp_path / "model")
    np.testing.assert_array_equal(whole.theta, resumed.theta)


@pytest.mark.parametrize(
    ("kind", "options", "told"),
    [
        (
            "lvg",
            ["--truncation", "8"],
            "--truncation has no effect without --estimator variational; give both, or neither",
        ),
        ("lvg", ["--estimator", "variational", "--merge", "0.2"], "--merge has no effect"),
        ("lvg", ["--estimator", "variational", "--rounds", "2"], "--rounds has no effect"),
        ("lvg", ["--estimator", "variational", "--truncation", "6"], "power of two"),
        ("pcfg", ["--estimator", "variational"], "--estimator is for lvg"),
    ],
)
def test_options_without_effect_are_refused(kind: str, options: list[str], told: str, tmp_path: Path) -> None:
    outcome = latree("train", kind, toy("dev"), *options, "-o", tmp_path / "model")
    assert outcome.code != 0
    assert told in " ".join(outcome.err.replace("│", " ").split())
