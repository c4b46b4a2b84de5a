"""Features of the words around a word, which taggers weigh."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from latree.arrays import Floats
from latree.kinds.examples import forests_with_gold
from latree.kinds.gm_lveg.model import GmLvegTagger
from latree.kinds.lvg_d.model import LvgDTagger
from latree.kinds.span_features import WordFeatures
from latree.text.tree import Tree

KINDS = [lambda: GmLvegTagger(epochs=1), lambda: LvgDTagger(epochs=1, iterations=2)]
Make = Callable[[], Any]


@pytest.fixture(scope="module", params=KINDS, ids=["gm-lveg", "lvg-d"])
def model(request: pytest.FixtureRequest, train: list[Tree]) -> Any:
    make: Make = request.param
    found = make().fit(train)
    rng = np.random.default_rng(3)
    features = len(found.spans.key)
    if isinstance(found, LvgDTagger):
        found.delta[len(found.delta) - features :] = rng.normal(size=features)
        found.prepare()
    else:
        found.span_weights = rng.normal(size=features)
    return found


def places(words: list[str], units: list[int], i: int, edge: int) -> list[tuple[int, int]]:
    """The words of each kind of feature, written out."""

    def at(k: int) -> int:
        return units[k] if 0 <= k < len(words) else edge

    before, here, after = at(i - 1), at(i), at(i + 1)
    alone = [(before, 0), (after, 0), (at(i - 2), 0), (at(i + 2), 0)]
    return [*alone, (before, here), (here, after), (before, after)]


def around(model: Any, words: Sequence[str]) -> Floats:
    """What stands around the words of a sentence weighs so much under every tag."""
    weigh: Floats = model.around_words(model.lexical.units_of(words), np.arange(len(words)))
    return weigh


def test_what_stands_around_a_word_weighs(model: Any, dev: list[Tree]) -> None:
    """The sum of the weights of its features, each looked up by itself."""
    spans = model.spans
    assert isinstance(spans, WordFeatures)
    weight = dict(zip(spans.key.tolist(), model.span_weights.tolist(), strict=True))
    room, found = spans.units + 1, 0
    for tree in dev[:5]:
        words, units = tree.words(), model.lexical.units_of(tree.words()).tolist()
        table = around(model, words)
        for i in range(len(words)):
            for tag in range(len(model.grammar.tags)):
                kinds = enumerate(places(words, units, i, spans.units))
                keys = [((kind * room + a) * room + b) * spans.symbols + tag + 1 for kind, (a, b) in kinds]
                found += sum(key in weight for key in keys)
                assert table[i, tag] == pytest.approx(sum(weight.get(key, 0.0) for key in keys))
    assert found > 20


def test_training_weighs_words_as_tagging_does(model: Any, train: list[Tree]) -> None:
    """What lies on the items of a training forest is what the reading says of their words and tags."""
    tagged = model.prepare_data(train[:6])
    examples = model.examples(tagged)
    forest, _ = forests_with_gold(model, examples)
    on_items = model.spans.on(forest, model.words_of_all(examples)).weigh(model.span_weights)
    lexical = np.flatnonzero(forest.rule >= forest.rules)
    items, entries = forest.ends[lexical, 0], forest.rule[lexical] - forest.rules
    table = np.concatenate([around(model, one.words) for one in examples])
    assert len(lexical) > 20
    assert_allclose(on_items[items], table.ravel()[entries], atol=1e-12)


def test_the_words_around_are_factors_of_a_sequence(model: Any, dev: list[Tree]) -> None:
    """With and without them, log P(T, w) differs by what they weigh under its tags."""
    tree = dev[0]
    number = {symbol.label: k for k, symbol in enumerate(model.grammar.tags)}
    tags = [number[label] for label in tree.tags()]
    words = tree.words()
    weigh = around(model, words)
    before, spans = model.log_prob_tags(words, tags), model.spans
    model.spans = None
    try:
        without = model.log_prob_tags(words, tags)
    finally:
        model.spans = spans
    assert before - without == pytest.approx(sum(weigh[i, tag] for i, tag in enumerate(tags)))
