"""The names, types and messages that somebody meets who uses latree from Python."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import latree
from latree.data import toy
from latree.learning.loop import Training
from tests.command import SLEEPS, toy_trees, write_conllu

WORDS = SLEEPS.split()


def test_every_name_is_listed_and_there() -> None:
    assert {"parse", "load", "Lvg", "Tree", "tag"} <= {*dir(latree)}
    assert all(hasattr(latree, name) for name in dir(latree))


def test_kinds_whose_library_is_absent_are_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("latree.kinds.registry.find_spec", lambda name: None)
    assert {*latree._HOME} - {*latree.__all__} == {"NeuralParser", "NeuralTagger"}


def test_english_at_once() -> None:
    parse = latree.parse("The mice were fed.")
    assert (parse.status, parse.tokens) == ("ok", ("The", "mice", "were", "fed", "."))
    assert latree.parse(["The", "mice", "were", "fed", "."]) == parse
    assert parse.tree is not None
    assert latree.tag("The mice were fed.") == parse.tree.tags()
    assert [str(one) for one in latree.parse_all("The mice were fed.\nThe mice were fed.")] == [str(parse)] * 2


def tree_of(model: str | None, text: str) -> latree.Tree | None:
    """What a type checker must be able to follow, without a cast."""
    return latree.load(model).parse(text).tree


def test_a_loaded_model_has_types() -> None:
    tree = tree_of(None, "The mice were fed.")
    assert tree is not None
    assert tree.words() == ["The", "mice", "were", "fed", "."]


# -- training


@pytest.mark.parametrize("kind", [str, Path])
def test_a_treebank_by_its_path(kind: type[Any]) -> None:
    parser = latree.Pcfg().fit(kind(toy("train")))
    assert parser.parse(WORDS) == latree.Pcfg().fit(latree.read_trees(toy("train"))).parse(WORDS)
    assert repr(parser).startswith("<Pcfg (train.mrg): ")


def test_a_tagger_learns_from_tables_and_trees(tmp_path: Path) -> None:
    trees = toy_trees("train")
    pairs = [(tree.words(), tree.tags()) for tree in trees]
    table = write_conllu(tmp_path / "train.conllu", trees)
    sources: list[str | Path | Iterable[Any]] = [pairs, trees, toy("train"), str(table)]
    taggings = [next(latree.Hmm().fit(source).tag_all([WORDS])) for source in sources]
    assert all(tagging == taggings[0] for tagging in taggings)


def test_a_model_tells_its_scores() -> None:
    parser, tagger = latree.Pcfg().fit(toy("train")), latree.Hmm().fit(toy("train"))
    parser.training["dev"] = {"data": "dev.mrg", "f1": 93.404}
    tagger.training["dev"] = {"data": "dev.conllu", "token": 99.0}
    assert repr(parser).endswith(" words; F1 93.4 on dev.mrg>")
    assert repr(tagger).endswith(" words; tags 99.0 on dev.conllu>")
    parser.training["scores"] = {"web": {"f1": 80.0}, "wsj": {"f1": 79.0}}
    assert repr(parser).endswith(" words; F1 79.0 on wsj to 80.0 on web>")


def test_models_that_are_not_trained_say_so() -> None:
    assert repr(latree.Lvg()) == "<Lvg: not trained>"
    assert repr(latree.GmLvegTagger()) == "<GmLvegTagger: not trained>"
    with pytest.raises(latree.LatreeError, match="not trained"):
        latree.Lvg().parse(SLEEPS)


@pytest.mark.parametrize(
    ("model", "data", "complaint"),
    [
        (latree.Pcfg, [], "no trees with words"),
        (latree.Pcfg, WORDS, "expected a tree, not 'the'"),
        (latree.Lvg, [(WORDS, WORDS)], "expected a tree, not "),
        (latree.Pcfg, None, "fit takes the path of a treebank, or what was read from one, not None"),
        (latree.Pcfg, "no such file.mrg", "no such file.mrg: cannot be read"),
        (latree.Hmm, [], "no sentences with words"),
        (latree.Hmm, [WORDS], "learns from sentences as"),
        (latree.Hmm, [("the", "DT")], "a tag for each"),
        (latree.Hmm, [(WORDS, ["DT"])], "a tag for each"),
        (latree.Hmm, 3, "fit takes the path"),
    ],
)
def test_what_cannot_be_learned_from(model: Any, data: Any, complaint: str) -> None:
    with pytest.raises(latree.LatreeError, match=complaint):
        model().fit(data)


def test_a_parser_learns_nothing_from_tables(tmp_path: Path) -> None:
    with pytest.raises(latree.LatreeError, match="has no trees to train a pcfg on"):
        latree.Pcfg().fit(write_conllu(tmp_path / "train.conllu", toy_trees("train")[:3]))


def test_progress_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    steps = []
    training = Training(lambda progress: steps.append(progress.place()))
    latree.Lvg(rounds=1).fit(toy_trees("train")[:20], training, progress=True)
    assert "round 1 of 1: " in capsys.readouterr().err
    assert set(steps) == {"round 1 of 1"}


# -- questions


def test_no_tree_is_told() -> None:
    parser = latree.Pcfg().fit(toy("train"))
    with pytest.raises(latree.LatreeError, match="expected a tree"):
        parser.log_prob_tree("(S (NP ...))")  # type: ignore[arg-type]
    with pytest.raises(latree.LatreeError, match="a pcfg parses; use parse_all"):
        parser.tag_all([WORDS])
    assert list(parser.parse_all(f"{SLEEPS}\n{SLEEPS}", jobs=2)) == [parser.parse(WORDS)] * 2
