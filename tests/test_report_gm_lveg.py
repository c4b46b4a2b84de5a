"""What `latree show` tells of latent vectors: the facts against the model's own arrays, the terminal, and the page."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from latree.kinds.gm_lveg import GmLvegOptions
from latree.kinds.gm_lveg.clouds import Cloud, Owner, overlaps, principal_axes
from latree.kinds.gm_lveg.model import GaussianModel, GmLveg, GmLvegTagger
from latree.kinds.gm_lveg.report import DRAWN, RADIUS, REGIONS, Mixtures
from latree.kinds.lvg import LvgOptions
from latree.kinds.lvg.model import Lvg
from latree.kinds.pcfg.model import Pcfg
from latree.kinds.report import Ask, Subtypes
from latree.report.html import page
from latree.report.value import Flow, Scatter, Section, Table
from tests.command import done, toy_trees
from tests.pages import Reader

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


def _symbol(told: Mixtures, name: str) -> int:
    (found,) = (s for s in told.find(name) if told.name(s) == name)
    return found


def _rows(section: Section, title: str) -> list[tuple[Any, ...]]:
    """The rows of the tables, or the items of the words, of that title."""
    blocks = [block for block in section.blocks if isinstance(block, Table | Flow) and block.title == title]
    return [row for block in blocks for row in (block.rows if isinstance(block, Table) else block.items)]


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
    told = Mixtures(model, Ask(3))
    for symbol, space in enumerate(told.spaces):
        for cloud in space:
            assert not len(cloud) or cloud.weight.sum() == pytest.approx(1)
            assert cloud.shares.sum() == pytest.approx(cloud.weight.sum())
            for k in range(len(cloud)):
                assert space.contexts.shares_at(cloud[k]).sum() == pytest.approx(1 if len(space.contexts) else 0)
        cards = told.section(symbol).cards
        assert bool(cards) == (symbol != 0)
        assert not cards or sum(card.share or 0 for card in cards) == pytest.approx(1)
        for card in cards:
            near = [figure for _, figure in _rows(card, "nearest by overlap")]
            assert len(near) <= 3
            assert near == sorted(near, reverse=True)
            assert all(0 <= figure <= 1 + 1e-9 for figure in near)
    assert sum(map(told.size, range(len(told.spaces)))) == len(model.mixtures.log_rho)


def test_components_are_those_of_the_model() -> None:
    model = _parser()
    told = Mixtures(model)
    for name in ("NP", "NN"):
        cloud = told.spaces[_symbol(told, name)].components
        for k in range(len(cloud)):
            component = int(model.components.first[cloud.rule[k]]) + int((cloud.rule[:k] == cloud.rule[k]).sum())
            mean, var = _gaussian(model, component, 0)
            np.testing.assert_allclose(cloud.mean[k], mean)
            np.testing.assert_allclose(cloud.var[k], var)
            other = cloud.weight[k] / cloud.weight[0]
            first = int(model.components.first[cloud.rule[0]])
            assert other == pytest.approx(np.exp(model.mixtures.log_rho[component] - model.mixtures.log_rho[first]))


def test_contexts_are_weighed_by_how_often_their_parents_occur() -> None:
    """At its start the grammar is the treebank's: shares are those of the places where a category stands."""
    trees = toy_trees("dev")
    model = GmLveg(options=GmLvegOptions(dim=2, epochs=0), pruner=Lvg(subtypes=1, options=QUICK)).fit(trees)
    told = Mixtures(model)
    symbol = _symbol(told, "PP")
    (only,) = Subtypes(model.pruner).uses(symbol, 99)
    expected = {Owner(rule, 1 + place): share for (rule, place), share in only}
    assert len(expected) > 1
    assert dict(told.spaces[symbol].contexts.heaviest(99)) == pytest.approx(expected, rel=1e-4)


