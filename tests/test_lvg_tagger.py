"""The tagger with subtypes: against brute force, against the plain tagger, and from end to end."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

from latree import Hmm, load
from latree.kinds.lvg import LvgOptions
from latree.kinds.lvg.model import LvgTagger
from latree.learning.loop import Progress, Training
from tests.command import toy_trees

QUICK = LvgOptions.for_tagger(split_iterations=15, smooth_iterations=4)
Sentences = list[tuple[list[str], list[str]]]


def tagged(part: str) -> Sentences:
    return [(tree.words(), tree.tags()) for tree in toy_trees(part)]


@pytest.fixture(scope="module")
def train() -> Sentences:
    return tagged("train")


@pytest.fixture(scope="module")
def dev() -> Sentences:
    return tagged("dev")


@pytest.fixture(scope="module")
def trained(train: Sentences) -> tuple[LvgTagger, list[Progress]]:
    seen: list[Progress] = []
    return LvgTagger(subtypes=4, options=QUICK).fit(train, Training(seen.append)), seen


@pytest.fixture(scope="module")
def model(trained: tuple[LvgTagger, list[Progress]]) -> LvgTagger:
    return trained[0]


def numbers(model: LvgTagger | Hmm, tags: list[str]) -> list[int]:
    index = {symbol.label: k for k, symbol in enumerate(model.grammar.tags)}
    return [index[tag] for tag in tags]


def brute_force(model: LvgTagger, words: list[str], tags: list[int]) -> float:
    """P(tags, words): one sequence of subtypes after the other."""
    layout, emissions, total = model.layout, model.read(words).subtypes, 0.0
    steps = [model.rules.start[tags[0]], *(model.rules.step[s, t] for s, t in itertools.pairwise(tags))]
    tensors = [layout.tensor(model.theta, int(rule)) for rule in [*steps, model.rules.stop[tags[-1]]]]
    columns = layout.tag_columns[tags]
    for subtypes in itertools.product(*(range(model.size[1 + tag]) for tag in tags)):
        before, after = (0, *subtypes), (*subtypes, 0)
        moves = math.prod(float(t[x, y, 0]) for t, x, y in zip(tensors, before, after, strict=True))
        total += moves * math.prod(emissions[i, columns[i] + x] for i, x in enumerate(subtypes))
    return total


# -- training


def test_the_likelihood_rises(trained: tuple[LvgTagger, list[Progress]], train: Sentences, dev: Sentences) -> None:
    model, seen = trained
    assert model.size.tolist() == [1] + [4] * len(model.grammar.tags)
    for stage in (seen[:15], seen[20:35]):  # each round ends with word of it
        values = [progress.value for progress in stage]
        assert {progress.stage for progress in stage} == {"split"}
        assert all(later >= earlier - 1e-9 * abs(earlier) for earlier, later in itertools.pairwise(values))
        assert values[-1] > values[0] + 1
    plain = Hmm().fit(train)
    sums = [sum(one.log_prob_tags(words, numbers(one, tags)) for words, tags in dev) for one in (plain, model)]
    assert sums[1] > sums[0] + 10  # nats, far more than rounding moves


def test_transitions_are_distributions(model: LvgTagger) -> None:
    np.testing.assert_allclose(model.layout.parent_counts(model.theta), 1.0, rtol=1e-6)
    assert (model.theta > 0).all()  # every tag may follow every other
    chain = model.chain
    assert chain.start.sum() == pytest.approx(1)
    np.testing.assert_allclose(chain.step.sum(1) + chain.stop, 1.0, rtol=1e-6)


def test_one_subtype_is_the_plain_tagger(train: Sentences, dev: Sentences) -> None:
    one, plain = LvgTagger(subtypes=1).fit(train), Hmm().fit(train)
    np.testing.assert_allclose(one.theta, plain.theta, rtol=1e-6)
    for words, _ in dev[:20]:
        np.testing.assert_allclose(one.read(words).subtypes, plain.lexicon.emissions(words), rtol=1e-6)
    found, expected = (list(tagger.tag_all(words for words, _ in dev)) for tagger in (one, plain))
    assert [tagging.tags for tagging in found] == [tagging.tags for tagging in expected]
    assert [t.log_joint for t in found] == pytest.approx([t.log_joint for t in expected])


# -- tagging


def test_probabilities_are_sums_over_subtypes(model: LvgTagger) -> None:
    for words, tags in (
        (["you", "sleep", "."], ["PRP", "VB", "."]),
        (["books"], ["NN"]),
        (["a", "flibber"], ["DT", "NN"]),
    ):
        coded = numbers(model, tags)
        assert model.log_prob_tags(words, coded) == pytest.approx(math.log(brute_force(model, words, coded)))


def test_the_probability_of_words_is_a_sum_over_tags(model: LvgTagger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "threshold", 1e-30)
    words, tags = ["you", "like"], range(len(model.grammar.tags))
    joint = {pair: brute_force(model, words, list(pair)) for pair in itertools.product(tags, repeat=2)}
    assert model.log_prob(words) == pytest.approx(math.log(sum(joint.values())))
    (best,) = model.tag_all([words], objective="viterbi")
    assert best.confidences[1] == pytest.approx(
        sum(p for (_, t), p in joint.items() if model.grammar.tags[t].label == best.tags[1]) / sum(joint.values())
    )
    posteriors = model.posteriors(words, least=0.0)
    for place, row in enumerate(posteriors):
        for t in tags:
            share = sum(p for pair, p in joint.items() if pair[place] == t) / sum(joint.values())
            assert row[model.grammar.tags[t].label] == pytest.approx(share, rel=1e-6)


def test_the_toy_treebank(model: LvgTagger, dev: Sentences, tmp_path: Path) -> None:
    sentences = [words for words, _ in dev]
    taggings = list(model.tag_all(sentences))
    for one in taggings:
        assert one.log_joint == pytest.approx(model.log_prob_tags(one.tokens, numbers(model, list(one.tags))))
        assert one.log_joint <= one.log_marginal + 1e-9
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert isinstance(again, LvgTagger)
    assert list(again.tag_all(sentences)) == taggings
    two = list(model.tag_all(sentences, jobs=2))
    assert [str(one) for one in two] == [str(one) for one in taggings]
    assert [one.log_joint for one in two] == pytest.approx([one.log_joint for one in taggings], rel=1e-12)


def test_samples(model: LvgTagger) -> None:
    drawn = [model.sample(seed=seed) for seed in range(8)]
    assert drawn == [model.sample(seed=seed) for seed in range(8)]
    assert len({str(one) for one in drawn}) > 1
    words = ["you", "like", "these", "books", "."]
    best = next(model.analyse([words]))
    share = sum(model.sample(words, seed=seed).tags == best.tags for seed in range(60)) / 60
    assert abs(share - best.probability) < 4 * math.sqrt(0.25 / 60)
