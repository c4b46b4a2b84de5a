"""Which sentences to annotate first: doubts word by word, the greedy choice, and the command."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import latree
from latree.data import toy
from latree.errors import LatreeError
from latree.experiments.doubts import UNDERIVED, doubts_of, doubts_of_all
from latree.experiments.ranking import greedy, rank_sentences
from latree.inference.results import Constituent, Parse, Tagging
from latree.text.tree import Tree
from tests.command import done, model
from tests.command import latree as run

# -- doubts


def test_a_phrase_shares_its_doubt_among_its_words() -> None:
    phrases = [Constituent("S", 0, 4, 1.0), Constituent("NP", 0, 2, 0.5), Constituent("VP", 1, 4, 0.4)]
    tree = Tree.read("(S (X a) (X b) (X c) (X d))")
    parse = Parse(tuple("abcd"), -1.0, -1.0, tree=tree, look_up=lambda _: phrases)
    assert doubts_of(parse).errors == pytest.approx([0.25, 0.45, 0.2, 0.2])
    assert sum(doubts_of(parse).errors) == pytest.approx(sum(1 - phrase.probability for phrase in phrases))


def test_a_tag_is_doubted_by_itself() -> None:
    tagging = Tagging(("a", "b"), -1.0, -1.0, tags=("X", "Y"), confidences=(0.75, 1.0))
    assert doubts_of(tagging).errors == [0.25, 0.0]


def test_what_is_not_derived_is_doubted_throughout() -> None:
    assert doubts_of(Parse(("a", "b"), -math.inf, -math.inf, "recovered")) == ("recovered", [UNDERIVED] * 2)
    assert doubts_of(Parse((), -math.inf, -math.inf, "empty")).errors == []


def test_expected_errors_are_those_of_posteriors(dev: list[Tree]) -> None:
    parser = latree.load(model("pcfg"))
    sentences = [tree.words() for tree in dev[:40]]  # more than a batch
    found = list(doubts_of_all(parser, sentences))
    for words, one in zip(sentences, found, strict=True):
        phrases = parser.parse(words).constituents
        assert sum(one.errors) == pytest.approx(sum(1 - phrase.probability for phrase in phrases), abs=1e-9)


# -- the choice

Worth = dict[tuple[str, str], float]


def plain_greedy(worth: dict[int, Worth], costs: dict[int, float]) -> list[tuple[int, float]]:
    """The definition: at every step all gains are worked out, and of equal ones the first is taken."""
    chosen: list[tuple[int, float]] = []
    while len(chosen) < len(worth):
        taken = [worth[k] for k, _ in chosen]
        gains = {k: gain(one, taken) / costs[k] for k, one in worth.items() if k not in dict(chosen)}
        chosen.append(max(gains.items(), key=lambda pair: (pair[1], -pair[0])))
    return chosen


def gain(one: Worth, taken: list[Worth]) -> float:
    return sum(errors / (1 + sum(pair in other for other in taken)) for pair, errors in one.items())


PAIRS = st.sampled_from([("", "a"), ("a", "b"), ("b", "a"), ("b", "c")])
SENTENCES = st.lists(st.dictionaries(PAIRS, st.integers(0, 4).map(float)), max_size=6)


@given(SENTENCES, st.integers(1, 3))
def test_lazily_chosen_is_greedily_chosen(sentences: list[Worth], cost: int) -> None:
    worth = dict(enumerate(sentences))
    costs = {k: float(cost + k) for k in worth}
    found = list(greedy(worth, costs))
    assert found == plain_greedy(worth, costs)
    assert list(greedy(worth, costs, 2)) == found[:2]


def test_scores_fall() -> None:
    worth = {k: {("", "ab"[k % 2]): 1.0 + k, ("", "c"): 0.5} for k in range(8)}
    scores = [score for _, score in greedy(worth, dict.fromkeys(worth, 2.0))]
    assert scores == sorted(scores, reverse=True)


def test_of_copies_the_second_waits() -> None:
    worth = {0: {("", "a"): 4.0}, 1: {("", "a"): 4.0}, 2: {("", "b"): 3.0}}
    assert list(greedy(worth, dict.fromkeys(worth, 1.0))) == [(0, 4.0), (2, 3.0), (1, 2.0)]


# -- sentences


def test_the_first_has_most_errors_for_its_cost(train: list[Tree]) -> None:
    parser = latree.load(model("pcfg"))
    sentences = [tree.words() for tree in train[:20]]
    found = rank_sentences(parser, sentences, overhead=3.0)
    assert [one.rank for one in found] == list(range(1, 21))
    assert sorted(one.number for one in found) == list(range(1, 21))
    first = found[0]
    (doubts,) = doubts_of_all(parser, [first.tokens])
    assert first.score == pytest.approx(sum(doubts.errors) / (len(first.tokens) + 3))
    assert first.errors == pytest.approx(sum(doubts.errors))
    assert rank_sentences(parser, sentences, 5, overhead=3.0) == found[:5]


def test_what_cannot_be_annotated_is_left_out() -> None:
    parser = latree.load(model("pcfg"))
    parser.max_length = 4
    sentences = [[], ["the", "teacher", "sleeps", "."], ["the"] * 5]
    assert [one.number for one in rank_sentences(parser, sentences)] == [2]


def test_a_text_is_split() -> None:
    found = latree.rank_sentences(latree.load(model("pcfg")), "The teacher sleeps. The dog sleeps.")
    assert {len(one.tokens) for one in found} == {4}


def test_no_sentence_is_told() -> None:
    with pytest.raises(LatreeError, match="is no string"):
        rank_sentences(latree.load(model("pcfg")), [[1]])  # type: ignore[list-item]


# -- the command


def test_the_command_prints_lines_or_json(tmp_path: Path) -> None:
    arguments: list[str | Path] = ["rank", "-m", model("pcfg"), toy("dev"), "--most", "3"]
    lines = [line.split("\t") for line in done(*arguments).lines]
    told = [json.loads(line) for line in done(*arguments, "--json").lines]
    assert [line[0] for line in lines] == ["1", "2", "3"]
    assert [int(line[2]) for line in lines] == [one["number"] for one in told]
    assert [line[3].split() for line in lines] == [one["tokens"] for one in told]
    assert [float(line[1]) for line in lines] == pytest.approx([one["score"] for one in told], abs=1e-4)


def test_jobs_and_going_on_change_nothing(tmp_path: Path) -> None:
    ledger = tmp_path / "done"
    arguments: list[str | Path] = ["rank", "-m", model("pcfg"), toy("dev"), "--json", "--quiet"]
    first = done(*arguments, "--resume", ledger, "--jobs", "2")
    kept = ledger.read_text().splitlines()
    ledger.write_text(kept[0] + "\n")
    assert done(*arguments, "--resume", ledger) == first
    assert ledger.read_text().splitlines() == kept
    done("rank", "-m", model("hmm"), toy("dev"), "--quiet", "--resume", ledger)  # another model, other doubts
    assert len(ledger.read_text().splitlines()) == 2 * len(kept)


def test_long_sentences_are_told(tmp_path: Path) -> None:
    text = tmp_path / "long.txt"
    text.write_text("the " * 401 + "\nthe teacher sleeps .\n")
    outcome = run("rank", "-m", model("pcfg"), text)
    assert "1 of 2 sentences have more than 400 words" in outcome.err
    assert len(outcome.lines) == 1