def test_sentences_of_a_tagger_begin_as_often_as_they_end() -> None:
    sentences = [(["a", "b"], ["A", "B"])] * 30 + [(["b"], ["B"])] * 10
    told = Mixtures(GmLvegTagger(epochs=0).fit(sentences))
    contexts = dict(told.spaces[_symbol(told, "B")].contexts.heaviest(9))
    starts = next(share for owner, share in contexts.items() if told.grammar.rules[owner.rule, 0] == 0)
    assert starts == pytest.approx(10 / 40, abs=0.02)


# --- overlaps


@pytest.mark.parametrize("make", [_parser, _tagger])
def test_the_nearest_word_is_the_one_that_overlaps_most(make: Any) -> None:
    model = make()
    told = Mixtures(model, Ask(10**6))
    symbol = _symbol(told, "NN")
    cloud, words, rules = told.spaces[symbol].components, told.spaces[symbol].words, len(model.grammar.rules)
    anchor = cloud.anchors(REGIONS)[1]
    direct = {}
    for rule in set(words.rule.tolist()):
        assert model.lexical.tag[rule - rules] == symbol - model.grammar.first_tag
        near, total = 0.0, 0.0
        for component in range(model.components.first[rule], model.components.first[rule + 1]):
            own, rho = _gaussian(model, component, 0), float(np.exp(model.mixtures.log_rho[component]))
            near += (
                rho
                * _integral(cloud[anchor], own)
                / np.sqrt(_integral(cloud[anchor], cloud[anchor]) * _integral(own, own))
            )
            total += rho
        direct[Owner(rule, 0)] = near / total
    nearest = dict(words.nearest(cloud[anchor]))
    assert nearest == pytest.approx({owner: direct[owner] for owner in nearest})
    assert list(nearest) == sorted(nearest, key=lambda owner: -direct[owner])
    names = [name for name, _ in _rows(told.section(symbol).cards[1], "nearest by overlap")]
    assert told.owner_name(cloud.owner(anchor)) not in names
    assert {told.owner_name(owner) for owner in nearest if owner != cloud.owner(anchor)} <= set(names)


def test_overlap_with_itself_is_the_greatest() -> None:
    cloud = Mixtures(_tagger()).spaces[1].words
    for k in range(len(cloud)):
        one, here = cloud[k], slice(k, k + 1)
        alone = Cloud(cloud.rule[here], cloud.port[here], cloud.weight[here], cloud.mean[here], cloud.var[here])
        assert alone.nearness(one) == pytest.approx(1)
    assert overlaps(*one, one.mean + 1, one.var) < overlaps(*one, *one)


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
    assert cloud.anchors(3) == [0, 3, 2]
    assert cloud.anchors(9) == [0, 3, 2, 1]
    assert _cloud([0.5, 0.5], [[1, 1], [1, 1]]).anchors(3) == [0]


def test_principal_axes() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(500, 3)) * [0.1, 3.0, 1.0]
    points -= points.mean(axis=0)
    axes, explained = principal_axes(points, np.full(500, 1 / 500))
    np.testing.assert_allclose(np.abs(axes), [[0, 1, 0], [0, 0, 1]], atol=0.1)
    assert explained[0] == pytest.approx(0.9, abs=0.03)
    assert explained.sum() <= 1
    line, shares = principal_axes(np.array([[-1.0], [1.0]]), np.array([0.5, 0.5]))
    assert (line.tolist(), shares.tolist()) == ([[1.0], [0.0]], [1.0, 0.0])


# --- the terminal


def test_the_overview(saved: Path) -> None:
    lines = done("show", "-m", saved).lines
    assert lines[0] == "kind: gm-lveg"
    assert {"dimension: 2", "covariance: spherical", "pruner: lvg"} <= set(lines)
    told = Mixtures(_parser())
    rows = [line.split()[:2] for line in lines if "━" in line]
    assert {name: int(size) for name, size in rows} == {
        told.name(s): told.size(s) for s in range(len(told.grammar.symbols))
    }
    assert any(re.match(r" DT +\d+ +━+ +the 0\.\d{3}", line) for line in lines)


