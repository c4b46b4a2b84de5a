"""Probabilities and what is so: the measure by hand, and a temperature against derivations written out."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import latree
from latree.data import toy
from latree.diagnosis.calibration import calibration, checked_parser, judge
from latree.diagnosis.temperature import TEMPERATURES, at_temperature, best_temperature, squared_errors
from latree.inference.forest import PASS
from latree.inference.forms.sparse import no_statistics
from latree.inference.pooled import tempered
from latree.inference.sweep import infer
from latree.kinds.analyses import rank
from latree.kinds.lvg import LvgOptions
from latree.kinds.lvg.model import Lvg
from latree.kinds.parser import Parser
from latree.kinds.pcfg.model import Pcfg
from latree.kinds.product.model import Product
from latree.kinds.search import Attempt
from latree.scoring.reliability import reliability
from latree.text.tree import Tree
from tests.command import done, model, toy_trees
from tests.command import latree as run
from tests.enumerate import weights_of
from tests.forests import all_edge_sets
from tests.grammars import example, full_forest, ones

SHORT = ["the", "dog", "sleeps", "."]
QUICK = LvgOptions(split_iterations=10, merge_iterations=5, smooth_iterations=2)


def test_the_error_by_hand() -> None:
    found = reliability([(0.95, True), (0.85, True), (0.85, False), (0.1, False), (0.0, False), (1.0, True)])
    assert [(one.low, one.count) for one in found.bins] == [(0.0, 2), (0.8, 2), (0.9, 2)]
    assert [one.right for one in found.bins] == [0.0, 0.5, 1.0]
    assert found.error == pytest.approx((2 * 0.05 + 2 * 0.35 + 2 * 0.025) / 6)
    assert found.squared_error == pytest.approx((0.05**2 + 0.15**2 + 0.85**2 + 0.1**2) / 6)
    assert found.said == pytest.approx(3.75 / 6)
    assert reliability([]).to_json()["ece"] == 0


@pytest.mark.parametrize("temperature", [0.5, 1.0, 1.7])
@pytest.mark.parametrize("seed", range(4))
def test_a_temperature_is_a_power_of_every_tree(seed: int, temperature: float) -> None:
    """A scalar grammar is its own nearest PCFG over the forest, so that nothing is approximated."""
    grammar, theta, emissions = example(seed, most=200)
    forest, width = full_forest(grammar, theta, emissions), ones(grammar)
    weights = weights_of(grammar, theta, emissions, width)
    before = infer(forest, weights, no_statistics(weights), width)
    found = tempered(grammar, forest, before.posterior, before.log_z, temperature)
    value = np.concatenate([theta, emissions.ravel(), [1.0]])
    sets = [list(edges) for edges in all_edge_sets(forest, int(forest.root[0]))]
    powers = np.array([math.prod(value[forest.rule[edges]]) ** (1 / temperature) for edges in sets])
    shares = powers / powers.sum()
    posterior = np.zeros(len(forest.rule))
    for edges, share in zip(sets, shares, strict=True):
        posterior[edges] += share
        assert math.exp(found.log_weight(forest, edges) - found.log_z[0]) == pytest.approx(share, abs=1e-12)
    ruled = forest.rule != PASS
    np.testing.assert_allclose(found.posterior[ruled], posterior[ruled], atol=1e-9)
    assert found.log_z == pytest.approx(before.log_z)


# -- models


@pytest.fixture(scope="module")
def pcfg(dev: list[Tree]) -> Pcfg:
    return Pcfg().fit(dev[:80])


@pytest.fixture(scope="module")
def product(dev: list[Tree]) -> Product:
    return Product([Lvg(rounds=1, seed=seed, options=QUICK).fit(dev[:40]) for seed in (0, 1)])


@pytest.mark.parametrize("which", ["pcfg", "member", "product"])
def test_all_probabilities_are_of_one_distribution_and_best_trees_stay(
    which: str, product: Product, pcfg: Pcfg
) -> None:
    plain: Parser = {"pcfg": pcfg, "member": product.members[0], "product": product}[which]
    warm = at_temperature(plain, 2.0)
    attempt = warm.attempt(SHORT)
    assert isinstance(attempt, Attempt)
    search, edges = rank(warm, attempt, 10_000, "max-rule")  # all trees of the forest
    parses = [warm.analysis_of(tuple(SHORT), search, one, 0) for one in search.weighed(edges)]
    assert sum(parse.probability for parse in parses) == pytest.approx(1)
    for one in (one for parse in parses[:3] for one in parse.constituents):
        having = (parse for parse in parses if parse.tree is not None and one[:3] in {*parse.tree.spans()})
        assert one.probability == pytest.approx(sum(parse.probability for parse in having))
    for objective in ("max-rule", "max-rule-sum", "variational", "mbr"):
        assert warm.parse(SHORT, objective).tree == plain.parse(SHORT, objective).tree
    assert warm.parse(SHORT).log_marginal == plain.parse(SHORT).log_marginal
    listed = warm.kbest(SHORT, 3)
    assert [parse.tree for parse in listed] == [parse.tree for parse in plain.kbest(SHORT, 3)]
    assert sum(parse.probability for parse in listed) <= 1 + 1e-9


def test_a_temperature_of_one_changes_nothing(pcfg: Pcfg, dev: list[Tree]) -> None:
    words = dev[90].words()
    assert at_temperature(pcfg, 1.0).parse(words).to_json() == pcfg.parse(words).to_json()
    assert "temperature" not in pcfg.state()[0]


def test_trees_are_drawn_by_the_tempered_distribution(pcfg: Pcfg) -> None:
    cold = at_temperature(pcfg, 0.01)  # nearly all on the likeliest tree
    likeliest = pcfg.kbest(SHORT, 1, "viterbi")[0].tree
    assert {cold.sample(SHORT, seed).tree for seed in range(5)} == {likeliest}
    hot = at_temperature(pcfg, 50.0)
    assert all(hot.sample(SHORT, seed).probability > 0 for seed in range(3))


def test_a_file_keeps_the_temperature(product: Product, tmp_path: Path) -> None:
    for number, plain in enumerate((product, product.members[0])):
        at_temperature(plain, 1.25).save(tmp_path / f"{number}.latree")
        again = latree.load(tmp_path / f"{number}.latree")
        assert again.temperature == 1.25
        assert again.parse(SHORT).to_json() == at_temperature(plain, 1.25).parse(SHORT).to_json()


@pytest.mark.parametrize("value", [0, -1.0, "warm", True, float("inf")])
def test_a_damaged_temperature_is_told(value: object, pcfg: Pcfg) -> None:
    with pytest.raises(ValueError, match="temperature is"):
        pcfg.take_calibration({"temperature": value})


def test_squared_errors_are_those_of_all_phrases(pcfg: Pcfg, dev: list[Tree]) -> None:
    gold = [tree for tree in map(pcfg.labels.clean, dev[90:94]) if tree is not None]
    found = np.array(list(squared_errors(pcfg, gold)))
    place = int(np.flatnonzero(TEMPERATURES == 2.0)[0])
    warm = at_temperature(pcfg, 2.0)
    for errors, parse, tree in zip(found, warm.analyse([one.words() for one in gold]), gold, strict=True):
        right = set(tree.spans())
        likely = parse.look_up.likely(0.0)  # type: ignore[union-attr]
        missed = right - {one[:3] for one in likely}
        expected = sum((one.probability - (one[:3] in right)) ** 2 for one in likely) + len(missed) - len(right)
        assert errors[place] == pytest.approx(expected)


def test_the_best_temperature_lies_between_its_neighbours() -> None:
    bowl = (np.log(TEMPERATURES) - math.log(1.3)) ** 2
    assert best_temperature(np.array([bowl, bowl * 2, np.full(len(bowl), np.nan)])) == pytest.approx(1.3)
    assert best_temperature(-TEMPERATURES[None]) == TEMPERATURES[-1]
    with pytest.raises(latree.LatreeError, match="derives none"):
        best_temperature(np.full((2, len(TEMPERATURES)), np.nan))


def test_several_processes_say_the_same(pcfg: Pcfg, dev: list[Tree]) -> None:
    gold = [tree for tree in map(pcfg.labels.clean, dev[80:120]) if tree is not None]
    one, two = (calibration(judge(pcfg, gold, jobs), 1.0).to_json() for jobs in (1, 2))
    assert one == two
    assert one["sentences"] + one["left_out"] == len(gold)


def test_taggers_and_trees_of_several_derivations_are_refused() -> None:
    with pytest.raises(latree.LatreeError, match="tags but does not parse"):
        checked_parser(latree.Hmm())
    with pytest.raises(latree.LatreeError, match="a svs has no temperature"):
        at_temperature(latree.Svs(), 2.0)


# -- the command line


def test_calibrate_writes_a_model_whose_best_trees_are_the_same(tmp_path: Path) -> None:
    path = tmp_path / "warm.latree"
    told = json.loads(done("calibrate", toy("dev"), "-m", model("pcfg"), "-o", path, "--json", "--quiet").out)
    assert latree.load(path).temperature == told["temperature"]
    first, second = (
        json.loads(done("eval", toy("dev"), "-m", one, "--calibration", "--json").out) for one in (model("pcfg"), path)
    )
    assert first["f1"] == second["f1"]
    assert first["calibration"]["best_tree"] == told["before"]["best_tree"]
    assert second["calibration"]["constituents"]["brier"] <= first["calibration"]["constituents"]["brier"] + 0.01


def test_a_model_parses_the_gold_file_itself(tmp_path: Path) -> None:
    parsed, page = tmp_path / "parsed.mrg", tmp_path / "page.html"
    parsed.write_text("".join(f"{parse}\n" for parse in latree.load(model("pcfg")).parse_all(words_of("dev"))))
    by_file = done("eval", toy("dev"), parsed, "--errors", "--json")
    options = ("--errors", "--calibration", "--html", page, "--quiet", "--json")
    by_model = done("eval", toy("dev"), "-m", model("pcfg"), *options)
    assert json.loads(by_model.out)["errors"] == json.loads(by_file.out)["errors"]
    text = page.read_text(encoding="utf-8")
    assert all(word in text for word in ("Parse errors", "Reliability: whole trees"))
    assert "Calibration: " in done("eval", toy("dev"), "-m", model("pcfg"), "--calibration").out


def words_of(part: str) -> list[list[str]]:
    return [tree.words() for tree in toy_trees(part)]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "name a file to score, or a model"),
        (("GOLD", "--calibration"), "--calibration: it takes the probabilities of a model"),
        (("GOLD", "--jobs", "2"), "--jobs: nothing is parsed here"),
        (("GOLD", "--html", "x.html"), "--html: the page has what"),
        (("GOLD", "--worst", "2"), "--worst: it goes with --errors"),
        (("GOLD", "--errors", "--against", "GOLD"), "--errors: of one file at a time"),
        (("-m", "MODEL", "--raw"), "--raw: for files that are scored"),
        (("GOLD", "--errors", "--html", "no/such/folder.html"), "the folder no/such does not exist"),
    ],
)
def test_options_without_effect_are_refused(arguments: tuple[str, ...], complaint: str) -> None:
    stand_for = {"GOLD": str(toy("dev")), "MODEL": str(model("pcfg"))}
    outcome = run("eval", toy("dev"), *(stand_for.get(one, one) for one in arguments))
    assert outcome.code != 0
    assert complaint in " ".join(outcome.err.split())
