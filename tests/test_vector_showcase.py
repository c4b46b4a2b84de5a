"""What `latree show` tells of latent vectors: the facts against the model's own arrays, the terminal, and the page."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from latree.kinds.gm_lveg.model import GaussianModel
from latree.kinds.gm_lveg.options import GmLvegOptions
from latree.kinds.gm_lveg.parser import GmLveg
from latree.kinds.gm_lveg.showcase import (
    REGIONS,
    Cloud,
    Component,
    Owner,
    VectorShowcase,
    anchors,
    overlaps,
    principal_axes,
)
from latree.kinds.gm_lveg.showcase_html import _Labels, vector_page
from latree.kinds.gm_lveg.tagger import GmLvegTagger
from latree.kinds.lvg.options import LvgOptions
from latree.kinds.lvg.parser import Lvg
from latree.kinds.pcfg.model import Pcfg
from latree.kinds.registry import load
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
    options = GmLvegOptions.for_tagger(components=2, epochs=1, batch=16, spread=0.5, covariance="diagonal")
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


def _symbol(showcase: VectorShowcase, name: str) -> int:
    (found,) = (s for s in showcase.plain.find(name) if showcase.name(s) == name)
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
    showcase = VectorShowcase(model)
    sizes = 0
    for symbol in range(len(model.grammar.symbols)):
        for cloud in (showcase.rules(symbol), showcase.contexts(symbol), showcase.words(symbol)):
            assert not len(cloud) or cloud.weight.sum() == pytest.approx(1)
            assert cloud.shares.sum() == pytest.approx(cloud.weight.sum())
        regions = showcase.regions(symbol, 3)
        assert bool(regions) == (symbol != 0)
        assert not regions or sum(region.share for region in regions) == pytest.approx(1)
        for region in regions:
            here = showcase.contexts(symbol).shares_at(region.anchor)
            assert here.sum() == pytest.approx(1)
            assert len(region.nearest) <= 3
            assert all(0 <= one.overlap <= 1 + 1e-9 for one in region.nearest)
        sizes += showcase.size(symbol)
    assert sizes == len(model.mixtures.log_rho)


def test_components_are_those_of_the_model() -> None:
    model = _parser()
    showcase = VectorShowcase(model)
    for name in ("NP", "NN"):
        symbol = _symbol(showcase, name)
        cloud = showcase.components(symbol)
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
    showcase = VectorShowcase(model)
    symbol = _symbol(showcase, "PP")
    (only,) = showcase.plain.subtypes(symbol, 99)
    expected = {Owner(use.rule, 1 + use.place): use.share for use in only.uses}
    assert len(expected) > 1
    assert dict(showcase.contexts(symbol).heaviest(99)) == pytest.approx(expected, rel=1e-4)


def test_sentences_of_a_tagger_begin_as_often_as_they_end() -> None:
    sentences = [(["a", "b"], ["A", "B"])] * 30 + [(["b"], ["B"])] * 10
    showcase = VectorShowcase(GmLvegTagger(epochs=0).fit(sentences))
    told = dict(showcase.contexts(_symbol(showcase, "B")).heaviest(9))
    starts = next(share for owner, share in told.items() if showcase.grammar.rules[owner.rule, 0] == 0)
    assert starts == pytest.approx(10 / 40, abs=0.02)


# --- overlaps


@pytest.mark.parametrize("make", [_parser, _tagger])
def test_the_nearest_word_is_the_one_that_overlaps_most(make: Any) -> None:
    model = make()
    showcase = VectorShowcase(model)
    symbol = _symbol(showcase, "NN")
    words, rules = showcase.words(symbol), len(model.grammar.rules)
    region = showcase.regions(symbol, 10**6)[1]
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
    told = {one.owner: one.overlap for one in words.nearest(region.anchor)}
    assert told == pytest.approx({owner: direct[owner] for owner in told})
    assert list(told) == sorted(told, key=lambda owner: -direct[owner])
    assert [one.overlap for one in region.nearest] == sorted((one.overlap for one in region.nearest), reverse=True)
    assert region.anchor.owner not in [one.owner for one in region.nearest]


def test_overlap_with_itself_is_the_greatest() -> None:
    cloud = VectorShowcase(_tagger()).words(1)
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
    assert [one.owner.rule for one in cloud.typical(cloud[1], 5)] == [1]  # the others are commoner elsewhere
    assert [one.owner.rule for one in cloud.heaviest(2)] == [0, 1]
    alone = _cloud([1.0], [[0, 0]])
    assert [tuple(one) for one in alone.typical(alone[0], 5)] == [(Owner(0, 0), 1.0)]


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
    showcase = VectorShowcase(_parser())
    rows = [line.split()[:2] for line in lines if "━" in line]
    assert {name: int(size) for name, size in rows} == {showcase.name(s): showcase.size(s) for s in showcase.by_size}
    assert any(re.match(r" DT +\d+ +━+ +the 0\.\d{3}", line) for line in lines)


def test_a_category_is_shown_with_its_regions(saved: Path) -> None:
    showcase = VectorShowcase(_parser())
    lines = done("show", "-m", saved, "--symbol", "NN", "--top", "2").lines
    size = showcase.size(_symbol(showcase, "NN"))
    count = sum(tree.tags().count("NN") for tree in toy_trees("dev"))
    assert lines[0] == f"NN: tag, {size} components, {count:,} times"
    (first, _) = showcase.words(_symbol(showcase, "NN")).heaviest(2)
    assert lines[1].startswith(f"words: {showcase.word(first.owner)} {first.share:.3f}, ")
    number = r"-?\d\.\d\d"
    place = rf"at \({number}, {number}\), sd {number}"
    heaviest = lines.index("heaviest components")
    assert all(re.fullmatch(rf"  \S+ + \d+\.\d%  {place}", line) for line in lines[heaviest + 1 : heaviest + 3])
    regions = [line for line in lines if line.startswith("region ")]
    assert len(regions) == REGIONS
    assert all(re.fullmatch(rf"region \d, around \S.*: \d+\.\d%, {place}", line) for line in regions)
    for heading in ("  in: ", "  words: ", "  nearest: "):
        assert sum(line.startswith(heading) for line in lines) == REGIONS
    assert any(re.match(r"  in: @?[A-Z]+ -> .*\[NN\]", line) for line in lines)
    phrase = done("show", "-m", saved, "--symbol", "NP").lines
    assert sum(line.startswith("  becomes: ") for line in phrase) >= REGIONS
    assert any(line.startswith("@NP: part, ") for line in phrase)


def test_the_root_has_no_place(saved: Path) -> None:
    lines = done("show", "-m", saved, "--symbol", "ROOT").lines
    assert lines == ["ROOT: root, 2 components, no latent vector, 100 times", "rules: ROOT -> S 1.000"]


def test_an_unknown_category(saved: Path) -> None:
    outcome = latree("show", "-m", saved, "--symbol", "XP")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith("latree: the model has no category 'XP'; it has ")


def test_names_of_words_and_classes() -> None:
    sentences = [(["a", "a", "rare"], ["A", "A", "B"]), (["a", "odd"], ["A", "B"])]
    model = GmLvegTagger(epochs=0).fit(sentences)
    showcase = VectorShowcase(model)
    names = {showcase.word(owner) for owner in showcase.words(_symbol(showcase, "B")).owners}
    assert "(any other)" in names
    assert any(str(name).startswith("(class ") for name in names)
    assert showcase.word(Owner(0, 0)) is None
    ends = [owner for owner in showcase.rules(_symbol(showcase, "B")).owners if not showcase.children(owner)]
    assert [showcase.right_side(owner) for owner in ends] == ["(end)"]


# --- the page


@pytest.mark.parametrize("make", [_parser, _tagger, _flat])
def test_the_page_has_a_map_of_every_category_and_no_loose_ends(make: Any) -> None:
    model = make()
    text = vector_page(model, "a model", top=3)
    read, showcase = Reader(text), VectorShowcase(model)
    expected = {f"c{symbol}": int(symbol != 0) for symbol in range(len(model.grammar.symbols))}
    assert read.maps == expected  # the root has no vector
    for symbol in range(1, len(model.grammar.symbols)):
        assert showcase.name(symbol) in read.texts
        assert {f"c{symbol}-{region.number}" for region in showcase.regions(symbol, 1)} <= set(read.ids)
    assert len(read.ids) == len(set(read.ids))
    assert read.links <= {f"#{place}" for place in read.ids}  # and nothing outside the page
    assert not re.search(r"https?:|url\(|@import|\bnan\b", text)
    assert read.tags["circle"] == sum(min(showcase.size(s), 250) for s in range(1, len(model.grammar.symbols)))


def test_the_page_escapes_what_the_model_says() -> None:
    tree = Tree("ROOT", [Tree(f'"{EVIL}', [Tree(EVIL, word=f"'>{EVIL}&amp;"), Tree("\x00", word="\ud800")])])
    pruner = Lvg(subtypes=2, labels=LabelRules.named("raw"), options=QUICK)
    model = GmLveg(options=GmLvegOptions(epochs=0), pruner=pruner).fit([tree] * 3)
    model.training = {EVIL: {EVIL: [EVIL]}}
    text = vector_page(model, EVIL)
    text.encode()
    assert "<script" not in text
    assert {EVIL, f'"{EVIL}', f"'>{EVIL}&amp;"} <= set(Reader(text).texts)


def test_labels_leave_each_other_room() -> None:
    labels = _Labels()
    found = [labels.place("word", 300.0, 200.0) for _ in range(6)]
    placed = [box for box in found if box is not None]
    assert 2 <= len(placed) < 6
    assert not any(one.meets(other) for k, one in enumerate(placed) for other in placed[:k])
    assert _Labels().place("x" * 500, 300.0, 200.0) is None  # too long for the picture
    beside = _Labels().place("word", 755.0, 200.0)  # at the right edge it stands to the left
    assert beside is not None
    assert beside.right <= 755.0


def test_the_page_is_written_whole(saved: Path, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    outcome = latree("show", "-m", saved, "--html", path, "--top", "1")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", f"latree: written to {path}\n")
    model = load(saved)
    assert isinstance(model, GaussianModel)
    assert path.read_text(encoding="utf-8") == vector_page(model, "m.latree", top=1)


def test_the_map_keeps_what_lies_far_out() -> None:
    """All centres are within the picture, and drawn at one scale."""
    model = _parser()
    showcase = VectorShowcase(model)
    plan = showcase.plan(_symbol(showcase, "NP"), 10**6)
    cloud = showcase.components(_symbol(showcase, "NP"))
    assert len(plan.components) == len(cloud)
    apart = np.linalg.norm(plan.place[0] - plan.place[1])
    one, other = plan.components[0], plan.components[1]
    assert apart == pytest.approx(float(np.linalg.norm(one.mean - other.mean)))  # in two dimensions nothing is lost
    assert [part.share for part in plan.components] == sorted(cloud.weight.tolist(), reverse=True)
    np.testing.assert_allclose(plan.spread, [part.sd[0] for part in plan.components])
    assert isinstance(one, Component)
    centres = re.findall(r'cx="([-\d.]+)" cy="([-\d.]+)"', vector_page(model, "m"))
    assert all(0 <= float(x) <= 760 and 0 <= float(y) <= 460 for x, y in centres)
