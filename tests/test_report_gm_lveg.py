"""What `latree show` tells of latent vectors: the facts against the model's own arrays, the terminal, and the page."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from latree.kinds.gm_lveg import GmLvegOptions
from latree.kinds.gm_lveg.clouds import (
    REGIONS,
    Cloud,
    Component,
    Owner,
    Spaces,
    anchors,
    overlaps,
    principal_axes,
)
from latree.kinds.gm_lveg.model import GaussianModel, GmLveg, GmLvegTagger
from latree.kinds.gm_lveg.report import report
from latree.kinds.lvg import LvgOptions
from latree.kinds.lvg.model import Lvg
from latree.kinds.pcfg.model import Pcfg
from latree.kinds.registry import load
from latree.kinds.report import Ask, Subtypes
from latree.report.html import page
from latree.text.labels import LabelRules
from latree.text.tree import Tree
from tests.command import done, latree, toy_trees
from tests.pages import EVIL, Reader

QUICK = LvgOptions(split_iterations=4, merge_iterations=3, smooth_iterations=2)
SMALL = GmLvegOptions(dim=2, components=2, epochs=2, batch=16, spread=0.5)


@cache
def _parser() -> GmLveg:
    trees = toy_trees("dev")
    return GmLveg(options=SMALL, pruner=Lvg(rounds=2, options=QUICK)).fit(trees)


@cache
def _tagger() -> GmLvegTagger:
    options = GmLvegOptions(dim=3, components=2, epochs=1, batch=16, spread=0.5, covariance="diagonal")
    return GmLvegTagger(options=options).fit([(tree.words(), tree.tags()) for tree in toy_trees("dev")])


@cache
def _flat() -> GmLveg:
    """In one dimension, all means alike, and over a pruner that does not know how often phrases occur."""
    options = GmLvegOptions(dim=1, components=1, epochs=0, spread=0.0)
    return GmLveg(options=options, pruner=Pcfg()).fit(toy_trees("dev"))


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("vectors") / "m.latree"
    _parser().save(path)
    return path


def _symbol(spaces: Spaces, name: str) -> int:
    (found,) = (s for s in spaces.names.find(name) if spaces.names.name(s) == name)
    return found


def _gaussian(model: GaussianModel, component: int, port: int) -> tuple[Any, Any]:
    """Mean and variance, read one number at a time."""
    slot, mixtures = int(model.components.slot[component, port]), model.mixtures
    mean = [float(x) for x in mixtures.mean[slot]]
    sd = [float(np.exp(x)) for x in mixtures.log_sd[slot]]
    return np.array(mean), np.array([x * x for x in (sd if len(sd) > 1 else sd * len(mean))])


def _integral(one: tuple[Any, Any], other: tuple[Any, Any]) -> float:
    """Of the product of two Gaussians, on a grid, a dimension at a time."""
    x = np.linspace(-15, 15, 6001)
    found = 1.0
    for m1, v1, m2, v2 in zip(*one, *other, strict=True):
        first, second = (np.exp(-((x - m) ** 2) / (2 * v)) / np.sqrt(2 * np.pi * v) for m, v in ((m1, v1), (m2, v2)))
        found *= float((first * second).sum() * (x[1] - x[0]))
    return found


# --- clouds


@pytest.mark.parametrize("make", [_parser, _tagger, _flat])
def test_weights_and_shares_add_up(make: Any) -> None:
    model = make()
    spaces = Spaces(model)
    sizes = 0
    for symbol in range(len(model.grammar.symbols)):
        for cloud in (spaces.rules(symbol), spaces.contexts(symbol), spaces.words(symbol)):
            assert not len(cloud) or cloud.weight.sum() == pytest.approx(1)
            assert cloud.shares.sum() == pytest.approx(cloud.weight.sum())
        regions = spaces.regions(symbol, 3)
        assert bool(regions) == (symbol != 0)
        assert not regions or sum(region.share for region in regions) == pytest.approx(1)
        for region in regions:
            here = spaces.contexts(symbol).shares_at(region.anchor)
            assert here.sum() == pytest.approx(1)
            assert len(region.nearest) <= 3
            assert all(0 <= one[1] <= 1 + 1e-9 for one in region.nearest)
        sizes += spaces.size(symbol)
    assert sizes == len(model.mixtures.log_rho)


def test_components_are_those_of_the_model() -> None:
    model = _parser()
    spaces = Spaces(model)
    for name in ("NP", "NN"):
        symbol = _symbol(spaces, name)
        cloud = spaces.components(symbol)
        for k in range(len(cloud)):
            one = cloud[k]
            component = int(model.components.first[one.owner.rule]) + int((cloud.rule[:k] == one.owner.rule).sum())
            mean, var = _gaussian(model, component, 0)
            np.testing.assert_allclose(one.mean, mean)
            np.testing.assert_allclose(one.sd**2, var)
            other = cloud.weight[k] / cloud.weight[0]
            first = int(model.components.first[cloud.rule[0]])
            assert other == pytest.approx(np.exp(model.mixtures.log_rho[component] - model.mixtures.log_rho[first]))


def test_contexts_are_weighed_by_how_often_their_parents_occur() -> None:
    """At its start the grammar is the treebank's: shares are those of the places where a category stands."""
    trees = toy_trees("dev")
    model = GmLveg(options=GmLvegOptions(dim=2, epochs=0), pruner=Lvg(subtypes=1, options=QUICK)).fit(trees)
    spaces = Spaces(model)
    symbol = _symbol(spaces, "PP")
    (only,) = Subtypes(model.pruner).uses(symbol, 99)
    expected = {Owner(rule, 1 + place): share for (rule, place), share in only}
    assert len(expected) > 1
    assert dict(spaces.contexts(symbol).heaviest(99)) == pytest.approx(expected, rel=1e-4)