def test_a_category_is_shown_with_its_regions(saved: Path) -> None:
    told = Mixtures(_parser())
    symbol = _symbol(told, "NN")
    lines = done("show", "-m", saved, "--symbol", "NN", "--top", "2").lines
    count = sum(tree.tags().count("NN") for tree in toy_trees("dev"))
    assert lines[0] == f"NN: tag, {told.size(symbol)} components, {count:,} times"
    (owner, share), _ = told.spaces[symbol].words.heaviest(2)
    assert lines[1].startswith(f"words: {told.short_name(owner)} {share:.3f}, ")
    number = r"-?\d+\.\d\d"
    place = rf"at \({number}, {number}\), sd {number}"
    heaviest = lines.index("heaviest components")
    assert all(re.fullmatch(rf"  \S+ + \d+\.\d%  {place}", line) for line in lines[heaviest + 1 : heaviest + 3])
    regions = told.spaces[symbol].components.anchors(REGIONS)
    assert 1 < len(regions) <= REGIONS
    headings = [line for line in lines if line.startswith("region ")]
    assert len(headings) == len(regions)
    assert all(re.fullmatch(rf"region \d, around \S.*: \d+\.\d%, {place}", line) for line in headings)
    for heading in ("  stands in", "  words: ", "  nearest by overlap"):
        assert sum(line.startswith(heading) for line in lines) == len(regions)
    assert any(re.match(r"    @?[A-Z]+ -> .*\[NN\]", line) for line in lines)
    phrase = done("show", "-m", saved, "--symbol", "NP").lines
    assert phrase.count("  becomes") == sum(line.startswith("region ") for line in phrase)
    assert any(line.startswith("@NP: part, ") for line in phrase)


def test_the_root_has_no_place(saved: Path) -> None:
    lines = done("show", "-m", saved, "--symbol", "ROOT").lines
    assert lines == ["ROOT: root, 2 components, no latent vector, 100 times", "rules: -> S 1.000"]


def test_names_of_words_and_classes() -> None:
    sentences = [(["a", "a", "rare"], ["A", "A", "B"]), (["a", "odd"], ["A", "B"])]
    told = Mixtures(GmLvegTagger(epochs=0).fit(sentences))
    space = told.spaces[_symbol(told, "B")]
    names = {told.owner_name(owner) for owner in space.words.owners}
    assert "(any other)" in names
    assert any(str(name).startswith("(class ") for name in names)
    ends = [owner for owner in space.rules.owners if not told.children(owner.rule)]
    assert [told.short_name(owner) for owner in ends] == ["(end)"]
    assert [told.owner_name(owner) for owner in ends] == [("-> ", "(end)")]


# --- the page


@pytest.mark.parametrize("make", [_parser, _tagger, _flat])
def test_the_page_has_a_map_of_every_category_and_no_loose_ends(make: Any) -> None:
    told = Mixtures(make(), Ask(3, every=True))
    read, symbols = Reader(page(told.report())), range(len(told.grammar.symbols))
    assert read.maps == {f"c{symbol}": int(symbol != 0) for symbol in symbols}
    for symbol in symbols[1:]:
        assert told.name(symbol) in read.texts
        regions = told.spaces[symbol].components.anchors(REGIONS)
        assert {f"c{symbol}-{number}" for number in range(len(regions))} <= set(read.ids)
    assert read.tags["circle"] == sum(min(told.size(s), DRAWN) for s in symbols[1:])


def test_the_map_keeps_what_lies_far_out() -> None:
    """In two dimensions nothing is lost."""
    told = Mixtures(_parser())
    symbol = _symbol(told, "NP")
    cloud = told.spaces[symbol].components
    (plot,) = (block for block in told.section(symbol).blocks if isinstance(block, Scatter))
    order = np.argsort(-cloud.weight, kind="stable")
    assert [dot.weight for dot in plot.dots] == cloud.weight[order].tolist()
    one, other = plot.dots[:2]
    apart = float(np.linalg.norm(cloud.mean[order[0]] - cloud.mean[order[1]]))
    assert np.hypot(one.x - other.x, one.y - other.y) == pytest.approx(apart)
    radii = (RADIUS * np.sqrt(cloud.var[order, 0])).tolist()
    assert [dot.radius for dot in plot.dots] == pytest.approx(radii)
