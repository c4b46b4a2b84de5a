"""Gaussian-mixture grammars as models: where they start, how they train, what a file keeps."""

from __future__ import annotations

import multiprocessing
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from latree import Hmm, LatreeError, Pcfg, Tree, load, read_trees
from latree.cli.kind_options import options_from
from latree.data import toy
from latree.inference.forest import Forest
from latree.inference.prune import ACCURATE
from latree.kinds.examples import by_length, forests_with_gold
from latree.kinds.gm_lveg import KIND, GmLvegOptions
from latree.kinds.gm_lveg.model import GmLveg, GmLvegTagger
from latree.kinds.gm_lveg.paper import PAPER
from latree.kinds.gm_lveg.start import Cube, from_subtypes, points
from latree.kinds.gm_lveg.training import Batch, Mirror, Weights, gradient
from latree.kinds.lvg import LvgOptions
from latree.kinds.lvg.model import Lvg
from latree.kinds.search import Attempt, Search
from latree.learning.checkpoint import Checkpoint
from latree.learning.loop import Training, after_steps
from latree.lexicon.lexical_rules import LexicalRules
from latree.lexicon.signatures import Scheme
from latree.text.labels import LabelRules

QUICK = LvgOptions(split_iterations=20, merge_iterations=10, smooth_iterations=5)
SMALL = GmLvegOptions(dim=2, components=2, word_components=2, grow=0, looseness=1.0, epochs=2, batch=16)


@pytest.fixture(scope="module")
def trees() -> list[Tree]:
    return list(read_trees(toy("dev"), LabelRules()))


@pytest.fixture(scope="module")
def lvg(trees: list[Tree]) -> Lvg:
    return Lvg(rounds=2, options=QUICK).fit(trees)


@pytest.fixture(scope="module")
def tagged(trees: list[Tree]) -> list[tuple[list[str], list[str]]]:
    return [(tree.words(), tree.tags()) for tree in trees]


@pytest.fixture(scope="module")
def model(trees: list[Tree], lvg: Lvg) -> GmLveg:
    return GmLveg(options=SMALL, pruner=lvg).fit(trees)


def frequent(trees: list[Tree], lexical: LexicalRules) -> list[Tree]:
    """Trees all of whose words have rules of their own."""
    units = set(lexical.units)
    found = [tree for tree in trees if units.issuperset(tree.words())]
    assert len(found) > 20
    return found


# -- where it starts


@pytest.mark.parametrize("covariance", ["diagonal", "spherical"])
def test_it_starts_as_the_treebank_grammar(trees: list[Tree], covariance: str) -> None:
    pcfg = Pcfg().fit(trees)
    options = replace(SMALL, components=3, spread=0.0, epochs=0, covariance=covariance)  # type: ignore[arg-type]
    model = GmLveg(options=options, pruner=pcfg).fit(trees)
    for tree in frequent(trees, model.lexical)[:20]:
        assert model.log_prob_tree(tree) == pytest.approx(pcfg.log_prob_tree(tree), abs=1e-4)


def test_the_tagger_starts_as_the_hmm(tagged: list[tuple[list[str], list[str]]]) -> None:
    hmm = Hmm().fit(tagged)
    model = GmLvegTagger(options=replace(SMALL, spread=0.0, epochs=0), pruner=hmm).fit(tagged)
    number = {symbol.label: k for k, symbol in enumerate(hmm.grammar.tags)}
    units, checked = set(model.lexical.units), 0
    for words, tags in tagged:
        if units.issuperset(words):
            codes = [number[tag] for tag in tags]
            assert model.log_prob_tags(words, codes) == pytest.approx(hmm.log_prob_tags(words, codes), abs=1e-4)
            checked += 1
    assert checked > 20


def test_the_paper_s_start_has_alpha_in_every_component(trees: list[Tree], lvg: Lvg) -> None:
    model = GmLveg(options=replace(SMALL, alpha=8.0, epochs=0), pruner=lvg).fit(trees)
    rules = len(model.grammar.rules)
    expected = np.log(8 * np.repeat(lvg.coarse_theta(), 2))
    np.testing.assert_allclose(model.mixtures.log_rho[: 2 * rules], expected, rtol=1e-5)
    assert 0.03 < np.abs(model.mixtures.mean).max() <= 0.05