def test_sentences_of_a_tagger_begin_as_often_as_they_end() -> None:
    sentences = [(["a", "b"], ["A", "B"])] * 30 + [(["b"], ["B"])] * 10
    spaces = Spaces(GmLvegTagger(epochs=0).fit(sentences))
    told = dict(spaces.contexts(_symbol(spaces, "B")).heaviest(9))
    starts = next(share for owner, share in told.items() if spaces.grammar.rules[owner.rule, 0] == 0)
    assert starts == pytest.approx(10 / 40, abs=0.02)


# --- overlaps


@pytest.mark.parametrize("make", [_parser, _tagger])
def test_the_nearest_word_is_the_one_that_overlaps_most(make: Any) -> None:
    model = make()
    spaces = Spaces(model)
    symbol = _symbol(spaces, "NN")
    words, rules = spaces.words(symbol), len(model.grammar.rules)
    region = spaces.regions(symbol, 10**6)[1]
    place = region.anchor.mean, region.anchor.sd**2
    direct = {}
    for rule in set(words.rule.tolist()):
        assert model.lexical.tag[rule - rules] == symbol - model.grammar.first_tag
        near, total = 0.0, 0.0
        for component in range(model.components.first[rule], model.components.first[rule + 1]):
            own, rho = _gaussian(model, component, 0), float(np.exp(model.mixtures.log_rho[component]))
            near += rho * _integral(place, own) / np.sqrt(_integral(place, place) * _integral(own, own))
            total += rho
        direct[Owner(rule, 0)] = near / total
    told = dict(words.nearest(region.anchor))
    assert told == pytest.approx({owner: direct[owner] for owner in told})
    assert list(told) == sorted(told, key=lambda owner: -direct[owner])
    assert [one[1] for one in region.nearest] == sorted((one[1] for one in region.nearest), reverse=True)
    assert region.anchor.owner not in dict(region.nearest)


def test_overlap_with_itself_is_the_greatest() -> None:
    cloud = Spaces(_tagger()).words(1)
    for k in range(len(cloud)):
        one, here = cloud[k], slice(k, k + 1)
        alone = Cloud(cloud.rule[here], cloud.port[here], cloud.weight[here], cloud.mean[here], cloud.var[here])
        assert alone.nearness(one) == pytest.approx(1)
    assert overlaps(one.mean, one.sd**2, one.mean + 1, one.sd**2) < overlaps(one.mean, one.sd**2, one.mean, one.sd**2)


def _cloud(weight: list[float], mean: list[list[float]]) -> Cloud:
    count = len(weight)
    return Cloud(np.arange(count), np.zeros(count, np.int64), np.array(weight), np.array(mean), np.ones((count, 2)))


