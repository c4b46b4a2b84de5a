"""What every kind of model keeps to, whatever it has learned: each test runs over all that are registered."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from latree import LatreeError, Parse, Product, ProductTagger, Tree, load
from latree.cli.warm import NAMES, SMALL, TRAINED, is_tagger
from latree.data import toy
from latree.inference.results import OBJECTIVES
from latree.kinds.product.model import together
from latree.kinds.registry import all_kinds, kind_named, model_class, report_on
from latree.kinds.report import Ask
from latree.kinds.sentences import BATCH
from latree.report.html import page
from tests.command import SLEEPS, done, latree, toy_trees
from tests.kinds_matrix import PARSERS, TAGGERS, made, model, model_file, train
from tests.pages import EVIL, Reader

ROUNDING = 1e-9
WORDS = SLEEPS.split()
ODD = [".", "(", "\u200b", "\ud800", "\U0001f469\u200d\U0001f680", "\u202eabc", "a\tb"]
SENTENCES = [WORDS, ["the", "flibber", "sleeps", "."], *(tree.words() for tree in toy_trees("dev")[:10])]

every = pytest.mark.parametrize("name", NAMES)
every_parser = pytest.mark.parametrize("name", PARSERS)
every_tagger = pytest.mark.parametrize("name", TAGGERS)
every_trained = pytest.mark.parametrize("name", TRAINED)


def shown(analyses: list[Any]) -> list[dict[str, Any]]:
    return [analysis.to_json() for analysis in analyses]


def answer_of(call: Callable[[], list[Any]]) -> list[Any] | str:
    """What a model gives, or the words in which it refuses."""
    try:
        return call()
    except LatreeError as refusal:
        return str(refusal)


def joint(grammar: Any, analysis: Any) -> float:
    """log P(T, w) of an analysis, asked for by itself."""
    if isinstance(analysis, Parse):
        assert analysis.tree is not None
        return float(grammar.log_prob_tree(analysis.tree))
    number = {symbol.label: tag for tag, symbol in enumerate(grammar.grammar.tags)}
    return float(grammar.log_prob_tags(analysis.tokens, [number[tag] for tag in analysis.tags]))


def several_opinions(grammar: Any) -> bool:
    """Whether several distributions choose an analysis together."""
    return isinstance(grammar, Product | ProductTagger) or getattr(grammar, "joint", False)


def assert_honest(grammar: Any, analysis: Any, words: list[str]) -> None:
    """Assert what holds of every analysis that a model stands by."""
    assert (analysis.status, analysis.reason, list(analysis.tokens)) == ("ok", "", words)
    if isinstance(analysis, Parse):
        assert analysis.tree is not None
        assert analysis.tree.words() == words
        assert [c[:3] for c in analysis.constituents] == list(analysis.tree.spans())
        shares = [c.probability for c in analysis.constituents]
    else:
        assert len(analysis.tags) == len(words)
        shares = list(analysis.confidences)
    assert all(0 <= share <= 1 + ROUNDING for share in [*shares, analysis.probability])
    assert analysis.log_joint <= analysis.log_marginal + ROUNDING
    if several_opinions(grammar):  # those of a forest are normalised, a tree by itself is in none
        assert math.isfinite(joint(grammar, analysis))
    else:
        assert joint(grammar, analysis) == pytest.approx(analysis.log_joint, rel=1e-6)


# -- training and files


@every_trained
def test_the_same_training_gives_the_same_model(name: str, tmp_path: Path) -> None:
    train(name, tmp_path / "again")
    (_, first), (_, again) = model(name).state(), load(tmp_path / "again").state()
    assert first.keys() == again.keys()
    for key, array in first.items():
        np.testing.assert_array_equal(array, again[key])


def test_options_that_make_training_short_are_of_kinds_that_there_are() -> None:
    assert set(SMALL) <= {name for kind in all_kinds().values() for name in kind.places()}


@every
def test_a_file_keeps_all(name: str) -> None:
    before, after = made(name)[0], model(name)
    assert type(after) is type(before)
    assert shown(list(after.analyse(SENTENCES))) == shown(list(before.analyse(SENTENCES)))
    assert shown(after.kbest(WORDS, 4)) == shown(before.kbest(WORDS, 4))


# -- analyses


@every
def test_analyses_are_honest(name: str) -> None:
    grammar = model(name)
    for words, analysis in zip(SENTENCES, grammar.analyse(SENTENCES), strict=True):
        assert_honest(grammar, analysis, words)


@every
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_an_objective_is_followed_or_refused(name: str, objective: Any) -> None:
    answer = answer_of(lambda: list(model(name).analyse([WORDS], objective)))
    if isinstance(answer, str):
        assert "objective" in answer
    else:
        assert_honest(model(name), answer[0], WORDS)


@every
def test_an_unknown_objective_is_told(name: str) -> None:
    with pytest.raises(LatreeError, match="unknown objective 'nonsense'"):
        list(model(name).analyse([WORDS], "nonsense"))  # type: ignore[arg-type]


@every
def test_alone_as_among_others(name: str) -> None:
    """But for rounding, and where rounding decides."""
    for words, among in zip(SENTENCES, model(name).analyse(SENTENCES), strict=True):
        (alone,) = model(name).analyse([words])
        assert alone.log_marginal == pytest.approx(among.log_marginal)
        first, *others = model(name).kbest(words, 2)
        if others and first.log_joint > others[0].log_joint + 1e-6:
            assert str(alone) == str(among)
            assert alone.log_joint == pytest.approx(among.log_joint)


@every
def test_two_jobs_give_what_one_gives(name: str) -> None:
    grammar: Any = model(name)
    sentences = [SENTENCES[k % len(SENTENCES)] for k in range(BATCH + 3)] + [[]]
    every_one = grammar.tag_all if is_tagger(name) else grammar.parse_all
    one, two = (list(every_one(sentences, jobs=jobs)) for jobs in (1, 2))
    assert [str(analysis) for analysis in two] == [str(analysis) for analysis in one]
    # A kernel just compiled and the same from the cache may differ in the last bit.
    for attribute in ("log_joint", "log_marginal"):
        values = [[getattr(analysis, attribute) for analysis in analyses] for analyses in (one, two)]
        assert values[0] == pytest.approx(values[1], rel=1e-12)


@every
def test_two_threads_give_what_one_gives(name: str) -> None:
    grammar = model(name)
    parts = [SENTENCES, SENTENCES[::-1]] * 4
    expected = [shown(list(grammar.analyse(part))) for part in parts[:2]] * 4
    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(lambda part: shown(list(grammar.analyse(part))), parts)) == expected


# -- lists


@every
def test_lists_name_nothing_twice_and_hold_no_more_than_all(name: str) -> None:
    grammar = model(name)
    for words in SENTENCES[:4]:
        listed = grammar.kbest(words, 10)
        assert 1 <= len(listed) <= 10
        assert len({str(analysis) for analysis in listed}) == len(listed)
        assert math.fsum(analysis.probability for analysis in listed) <= 1 + ROUNDING
        for analysis in listed:
            assert_honest(grammar, analysis, words)


@every
def test_a_list_of_one_is_the_best(name: str) -> None:
    for words in SENTENCES[:4]:
        (best,) = model(name).analyse([words])
        assert [str(analysis) for analysis in model(name).kbest(words, 1)] == [str(best)]


@every
def test_a_list_begins_with_the_best_however_long_it_is(name: str) -> None:
    """To fill a long list more is kept of the forest, which moves posteriors; but for ties the best stays the best."""
    for words in SENTENCES[:4]:
        (best,) = model(name).analyse([words])
        first = model(name).kbest(words, 40)[0]
        assert str(first) == str(best) or first.log_joint == pytest.approx(best.log_joint, abs=1e-6)


@every
def test_lists_by_probability_are_exact_or_refused(name: str) -> None:
    grammar = model(name)
    if not grammar.certifies:
        with pytest.raises(LatreeError, match="k-best lists go by"):
            grammar.kbest(WORDS, 3, "viterbi")
        return
    listed = grammar.kbest(WORDS, 10, "viterbi")
    scores = [analysis.log_joint for analysis in listed]
    assert scores == pytest.approx(sorted(scores, reverse=True))
    (best,) = grammar.analyse([WORDS], "viterbi")
    assert best.log_joint == pytest.approx(scores[0])
    assert max(analysis.log_joint for analysis in grammar.kbest(WORDS, 10)) <= scores[0] + ROUNDING


@every
def test_a_list_of_nothing_is_refused(name: str) -> None:
    with pytest.raises(LatreeError, match="cannot list 0 analyses"):
        model(name).kbest(WORDS, 0)


# -- probabilities


@every_parser
def test_phrases_have_probabilities(name: str) -> None:
    grammar: Any = model(name)
    for words in SENTENCES[:4]:
        likely = {c[:3]: c.probability for c in grammar.posteriors(words)}
        assert all(1e-3 <= probability <= 1 + ROUNDING for probability in likely.values())
        sure = {c[:3] for c in grammar.parse(words).constituents if c.probability > 0.5}
        assert sure <= likely.keys()


@every_tagger
def test_the_tags_of_a_word_share_one_probability(name: str) -> None:
    grammar: Any = model(name)
    for words in SENTENCES[:4]:
        rows = grammar.posteriors(words, least=0.0)
        assert [math.fsum(row.values()) for row in rows] == pytest.approx([1.0] * len(words))
        assert all(list(row.values()) == sorted(row.values(), reverse=True) for row in rows)
        assert all(0 <= probability <= 1 + ROUNDING for row in rows for probability in row.values())


@every
def test_words_are_no_less_likely_than_with_an_analysis(name: str) -> None:
    grammar = model(name)
    for words, analysis in zip(SENTENCES, grammar.analyse(SENTENCES), strict=True):
        found = grammar.log_prob(words)
        if grammar.certifies:
            assert analysis.log_joint - ROUNDING <= found == pytest.approx(analysis.log_marginal)
        else:  # over what pruning leaves; where that is no analysis, less was pruned to find this one
            slack = max(ROUNDING, 1e-6 * abs(analysis.log_marginal))  # networks compute in single precision
            assert -math.inf < found <= analysis.log_marginal + slack


@every_parser
def test_what_cannot_be_has_no_probability(name: str) -> None:
    grammar: Any = model(name)
    for text in ("(ROOT (S (XX the)))", "(ROOT (NEVER (DT the)))", "(ROOT (S (DT the) (DT the) (S (. .))))"):
        assert grammar.log_prob_tree(Tree.read(text)) == -math.inf
    with pytest.raises(LatreeError, match="no words"):
        grammar.log_prob_tree(Tree.read("(ROOT (S (-NONE- *)))"))


# -- drawing


@every
def test_analyses_are_drawn_or_that_is_refused(name: str) -> None:
    grammar: Any = model(name)
    drawn = answer_of(lambda: [grammar.sample(WORDS, seed=seed) for seed in (1, 1, 2)])
    if isinstance(drawn, str):
        assert "drawn" in drawn
        return
    assert str(drawn[0]) == str(drawn[1])
    for analysis in drawn:
        assert_honest(grammar, analysis, WORDS)


@every
def test_sentences_are_drawn_or_that_is_refused(name: str) -> None:
    grammar: Any = model(name)
    drawn = answer_of(lambda: [grammar.sample(seed=seed) for seed in (1, 1, 2)])
    if isinstance(drawn, str):
        assert "drawn" in drawn
        return
    assert str(drawn[0]) == str(drawn[1])
    for analysis in drawn:
        assert analysis.tokens
        assert joint(grammar, analysis) == pytest.approx(analysis.log_joint)
        assert analysis.log_joint > -math.inf


# -- the command line


@every
def test_the_commands(name: str) -> None:
    (analysis,) = model(name).analyse([WORDS])
    tags = analysis.tree.tags() if isinstance(analysis, Parse) and analysis.tree else analysis.tags  # type: ignore[attr-defined]
    pairs = " ".join(f"{word}/{tag}" for word, tag in zip(WORDS, tags, strict=True))
    assert done("tag", "-m", model_file(name), stdin=SLEEPS).lines == [pairs]
    parsed = latree("parse", "-m", model_file(name), stdin=SLEEPS)
    if is_tagger(name):
        assert (parsed.code, parsed.out) == (1, "")
        assert "tags but does not parse" in parsed.err
    else:
        assert (parsed.code, parsed.lines) == (0, [str(analysis)])


@every
def test_a_model_is_shown(name: str, tmp_path: Path) -> None:
    path = model_file(name)
    assert done("show", "-m", path).lines
    assert json.loads(done("show", "-m", path, "--json").out)["kind"] == model(name).kind
    symbol = model(name).grammar.symbols[-1].label
    assert json.loads(done("show", "-m", path, "--symbol", symbol, "--json").out)["sections"]
    unknown = latree("show", "-m", path, "--symbol", "none such")
    assert (unknown.code, unknown.out) == (1, "")
    assert unknown.err.startswith("latree: the model has no category 'none such'; it has ")
    summed = latree("show", "-m", path, "--summed")
    assert summed.code == 0 or (summed.out == "" and "this model has" in summed.err)


@every
def test_the_page_of_a_model_is_written_whole(name: str, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    outcome = latree("show", "-m", model_file(name), "--html", path, "--top", "1")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", f"latree: written to {path}\n")
    report = replace(report_on(model(name), Ask(1, every=True)), title=model_file(name).name)
    assert path.read_text(encoding="utf-8") == page(report)
    assert any(Reader(page(report)).texts)


@every_trained
def test_the_page_escapes_what_the_model_says(name: str) -> None:
    odd = copy(model(name))
    symbols = tuple(symbol._replace(label=f"{EVIL}{k}") for k, symbol in enumerate(odd.grammar.symbols))
    odd.grammar = replace(odd.grammar, symbols=symbols)
    odd.training = {EVIL: {f'"{EVIL}': [f"'>{EVIL}&amp;", "\x00\ud800"]}}
    text = page(replace(report_on(odd, Ask(3, every=True)), title=EVIL))
    assert "<script" not in text
    assert {EVIL, f"{EVIL}0"} <= set(Reader(text).texts)


@every
def test_parsers_are_compared_and_taggers_not(name: str, tmp_path: Path) -> None:
    gold = tmp_path / "gold.mrg"
    gold.write_text("".join(f"{tree}\n" for tree in toy_trees("dev")[:5]), encoding="utf-8")
    models = ("-m", model_file("pcfg"), "-m", model_file(name))
    compared = latree("compare", gold, *models, "--kbest", "3", "--json", "--quiet")
    if is_tagger(name):
        assert (compared.code, compared.out) == (1, "")
        assert "only parsers are compared" in compared.err
    else:
        assert compared.code == 0, compared.err
        assert json.loads(compared.out)["sentences"] == 5


# -- products


@every_trained
def test_a_model_is_multiplied_or_that_is_refused(name: str) -> None:
    twice = [model(name), model(name)]
    if not kind_named(name).multiplies:
        with pytest.raises(LatreeError, match="cannot be multiplied"):
            together(twice)
        return
    product = together(twice)
    analysis = next(product.analyse([WORDS]))
    assert_honest(product, analysis, WORDS)
    if isinstance(product, Product):  # both are the same, and so is their mean
        assert product.log_prob_tree(Tree.read(str(analysis))) == pytest.approx(joint(model(name), analysis))


def test_models_that_are_named_together_are_multiplied() -> None:
    for command, name in (("tag", "lvg-tagger x gm-lveg-tagger"), ("parse", "lvg x gm-lveg")):
        each = [word for member in name.split(" x ") for word in ("-m", model_file(member))]
        said = done(command, *each, stdin=" ".join(WORDS)).out
        assert said == done(command, "-m", model_file(name), stdin=" ".join(WORDS)).out


def test_parsers_and_taggers_do_not_multiply_with_each_other() -> None:
    for first, second in (("lvg", "lvg-tagger"), ("lvg-tagger", "lvg")):
        with pytest.raises(LatreeError, match=f"a {second} cannot be multiplied"):
            together([model(first), model(second)])


# -- what goes wrong


def calls(grammar: Any) -> dict[str, Callable[[Any], object]]:
    """Everything that a model can be asked of a sentence."""
    return {
        "analyse": lambda words: list(grammar.analyse([words])),
        "kbest": lambda words: grammar.kbest(words, 2),
        "posteriors": grammar.posteriors,
        "log_prob": grammar.log_prob,
        "tag": grammar.tag,
        "sample": lambda words: grammar.sample(words, seed=0),
    }


CALLS = ["analyse", "kbest", "posteriors", "log_prob", "tag", "sample"]


@every_trained
@pytest.mark.parametrize("call", CALLS)
def test_a_model_that_was_not_trained_says_so(name: str, call: str) -> None:
    with pytest.raises(LatreeError, match=r"not trained|cannot be drawn"):
        calls(model_class(name)())[call](WORDS)


@every_trained
def test_a_model_that_was_not_trained_is_not_saved(name: str, tmp_path: Path) -> None:
    with pytest.raises(LatreeError, match="not trained"):
        model_class(name)().save(tmp_path / "none")
    assert not any(tmp_path.iterdir())


@every
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["the", "", "."], "word 2 of a sentence is empty"),
        (["the", 7], "word 2 .* 7"),
        (7, "a string or a list of words, not 7"),
        (f"{SLEEPS}\n{SLEEPS}", "this text has 2 sentences"),
    ],
    ids=["empty", "number", "no words", "sentences"],
)
def test_words_that_are_none_are_told(name: str, call: str, words: Any, complaint: str) -> None:
    with pytest.raises(LatreeError, match=f"{complaint}|cannot be drawn"):
        calls(model(name))[call](words)


@every
def test_running_text_is_split_into_words(name: str) -> None:
    grammar: Any = model(name)
    (from_text,), (from_words,) = grammar.analyse("The girl sleeps."), grammar.analyse([["The", "girl", "sleeps", "."]])
    assert from_text.to_json().pop("offsets") == [(0, 3), (4, 8), (9, 15), (15, 16)]
    assert from_text == from_words
    assert [one.tokens for one in grammar.analyse(f"{SLEEPS}\n{SLEEPS}")] == [tuple(WORDS)] * 2
    assert grammar.tag(SLEEPS) == grammar.tag(WORDS)
    assert grammar.posteriors(SLEEPS) == grammar.posteriors(WORDS)


@every
def test_a_model_tells_what_it_is(name: str) -> None:
    grammar = model(name)
    told = repr(grammar)
    assert told.startswith(f"<{type(grammar).__name__} ")
    assert f"{len(grammar.lexicon.vocabulary)} words" in told
    assert "\n" not in told


@every
def test_what_is_for_people_is_listed_and_there(name: str) -> None:
    grammar = model(name)
    told = (*grammar.for_people, *grammar.run_options)
    assert [one for one in told if not hasattr(grammar, one)] == ([] if name in TRAINED else ["options"])
    assert {one for one in dir(grammar) if not one.startswith("_")} == {one for one in told if hasattr(grammar, one)}


@every_tagger
def test_a_tagger_does_not_parse(name: str) -> None:
    with pytest.raises(LatreeError, match="tags but does not parse; use tag"):
        model(name).parse(WORDS)
    with pytest.raises(LatreeError, match="tags but does not parse; use tag_all"):
        model(name).parse_all([WORDS])


@every
def test_no_probability_is_above_one(name: str) -> None:
    grammar: Any = model(name)
    for words in SENTENCES:
        least = grammar.posteriors(words, 0.0)
        parts = (
            [one.probability for one in least] if not is_tagger(name) else [p for row in least for p in row.values()]
        )
        (best,) = grammar.analyse([words])
        parts += best.confidences if is_tagger(name) else [one.probability for one in best.constituents]
        assert all(0 <= p <= 1 for p in parts)
        assert all(0 <= one.probability <= 1 + ROUNDING for one in grammar.kbest(words, 3))  # told as it comes out


@every
def test_no_words(name: str) -> None:
    grammar: Any = model(name)
    (analysis,) = grammar.analyse([[]])
    assert (analysis.status, analysis.reason, str(analysis)) == ("empty", "no words", "")
    assert math.isnan(analysis.probability)
    assert json.loads(json.dumps(analysis.to_json(), allow_nan=False))["log_joint"] is None
    assert (grammar.tag([]), grammar.posteriors([]), grammar.log_prob([])) == ([], [], -math.inf)
    assert [one.status for one in grammar.kbest([], 3)] == ["empty"]


@every
@pytest.mark.parametrize("word", ODD, ids=ascii)
def test_words_that_nobody_expects(name: str, word: str) -> None:
    (analysis,) = model(name).analyse([["the", word, word, "sleeps"]])
    assert analysis.status in ("ok", "recovered")
    words = analysis.tree.words() if isinstance(analysis, Parse) and analysis.tree else list(analysis.tokens)
    assert words == ["the", word, word, "sleeps"]


@every
def test_too_many_words(name: str) -> None:
    grammar = copy(model(name))
    grammar.max_length = 3
    (analysis,) = grammar.analyse([WORDS])
    assert analysis.status == "failed"
    assert analysis.reason.startswith("4 words; the limit is 3")
    words = analysis.tree.words() if isinstance(analysis, Parse) and analysis.tree else list(analysis.tokens)
    assert words == WORDS


@pytest.mark.parametrize("name", TRAINED)
def test_nothing_to_train_on_is_told(name: str, tmp_path: Path) -> None:
    kind, empty = kind_named(name).name, tmp_path / ("empty.conllu" if is_tagger(name) else "empty.mrg")
    empty.write_text("", encoding="utf-8")
    told = latree("train", kind, empty, "-o", tmp_path / "m", "--quiet")
    assert told.code == 1
    assert told.err.startswith("latree: ")
    assert "Traceback" not in told.err
    assert not (tmp_path / "m").exists()


def test_files_that_hold_no_model_are_told(tmp_path: Path) -> None:
    for path in (toy("dev"), tmp_path, tmp_path / "missing"):
        with pytest.raises(LatreeError, match=path.name):
            load(path)
