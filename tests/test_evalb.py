"""EVALB's numbers: equal to the original program's where its output is at hand, and by hand for each rule."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from latree.errors import InputError
from latree.scoring.evalb import COLLINS, ERROR, OK, SKIP, Parameters, Sentence, Summary, format_table, score_pair
from latree.text.tree import Tree, read_brackets

ORACLE = Path(__file__).parents[1] / ".." / "shared" / "evalb"


def pair(gold: str, test: str | None, parameters: Parameters = COLLINS) -> Sentence:
    return score_pair(Tree.read(gold), None if test is None else Tree.read(test), parameters)


def brackets(row: Sentence) -> tuple[int, int, int]:
    return row.matched, row.gold, row.test


def prm(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "own.prm"
    path.write_text(text, encoding="utf-8")
    return path


def oracle(name: str) -> Path:
    path = ORACLE / name
    if not path.exists():
        pytest.skip(f"no EVALB output at {path}")
    return path


@pytest.mark.parametrize("name", ["tricky", "skips", "wsj-dev-1"])
def test_table_equals_the_original_programs(name: str) -> None:
    expected = oracle(f"{name}.evalb").read_text(encoding="utf-8")
    parameters = Parameters.read(oracle("COLLINS.prm"))
    with oracle(f"{name}.gold").open(encoding="utf-8") as gold, oracle(f"{name}.test").open(encoding="utf-8") as test:
        trees = zip(read_brackets(gold, "gold"), read_brackets(test, "test"), strict=True)
        rows = [score_pair(left, right, parameters) for left, right in trees]
    assert format_table(rows, parameters) == expected


def test_defaults_are_collins_prm() -> None:
    assert Parameters.read(oracle("COLLINS.prm")) == COLLINS


def test_labels_count_and_the_outer_top_does_not() -> None:
    row = pair("(TOP (S (NP (NN a)) (VP (VB b))))", "(TOP (S (NP (NN a)) (ADJP (VB b))))")
    assert brackets(row) == (2, 3, 3)


def test_equivalent_labels_match_both_ways() -> None:
    with_prt, with_advp = "(TOP (VP (VB a) (PRT (RP b))))", "(TOP (VP (VB a) (ADVP (RB b))))"
    for gold, test in [(with_prt, with_advp), (with_advp, with_prt)]:
        row = pair(gold, test)
        assert brackets(row) == (2, 2, 2)
        assert (row.tags, row.words) == (1, 2)


def test_equivalent_labels_hold_for_tags_and_through_chains() -> None:
    parameters = Parameters(equal_labels=(("A", "B"), ("C", "D"), ("B", "C")))
    row = pair("(S (A x) (D y) (E z))", "(S (D x) (B y) (A z))", parameters)
    assert (row.tags, row.words) == (2, 3)


def test_same_label_twice_over_a_span_is_a_multiset() -> None:
    twice, once = "(TOP (S (NP (NP (NN a))) (VP (VB b))))", "(TOP (S (NP (NN a)) (VP (VB b))))"
    assert brackets(pair(twice, once)) == (3, 4, 3)
    assert brackets(pair(once, twice)) == (3, 3, 4)
    assert brackets(pair(twice, twice)) == (4, 4, 4)


def test_deleted_punctuation_moves_no_bracket() -> None:
    inside, outside = "(TOP (S (NP (NN a) (, ,)) (VP (VB b) (. .))))", "(TOP (S (NP (NN a)) (, ,) (VP (VB b)) (. .)))"
    row = pair(inside, outside)
    assert brackets(row) == (3, 3, 3)
    assert (row.length, row.words, row.tags) == (4, 2, 2)


def test_a_bracket_over_nothing_but_punctuation_is_gone() -> None:
    assert brackets(pair("(TOP (S (NP (NN a)) (PRN (: --) (: --))))", "(TOP (S (NP (NN a)) (: --) (: --)))")) == (
        2,
        2,
        2,
    )


def test_traces_count_neither_as_words_nor_as_length() -> None:
    row = pair("(TOP (S (NP (-NONE- *)) (VP (VB go))))", "(TOP (S (VP (VB go))))")
    assert (row.status, row.length, row.words, brackets(row)) == (OK, 1, 1, (2, 2, 2))


def test_function_tags_fall_but_a_leading_hyphen_stays() -> None:
    assert brackets(pair("(TOP (NP-SBJ (NN a)))", "(TOP (NP=2 (NN a)))")) == (1, 1, 1)
    assert brackets(pair("(TOP (-X- (NN a)))", "(TOP (-Y- (NN a)))")) == (0, 1, 1)


def test_an_outer_bracket_without_a_label_counts() -> None:
    assert brackets(pair("((NP (NN a)))", "((NP (NN a)))")) == (2, 2, 2)


def test_punctuation_with_another_tag_is_a_length_error() -> None:
    row = pair("(TOP (S (NN a) (: -) (NN b)))", "(TOP (S (NN a) (NN -) (NN b)))")
    assert (row.status, row.length, brackets(row), row.words) == (ERROR, 3, (0, 0, 0), 0)
    assert "2 words in gold, 3 in the parse" in row.reason


def test_two_wrong_deletions_that_even_out_are_a_word_error() -> None:
    row = pair("(TOP (S (NN a) (: -)))", "(TOP (S (: a) (NN -)))")
    assert row.status == ERROR
    assert row.reason == "words differ: 'a' in gold, '-' in the parse"


def test_equivalent_words_are_no_error() -> None:
    parameters = Parameters(equal_words=(("Example", "example"),))
    assert pair("(S (NN Example))", "(S (NN example))").status == ERROR
    assert pair("(S (NN Example))", "(S (NN example))", parameters).status == OK


@pytest.mark.parametrize("test", [None, "(TOP (. a) (. b))"])
def test_a_parse_without_words_is_skipped(test: str | None) -> None:
    row = pair("(TOP (S (NN a) (NN b)))", test)
    assert (row.status, row.length, row.exact) == (SKIP, 2, False)


def test_a_quote_that_one_side_deletes_stays_where_listed() -> None:
    gold, test = "(TOP (NP (NN a) (POS ')))", "(TOP (NP (NN a)) ('' '))"
    listed = Parameters(quote_labels=frozenset({"POS", "''"}), quote_words=frozenset({"'"}))
    other_tag = Parameters(quote_labels=frozenset({"NN", "''"}), quote_words=frozenset({"'"}))
    assert pair(gold, test).status == ERROR
    assert pair(gold, test, other_tag).status == ERROR
    row = pair(gold, test, listed)
    assert (row.status, row.words, row.tags, brackets(row)) == (OK, 2, 1, (0, 1, 1))


def test_quotes_that_both_sides_delete_stay_deleted() -> None:
    listed = Parameters(quote_labels=frozenset({"``", "''"}), quote_words=frozenset({"'"}))
    assert pair("(S (NN a) ('' '))", "(S (NN a) (`` '))", listed).words == 1


def test_crossing_counts_test_brackets() -> None:
    gold = "(TOP (S (NP (NN a) (NN b)) (VP (VB c) (NN d))))"
    test = "(TOP (S (NN a) (X (Y (NN b) (VB c))) (NN d)))"
    assert pair(gold, test).crossing == 2
    assert pair(test, gold).crossing == 2
    assert pair(gold, "(TOP (S (NN a) (X (NN b) (VB c) (NN d))))").crossing == 1


def test_unlabelled() -> None:
    parameters = Parameters(labeled=0)
    assert brackets(pair("(TOP (S (NP (NN a)) (NN b)))", "(TOP (X (Y (NN a)) (NN b)))", parameters)) == (2, 2, 2)


def test_summary_leaves_out_errors_and_format_shows_them() -> None:
    rows = [
        Sentence(12, OK, 2, 4, 3, 1, 10, 9),
        Sentence(41, OK, 2, 2, 2, 0, 30, 30),
        Sentence(5, ERROR, reason="words differ"),
        Sentence(6, SKIP, reason="no parse"),
    ]
    total = Summary(rows)
    assert (total.sentences, total.valid, total.errors, total.skips) == (4, 2, 1, 1)
    assert (total.precision, total.exact, total.uncrossed, total.nearly_uncrossed) == (80.0, 50.0, 50.0, 100.0)
    assert total.recall == pytest.approx(200 / 3)
    assert total.f1 == pytest.approx(800 / 11)
    lines = format_table(rows).splitlines()
    assert lines[3] == "   1   12    0   50.00  66.67     2      4    3      1     10     9    90.00"
    assert lines[6] == "   4    6    2    0.00   0.00     0      0    0      0      0     0     0.00"
    assert lines[8] == "                 66.67  80.00      4     6     5      1     40    39    97.50"
    short = lines[lines.index("-- len<=40 --") :]
    assert short[1] == "Number of sentence        =      3"
    assert short[5] == "Bracketing Recall         =  50.00"


def test_no_sentences_at_all() -> None:
    assert "Bracketing FMeasure       =   0.00" in format_table([])


def test_reading_parameters(tmp_path: Path) -> None:
    text = "# note\nCUTOFF_LEN 15\n  LABELED 0 \r\nDELETE_LABEL #\nMAX_ERROR 3\n"
    text += "EQ_LABEL NP -LRB-\nEQ_WORD -LRB- [\nQUOTE_TERM '\n"
    assert Parameters.read(prm(tmp_path, text)) == Parameters(
        delete=frozenset("#"),
        delete_for_length=frozenset(),
        equal_labels=(("NP", "-LRB-"),),
        equal_words=(("(", "["),),
        quote_words=frozenset("'"),
        labeled=0,
        cutoff=15,
        max_error=3,
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("DELETE_LABLE X", "unknown option 'DELETE_LABLE'"),
        ("DELETE_LABEL", "DELETE_LABEL takes 1 value, found 0"),
        ("EQ_LABEL ADVP", "EQ_LABEL takes 2 values, found 1"),
        ("CUTOFF_LEN forty", "CUTOFF_LEN takes a whole number of up to nine digits, found 'forty'"),
        (f"CUTOFF_LEN {'9' * 5000}", "CUTOFF_LEN takes a whole number of up to nine digits, found '999"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    path = prm(tmp_path, f"DEBUG 0\n\n{line}\n")
    with pytest.raises(InputError) as caught:
        Parameters.read(path)
    assert str(caught.value).startswith(f"{path}:3: {message}")


def test_parameters_that_are_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "own.prm"
    path.write_bytes(b"DEBUG 0\nDELETE_LABEL \xff\n")
    with pytest.raises(InputError, match=r":2: not UTF-8"):
        Parameters.read(path)


Merges = list[tuple[int, int, str]]
merges = st.lists(
    st.tuples(st.integers(0, 9), st.integers(1, 4), st.sampled_from(["S", "NP", "ADVP", "PRT"])), max_size=9
)
tags = st.lists(st.sampled_from(["NN", "VB", ",", "."]), max_size=8).map(lambda rest: ["NN", *rest])


def grow(tags: list[str], merges: Merges) -> Tree:
    """A tree over the tags' words, by putting brackets over neighbours."""
    nodes = [Tree(tag, word=f"w{i}") for i, tag in enumerate(tags)]
    for place, width, label in merges:
        start = place % len(nodes)
        nodes[start : start + width] = [Tree(label, nodes[start : start + width])]
    return Tree("TOP", nodes)