def test_shares_at_a_place_are_weights_times_overlaps() -> None:
    cloud = _cloud([0.5, 0.3, 0.2], [[0, 0], [2, 0], [0, 4]])
    here = cloud.shares_at(cloud[1])
    expected = np.array([0.5 * np.exp(-1), 0.3, 0.2 * np.exp(-5)])
    np.testing.assert_allclose(here, expected / expected.sum())
    assert [owner.rule for owner, _ in cloud.typical(cloud[1], 5)] == [1]  # the others are commoner elsewhere
    assert [owner.rule for owner, _ in cloud.heaviest(2)] == [0, 1]
    alone = _cloud([1.0], [[0, 0]])
    assert alone.typical(alone[0], 5) == [(Owner(0, 0), 1.0)]


def test_anchors_are_heavy_and_far_apart() -> None:
    cloud = _cloud([0.4, 0.3, 0.2, 0.1], [[0, 0], [0.1, 0], [0, 3], [5, 0]])
    assert anchors(cloud, 3) == [0, 3, 2]
    assert anchors(cloud, 9) == [0, 3, 2, 1]
    assert anchors(_cloud([0.5, 0.5], [[1, 1], [1, 1]]), 3) == [0]


def test_principal_axes() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(500, 3)) * [0.1, 3.0, 1.0]
    points -= points.mean(axis=0)
    axes, explained = principal_axes(points, np.full(500, 1 / 500))
    np.testing.assert_allclose(np.abs(axes), [[0, 1, 0], [0, 0, 1]], atol=0.1)
    assert explained[0] == pytest.approx(0.9, abs=0.03)
    assert sum(explained) <= 1
    line, shares = principal_axes(np.array([[-1.0], [1.0]]), np.array([0.5, 0.5]))
    assert (line.tolist(), shares) == ([[1.0], [0.0]], (1.0, 0.0))


# --- the terminal


def test_the_overview(saved: Path) -> None:
    lines = done("show", "-m", saved).lines
    assert lines[0] == "kind: gm-lveg"
    assert {"dimension: 2", "covariance: spherical", "pruner: lvg"} <= set(lines)
    spaces = Spaces(_parser())
    rows = [line.split()[:2] for line in lines if "━" in line]
    assert {name: int(size) for name, size in rows} == {
        spaces.names.name(s): spaces.size(s) for s in range(len(spaces.grammar.symbols))
    }
    assert any(re.match(r" DT +\d+ +━+ +the 0\.\d{3}", line) for line in lines)


def test_a_category_is_shown_with_its_regions(saved: Path) -> None:
    spaces = Spaces(_parser())
    lines = done("show", "-m", saved, "--symbol", "NN", "--top", "2").lines
    size = spaces.size(_symbol(spaces, "NN"))
    count = sum(tree.tags().count("NN") for tree in toy_trees("dev"))
    assert lines[0] == f"NN: tag, {size} components, {count:,} times"
    (owner, share), _ = spaces.words(_symbol(spaces, "NN")).heaviest(2)
    assert lines[1].startswith(f"words: {spaces.word(owner)} {share:.3f}, ")
    number = r"-?\d+\.\d\d"
    place = rf"at \({number}, {number}\), sd {number}"
    heaviest = lines.index("heaviest components")
    assert all(re.fullmatch(rf"  \S+ + \d+\.\d%  {place}", line) for line in lines[heaviest + 1 : heaviest + 3])
    regions = spaces.regions(_symbol(spaces, "NN"), 2)
    assert 1 < len(regions) <= REGIONS
    told = [line for line in lines if line.startswith("region ")]
    assert len(told) == len(regions)
    assert all(re.fullmatch(rf"region \d, around \S.*: \d+\.\d%, {place}", line) for line in told)
    for heading in ("  stands in", "  words: ", "  nearest by overlap"):
        assert sum(line.startswith(heading) for line in lines) == len(regions)
    assert any(re.match(r"    @?[A-Z]+ -> .*\[NN\]", line) for line in lines)
    phrase = done("show", "-m", saved, "--symbol", "NP").lines
    becoming = [len(spaces.regions(symbol, 1)) for symbol in spaces.names.find("NP")]
    assert phrase.count("  becomes") == sum(becoming)
    assert any(line.startswith("@NP: part, ") for line in phrase)