def test_subtypes_far_apart_are_a_special_case(trees: list[Tree], lvg: Lvg) -> None:
    model = GmLveg(options=replace(SMALL, epochs=0), pruner=lvg).fit(trees)
    cube = Cube(side=20.0, log_sd=-0.5, least=0.0)
    model.components, model.mixtures = from_subtypes(lvg, model.lexical, 1, cube)
    assert model.mixtures.mean.shape[1] == lvg.history.rounds == 2
    for tree in frequent(trees, model.lexical)[:20]:
        assert model.log_prob_tree(tree) == pytest.approx(lvg.log_prob_tree(tree), abs=1e-6)


def test_points_tell_subtypes_apart(lvg: Lvg) -> None:
    for symbol, size in enumerate(lvg.size):
        found = points(lvg.history, symbol, 1.5)
        assert found.shape == (size, 2)
        assert len({tuple(row) for row in found.tolist()}) == size
        assert set(np.abs(found).ravel().tolist()) <= {0.0, 1.5}


# -- training


def test_training_raises_the_likelihood_of_the_trees(trees: list[Tree], lvg: Lvg) -> None:
    seen: list[float] = []
    how = Training(after_steps(lambda progress: seen.append(progress.value)))
    model = GmLveg(options=replace(SMALL, epochs=5), pruner=lvg).fit(trees, how)
    assert seen[-1] > seen[0] + 0.1
    assert max(seen) < 0  # the gold tree is in its forest: log P(T | w) is that of a probability
    assert np.abs(model.mixtures.mean).max() > 0.06


def test_a_start_from_subtypes_trains(trees: list[Tree]) -> None:
    options = replace(SMALL, start="subtypes", start_rounds=1, epochs=1, grow=1)  # growth is for the other start
    model = GmLveg(options=options, pruner=Lvg(rounds=2, options=QUICK)).fit(trees)
    assert model.mixtures.mean.shape[1] == 1
    assert len(set(model.components.size.tolist())) > 2  # as many components as each rule has cells
    assert model.parse(trees[0].words()).status == "ok"


def test_the_best_epoch_is_kept(trees: list[Tree], lvg: Lvg) -> None:
    scores, kept = iter([1.0, 3.0, 2.0]), []

    def score(model: GmLveg) -> float:
        kept.append(model.mixtures.log_rho.copy())
        return next(scores)

    model = GmLveg(options=replace(SMALL, epochs=3), pruner=lvg).fit(trees, Training(score=score))
    np.testing.assert_allclose(model.mixtures.log_rho, kept[1], rtol=1e-6)
    assert not np.allclose(kept[1], kept[2])


@pytest.mark.parametrize("spans", [False, True])
def test_resuming_gives_the_same_grammar(trees: list[Tree], lvg: Lvg, tmp_path: Path, spans: bool) -> None:
    def fit(epochs: int, path: Path, resume: bool = False) -> GmLveg:
        fresh = GmLveg(options=replace(SMALL, epochs=epochs, spans=spans), pruner=lvg)
        how = Training(checkpoint=Checkpoint(path, fresh.identity()), resume=resume)
        return fresh.fit(trees, how)

    whole = fit(3, tmp_path / "a")
    fit(1, tmp_path / "b")
    resumed = fit(3, tmp_path / "b", resume=True)
    for one, other in zip(whole.mixtures, resumed.mixtures, strict=True):
        assert one.tolist() == other.tolist()
    assert whole.span_weights.tolist() == resumed.span_weights.tolist()
    assert load(tmp_path / "b").parse(trees[0].words()).status == "ok"  # type: ignore[attr-defined]
    fresh = GmLveg(options=replace(SMALL, spans=spans), pruner=lvg)
    how = Training(checkpoint=Checkpoint(tmp_path / "b", fresh.identity()), resume=True)
    with pytest.raises(LatreeError, match="another treebank"):
        fresh.fit(trees[:50], how)


def test_a_gradient_that_is_no_number_stops_training(trees: list[Tree], lvg: Lvg) -> None:
    model = GmLveg(options=replace(SMALL, rate=np.nan), pruner=lvg)
    with pytest.raises(LatreeError, match="no number any more; the last checkpoint is good"):
        model.fit(trees)


