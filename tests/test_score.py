"""Both counts of parses, tagging accuracy, and the paired bootstrap, against numbers worked out by hand."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.table import Table

from latree.errors import InputError, LatreeError
from latree.scoring.evalb import Parameters
from latree.scoring.score import (
    Scores,
    compare,
    read_predictions,
    render_labels,
    render_tags,
    render_trees,
    score_tags,
    score_trees,
)
from latree.text.tree import Tree, read_brackets

ORACLE = Path(__file__).parents[1] / ".." / "shared" / "evalb"

PLAIN = "(ROOT (S (NP (DT the) (NN cat)) (VP (VBD sat)) (. .)))"
DASH = "(ROOT (S (NP (NN a)) (: -) (VP (VB b))))"
DASH_AS_NOUN = "(ROOT (S (NP (NN a) (NN -)) (VP (VB b))))"


def score(gold: list[str], predicted: list[str | None], **options: Any) -> Scores:
    parses = [None if text is None else Tree.read(text) for text in predicted]
    return score_trees(map(Tree.read, gold), parses, **options)


def shown(table: Table) -> str:
    console = Console(file=io.StringIO(), width=80)
    with console.capture() as capture:
        console.print(table)
    return capture.get()


@pytest.mark.parametrize(
    ("name", "f1", "exact"), [("tricky", 84.62, 50.0), ("skips", 84.21, 50.0), ("wsj-dev-1", 74.01, 11.72)]
)
def test_cleaned_files_score_as_in_the_original_program(name: str, f1: float, exact: float) -> None:
    if not ORACLE.exists():
        pytest.skip(f"no EVALB output at {ORACLE}")
    texts = [
        (ORACLE / f"{name}.{side}").read_text(encoding="utf-8").replace("(TOP ", "(ROOT ") for side in ("gold", "test")
    ]
    gold, test = (list(read_brackets(text.splitlines(), name)) for text in texts)
    scores = score_trees(gold, test).to_json()
    assert (round(scores["f1"], 2), round(scores["exact"], 2)) == (f1, exact)
    if scores["skipped"] == 0:
        assert (scores["f1_strict"], scores["exact_strict"]) == (scores["f1"], scores["exact"])


def test_the_counts_agree_where_nothing_is_skipped() -> None:
    scores = score([PLAIN], ["(ROOT (S (NP (DT the)) (VP (NN cat) (VBD sat)) (. .)))"]).to_json()
    for name in ("precision", "recall", "f1"):
        assert scores[name] == scores[f"{name}_strict"] == pytest.approx(100 / 3)
    assert scores["exact"] == scores["exact_strict"] == 0.0


def test_a_wrong_punctuation_tag_is_skipped_by_evalb_and_counted_strictly() -> None:
    scores = score([DASH, PLAIN], [DASH_AS_NOUN, PLAIN]).to_json()
    assert (scores["skipped"], scores["failed"], scores["sentences"]) == (1, 0, 2)
    assert (scores["f1"], scores["exact"], scores["tag_accuracy"]) == (100.0, 100.0, 100.0)
    assert (scores["f1_strict"], scores["exact_strict"]) == (
        100.0,
        100.0,
    )  # the gold tags delete the dash on both sides
    assert scores["tag_accuracy_all"] == pytest.approx(100 * 6 / 7)
    (skipped,) = scores["skipped_sentences"]
    assert skipped["sentence"] == 1
    assert "length differs" in skipped["reason"]


def test_strict_sees_what_evalb_skips() -> None:
    wrong = "(ROOT (S (X (NN a) (NN -) (VB b))))"
    scores = score([DASH], [wrong]).to_json()
    assert (scores["f1"], scores["exact"]) == (0.0, 0.0)
    assert (scores["precision_strict"], scores["recall_strict"]) == (50.0, pytest.approx(100 / 3))
    assert scores["f1_strict"] == pytest.approx(40.0)


@pytest.mark.parametrize("parse", [None, "(ROOT (S (NP (DT the) (NN cat)) (VP (VBD sat))))"])
def test_a_failed_parse_misses_its_gold_brackets(parse: str | None) -> None:
    """Three brackets found and three missed: EVALB skips the sentence or, where the words left agree, scores it."""
    scores = score([PLAIN, PLAIN], [PLAIN, parse]).to_json()
    assert scores["failed"] == 1
    assert [entry["sentence"] for entry in scores["failed_sentences"]] == [2]
    assert (scores["precision_strict"], scores["recall_strict"]) == (100.0, 50.0)
    assert (scores["f1_strict"], scores["exact_strict"]) == (pytest.approx(200 / 3), 50.0)
    assert scores["tag_accuracy_all"] == 50.0
    assert (scores["f1"], scores["exact"], scores["skipped"]) == (100.0, 100.0, int(parse is None))


def test_a_failed_parse_of_a_tree_without_brackets_is_not_exact() -> None:
    assert score(["(ROOT (NN a))"], [None]).to_json()["exact_strict"] == 0.0
    assert score(["(ROOT (NN a))"], ["(ROOT (NN a))"]).to_json()["exact_strict"] == 100.0


def test_other_words_are_skipped_by_evalb_but_no_failure() -> None:
    scores = score([PLAIN], [PLAIN.replace("cat", "dog")])
    assert scores.skipped == [(1, "words differ: 'cat' in gold, 'dog' in the parse")]
    assert scores.failed == []
    assert scores.strict.f1 == 100.0


def test_traces_on_one_side_line_up() -> None:
    scores = score(["(ROOT (S (NP (-NONE- *)) (VP (VB go) (. !))))"], ["(ROOT (S (VP (VB go)) (. !)))"])
    assert scores.failed == []
    assert scores.bracket_counts() == [(2, 2, 2)]
    assert scores.tag_counts() == [(2, 2, 2)]


@pytest.mark.parametrize("predicted", [[], [PLAIN, PLAIN]])
def test_unequal_files_are_an_error(predicted: list[str | None]) -> None:
    with pytest.raises(LatreeError, match=f"1 trees in gold, {len(predicted)} predicted"):
        score([PLAIN], predicted)


def test_the_wrapper_counts_only_in_raw_labels() -> None:
    gold, test = ["(ROOT (NP (NN a)))"], ["(ROOT (VP (NN a)))"]
    assert score(gold, [*test]).evalb.matched == 0
    raw = score(gold, [*test], wrapper=None)
    assert (raw.evalb.matched, raw.evalb.gold) == (1, 2)
    assert (raw.strict.matched, raw.strict.gold) == (1, 2)


def test_by_label_adds_up_and_names_equivalent_labels_once() -> None:
    gold, test = "(ROOT (VP (VB a) (PRT (RP b)) (NP (NN c))))", "(ROOT (VP (VB a) (ADVP (RB b)) (X (NN c))))"
    labels = score([gold], [test]).to_json()["by_label"]
    assert list(labels) == ["ADVP", "NP", "VP", "X"]
    assert labels["ADVP"] == {"precision": 100.0, "recall": 100.0, "f1": 100.0, "matched": 1, "gold": 1, "test": 1}
    assert labels["X"] == {"precision": 0.0, "recall": 0.0, "f1": 0.0, "matched": 0, "gold": 0, "test": 1}


def sentence(length: int) -> str:
    return f"(ROOT (NP {' '.join(['(NN w)'] * length)}))"


def test_by_length_and_cut_off() -> None:
    scores = score([sentence(n) for n in (10, 11, 40, 41)], [sentence(10), None, sentence(40), sentence(41)])
    bins = scores.to_json()["by_length"]
    sizes = {name: values["sentences"] for name, values in bins.items()}
    assert sizes == {"1-10": 1, "11-20": 1, "31-40": 1, "41-50": 1, "<=40": 3}
    assert bins["<=40"]["recall_strict"] == pytest.approx(200 / 3)
    assert bins["11-20"]["failed"] == 1


def test_max_length_keeps_the_sentences_numbers() -> None:
    scores = score([sentence(5), sentence(2)], [None, None], max_length=3)
    assert scores.failed == [(2, "no parse")]
    assert scores.to_json()["sentences"] == 1


def test_json_has_the_fixed_keys() -> None:
    text = json.dumps(score([PLAIN], [PLAIN]).to_json())
    fixed = "precision recall f1 exact tag_accuracy sentences skipped failed f1_strict exact_strict"
    assert set(fixed.split()) <= set(json.loads(text))


def test_parameters_apply_to_both_counts() -> None:
    parameters = Parameters(labeled=0)
    gold, test = Tree.read("(ROOT (S (NN a)))"), Tree.read("(ROOT (X (NN a)))")
    scores = score_trees([gold], [test], parameters)
    assert (scores.evalb.f1, scores.strict.f1) == (100.0, 100.0)


@given(st.lists(st.sampled_from([PLAIN, DASH, DASH_AS_NOUN, sentence(3)]), min_size=1))
def test_gold_against_itself_is_perfect(texts: list[str]) -> None:
    scores = score(texts, [*texts]).to_json()
    names = ("precision", "recall", "f1", "exact", "tag_accuracy", "f1_strict", "exact_strict", "tag_accuracy_all")
    assert {name: scores[name] for name in names} == dict.fromkeys(names, 100.0)


def test_reading_predictions_keeps_failures_in_place() -> None:
    lines = [f"{PLAIN}\n", "(())\n", "\n", "(ROOT (NP\n", "(NN a)))\n", "(ROOT )\n", f"{PLAIN}\n"]
    trees = list(read_predictions(lines, "file"))
    assert [tree is None for tree in trees] == [False, True, False, True, False]
    assert str(trees[2]) == "(ROOT (NP (NN a)))"


def test_reading_predictions_reports_the_line() -> None:
    with pytest.raises(InputError, match="file:3:1"):
        list(read_predictions(["(())\n", f"{PLAIN}\n", "(NP (NN a)\n"], "file"))


def test_an_empty_bracket_inside_a_tree_is_a_fault() -> None:
    with pytest.raises(InputError, match="file:2:2: empty bracket"):
        list(read_predictions(["(ROOT (NN a)\n", "(())\n", ")\n"], "file"))


GOLD_TAGS = [(("the", "cat", "sat"), ("DT", "NN", "VB")), (("cats", "sit"), ("NN", "VB")), (("the",), ("DT",))]
SOME_TAGS = [(("the", "cat", "sat"), ("DT", "VB", "VB")), (("cats", "sit"), ("VB", "NN")), (("the",), ("DT",))]


def test_tag_accuracies() -> None:
    scores = score_tags(GOLD_TAGS, SOME_TAGS, known={"the", "cat"})
    assert scores.to_json() == {
        "token": 50.0,
        "sentence": pytest.approx(100 / 3),
        "known": pytest.approx(200 / 3),
        "unknown": pytest.approx(100 / 3),
        "tokens": 6,
        "sentences": 3,
        "known_tokens": 3,
        "unknown_tokens": 3,
        "confusion": [
            {"gold": "NN", "predicted": "VB", "count": 2},
            {"gold": "VB", "predicted": "NN", "count": 1},
        ],
    }
    assert scores.tag_counts() == [(2, 3, 3), (0, 2, 2), (1, 1, 1)]
    assert len(scores.to_json(confusions=1)["confusion"]) == 1


def test_tag_accuracies_without_a_vocabulary_and_without_words() -> None:
    values = score_tags(GOLD_TAGS, GOLD_TAGS).to_json()
    assert (values["token"], values["known"], values["unknown_tokens"]) == (100.0, None, None)
    assert score_tags(GOLD_TAGS, GOLD_TAGS, known=[]).to_json()["unknown"] == 100.0
    assert score_tags([], []).to_json()["token"] == 0.0


@pytest.mark.parametrize(
    ("predicted", "message"),
    [
        (GOLD_TAGS[:2], "3 sentences in gold, 2 predicted"),
        ([GOLD_TAGS[0], GOLD_TAGS[2], GOLD_TAGS[2]], "sentence 2: 2 words in gold, 1 predicted"),
        ([GOLD_TAGS[0], (("cats", "sat"), ("NN", "VB")), GOLD_TAGS[2]], "sentence 2: word 2 is 'sit' in gold, 'sat'"),
    ],
)
def test_tags_of_other_words_are_an_error(
    predicted: list[tuple[tuple[str, ...], tuple[str, ...]]], message: str
) -> None:
    with pytest.raises(LatreeError, match=message):
        score_tags(GOLD_TAGS, predicted)


def test_comparing_a_system_with_itself() -> None:
    counts = [(3, 4, 5), (1, 2, 2), (0, 3, 1)]
    same = compare(counts, counts, resamples=200)
    assert (same.difference, same.low, same.high, same.p_value) == (0.0, 0.0, 0.0, 1.0)
    assert same.first == same.second == pytest.approx(200 * 4 / 17)


def test_comparing_sentences_that_all_differ_alike() -> None:
    """Every resample has the same F1 on either side, so the interval is a point and p as low as it can be."""
    result = compare([(1, 2, 2)] * 10, [(2, 2, 2)] * 10, resamples=99)
    assert (result.first, result.second, result.difference) == (50.0, 100.0, 50.0)
    assert (result.low, result.high, result.p_value) == (50.0, 50.0, 0.02)


def test_the_interval_is_that_of_the_binomial() -> None:
    """One word a sentence, 100 of 400 won: the difference is binomial with a deviation of 100 sqrt(.25 * .75 / 400)."""
    first, second = [(0, 1, 1)] * 400, [(1, 1, 1)] * 100 + [(0, 1, 1)] * 300
    result = compare(first, second, seed=3)
    half = 1.96 * 100 * (0.25 * 0.75 / 400) ** 0.5
    assert [result.low, result.high] == pytest.approx([25 - half, 25 + half], abs=0.5)
    assert result.p_value == pytest.approx(2 / 10_001)


def test_an_even_contest_is_not_significant_and_the_seed_repeats_it() -> None:
    first, second = [(1, 1, 1), (0, 1, 1)] * 20, [(0, 1, 1), (1, 1, 1)] * 20
    result = compare(first, second, resamples=2000, seed=1)
    assert result.difference == 0.0
    assert result.p_value > 0.9
    assert compare(first, second, resamples=2000, seed=1) == result
    assert compare(first, second, resamples=2000, seed=2).low <= 0.0 <= result.high


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=12), st.integers(0, 9))
def test_comparing_the_other_way_round_turns_the_sign(pairs: list[tuple[int, int]], seed: int) -> None:
    first, second = [(one, 3, 3) for one, _ in pairs], [(two, 3, 3) for _, two in pairs]
    there = compare(first, second, resamples=100, seed=seed)
    back = compare(second, first, resamples=100, seed=seed)
    assert there.p_value == back.p_value
    assert [there.difference, there.low, there.high] == pytest.approx([-back.difference, -back.high, -back.low])
    assert there.low <= there.high


@pytest.mark.parametrize(("first", "second"), [([], []), ([(1, 1, 1)], [(1, 2, 1)]), ([(1, 1, 1)], [(1, 1, 1)] * 2)])
def test_comparing_scores_of_other_sentences(
    first: list[tuple[int, int, int]], second: list[tuple[int, int, int]]
) -> None:
    with pytest.raises(LatreeError, match="same gold sentences"):
        compare(first, second)


def test_tables_for_the_terminal_fit_and_show_labels_as_they_are() -> None:
    scores = score(["(ROOT ([b] (NN a)))", sentence(12)], ["(ROOT ([b] (NN a)))", None])
    by_length, by_label = shown(render_trees(scores)), shown(render_labels(scores))
    assert "…" not in by_length
    assert "66.67" in by_length
    assert "[b]" in by_label
    tags = shown(render_tags(score_tags(GOLD_TAGS, SOME_TAGS)))
    assert "33.33" in tags
    assert "None" not in tags


def test_scoring_starts_without_the_heavy_libraries() -> None:
    program = "import sys, latree.scoring.score; print(sorted({'numba', 'numpy', 'rich', 'scipy'} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
