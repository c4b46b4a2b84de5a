"""What the options of `latree train` mean for each kind of model, and which of them a kind has no use for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from latree.errors import LatreeError

if TYPE_CHECKING:
    from latree.lexicon.words import LexiconOptions
    from latree.text.binary import Binarization
    from latree.text.heads import HeadRules
    from latree.text.labels import LabelRules


class Kind(StrEnum):
    pcfg = "pcfg"
    hmm = "hmm"
    lvg = "lvg"
    lvg_d = "lvg-d"
    gm_lveg = "gm-lveg"
    svs = "svs"


LONG = (Kind.lvg, Kind.lvg_d, Kind.gm_lveg)  # trained in rounds or epochs, with checkpoints

# The options that only some kinds have a use for.
_LABELS = ("labels", "phrase_cuts", "tag_cuts", "prefix_end")
_FOR_PARSERS = (*_LABELS, "binarize", "horizontal", "vertical")
_FOR_SUBTYPES = ("rounds", "subtypes", "tolerance", "merge")
_ITERATIONS = ("split_iterations", "merge_iterations", "smooth_iterations")
_FOR_EM = ("rounds", "subtypes", "merge", "merge_iterations", "smooth_iterations")
_FOR_VARIATIONAL = ("truncation", "concentration")
_LIMIT = ("k_min", "k_max", "theta")
_FOR_GAUSSIANS = ("dim", "components", "grow", "covariance", "looseness", *_LIMIT)
_FOR_GRADIENTS = ("epochs", "batch", "rate", "start", "max_length")
_FOR_LOGLINEAR = ("penalty", "strength", "scales", "spans", "iterations", "stochastic")
_FOR_CONCEPTS = ("headwords", "clusters", "refine", "heads", "rule_smoothing", "word_smoothing")
_OPTIONS_OF = {
    Kind.pcfg: _FOR_PARSERS,
    Kind.hmm: ("column",),
    Kind.lvg: (*_FOR_PARSERS, "column", *_FOR_SUBTYPES, *_ITERATIONS, "estimator", *_FOR_VARIATIONAL),
    Kind.lvg_d: (*_FOR_PARSERS, "column", "rounds", "subtypes", *_FOR_GRADIENTS, *_FOR_LOGLINEAR),
    Kind.gm_lveg: (*_FOR_PARSERS, "column", "rounds", *_FOR_GRADIENTS, *_FOR_GAUSSIANS),
    Kind.svs: (*_LABELS, *_FOR_CONCEPTS),  # binarised by heads
}


# -- which options go together


def _check_start(kind: Kind, start: str | None, choices: tuple[str, ...]) -> None:
    if start is not None and start not in choices:
        raise typer.BadParameter(f"--start {start} is not for {kind}, which has {' and '.join(choices)}")


def check_options(context: typer.Context, kind: Kind) -> None:
    """An option without effect is a misunderstanding."""
    for other, names in _OPTIONS_OF.items():
        for name in sorted(set(names) - set(_OPTIONS_OF[kind])):
            source = context.get_parameter_source(name)
            if source is not None and source.name == "COMMANDLINE":
                raise typer.BadParameter(f"--{name.replace('_', '-')} is for {other}; {kind} has no use for it")


def check_estimator(context: typer.Context, estimator: str) -> None:
    """The same of options that only the other estimator has a use for."""
    for name in _FOR_EM if estimator == "variational" else _FOR_VARIATIONAL:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise typer.BadParameter(f"--{name.replace('_', '-')} has no effect with --estimator {estimator}")


# -- what a model is made with

Given = Mapping[str, Any]  # the values of all options, by name


def made_with(kind: Kind, column: str | None, given: Given) -> dict[str, Any]:
    """What the constructor of a model is to be called with; of a tagger, which has a column of tags, that too."""
    tags, options = column is not None, {"unknown": given["unknown"], "lexicon": _lexicon(given["rare"])}
    options |= {"column": column} if tags else {"labels": _label_rules(given)}
    if kind is Kind.svs:
        return options | _concepts(given)
    if not tags:
        options["binarization"] = _binarization(given)
    if kind is Kind.lvg:
        return options | _subtypes(tags, given)
    if kind is Kind.lvg_d:
        return _loglinear(tags, given, options)
    if kind is Kind.gm_lveg:
        return _gaussian(tags, given, options)
    return options


def _chosen(given: Given, *names: str) -> dict[str, Any]:
    """What was not given is as the model has it."""
    return {name: given[name] for name in names if given[name] is not None}


def _lexicon(rare: int | None) -> LexiconOptions | None:
    if rare is None:
        return None
    from latree.lexicon.words import LexiconOptions

    return LexiconOptions(rare=rare)


def _label_rules(given: Given) -> LabelRules:
    from latree.text.labels import LabelRules

    return replace(LabelRules.named(given["labels"]), **_chosen(given, "phrase_cuts", "tag_cuts", "prefix_end"))


def _binarization(given: Given) -> Binarization:
    from latree.text.binary import Binarization

    return Binarization(given["binarize"], given["horizontal"], given["vertical"])


def _subtypes(tags: bool, given: Given) -> dict[str, Any]:
    """Of a latent variable grammar; a tagger's subtypes are a fixed number."""
    from latree.kinds.lvg.split_merge import SplitMergeOptions

    counts = _chosen(given, "tolerance", *_ITERATIONS)
    own: dict[str, Any] = {"seed": given["seed"]}
    own["options"] = SplitMergeOptions(merge_fraction=given["merge"], **counts)
    own |= {"subtypes": given["subtypes"] or 8} if tags else {name: given[name] for name in ("rounds", "subtypes")}
    return own | (_variational(tags, given) if given["estimator"] == "variational" else {})


