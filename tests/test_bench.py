"""The programs that print tables: that they run, and that their tables have the rows and columns that they should."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from bench import best, bulk, generative, kinds, lveg_sweep, parsing, ranking, reading, svs, tagging

from latree.data import toy
from latree.text.formats import read_trees


@pytest.fixture(scope="module")
def treebank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory as those of treebanks, with few trees."""
    directory = tmp_path_factory.mktemp("treebank")
    for part, size in (("train", 64), ("dev", 8), ("test", 8)):
        trees = islice(read_trees(toy(part)), size)
        (directory / f"{part}.mrg").write_text("".join(f"{tree}\n" for tree in trees), encoding="utf-8")
    return directory


def tables(text: str) -> list[list[list[str]]]:
    """The rows of every table, without the line under the first."""
    blocks = re.findall(r"(?:^\|.*\n)+", text, re.M)
    return [[[cell.strip() for cell in line.strip("|").split("|")] for line in one.splitlines()] for one in blocks]


def figures(cell: str) -> list[float]:
    """The numbers of a cell."""
    return [float(number) for number in re.findall(r"[\d.]+", cell)]


def test_generative_and_discriminative_mixtures(treebank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    generative.main([str(treebank), "rounds=1", "epochs=1", "dim=2", "--weights", "0", "0.5", "--seeds", "1"])
    (table,) = tables(capsys.readouterr().out)
    assert [row[0] for row in table] == ["`--generative`", "---", "treebank grammar", "`lvg`", "0", "0.5"]
    assert all(float(row[3]) < 0 for row in table[2:] if row[0] != "0")
    assert all(0 <= float(cell) <= 100 for row in table[4:] for cell in row[1:3])


def test_scores_of_seeds(treebank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = ["rounds=1", "epochs=1", "iterations=2"]
    parsing.main(["lvg-d", str(treebank), *small, "--seeds", "2", "--parts", "dev", "test", "--products"])
    (table,) = tables(capsys.readouterr().out)
    names = ["lvg", "lvg-d", "lvg-d x lvg", "lvg x lvg"]
    assert table[0] == ["", *(f"dev: {name}" for name in names), *(f"test: {name}" for name in names)]
    assert [re.sub(r"\d+ subtypes", "N", row[0]) for row in table[2:]] == ["seed 0, N", "seed 1, N", "mean"]
    for column in range(1, len(table[0])):
        first, second, mean = (float(row[column].split()[0]) for row in table[2:])
        assert mean == pytest.approx((first + second) / 2, abs=0.011)


def test_scores_by_the_size_of_the_treebank(treebank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parsing.main(["gm-lveg", str(treebank), "rounds=1", "epochs=1", "dim=2", "--seeds", "1", "--shares", "2", "1"])
    text = capsys.readouterr().out
    assert re.findall(r"^(\d+) trees, ", text, re.M) == ["32", "64"]
    assert [table[0] for table in tables(text)] == [["", "dev: lvg", "dev: gm-lveg alone", "dev: gm-lveg"]] * 2


def test_what_ranked_sentences_teach(treebank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(treebank / "train.mrg"), str(treebank / "dev.mrg")]
    ranking.main([*files, "--start", "10", "--sizes", "20", "--runs", "1", "--rounds", "1"])
    (table,) = tables(capsys.readouterr().out)
    assert [row[:2] for row in table[2:]] == [[order, size] for order in ("random", "ranked") for size in ("10", "20")]
    assert table[2][1:] == table[4][1:]  # both begin with the same trees
    assert table[3][3] == table[3][5]  # random trees of as many words are the same


@pytest.mark.parametrize("more", [["--no-punctuation"], ["--head-relation", "one", "--refine", "1"]])
def test_tables_of_structured_vectorial_semantics(
    treebank: Path, capsys: pytest.CaptureFixture[str], more: list[str]
) -> None:
    sizes = ["--headwords", "3", "--clustered", "9", "--clusters", "2", "--seeds", "2"]
    svs.main([str(treebank / "train.mrg"), str(treebank / "dev.mrg"), *sizes, *more])
    (table,) = tables(capsys.readouterr().out)
    assert [row[0] for row in table[2:]] == ["syntax only", "3 headwords", "9 headwords in 2 clusters"]
    for row in table[2:]:
        recall, precision, f1 = map(float, row[1:4])
        assert f1 == pytest.approx(2 * recall * precision / (recall + precision), abs=0.2)
    assert table[2][3] == table[2][4] == table[2][6]  # without concepts all choices are one


def test_learning_curve_of_structured_vectorial_semantics(treebank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ["--headwords", "--clustered", "9", "--clusters", "2", "--seeds", "2", "--curve"]
    svs.main([str(treebank / "train.mrg"), str(treebank / "dev.mrg"), *sizes])
    (table,) = tables(capsys.readouterr().out)
    assert table[0] == ["model", "8 trees", "16 trees", "32 trees", "64 trees"]
    assert all(" ± " in cell for cell in table[3][1:])


def test_several_kinds_on_a_treebank(treebank: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kinds.main([str(treebank), "--kinds", "lvg rounds=1", "cvg folds=1 epochs=1", "--seeds", "0", "1"])
    rows, dev, test = tables(first := capsys.readouterr().out)
    assert [row[1:4] for row in rows[2:]] == [
        [seed, part, kind] for seed in "01" for kind in ("lvg", "cvg") for part in ("dev", "test")
    ]
    assert dev[0] == ["dev", "`lvg`", "`cvg`"]
    assert test[0][0] == "test"
    f1 = [float(row[4].split()[0]) for row in rows[2:] if row[2:4] == ["dev", "lvg"]]
    assert float(dev[2][1].split()[0]) == pytest.approx(sum(f1) / 2, abs=0.011)
    (tmp_path / "first.md").write_text(first, encoding="utf-8")
    kinds.main([str(treebank), "--kinds", "pcfg", "--seeds", "0"])
    (tmp_path / "second.md").write_text(capsys.readouterr().out, encoding="utf-8")
    kinds.main(["--rows", str(tmp_path / "first.md"), str(tmp_path / "second.md")])
    both, _ = tables(capsys.readouterr().out)
    assert both[0] == ["dev", "`lvg`", "`cvg`", "`pcfg`"]
    for once, again in zip(dev[2][1:], both[2][1:3], strict=True):  # rows have two digits, so that means may differ
        assert figures(again) == pytest.approx(figures(once), abs=0.011)


def test_the_best_in_a_given_time(treebank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    best.main([str(treebank), "--minutes", "0.01", "--seeds", "0", "1"])
    rows, dev, _ = tables(capsys.readouterr().out)
    assert [row[1:4] for row in rows[2:]] == [
        [seed, part, name] for seed in "01" for name in ("first", "best") for part in ("dev", "test")
    ]
    assert dev[0] == ["dev", "`first`", "`best`"]
    assert all(row[6] == "first" for row in rows[2:] if row[3] == "best")  # there was no time for another


@pytest.mark.parametrize(("kind", "columns"), [("lvg", ["n = 1", "n = 2"]), ("gm-lveg", ["diagonal", "spherical"])])
def test_scores_of_taggers(treebank: Path, capsys: pytest.CaptureFixture[str], kind: str, columns: list[str]) -> None:
    for part in ("train", "dev", "test"):
        tagged = [(tree.words(), tree.tags()) for tree in read_trees(treebank / f"{part}.mrg")]
        rows = (
            "\n".join(f"{n}\t{w}\t_\t{t}" + "\t_" * 6 for n, (w, t) in enumerate(zip(*one, strict=True), 1))
            for one in tagged
        )
        (treebank / f"{part}.conllu").write_text("".join(f"{block}\n\n" for block in rows), encoding="utf-8")
    few = ["--subtypes", "1", "2"] if kind == "lvg" else ["--options", "epochs=1"]
    tagging.main([str(treebank), "--kind", kind, "--seeds", "2", *few])
    (table,) = tables(capsys.readouterr().out)
    assert table[0] == ["set", *columns, "CPU s"]
    assert all(re.fullmatch(r"[\d.]+ ± [\d.]+ / [\d.]+", cell) for cell in table[2][1:-1])


@pytest.mark.parametrize(
    ("figure", "value", "more"),
    [("dim", "2", []), ("components", "1", ["--subtypes", "--share", "2"]), ("k-hard", "0", [])],
)
def test_the_figures_of_gaussian_mixtures(
    treebank: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], figure: str, value: str, more: list[str]
) -> None:
    page, files = tmp_path / "page.html", [str(treebank / "train.mrg"), str(treebank / "dev.mrg")]
    few = ["--seeds", "0", "1", "--epochs", "2", "--rounds", "1", "--list", "5", "--page", str(page)]
    lveg_sweep.main([*files, "--figure", figure, "--values", value, *few, *more])
    (table,) = tables(capsys.readouterr().out)
    assert table[2][0] == ("all" if value == "0" else value)
    assert float(table[2][3]) >= 0  # CPU seconds to two digits
    assert page.read_text(encoding="utf-8").count("<circle") == 4  # two plots, two seeds


@pytest.mark.parametrize("more", [[], ["--json", "--new"]])
def test_sentences_in_bulk(capsys: pytest.CaptureFixture[str], more: list[str]) -> None:
    bulk.main(["--count", "200", *more])
    told = capsys.readouterr().out
    assert re.search(r"^200 sentences, .* 0 failures$", told, re.M)
    assert "the first 2 trees are the same" in told


@pytest.fixture
def read(treebank: Path, tmp_path: Path) -> Path:
    """A folder of reading times, made up."""
    rng = np.random.default_rng(0)
    trees = list(read_trees(treebank / "dev.mrg"))
    lines = ["story zone sentence first_token last_token word readers rt c1 c2 c2_context c3 c3_context"]
    for number, tree in enumerate(trees, start=1):
        *words, last = tree.words()
        shown = [*words[:-1], words[-1] + last]  # its mark stands at the last word
        for place, word in enumerate(shown, start=1):
            end = place + (place == len(shown))
            counts = [*rng.integers(1, 999, 5)]
            row = [number % 2, place, number, place, end, word, 9, 300 * rng.random() + 100, *counts]
            lines.append(" ".join(map(str, row)))
    (tmp_path / "words.tsv").write_text("\n".join(lines).replace(" ", "\t") + "\n")
    (tmp_path / "trees.mrg").write_text("".join(f"{tree}\n" for tree in trees))
    return tmp_path


def test_reading_times(read: Path, treebank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reading.main([str(read), "--train", str(treebank / "train.mrg"), "--rounds", "1"])
    (table,) = tables(capsys.readouterr().out)
    assert [row[0].partition(":")[0] for row in table[2::4]] == ["marks", *["pcfg"] * 3, *["lvg, 1 rounds"] * 3][:7]
    for row in table[2:]:
        assert float(row[2]) >= 0.0  # what is added to a linear model explains no less
        assert 0.0 <= float(row[4]) <= 1.0
        assert 0.0 < float(row[6]) <= 1.0


def test_reading_times_as_their_own_script_has_them(capsys: pytest.CaptureFixture[str]) -> None:
    folder = (Path(__file__).parents[1] / ".." / "shared" / "data" / "reading").resolve()
    if not folder.exists():
        pytest.skip("the reading times are not at ../shared/data")
    reading.main([str(folder / "natural-stories")])
    told = capsys.readouterr().out
    script = [sys.executable, str(folder / "score.py"), str(folder / "natural-stories" / "words.tsv")]
    printed = subprocess.run(script, capture_output=True, text=True, check=True).stdout
    baseline, points, nats = re.findall(r"\d+\.\d+", printed)
    assert f"R^2 {baseline} %" in told
    assert f"| trigrams | | +{points} | {nats} |" in told