def test_a_pruner_of_another_treebank(trees: list[Tree], lvg: Lvg) -> None:
    with pytest.raises(LatreeError, match="the pruner was trained on another treebank"):
        GmLveg(options=SMALL, pruner=lvg).fit([*trees, Tree.read("(ROOT (X (NN dogs) (VB run)))")])


def batches_of(model: GmLveg, trees: list[Tree]) -> list[Batch]:
    examples = model.examples(model.prepare_data(trees))
    return [model.batch(group) for group in by_length(examples, model.options.batch)]


def test_looser_pruning_trains_on_more(trees: list[Tree], lvg: Lvg) -> None:
    edges = []
    for looseness in (1.0, 0.01):
        model = GmLveg(options=replace(SMALL, looseness=looseness, epochs=0), pruner=lvg).fit(trees)
        edges.append(sum(batch.all.edges for batch in batches_of(model, trees)))
    assert edges[0] < edges[1]


def test_training_does_not_depend_on_the_jobs(trees: list[Tree], lvg: Lvg) -> None:
    """With components that grow, which processes of their own must make room for."""
    options = replace(SMALL, epochs=3, grow=1, spans=True, batch=7, parts=3)
    one, two = (GmLveg(options=options, pruner=lvg).fit(trees[:40], Training(jobs=jobs)) for jobs in (1, 2))
    assert len(set(one.components.size.tolist())) > 1  # some were dropped, others divided
    for first, second in zip(one.state().arrays.items(), two.state().arrays.items(), strict=True):
        assert first[0] == second[0]
        assert first[1].tobytes() == second[1].tobytes(), first[0]
    assert not multiprocessing.active_children()


# -- features of spans


def test_the_gradient_by_weights_of_spans(trees: list[Tree], lvg: Lvg) -> None:
    options = replace(SMALL, spans=True, epochs=0)
    model = GmLveg(options=options, pruner=lvg).fit(trees)
    rng = np.random.default_rng(1)
    spans = 0.3 * rng.standard_normal(len(model.span_weights))
    mirror, batch = Mirror(model.components, Weights(model.mixtures, spans), options), batches_of(model, trees)[0]
    slope = gradient(batch, mirror)[1].spans
    assert len(slope) > 100
    for k in np.argsort(-np.abs(slope))[:20]:
        values = []
        for step in (1e-5, -1e-5):
            spans[k] += step
            values.append(gradient(batch, mirror)[0])
            spans[k] -= step
        assert (values[0] - values[1]) / 2e-5 == pytest.approx(slope[k], rel=1e-4, abs=1e-5)


def test_weights_of_spans_are_in_parses_and_files(trees: list[Tree], lvg: Lvg, tmp_path: Path) -> None:
    model = GmLveg(options=replace(SMALL, spans=True), pruner=lvg).fit(trees)
    assert np.count_nonzero(model.span_weights) > 100
    model.save(tmp_path / "m.latree")
    again, without = load(tmp_path / "m.latree"), copy(model)
    without.span_weights = np.zeros_like(model.span_weights)
    plain = copy(model)
    plain.spans = None
    for tree in trees[:15]:
        assert again.log_prob_tree(tree) == model.log_prob_tree(tree)  # type: ignore[attr-defined]
        assert without.log_prob_tree(tree) == plain.log_prob_tree(tree) != model.log_prob_tree(tree)
        parse = model.parse(tree.words())
        assert str(again.parse(tree.words())) == str(parse)  # type: ignore[attr-defined]


# -- limits on components


def test_a_limit_on_components(trees: list[Tree], lvg: Lvg, tmp_path: Path) -> None:
    limited = GmLveg(options=replace(SMALL, k_max=4), pruner=lvg).fit(trees)
    assert not np.array_equal(limited.mixtures.mean, GmLveg(options=SMALL, pruner=lvg).fit(trees).mixtures.mean)
    limited.save(tmp_path / "m.latree")
    again, exact = load(tmp_path / "m.latree"), load(tmp_path / "m.latree")
    assert isinstance(again, GmLveg)
    assert isinstance(exact, GmLveg)
    exact.options = replace(exact.options, k_max=0)
    for tree in trees[:15]:
        one, other, whole = (model.parse(tree.words()) for model in (limited, again, exact))
        assert one.status == "ok"
        assert (str(one), one.log_marginal) == (str(other), other.log_marginal)
        assert one.log_marginal <= whole.log_marginal
        assert limited.log_prob_tree(tree) == exact.log_prob_tree(tree)  # a tree of its own is never pruned