@given(tags, merges)
def test_gold_against_itself_is_perfect(tags: list[str], merges: Merges) -> None:
    tree = grow(tags, merges)
    row = score_pair(tree, tree)
    assert row.exact
    assert (row.crossing, row.tags) == (0, row.words)
    assert row.status == OK


@given(tags, merges, merges)
def test_swapping_the_sides_swaps_precision_and_recall(tags: list[str], first: Merges, second: Merges) -> None:
    there, back = (score_pair(grow(tags, one), grow(tags, two)) for one, two in ((first, second), (second, first)))
    assert (there.matched, there.gold, there.test) == (back.matched, back.test, back.gold)
    assert Summary([there]).precision == Summary([back]).recall
    assert Summary([there]).f1 == pytest.approx(Summary([back]).f1)


@given(tags, merges, merges)
def test_counts_equal_the_definition(tags: list[str], first: Merges, second: Merges) -> None:
    """Against all pairs of brackets, matched one by one and crossed one by one."""
    gold, test = grow(tags, first), grow(tags, second)
    kept = [tag in ("NN", "VB") for tag in tags]
    sides = []
    for tree in (gold, test):
        spans = [(label.replace("PRT", "ADVP"), sum(kept[:i]), sum(kept[:j])) for label, i, j in tree.spans()]
        sides.append([(label, i, j) for label, i, j in spans if label != "TOP" and i < j])
    left, free = sides[0], list(sides[1])
    matched = 0
    for bracket in left:
        if bracket in free:
            free.remove(bracket)
            matched += 1
    crossed = {t for g, t in product(range(len(left)), range(len(sides[1]))) if crosses(left[g][1:], sides[1][t][1:])}
    row = score_pair(gold, test)
    assert (row.matched, row.gold, row.test, row.crossing) == (matched, len(left), len(sides[1]), len(crossed))


def crosses(first: tuple[int, int], second: tuple[int, int]) -> bool:
    one, two = set(range(*first)), set(range(*second))
    return bool(one & two) and bool(one - two) and bool(two - one)
