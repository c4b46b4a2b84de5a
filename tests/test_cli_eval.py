"""`latree eval`: its fixed keys, EVALB's table, and files that do not fit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from latree.cli.evaluate import LISTED
from latree.data import toy
from latree.scoring.evalb import format_table, score_pair
from latree.text.tree import Tree
from tests.command import SLEEPS_TREE, done, latree, model, toy_trees, write_conllu

FIXED = {
    *("precision", "recall", "f1", "exact", "tag_accuracy", "sentences", "skipped", "failed"),
    *("f1_strict", "exact_strict"),
}
GOLD = [
    "(TOP (S (NP (DT the) (NN cat)) (VP (VB sees) (NP (NN fish))) (. .)))",
    "(TOP (S (NP (NN Mary)) (VP (VB sleeps))))",
    "(TOP (S (NP (NN John)) (: -) (VP (VB runs))))",
]
GUESSES = [
    "(TOP (S (NP (DT the) (NN cat)) (VP (VB sees) (VP (NN fish))) (. .)))",
    "(())",
    "(TOP (S (NP (NN John) (NN -)) (VP (VB runs))))",
]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    gold, guess = tmp_path / "gold.mrg", tmp_path / "guess.mrg"
    gold.write_text("\n".join(GOLD) + "\n")
    guess.write_text("\n".join(GUESSES) + "\n")
    return gold, guess


def test_the_fixed_keys(files: tuple[Path, Path]) -> None:
    scores = json.loads(done("eval", *files, "--json").out)
    assert set(scores) >= FIXED
    assert (scores["sentences"], scores["skipped"], scores["failed"]) == (3, 2, 1)
    assert scores["f1"] == pytest.approx(75.0)  # of the first sentence: S, NP, VP right and one label wrong
    assert scores["f1_strict"] == pytest.approx(100 * 2 * 6 / (10 + 7))  # the failed one misses all its three
    assert scores["tag_accuracy"] == 100.0
    assert [one["sentence"] for one in scores["skipped_sentences"]] == [2, 3]


def test_the_table_is_that_of_evalb(files: tuple[Path, Path]) -> None:
    outcome = latree("eval", *files, "--table", "--labels", "raw")
    trees = [(Tree.read(a.replace("TOP", "ROOT")), b) for a, b in zip(GOLD, GUESSES, strict=True)]
    pairs = [(gold, None if guess == "(())" else Tree.read(guess)) for gold, guess in trees]
    expected = format_table([score_pair(Tree("TOP", gold.children), guess) for gold, guess in pairs])
    assert (outcome.code, outcome.out) == (0, expected)
    assert outcome.err.splitlines() == [
        "sentence 2: skipped by EVALB: no parse",
        "sentence 3: skipped by EVALB: length differs: 2 words in gold, 3 in the parse, after deletion",
        "sentence 2: failed: no parse",
    ]


def test_the_table_equals_the_output_of_the_original(shared: Path) -> None:
    oracle = shared / "evalb"
    for name in ("tricky", "skips"):
        gold, guess = (oracle / f"{name}.{side}" for side in ("gold", "test"))
        table = latree("eval", gold, guess, "--table", "--raw").out
        assert table.split() == (oracle / f"{name}.evalb").read_text(encoding="utf-8").split()


def test_parameters_of_ones_own(files: tuple[Path, Path], tmp_path: Path) -> None:
    prm = tmp_path / "my.prm"
    prm.write_text("CUTOFF_LEN 3\nDELETE_LABEL TOP\nEQ_LABEL NP VP\n")
    table = latree("eval", *files, "--table", "--prm", prm).out
    assert "-- len<=3 --" in table
    assert json.loads(done("eval", *files, "--json", "--prm", prm).out)["f1"] == pytest.approx(
        600 / 7
    )  # no mark is deleted


def test_only_short_sentences(files: tuple[Path, Path]) -> None:
    scores = json.loads(done("eval", *files, "--json", "--max-length", "2").out)
    assert (scores["sentences"], scores["failed"]) == (1, 1)


def test_by_label(files: tuple[Path, Path]) -> None:
    assert "VP" not in done("eval", *files).out
    rows = {line.split()[0]: line.split()[1:] for line in done("eval", *files, "--by-label").lines if line.split()}
    assert rows["VP"] == ["3", "3", "2", "66.67", "66.67", "66.67"]


def test_labels_as_they_stand(tmp_path: Path) -> None:
    gold, guess = tmp_path / "gold.mrg", tmp_path / "guess.mrg"
    gold.write_text("(TOP (S (NP-SBJ (NN Mary) (NN Jane)) (VP (VB sleeps))))\n")
    guess.write_text("(TOP (S (NP (NN Mary) (NN Jane)) (VP (VB sleeps) (NP (-NONE- *)))))\n")
    cleaned, raw = (json.loads(done("eval", gold, guess, "--json", *more).out) for more in ([], ["--raw"]))
    assert (cleaned["f1"], raw["f1"]) == (100.0, 100.0)  # EVALB itself cuts function tags
    assert (cleaned["by_label"].keys(), raw["f1_strict"]) == ({"S", "NP", "VP"}, 100.0)
    guess.write_text("(TOP (S (NP (NN Mary) (NN Jane)) (VP (VP (VB sleeps)))))\n")
    cleaned, raw = (json.loads(done("eval", gold, guess, "--json", *more).out) for more in ([], ["--raw"]))
    assert cleaned["f1"] == raw["f1"] == pytest.approx(100 * 2 * 3 / 7)  # a phrase over its like counts, as in EVALB


def test_against_a_second_system(files: tuple[Path, Path]) -> None:
    gold, guess = files
    test = json.loads(done("eval", gold, guess, "--against", gold, "--json").out)["against"]
    assert test["second"] == 100.0
    assert test["difference"] == pytest.approx(100.0 - test["first"])
    told = done("eval", gold, guess, "--against", gold).lines[-1]
    assert told.startswith(f"difference +{test['difference']:.2f} (95 % interval")


def test_the_second_system_is_scored_too(files: tuple[Path, Path]) -> None:
    gold, guess = files
    asked = ([guess], [gold, "--against", guess])
    alone, both = (json.loads(done("eval", gold, *more, "--json").out) for more in asked)
    assert both["against"]["scores"] == alone
    lines = done("eval", gold, gold, "--against", guess, "--by-label").lines
    assert {f"{gold}:", f"{guess}:"} <= set(lines)
    assert lines[lines.index(f"{guess}:") + 1 : -1] == done("eval", gold, guess, "--by-label").lines


def test_the_table_has_tags_and_fits_a_terminal(files: tuple[Path, Path]) -> None:
    gold, guess = files
    guess.write_text("\n".join([GOLD[0].replace("DT", "NN"), *GOLD[1:]]))
    head, _, all_lengths, *_ = done("eval", gold, guess).lines[1:]
    row = dict(zip(head.split(), all_lengths.split(), strict=False))
    assert row["tags"] == "87.50"  # seven of eight, the marks not counted
    assert all_lengths.split()[-1] == "90.00"  # with them
    assert max(map(len, done("eval", gold, guess, "--by-label").lines)) <= 80


def test_files_of_other_sentences_are_asked_about(tmp_path: Path, files: tuple[Path, Path]) -> None:
    gold, guess = files[0], tmp_path / "other.mrg"
    many = "are these the same sentences?"
    for guesses, warned in (
        ([GOLD[1], GOLD[0], GOLD[2]], True),  # two of three have another length
        ([GOLD[0], GOLD[1].replace("Mary", "Jane"), GOLD[2].replace("runs", "sits")], True),
        ([GOLD[0], GOLD[1].replace("Mary", "Jane"), GOLD[2]], False),
        (["(())"] * 3, False),  # which says nothing about words
    ):
        guess.write_text("\n".join(guesses))
        outcome = latree("eval", gold, guess)
        expected = f"latree: {guess}: 2 of 3 sentences have other words than in {gold}; {many}\n"
        assert outcome.err == (expected if warned else "")


def test_sentences_left_out_are_not_listed_without_end(tmp_path: Path) -> None:
    gold, guess = tmp_path / "gold.mrg", tmp_path / "guess.mrg"
    gold.write_text(f"{GOLD[1]}\n" * 30)
    guess.write_text("(())\n" * 30)
    lines = done("eval", gold, guess).lines
    assert sum(line.startswith("sentence ") for line in lines) == 2 * LISTED
    assert f"{30 - LISTED} more sentences failed; --json lists them all" in lines


def test_the_format_may_be_said(tmp_path: Path) -> None:
    trees = tmp_path / "trees.conllu"  # by its name a table
    trees.write_text("\n".join(GOLD))
    assert json.loads(done("eval", trees, trees, "--format", "ptb", "--json").out)["f1"] == 100.0
    outcome = latree("eval", "-", "-")
    assert outcome.code == 1
    assert "say --format ptb or --format conllu" in outcome.err


def test_gold_trees_without_words_are_left_out_on_both_sides(tmp_path: Path) -> None:
    gold = tmp_path / "gold.mrg"
    gold.write_text(f"{GOLD[0]}\n(TOP (S (NP (-NONE- *))))\n{GOLD[1]}\n")
    for guesses in ([GOLD[0], GOLD[1]], [GOLD[0], "(())", GOLD[1]]):
        outcome = latree("eval", gold, "-", "--json", stdin="\n".join(guesses))
        assert outcome.err == f"latree: {gold}: 1 trees without words are left out\n"
        assert (json.loads(outcome.out)["sentences"], json.loads(outcome.out)["f1_strict"]) == (2, 100.0)


def test_tags(tmp_path: Path) -> None:
    trees = toy_trees("test")
    gold = write_conllu(tmp_path / "gold.conllu", trees)
    guess = tmp_path / "guess.conllu"
    guess.write_text(done("tag", "-m", model("hmm"), gold).out)
    options = ["--json", "--column", "xpos"]
    plain = json.loads(done("eval", gold, guess, *options).out)
    scores = json.loads(done("eval", gold, guess, *options, "-m", model("hmm")).out)
    assert set(scores) >= {"token", "sentence", "known", "unknown"}
    assert (plain["known"], plain["unknown"]) == (None, None)
    assert scores["known_tokens"] + scores["unknown_tokens"] == sum(len(tree.words()) for tree in trees)
    assert scores["token"] == plain["token"] < 100
    assert json.loads(done("eval", gold, guess, "--json").out)["token"] == 100.0  # UPOS was not touched
    assert f"{scores['token']:.2f}" in done("eval", gold, guess, "--column", "xpos").out
    against = json.loads(done("eval", gold, guess, "--against", gold, "--column", "xpos", "--json").out)["against"]
    assert against["difference"] == pytest.approx(100 - scores["token"])


# --- files that do not fit


def test_unequal_lengths(tmp_path: Path) -> None:
    outcome = latree("eval", toy("test"), "-", stdin=SLEEPS_TREE)
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == "latree: 100 trees in gold, 1 predicted; the files must match one to one\n"


def test_trees_against_conllu(tmp_path: Path) -> None:
    table = write_conllu(tmp_path / "a.conllu", toy_trees("test"))
    for pair in ([toy("test"), table], [table, toy("test")]):
        outcome = latree("eval", *pair)
        assert outcome.code == 1
        assert "trees and CoNLL-U cannot be compared" in outcome.err


def test_options_for_trees_do_nothing_for_tags(tmp_path: Path) -> None:
    table = write_conllu(tmp_path / "a.conllu", toy_trees("test"))
    outcome = latree("eval", table, table, "--max-length", "10", "--raw")
    assert outcome.code == 2
    assert "--max-length, --raw: for trees only" in outcome.err


def test_a_fault_on_standard_input_is_named() -> None:
    outcome = latree("eval", toy("test"), "-", stdin="(ROOT (S (NN a)\n")
    assert (outcome.code, outcome.err) == (1, "latree: <stdin>:1:1: 2 brackets never closed; expected ')' by line 1\n")


def test_a_missing_parameter_file_is_named(tmp_path: Path) -> None:
    outcome = latree("eval", toy("test"), toy("test"), "--prm", tmp_path / "no.prm")
    assert (outcome.code, outcome.err) == (1, f"latree: {tmp_path / 'no.prm'}: No such file or directory\n")
