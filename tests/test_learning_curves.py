"""Learning curves: parts of a treebank, power laws through them, and what the command prints."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import typer

import latree
from latree.cli.curve import read_sizes
from latree.data import toy
from latree.errors import LatreeError
from latree.experiments.held_out import score
from latree.experiments.learning_curves import default_sizes, learning_curve, subset
from latree.experiments.learning_curves_report import learning_curve_plot
from latree.experiments.power_law import RATES, Extrapolation, Law, extrapolate, fit, standard_errors
from latree.report.html import picture
from latree.text.tree import Tree
from tests.command import done
from tests.command import latree as run

SIZES = [100.0, 200.0, 400.0, 800.0, 1600.0]


def runs_of(law: Law, spread: float = 0.1) -> list[list[float]]:
    """Measurements that lie evenly around a law."""
    return [[float(value) - spread, float(value), float(value) + spread] for value in law.at(np.array(SIZES))]


def a_law(rate: float, limit: float = 90.0, loss: float = 300.0) -> Law:
    return Law(np.array(limit), np.array(loss), np.array(rate))


# -- power laws


@pytest.mark.parametrize("place", [300, 360, 420])
def test_a_law_is_found_again(place: int) -> None:
    law = a_law(RATES[place])
    found = extrapolate(SIZES, runs_of(law))
    assert isinstance(found, Extrapolation)
    assert [float(part) for part in found.law] == pytest.approx([float(part) for part in law])
    value, low, high = found.accuracy(3200)
    assert value == pytest.approx(law.at(3200.0)[0])
    assert low < value < high
    more = found.more_for(1.0).value
    if math.isfinite(more):
        assert law.at(1600.0 + more)[0] == pytest.approx(law.at(1600.0)[0] + 1)
    else:
        assert law.at(1600.0)[0] + 1 >= 90.0


def test_a_point_that_no_number_of_examples_brings() -> None:
    found = extrapolate(SIZES, runs_of(a_law(2.0, loss=1e5), 0.01))
    assert isinstance(found, Extrapolation)
    assert found.more_for(1.0) == (math.inf,) * 3


def test_a_limit_is_at_most_100() -> None:
    n = np.array(SIZES)
    law, _ = fit(n, np.array([60 + 5 * np.log2(n / 100)]), np.ones(5))
    assert law.limit[0] == 100.0
    x = n ** -law.rate[0]
    rest = 100 - (60 + 5 * np.log2(n / 100))
    assert law.loss[0] == pytest.approx(rest @ x / (x @ x))  # least squares of a line through the origin


def test_wider_spread_makes_wider_intervals() -> None:
    narrow, wide = (extrapolate(SIZES, runs_of(a_law(0.5), spread)) for spread in (0.05, 0.5))
    assert isinstance(narrow, Extrapolation)
    assert isinstance(wide, Extrapolation)
    widths = [one.accuracy(6400).high - one.accuracy(6400).low for one in (narrow, wide)]
    assert widths[0] < widths[1]


@pytest.mark.parametrize(
    ("runs", "complaint"),
    [
        ([[80.0, 81.0]] * 3, "4 sizes or more"),
        ([[80.0]] * 5, "more seeds"),
        ([[80.0 - k, 80.1 - k] for k in range(5)], "does not rise"),
        ([[50.0, 50.1], [80.0, 80.1], [80.0, 80.1], [80.0, 80.1], [80.0, 80.1]], "at once"),
        ([[60.0, 60.1], [60.0, 60.1], [60.0, 60.1], [60.0, 60.1], [80.0, 80.1]], "not those of a power law"),
    ],
)
def test_what_is_no_law_is_told(runs: list[list[float]], complaint: str) -> None:
    told = extrapolate(SIZES[: len(runs)], runs)
    assert isinstance(told, str)
    assert complaint in told


def test_errors_are_those_of_all_sizes_together() -> None:
    sizes = np.array([100.0, 200.0, 400.0])
    level = standard_errors(sizes, [[1.0, 2.0], [1.0, 2.0], [3.0]])
    assert level[0] == pytest.approx(level[1])
    assert level[2] == pytest.approx(level[0] * math.sqrt(2))
    falling = standard_errors(sizes, [[1.0, 3.0], [1.0, 2.0], [1.0, 1.5]])
    assert falling[:2] / falling[1:] == pytest.approx([2.0, 2.0])
    rising = standard_errors(sizes, [[1.0, 1.5], [1.0, 2.0], [1.0, 3.0]])
    assert rising == pytest.approx(rising[0])


# -- parts of a treebank


def test_smaller_parts_are_in_larger_ones() -> None:
    parts = [set(subset(50, size, 7)) for size in (5, 20, 50)]
    assert [len(part) for part in parts] == [5, 20, 50]
    assert parts[0] < parts[1] < parts[2]
    assert subset(50, 20, 7) != subset(50, 20, 8)
    assert subset(50, 50, 7) == list(range(50))


def test_sizes_by_default_are_halves_of_halves() -> None:
    assert default_sizes(1600) == [100, 200, 400, 800, 1600]
    assert default_sizes(3) == [1, 2, 3]


def test_each_point_is_a_model_of_its_part(train: list[Tree], dev: list[Tree]) -> None:
    found = learning_curve(latree.Pcfg(), train[:40], dev[:10], sizes=[20, 40], seeds=2)
    (curve,) = found.curves
    assert [len(runs) for runs in curve.runs] == [2, 1]  # all examples are the same part twice
    for draw, figure in enumerate(curve.runs[0]):
        part = [train[k] for k in subset(40, 20, draw)]
        assert figure == score(latree.Pcfg().fit(part), dev[:10]).to_json()["f1"]


def test_without_a_dev_set_the_last_tenth_is_held_out(train: list[Tree]) -> None:
    found = learning_curve(latree.Pcfg(), train[:50], sizes=[45], seeds=1)
    assert (found.examples, found.held_out) == (45, 5)
    assert found.curves[0].runs == [[score(latree.Pcfg().fit(train[:45]), train[45:50]).to_json()["f1"]]]


@pytest.mark.parametrize(("sizes", "complaint"), [([0], "a part of 0"), ([41], "a part of 41"), ([], "name one size")])
def test_sizes_that_cannot_be_drawn_are_told(train: list[Tree], sizes: list[int], complaint: str) -> None:
    with pytest.raises(LatreeError, match=complaint):
        learning_curve(latree.Pcfg(), train[:40], train[:2], sizes=sizes)


# -- the command


def test_sizes_as_users_write_them() -> None:
    assert read_sizes("100, 200,1/2,1", 1000) == [100, 200, 500, 1000]
    for text in ("many", "1/0", "", "100.5", "5,,6"):
        with pytest.raises(typer.BadParameter):
            read_sizes(text, 1000)


def test_the_command_prints_draws_and_goes_on(tmp_path: Path) -> None:
    ledger, plot, page = (tmp_path / name for name in ("ledger", "plot.svg", "page.html"))
    arguments: list[str | Path] = ["curve", toy("dev"), "--recipe", "pcfg", "--sizes", "10,20,40,1", "--seeds", "2"]
    arguments += ["--quiet"]
    first = done(*arguments, "--resume", ledger, "--plot", plot, "--html", page)
    assert "scored on: 10 of its last tenth" in first.out
    kept = ledger.read_bytes()
    assert done(*arguments, "--resume", ledger, "--jobs", "2") == first
    assert ledger.read_bytes() == kept
    told = json.loads(done(*arguments, "--resume", ledger, "--json").out)
    assert [point["size"] for point in told["curves"][0]["points"]] == [10, 20, 40, 90]
    assert plot.read_text().count("<circle") == 4 + 1  # a dot a size, and the key
    assert "More examples" in page.read_text()


def test_a_curve_that_is_not_continued_says_why(train: list[Tree], dev: list[Tree]) -> None:
    found = learning_curve(latree.Pcfg(), train[:20], dev[:5], sizes=[10, 20], seeds=2)
    assert "4 sizes or more" in found.to_json()["curves"][0]["extrapolation"]["reason"]
    assert "broken" not in picture(learning_curve_plot(found)).partition("</style>")[2]


def test_sizes_without_sense_are_told() -> None:
    outcome = run("curve", toy("dev"), "--recipe", "pcfg", "--sizes", "few")
    assert outcome.code == 2
    assert "--sizes takes numbers or shares" in outcome.err