def _variational(tags: bool, given: Given) -> dict[str, Any]:
    from latree.kinds.lvg.variational_prior import VariationalOptions

    if tags:
        raise LatreeError("--estimator variational is for parsers; a tagger's subtypes are fitted by EM")
    return {"estimator": "variational", "prior": VariationalOptions(given["truncation"], given["concentration"])}


def _gaussian(tags: bool, given: Given, pruner: dict[str, Any]) -> dict[str, Any]:
    """Of a Gaussian mixture grammar, and with these its pruner, which the other options are for."""
    from latree.kinds.gm_lveg.tagger import TAGGING
    from latree.kinds.gm_lveg.training import LvegOptions
    from latree.kinds.hmm.model import Hmm
    from latree.kinds.lvg.parser import Lvg

    _check_start(Kind.gm_lveg, given["start"], ("treebank", "subtypes"))
    if tags and given["start"] == "subtypes":
        raise LatreeError("--start subtypes is for parsers; a tagger begins as the treebank's")
    chosen = _chosen(given, *_FOR_GRADIENTS, *_FOR_GAUSSIANS)
    own = {"options": replace(TAGGING if tags else LvegOptions(), **chosen), "seed": given["seed"]}
    if tags:
        return own | {"pruner": Hmm(**pruner), "column": pruner["column"]}
    return own | {"pruner": Lvg(rounds=given["rounds"], seed=given["seed"], **pruner)}


def _loglinear(tags: bool, given: Given, pruner: dict[str, Any]) -> dict[str, Any]:
    """Of a log-linear grammar, and with these the generative one that it begins at and prunes by."""
    from latree.kinds.lvg.parser import Lvg
    from latree.kinds.lvg.tagger import LvgTagger
    from latree.kinds.lvg_d.training import LoglinearOptions

    _check_start(Kind.lvg_d, given["start"], ("generative", "zero"))
    if tags and given["spans"]:
        raise LatreeError("--spans is for parsers; a tagger has no spans")
    seed, rounds, subtypes = given["seed"], given["rounds"], given["subtypes"]
    own = {"options": LoglinearOptions(**_chosen(given, *_FOR_GRADIENTS, *_FOR_LOGLINEAR)), "seed": seed}
    if tags:
        return own | {"pruner": LvgTagger(subtypes=subtypes or 4, seed=seed, **pruner), "column": pruner["column"]}
    if given["scales"] and subtypes is None:
        subtypes = 2**rounds  # nothing is merged: what is not needed is not divided
    return own | {"pruner": Lvg(rounds=rounds, subtypes=subtypes, seed=seed, **pruner)}


def _concepts(given: Given) -> dict[str, Any]:
    """Of structured vectorial semantics; its trees are binarised by their heads."""
    from latree.kinds.svs.model import SvsOptions

    constants = _chosen(given, "headwords", "clusters", "rule_smoothing", "word_smoothing")
    if given["refine"] is not None:
        constants["refinements"] = given["refine"]
    return {"seed": given["seed"], "options": SvsOptions(**constants), "heads": _head_rules(given["heads"])}


def _head_rules(heads: str | None) -> HeadRules | None:
    """A table of latree's, or one in a file; none given: the treebank's labels decide."""
    from latree.text.head_table import TABLES
    from latree.text.heads import HeadRules

    if heads is None:
        return None
    names = (*TABLES, "default")
    if heads in names:
        return HeadRules.named(heads)
    if not Path(heads).exists():
        raise LatreeError(f"--heads {heads}: no such file, nor one of the head tables {', '.join(names)}")
    return HeadRules.read(heads)
