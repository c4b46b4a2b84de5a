"""Structured vectorial semantics from the command line, on the toy treebank."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from latree import Svs
from latree.data import toy
from latree.kinds.registry import load
from latree.text.tree import Tree
from tests.command import SLEEPS, SLEEPS_TREE, done, latree, model, toy_trees, write_conllu

DEV = toy_trees("dev")[:20]
SIZES = ("--headwords", "40", "--clusters", "3", "--seed", "1")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("svs") / "svs.latree"
    done("train", "svs", toy("train"), "--dev", toy("dev"), "-o", found, *SIZES, "--quiet")
    return found


# --- train


def test_options_reach_the_model(tmp_path: Path) -> None:
    outcome = latree(
        *("train", "svs", toy("train"), "-o", tmp_path / "m", "--headwords", "20", "--clusters", "2", "--refine", "2"),
        *("--heads", "penn", "--rule-smoothing", "1.5", "--word-smoothing", "0.25", "--seed", "3", "--labels", "penn"),
    )
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err.startswith("latree: step 1 of 11: headwords clustered, log-likelihood -")
    assert outcome.err.splitlines()[-1].startswith("latree: svs: ")
    made = load(tmp_path / "m")
    assert isinstance(made, Svs)
    options = {"headwords": 20, "clusters": 2, "refinements": 2, "rule_smoothing": 1.5, "word_smoothing": 0.25}
    assert made.options.to_json() | options == made.options.to_json()
    assert (made.options.seed, made.training["seed"], made.binarization.heads.name) == (3, 3, "penn")  # type: ignore[attr-defined]
    assert (made.concepts, len(made.headwords.words)) == (2, 20)


def test_the_model_is_scored(path: Path) -> None:
    made = load(path)
    assert 0 <= made.training["dev"]["f1"] <= 100
    assert made.training["dev"]["sentences"] == 100


def test_heads_from_a_file(tmp_path: Path) -> None:
    table = tmp_path / "mine.heads"
    table.write_text("S right VP\nNP right NN NP\nVP left VB MD VP\nPP left IN\n")
    done("train", "svs", toy("train"), "-o", tmp_path / "m", *SIZES, "--heads", table, "--quiet")
    assert json.loads(done("show", "-m", tmp_path / "m", "--json").out)["binarization"]["heads"]["name"] == "mine"


@pytest.mark.parametrize("option", ["--binarize=left", "--vertical=2", "--rounds=2", "--dim=3"])
def test_what_makes_no_sense_is_refused(tmp_path: Path, option: str) -> None:
    outcome = latree("train", "svs", toy("train"), "-o", tmp_path / "m", option)
    assert outcome.code == 2
    assert "svs has no use for it" in outcome.err.replace("\n", " ")


def test_its_options_are_not_for_others(tmp_path: Path) -> None:
    outcome = latree("train", "pcfg", toy("train"), "-o", tmp_path / "m", "--clusters", "3")
    assert outcome.code == 2
    assert "--clusters is for svs" in outcome.err


def test_it_needs_trees(tmp_path: Path) -> None:
    tags = write_conllu(tmp_path / "dev.conllu", toy_trees("dev")[:5])
    outcome = latree("train", "svs", tags, "-o", tmp_path / "m")
    assert (outcome.code, outcome.out) == (1, "")
    assert "CoNLL-U has no trees to train a svs on" in outcome.err


@pytest.mark.parametrize(("text", "fault"), [(None, "no such file, nor one of"), ("NP up NN\n", ":1"), ("", "no head")])
def test_faults_of_head_tables(tmp_path: Path, text: str | None, fault: str) -> None:
    table = tmp_path / "mine.heads"
    if text is not None:
        table.write_text(text)
    outcome = latree("train", "svs", toy("train"), "-o", tmp_path / "m", "--heads", table)
    assert (outcome.code, outcome.out) == (1, "")
    assert fault in outcome.err


# --- parse


def test_vectors_under_every_tree(path: Path) -> None:
    shown = done("parse", "-m", path, "--vectors", stdin=SLEEPS).lines
    assert shown[0] == SLEEPS_TREE
    rows = [line.split("\t") for line in shown[1:-1]]
    assert sorted(row[:3] for row in rows) == [["NP", "0", "2"], ["S", "0", "4"], ["VP", "2", "3"]]
    for row in rows:
        assert len(row) == 3 + 3
        assert sum(map(float, row[3:])) == pytest.approx(1, abs=3e-4)
    assert shown[-1] == ""


def test_vectors_in_json(path: Path) -> None:
    (line,) = done("parse", "-m", path, "--vectors", "--json", stdin=SLEEPS).lines
    found = json.loads(line)
    assert found["tree"] == SLEEPS_TREE
    top = found["vectors"][0]
    assert (top["label"], top["start"], top["end"]) == ("S", 0, 4)
    assert sum(top["concepts"]) == pytest.approx(1, abs=3e-4)
    assert all(value == round(value, 4) for value in top["concepts"])
    assert "vectors" not in json.loads(done("parse", "-m", path, "--json", stdin=SLEEPS).out)


def test_sentences_stay_apart(path: Path) -> None:
    """An empty line is an empty tree, and a stand-in has no vectors."""
    too_long = f"{SLEEPS} {SLEEPS}"
    outcome = latree("parse", "-m", path, "--vectors", "--max-length", "4", stdin=f"{SLEEPS}\n\n{too_long}\n")
    assert outcome.code == 0
    tree, *vectors, end = outcome.lines[:5]
    assert (tree, len(vectors), end) == (SLEEPS_TREE, 3, "")
    assert outcome.lines[5:7] == ["", ""]
    stand_in = "(DT the) (NN teacher) (VB sleeps) (. .)"
    assert outcome.lines[7:] == [f"(ROOT (S {stand_in} {stand_in}))", ""]


def test_vectors_of_several_trees(path: Path) -> None:
    one = done("parse", "-m", path, "--vectors", "--kbest", "2", stdin=SLEEPS).lines
    assert [line.startswith("(ROOT") for line in one].count(True) == 2
    assert one.count("") == 1
    everywhere = done("parse", "-m", path, "--vectors", "--jobs", "2", toy("dev")).out
    assert everywhere == done("parse", "-m", path, "--vectors", toy("dev")).out


def test_drawn_with_concepts_and_relations(path: Path) -> None:
    picture, _, rest = done("parse", "-m", path, "--vectors", "--draw", stdin=SLEEPS).out.partition("\n\n")
    made: Any = load(path)
    assert picture == str(made.draw(made.parse(SLEEPS.split()).tree))
    assert "MOD:DT{" in picture
    assert rest.startswith("S\t0\t4\t")
    assert "MOD" not in done("parse", "-m", path, "--draw", stdin=SLEEPS).out


@pytest.mark.parametrize("choice", ["vector", "concept", "maximum"])
def test_how_the_likeliest_derivation_is_chosen(path: Path, choice: str) -> None:
    made: Any = load(path)
    made.choice = choice
    expected = [str(parse.tree) for parse in made.parse_all((tree.words() for tree in DEV), objective="viterbi")]
    text = "".join(f"{' '.join(tree.words())}\n" for tree in DEV)
    assert done("parse", "-m", path, "--objective", "viterbi", "--choice", choice, stdin=text).lines == expected


def test_a_choice_without_effect_is_refused(path: Path) -> None:
    outcome = latree("parse", "-m", path, "--choice", "concept", stdin=SLEEPS)
    assert (outcome.code, outcome.out) == (1, "")
    assert "--choice has no effect without --objective viterbi; give both, or neither" in outcome.err
    outcome = latree("parse", "-m", model("pcfg"), "--choice", "concept", "--objective", "viterbi", stdin=SLEEPS)
    assert outcome.err == "latree: --choice is for svs; this is a pcfg\n"


def test_without_punctuation(tmp_path: Path) -> None:
    """Marks go from the trees that train, and from those that are parsed and scored."""
    made = tmp_path / "m"
    done("train", "svs", toy("train"), "--dev", toy("dev"), "-o", made, *SIZES, "--labels", "no-punctuation", "--quiet")
    parses = done("parse", "-m", made, toy("dev")).lines
    assert not {".", ","} & {tag for line in parses for tag in Tree.read(line).tags()}
    predicted = tmp_path / "parses.mrg"
    predicted.write_text("".join(f"{line}\n" for line in parses), encoding="utf-8")
    scored = json.loads(done("eval", toy("dev"), predicted, "--labels", "no-punctuation", "--json").out)
    assert scored["f1"] == load(made).training["dev"]["f1"]
    assert min(scored["precision"], scored["recall"]) <= scored["f1"] <= max(scored["precision"], scored["recall"])


def test_vectors_are_for_svs() -> None:
    outcome = latree("parse", "-m", model("pcfg"), "--vectors", stdin=SLEEPS)
    assert (outcome.code, outcome.out, outcome.err) == (1, "", "latree: --vectors is for svs; this is a pcfg\n")


# --- show


def test_show_lists_the_concepts(path: Path) -> None:
    shown = done("show", "-m", path, "--top", "2").lines
    assert shown[0] == "kind: svs"
    assert "concepts: 3, of 40 headwords and all others as one" in shown
    rows = [line.split() for line in shown if "━" in line]
    assert sorted(row[0] for row in rows) == ["0", "1", "2"]
    assert sum(float(row[1].rstrip("%")) for row in rows) == pytest.approx(100, abs=0.3)


def test_show_of_lexicalised_concepts(tmp_path: Path) -> None:
    done("train", "svs", toy("train"), "-o", tmp_path / "m", "--headwords", "70", "--clusters", "0", "--quiet")
    shown = done("show", "-m", tmp_path / "m").out
    assert "concepts: 71, one for each of 70 headwords and one for all other words" in shown
    assert "and 21 more" in shown


def test_show_of_a_category(path: Path) -> None:
    phrase = done("show", "-m", path, "--symbol", "NP", "--top", "3").lines
    assert phrase[0].startswith("NP: phrase, ")
    assert any(line.startswith("  NP -> ") for line in phrase)
    tag = done("show", "-m", path, "--symbol", "NN", "--top", "3").lines
    assert tag[0].startswith("NN: tag, ")
    assert not any("->" in line for line in tag)
    assert done("show", "-m", path, "--symbol", "ROOT").lines[0] == "ROOT: root"


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["--summed"], "this model has concepts that all categories share"),
        (["--symbol", "XX"], "the model has no category 'XX'"),
    ],
)
def test_what_there_is_no_showing_of(path: Path, arguments: list[str], fault: str) -> None:
    outcome = latree("show", "-m", path, *arguments)
    assert (outcome.code, outcome.out) == (1, "")
    assert fault in outcome.err
