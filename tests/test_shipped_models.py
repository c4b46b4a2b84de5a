"""The models that come with latree: by name, listed, with a card each; and texts that a model hardly knows."""

from __future__ import annotations

import json

import pytest

import latree
from latree.data import DEFAULT, shipped
from tests.command import done, model
from tests.command import latree as run


def test_each_has_a_card_and_its_facts() -> None:
    listed = {line["name"]: line for line in map(json.loads, done("models", "--json").lines)}
    assert {*listed} == {*shipped()} == {"english", "biology"}
    assert [name for name, line in listed.items() if line["default"]] == [DEFAULT]
    for name, line in listed.items():
        card = shipped()[name].with_suffix(".md").read_text()
        assert line["licence"].partition(";")[0] in card
        assert all(f"{score['f1']:.1f}" in card for score in line["scores"].values() if "f1" in score)
        assert name in done("models").out


@pytest.mark.parametrize("name", sorted(shipped()))
def test_a_name_stands_for_its_file(name: str) -> None:
    assert latree.load(name).training == latree.load(shipped()[name]).training


def test_the_cat_is_no_caption() -> None:
    parsed = latree.parse("The cat sat on the mat.")
    assert str(parsed) == "(ROOT (S (NP (DT The) (NN cat)) (VP (VBD sat) (PP (IN on) (NP (DT the) (NN mat)))) (. .)))"


def test_unknown_words_are_told() -> None:
    outcome = run("parse", "-m", model("pcfg"), "--json", stdin="the girl sleeps .\nGlimp glomp the glump .\n")
    assert [json.loads(line)["unknown"] for line in outcome.lines] == [[], [0, 1, 3]]
    assert outcome.err == "latree: sentence 2: training never saw 3 of its 4 words; expect a guess\n"
    strange = run("tag", "-m", model("hmm"), "--json", stdin="Glimp glomp glump\n" * 9)
    assert json.loads(strange.lines[0])["unknown"] == [0, 1, 2]
    assert strange.err.splitlines()[-2:] == [
        "latree: 9 of 9 sentences are mostly of words that training never saw",
        "latree: training never saw 27 of 27 words: is this the model for this text?",
    ]