def test_gold_trees_are_not_limited(trees: list[Tree], lvg: Lvg) -> None:
    """What a limit takes from the forest of all trees, and from that alone, it adds to log P(T | w)."""
    seen = []
    for options in (replace(SMALL, epochs=0), replace(SMALL, epochs=0, k_max=1)):
        model = GmLveg(options=options, pruner=lvg).fit(trees)
        mirror = Mirror(model.components, Weights(model.mixtures), options)
        seen.append([gradient(batch, mirror)[0] for batch in batches_of(model, trees)])
    assert all(exact < limited for exact, limited in zip(*seen, strict=True))


def test_mixtures_without_merging(trees: list[Tree], tmp_path: Path) -> None:
    """All components are apart in training and in parsing, and the gold tree's are cut as well."""
    short = [tree for tree in trees if len(tree.words()) <= 6][:12]
    options = replace(SMALL, k_min=4, k_max=6, theta=0.35, parse_k_min=3, pruner="pcfg", unmerged="all", epochs=1)
    model = GmLveg(options=options).fit(short)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    merged = copy(again)
    merged.options = replace(options, unmerged="no", k_max=0, k_min=0, parse_k_min=None)  # type: ignore[attr-defined]
    for tree in short:
        cut, exact = again.log_prob_tree(tree), merged.log_prob_tree(tree)  # type: ignore[attr-defined]
        assert cut < exact
        assert again.parse(tree.words()).status == "ok"  # type: ignore[attr-defined]


@pytest.mark.parametrize("unmerged", ["edges", "all"])
def test_without_limits_training_is_the_same_unmerged(trees: list[Tree], unmerged: str) -> None:
    short = [tree for tree in trees if len(tree.words()) <= 6][:12]
    parts = []
    for way in ("no", unmerged):
        options = replace(SMALL, pruner="pcfg", unmerged=way, alone=True)  # type: ignore[arg-type]
        parts.append(GmLveg(options=options).fit(short).mixtures)
    for one, other in zip(*parts, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)


# -- pruners


def test_the_treebank_grammar_as_the_pruner(trees: list[Tree], tmp_path: Path) -> None:
    """At a threshold of the user's, in training and in parsing, also after a file."""
    model = GmLveg(options=replace(SMALL, pruner="pcfg", p_min=1e-6, epochs=1, alone=True)).fit(trees)
    model.save(tmp_path / "m")
    for one in (model, load(tmp_path / "m")):
        assert isinstance(one, GmLveg)
        assert isinstance(one.pruner, Pcfg)
        assert (one.threshold, one.pruner.threshold, one.joint) == (1e-6, 1e-6, False)
    edges = []
    for p_min in (1e-3, 1e-6):
        fresh = GmLveg(options=replace(SMALL, p_min=p_min, epochs=0), pruner=Pcfg().fit(trees)).fit(trees)
        edges.append(sum(batch.all.edges for batch in batches_of(fresh, trees)))
    assert edges[0] < edges[1]


def test_a_threshold_of_the_first_pass(trees: list[Tree], lvg: Lvg, tagged: list[tuple[list[str], list[str]]]) -> None:
    model = GmLveg(options=replace(SMALL, p_min=1e-7, epochs=0), pruner=lvg).fit(trees)
    assert isinstance(model.pruner, Lvg)
    assert (model.threshold, model.pruner.cascade.chart) == (1e-7, 1e-7)
    assert model.pruner.cascade.levels == lvg.cascade.levels
    assert lvg.cascade.chart != 1e-7  # it is not the user's to be changed
    tagger = GmLvegTagger(options=replace(SMALL, p_min=0.0, epochs=0)).fit(tagged)
    assert (tagger.threshold, tagger.pruner.threshold) == (0.0, 0.0)
    assert tagger.tag(tagged[0][0])


