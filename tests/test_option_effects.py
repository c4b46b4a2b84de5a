"""No option without effect: whatever `latree train` takes changes the model, and whatever would not is refused."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import typer

import latree
from latree.cli.kind_options import Setting, options_from, settings_of
from latree.cli.training import choose_column, read_all_tagged
from latree.cli.warm import SMALL, TRAINED, is_tagger
from latree.errors import LatreeError
from latree.kinds.lvg import LvgOptions, VariationalOptions
from latree.kinds.model import Model
from latree.kinds.registry import kind_named, model_class, trained_kinds
from latree.learning.loop import Score, Training
from latree.options import CHANGED, SET, changed, hindrance, uses_of
from latree.text.binary import Binarization
from latree.text.labels import LabelRules
from latree.text.tree import Tree
from tests.command import folder, toy_trees
from tests.tiny_transformer import transformer

# A value other than the default for every option, and other than that which makes training short.
OTHER: dict[str, Any] = {
    "alone": True,
    "alpha": 3.0,
    "batch": 3,
    "binarize": "left",
    "clusters": 3,
    "column": "xpos",
    "components": 3,
    "concentration": 9.0,
    "covariance": "diagonal",
    "device": "cpu:0",
    "dim": 4,
    "dropout": 0.5,
    "empties": "DT-0",
    "encoder_rate": 0.1,
    "epochs": 3,
    "estimator": "variational",
    "fine": "-",
    "folds": 2,
    "generative": 0.5,
    "grow": 0,
    "heads": "historical",
    "head_relation": "one",
    "headwords": 5,
    "horizontal": -1,
    "iterations": 2,
    "layers": 1,
    "k_max": 4,
    "k_min": 2,
    "labels": "raw",
    "list": 2,
    "looseness": 1e-6,
    "margin": 9.0,
    "max_length": 9,
    "merge": 0.9,
    "merge_iterations": 1,
    "p_min": 0.1,
    "paper": True,
    "parse_k_min": 3,
    "parts": 3,
    "penalty": "l2",
    "phrase_cuts": "=",
    "prefix_end": "+",
    "pruner": "pcfg",
    "rare": 1,
    "rate": 0.2,
    "refine": 1,
    "rounds": 2,
    "rule_smoothing": 90.0,
    "scales": True,
    "seed": 1,
    "smooth_iterations": 1,
    "spans": True,
    "split_iterations": 2,
    "start": "subtypes",
    "stochastic": 1,
    "strength": 9.0,
    "subtypes": 4,
    "tag_cuts": "-",
    "theta": 0.5,
    "tolerance": 1e3,
    "truncation": 4,
    "unknown": "english",
    "unmerged": "edges",
    "vertical": 2,
    "word_components": 3,
    "width": 5,
    "word_smoothing": 0.5,
}
SWITCHES = ("clusters", "estimator", "k_max", "pruner", "scales", "start", "subtypes")  # on which others may depend
OFF = {"clusters": 0}
# What makes training short: that of `latree warm`, but for weights that move and mixtures that grow on few sentences.
SHORT = {
    **SMALL,
    "cvg": {**SMALL["cvg"], "epochs": 2},  # the penalty has something to draw back after the first step
    "gm-lveg": {**SMALL["gm-lveg"], "epochs": 2},
    "gm-lveg-tagger": {**SMALL["gm-lveg-tagger"], "epochs": 2},
    "lvg": {**SMALL["lvg"], "rounds": 2},  # what splits in the first round has no siblings to smooth by
    "lvg-tagger": {**SMALL["lvg-tagger"], "subtypes": 4},
    "lvg-d": {**SMALL["lvg-d"], "strength": 0.01},
    "lvg-d-tagger": {**SMALL["lvg-d-tagger"], "strength": 0.01},
}
ALL = os.environ.get("LATREE_TESTS") == "all"  # whether what is not refused beside another option is trained as well
SENTENCES, OF_LVG_D = 15, 40  # with few, those of lvg-d are too easy for its weights to move
# What is for processes: the model differs with --stochastic alone, or in digits that its file does not keep.
FOR_PROCESSES = {("batch", "lvg-d"), ("parts", "gm-lveg"), ("device", "neural")}


def other_value(name: str, option: str) -> Any:
    """A value that a model of this name does not have by default."""
    if option == "vectors":
        return str(word_vectors())
    if option == "encoder":
        return str(transformer())
    special: dict[tuple[str, str], Any] = {
        ("gm-lveg-tagger", "grow"): 1,
        ("lvg", "rounds"): 1,
        ("lvg", "rule_smoothing"): 0.5,
        ("lvg-tagger", "rule_smoothing"): 0.5,
        ("lvg-tagger", "subtypes"): 2,
        ("gm-lveg-tagger", "spans"): False,
        ("gm-lveg-tagger", "subtypes"): 1,
        ("lvg-d", "start"): "zero",
        ("lvg-d-tagger", "spans"): False,
        ("lvg-d-tagger", "start"): "zero",
        ("neural", "spans"): False,
        ("svs", "horizontal"): 1,
    }
    return special.get((name, option), OTHER[option])


@cache
def word_vectors() -> Path:
    """A file of vectors of some words, as long as those of a short training."""
    path = folder() / "vectors.txt"
    lines = (f"{word} {number} 0.5 -{number}\n" for number, word in enumerate(trees()[0].words()))
    path.write_text("".join(lines), encoding="utf-8")
    return path


def decorated(tree: Tree, place: int = 0) -> Tree:
    """A tree with labels that rules for labels read in different ways."""
    if tree.word is not None:
        return Tree(f"{tree.label}-{place % 2}", word=tree.word)
    children = [decorated(child, k) for k, child in enumerate(tree.children)]
    return Tree(f"{tree.label}-{place}+X", children)


@cache
def trees() -> list[Tree]:
    return [decorated(tree) for tree in toy_trees("train")[:OF_LVG_D]]


@cache
def table() -> Path:
    """The sentences as CoNLL-U, with other tags in each column."""
    path = folder() / "two columns.conllu"
    with path.open("w", encoding="utf-8") as file:
        for tree in trees():
            for place, leaf in enumerate(tree.leaves(), start=1):
                row = [str(place), leaf.word or "", "_", leaf.label[:1], leaf.label, *"_____"]
                file.write("\t".join(row) + "\n")
            file.write("\n")
    return path


def trained(name: str, values: Mapping[str, Any]) -> Model:
    """A model of these options, given as a user gives them."""
    options: Any = options_from(kind_named(name), values, tags=is_tagger(name))
    data: Any = trees()
    if is_tagger(name):
        data = read_all_tagged([str(table())], None, choose_column([str(table())], None, values.get("column")))
    size = OF_LVG_D if kind_named(name).name == "lvg-d" else SENTENCES
    return model_class(name)(options).fit([*data][:size], Training(score=later_and_joint()))


def later_and_joint() -> Score:
    """A score by which the last step is the best, and a tagger does better together with its pruner."""
    calls = count()
    return lambda model: next(calls) + 1000.0 * getattr(model, "joint", False)


@cache
def fingerprint(name: str, *values: tuple[str, Any]) -> str:
    """All that was learned, and what is made of a sentence and of one with a new word."""
    model, words = trained(name, dict(values)), trees()[0].words()
    header, arrays = model.state()
    learned = header.get("joint"), {key: array.tobytes() for key, array in arrays.items()}
    sentences = [words, [words[0], "Unheardly", *words[2:]]]
    return repr((learned, [(model.log_prob(one), model.posteriors(one)) for one in sentences]))


def plain_options(name: str, values: Mapping[str, Any]) -> Any:
    """Options with these values, whether or not they have an effect."""
    kind = kind_named(name)
    settings = settings_of(kind)
    reading = {key: settings[key].about.read for key in values}
    read = {
        settings[key].path: how(values[key]) if how and isinstance(values[key], str) else values[key]
        for key, how in reading.items()
    }
    start = kind.trained_options.for_tagger() if is_tagger(name) else kind.trained_options()
    presets = {key: True for key in values if settings[key].about.preset is not None}
    return changed(start.given(presets, tags=is_tagger(name)), read)


def short_training(name: str, given: Mapping[str, Any], needed: Collection[str]) -> dict[str, Any]:
    """What makes the training short, as far as it has an effect beside the options given and leaves those needed."""
    settings, short = settings_of(kind_named(name)), SHORT.get(name, {})
    options = plain_options(name, {**short, **given})
    left = [key for key in short if key not in given and key not in needed]
    return {key: short[key] for key in left if not hindrance(options, settings[key].path, tags=is_tagger(name))}


def needs(name: str, setting: Setting) -> dict[str, Any]:
    """The options that one needs to have an effect, with values that will do."""
    pairs = [pair for use in uses_of(kind_named(name).trained_options, setting.path) for pair in use.needs.items()]
    return {other: other_value(name, other) if value in (SET, CHANGED) else value for other, value in pairs}


def refusal(name: str, values: Mapping[str, Any]) -> str | None:
    """What the command line says against these options; None: nothing."""
    try:
        options_from(kind_named(name), values, tags=is_tagger(name))
    except (typer.BadParameter, LatreeError) as error:
        return str(error)
    return None


def contexts() -> Iterator[tuple[str, str | None]]:
    """All names of models, each by itself and with every option set that others may depend on."""
    for name in TRAINED:
        yield name, None
        for switch in SWITCHES:
            setting = settings_of(kind_named(name)).get(switch)
            if setting is not None and not hindrance(plain_options(name, {}), setting.path, tags=is_tagger(name)):
                yield name, switch


@pytest.mark.parametrize(("name", "switch"), [*contexts()])
def test_an_option_has_an_effect_or_is_refused(name: str, switch: str | None) -> None:
    """Beside its needs it has one, or else is for other models; beside any other option it has one or is refused.

    Only `make test-all` trains the latter, which takes minutes.
    """
    kind, idle = kind_named(name), []
    context = {} if switch is None else {switch: OFF.get(switch, other_value(name, switch))}
    for option, setting in settings_of(kind).items():
        needed = needs(name, setting)
        given = context or {key: one for key, one in needed.items() if one != getattr(plain_options(name, {}), key)}
        change = {option: other_value(name, option)}
        if why := refusal(name, {**given, **change}):
            assert context or " is for " in why, option
            continue
        if context and not ALL:
            continue
        beside = {**short_training(name, {**given, **change}, needed), **given}
        usual = {key: one for key, one in SHORT.get(name, {}).items() if key == option and one != change[key]}
        before, after = (fingerprint(name, *{**beside, **value}.items()) for value in (usual, change))
        if before == after and option not in context and (option, kind.name) not in FOR_PROCESSES:
            idle.append(option)
    assert not idle


def test_every_option_is_of_use_to_some() -> None:
    for kind in trained_kinds():
        for setting in settings_of(kind).values():
            uses = [use.only for use in uses_of(kind.trained_options, setting.path)]
            places = {"parser": kind.parser, "tagger": kind.tagger}
            assert all(only is None or places[only] is not None for only in uses), setting.flag


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: latree.Lvg(rounds=2, subtypes=4), "rounds has no effect with subtypes 4; leave out one of the two"),
        (
            lambda: latree.Lvg(prior=VariationalOptions(truncation=4)),
            "prior has no effect without estimator variational",
        ),
        (lambda: latree.LvgTagger(rounds=2), "rounds is for parsers; a tagger has no use for it"),
        (lambda: latree.LvgTagger(binarization=Binarization("left")), "binarization is for parsers"),
        (lambda: latree.LvgD(rate=0.1), "rate has no effect without stochastic; give both, or neither"),
        (lambda: latree.GmLveg(start="subtypes", dim=2), "dim has no effect with start subtypes"),
        (lambda: latree.GmLveg(theta=0.5), "theta has no effect without k_max"),
        (lambda: latree.Svs(clusters=0, seed=1), "seed has no effect with clusters 0"),
    ],
)
def test_python_is_told_the_same(make: Callable[[], Model], told: str) -> None:
    with pytest.raises(LatreeError, match=told):
        make()


def test_options_that_several_models_share_may_lack_an_effect_on_some() -> None:
    quick = LvgOptions(merge_iterations=3)
    assert latree.Lvg(quick, subtypes=4).options == replace(quick, subtypes=4)
    assert latree.LvgTagger(labels=LabelRules()).options == LvgOptions.for_tagger()


def test_sentences_that_are_all_too_long_are_told() -> None:
    with pytest.raises(LatreeError, match="no sentence of the treebank has at most 1 words; raise --max-length"):
        trained("lvg-d-tagger", {**SHORT["lvg-d-tagger"], "max_length": 1})