def test_the_root_has_no_place(saved: Path) -> None:
    lines = done("show", "-m", saved, "--symbol", "ROOT").lines
    assert lines == ["ROOT: root, 2 components, no latent vector, 100 times", "rules: -> S 1.000"]


def test_an_unknown_category(saved: Path) -> None:
    outcome = latree("show", "-m", saved, "--symbol", "XP")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith("latree: the model has no category 'XP'; it has ")


def test_names_of_words_and_classes() -> None:
    sentences = [(["a", "a", "rare"], ["A", "A", "B"]), (["a", "odd"], ["A", "B"])]
    model = GmLvegTagger(epochs=0).fit(sentences)
    spaces = Spaces(model)
    names = {spaces.word(owner) for owner in spaces.words(_symbol(spaces, "B")).owners}
    assert "(any other)" in names
    assert any(str(name).startswith("(class ") for name in names)
    assert spaces.word(Owner(0, 0)) is None
    ends = [owner for owner in spaces.rules(_symbol(spaces, "B")).owners if not spaces.children(owner)]
    assert [spaces.right_side(owner) for owner in ends] == ["(end)"]


# --- the page


def _page(model: GaussianModel, title: str = "", top: int = 3) -> str:
    return page(replace(report(model, Ask(top, every=True)), title=title))


@pytest.mark.parametrize("make", [_parser, _tagger, _flat])
def test_the_page_has_a_map_of_every_category_and_no_loose_ends(make: Any) -> None:
    model = make()
    read, spaces = Reader(_page(model)), Spaces(model)
    assert read.maps == {f"c{symbol}": int(symbol != 0) for symbol in range(len(model.grammar.symbols))}
    for symbol in range(1, len(model.grammar.symbols)):
        assert spaces.names.name(symbol) in read.texts
        assert {f"c{symbol}-{region.number}" for region in spaces.regions(symbol, 1)} <= set(read.ids)
    assert read.tags["circle"] == sum(min(spaces.size(s), 250) for s in range(1, len(model.grammar.symbols)))


def test_the_page_escapes_what_the_model_says() -> None:
    tree = Tree("ROOT", [Tree(f'"{EVIL}', [Tree(EVIL, word=f"'>{EVIL}&amp;"), Tree("\x00", word="\ud800")])])
    pruner = Lvg(subtypes=2, labels=LabelRules.named("raw"), options=QUICK)
    model = GmLveg(options=GmLvegOptions(epochs=0), pruner=pruner).fit([tree] * 3)
    model.training = {EVIL: {EVIL: [EVIL]}}
    text = _page(model, EVIL)
    assert "<script" not in text
    assert {EVIL, f'"{EVIL}', f"'>{EVIL}&amp;"} <= set(Reader(text).texts)


def test_the_page_is_written_whole(saved: Path, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    outcome = latree("show", "-m", saved, "--html", path, "--top", "1")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", f"latree: written to {path}\n")
    model = load(saved)
    assert isinstance(model, GaussianModel)
    assert path.read_text(encoding="utf-8") == _page(model, "m.latree", top=1)


def test_sums_over_subtypes_are_refused(saved: Path) -> None:
    outcome = latree("show", "-m", saved, "--summed")
    assert (outcome.code, outcome.out) == (1, "")
    assert "this model has latent vectors" in outcome.err


def test_the_map_keeps_what_lies_far_out() -> None:
    """In two dimensions nothing is lost."""
    model = _parser()
    spaces = Spaces(model)
    plan = spaces.plan(_symbol(spaces, "NP"), 10**6)
    cloud = spaces.components(_symbol(spaces, "NP"))
    assert len(plan.components) == len(cloud)
    apart = np.linalg.norm(plan.place[0] - plan.place[1])
    one, other = plan.components[0], plan.components[1]
    assert apart == pytest.approx(float(np.linalg.norm(one.mean - other.mean)))
    assert [part.share for part in plan.components] == sorted(cloud.weight.tolist(), reverse=True)
    np.testing.assert_allclose(plan.spread, [part.sd[0] for part in plan.components])
    assert isinstance(one, Component)