def test_parsing_considers_what_training_did(trees: list[Tree], lvg: Lvg, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thresholds of training, also where the user sets what the pruner prunes."""
    model = GmLveg(options=replace(SMALL, looseness=0.01, epochs=0), pruner=lvg).fit(trees)
    assert model.threshold == pytest.approx(0.01 * lvg.threshold)
    seen: list[float] = []
    refine = Lvg.refine

    def watched(self: Lvg, forest: Forest, reading: Any, looseness: float, *gold: Any) -> Forest:
        seen.append(looseness)
        return refine(self, forest, reading, looseness, *gold)

    monkeypatch.setattr(Lvg, "refine", watched)
    example = model.examples(model.prepare_data(trees))[0]
    forests_with_gold(model, [example], 0.01)
    search = model.searched(example.words)
    assert search is not None
    assert len(search.forest.rule) > 0
    assert seen == pytest.approx([0.01, 0.01])
    model.cascade = ACCURATE
    assert model.threshold == pytest.approx(0.01 * ACCURATE.chart)
    strict = GmLveg(options=replace(SMALL, looseness=1.0, epochs=0), pruner=lvg).fit(trees)
    assert strict.threshold == lvg.threshold


# -- the paper

MODEL = {"dim": 3, "components": 4, "word_components": 4, "covariance": "spherical", "unknown": "english", "rare": 1}
START = {"start": "treebank", "alpha": 8.0, "spread": 0.05, "grow": 0}
STEPS = {"memory": 0.0, "rate": 0.01, "batch": 180, "alone": True, "paper": True, "looseness": 1.0, "spans": False}
PRUNING = {"pruner": "pcfg", "subtypes": 4, "p_min": 1e-5, "k_min": 40, "parse_k_min": 20, "k_max": 50, "theta": 0.35}
NO_PRUNING = {"pruner": "lvg", "subtypes": 1, "p_min": 0.0, "k_min": 0, "parse_k_min": None, "k_max": 0, "theta": 1.0}
PARSING = MODEL | START | STEPS | PRUNING | {"epochs": 15, "max_length": 50}
TAGGING = MODEL | START | STEPS | NO_PRUNING | {"epochs": 20, "max_length": 20_000}


@pytest.mark.parametrize(("tags", "expected"), [(False, PARSING), (True, TAGGING)])
def test_the_preset_is_the_paper_s(tags: bool, expected: dict[str, Any]) -> None:
    options = options_from(KIND, {"paper": True}, tags=tags)
    assert {name: getattr(options, name) for name in expected} == expected
    assert set(PAPER) | {"paper"} == set(expected)
    assert all(stated.source for stated in PAPER.values())
    assert type(options).from_json(options.to_json()) == options


def test_the_page_has_the_preset() -> None:
    """Values, and where they come from."""
    page = (Path(__file__).parent.parent / "docs" / "gm-lveg.md").read_text(encoding="utf-8")

    def written(value: object) -> str:
        if isinstance(value, bool):
            return "yes" if value else "no"
        if value is None:
            return "none"
        return f"{value:g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)

    for name, (parser, tagger, source) in PAPER.items():
        assert f"| `{name}` | {written(parser)} | {written(tagger)} | {source} |\n" in page


def test_options_go_before_the_preset() -> None:
    preset: Any = options_from(KIND, {"paper": True}, tags=False)
    assert options_from(KIND, {"epochs": 3, "paper": True, "k_max": 0}, tags=False) == replace(
        preset, epochs=3, k_max=0
    )
    assert options_from(KIND, {"epochs": 3}, tags=False) == GmLvegOptions(epochs=3)


def test_limits_that_make_no_sense() -> None:
    with pytest.raises(LatreeError, match="k_min, 5, must lie between 0 and k_max, 4"):
        replace(SMALL, k_min=5, k_max=4)
    with pytest.raises(LatreeError, match=r"theta, 2\.0, must lie between 0 and 1"):
        replace(SMALL, k_max=4, theta=2.0)


def test_another_pruner_makes_another_training() -> None:
    """So that no checkpoint is taken for that of a training which it is not."""
    one = GmLveg(options=SMALL, pruner=Lvg(rounds=1)).identity()
    assert one == GmLveg(options=replace(SMALL, epochs=9), pruner=Lvg(rounds=1)).identity()
    assert one != GmLveg(options=SMALL, pruner=Lvg(rounds=2)).identity()
    assert one != GmLveg(options=SMALL, pruner=Pcfg()).identity()
    assert one != GmLveg(options=replace(SMALL, k_max=4), pruner=Lvg(rounds=1)).identity()


# -- what it says


def test_alone_and_with_the_pruner(model: GmLveg, trees: list[Tree]) -> None:
    """Nobody asks the pruner where the mixtures decide alone: an edge scores otherwise."""
    words = [tree.words() for tree in trees[:8]]
    scores = []
    for model.joint in (False, True):
        attempts = [model.attempt(tuple(sentence)) for sentence in words]
        search = Search(model, [one for one in attempts if isinstance(one, Attempt)], model.threshold)
        scores.append(search.scores("max-rule"))
    assert scores[0].shape == scores[1].shape
    finite = np.isfinite(scores[0]) & np.isfinite(scores[1])
    assert np.abs(scores[1][finite] - scores[0][finite]).max() > 0.01


def test_several_processes_give_the_same(trees: list[Tree]) -> None:
    model = GmLveg(options=replace(SMALL, epochs=1), pruner=Pcfg()).fit(trees[:60])
    model.joint = False
    sentences = [tree.words() for tree in trees[:70]]
    one, two = ([str(parse) for parse in model.parse_all(sentences, jobs=jobs)] for jobs in (1, 2))
    assert one == two
    with pytest.raises(LatreeError, match="it is a pcfg: there is one threshold"):
        model.cascade = ACCURATE


def test_tagging(tagged: list[tuple[list[str], list[str]]], tmp_path: Path) -> None:
    seen: list[float] = []
    how = Training(after_steps(lambda progress: seen.append(progress.value)))
    model = GmLvegTagger(dim=2, components=2, epochs=4, batch=16).fit(tagged, how)
    assert seen[0] < seen[-1] < 0
    model.save(tmp_path / "t.latree")
    again = load(tmp_path / "t.latree")
    assert isinstance(again, GmLvegTagger)
    assert [again.tag(words) for words, _ in tagged[:20]] == [model.tag(words) for words, _ in tagged[:20]]
    long = [word for words, _ in tagged for word in words][:200]
    found = next(model.analyse([long]))
    assert found.status == "ok"
    assert np.isfinite([found.log_joint, found.log_marginal, *found.confidences]).all()


@pytest.mark.parametrize("better", ["alone", "together"])
def test_held_out_data_says_whether_a_tagger_asks_its_pruner(
    tagged: list[tuple[list[str], list[str]]], tmp_path: Path, better: str
) -> None:
    def score(model: GmLvegTagger) -> float:
        return 2.0 if model.joint == (better == "together") else 1.0

    options = GmLvegOptions.for_tagger(dim=2, components=2, epochs=1, batch=16)
    assert GmLvegTagger(options=options).fit(tagged[:60]).joint  # nobody to say: a pruner with subtypes helps
    assert not GmLvegTagger(options=replace(options, subtypes=1)).fit(tagged[:60]).joint
    model = GmLvegTagger(options=options).fit(tagged[:60], Training(score=score))
    assert model.joint == (better == "together")
    model.save(tmp_path / "t.latree")
    again = load(tmp_path / "t.latree")
    assert isinstance(again, GmLvegTagger)
    assert again.joint == model.joint
    sentences = [words for words, _ in tagged[:70]]
    one, two = ([found.tags for found in again.tag_all(sentences, jobs=jobs)] for jobs in (1, 2))
    assert one == two


# -- lexical rules


def test_lexical_rules() -> None:
    sentences = [[("the", 0), ("dog", 1)], [("the", 0), ("run", 2), ("dog", 1)], [("run", 1)], [("cat", 1)]]
    rules = LexicalRules.of(sentences, Scheme(), 3, rare=1)
    assert set(rules.units) == {"the", "dog", "run", " UNK", ""}
    seen = rules.rules_of(["the", "run", "cat", "new"], seen=True) >= 0
    assert seen.tolist() == [[True, False, False], [False, True, True], [False, True, False], [False, True, False]]
    every = rules.rules_of(["the", "run", "cat", "new"])
    unseen = rules.is_unseen
    assert (every >= 0).all()
    assert unseen[every].tolist() == (~seen).tolist()
    again = LexicalRules.from_arrays(rules.to_arrays(), 3, rules.scheme.header())
    assert again.rules_of(["the", "cat", "new"]).tolist() == rules.rules_of(["the", "cat", "new"]).tolist()
    assert again.is_known("cat")
    assert not again.is_known("new")
