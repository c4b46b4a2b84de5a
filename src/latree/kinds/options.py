"""The options that several kinds of models share; each kind adds its own in its folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from latree.lexicon.options import LexiconOptions
from latree.options import Options, constant, option
from latree.text.binary import Binarization
from latree.text.labels import LabelRules


def seed_option(needs: Mapping[str, Any] = {}) -> Any:
    """Make the option `seed` of a kind that draws at random."""
    help = "Number that all random choices begin with: the same number gives the same model again."
    return option(0, help, needs=needs)


@dataclass(frozen=True)
class ModelOptions(Options):
    """What every kind has."""

    seed: int = 0  # an option of the kinds that draw at random
    unknown: str = option(
        "features",
        "What the letters of rare and unknown words tell: features (any language; endings, beginnings and shape "
        "together), or one class a word: neutral (any language), english or english4 (by English endings), single.",
    )
    lexicon: LexiconOptions = LexiconOptions()


@dataclass(frozen=True)
class LabelOptions(ModelOptions):
    """How a treebank's labels are read."""

    labels: LabelRules = option(
        LabelRules(),
        "How the treebank's labels are read: penn (function tags and traces go), floresta (what stands before + goes "
        "too), cess (labels end at a dot too), functions (function tags stay, numbers after them go), raw "
        "(labels as they are), no-punctuation (as penn, but marks with tags "
        "of the Penn treebank go as if they were not there).",
        shown="penn",
        only="parser",
        read=LabelRules.named,
    )


@dataclass(frozen=True)
class TreeOptions(LabelOptions):
    """How trees become binary."""

    binarization: Binarization = constant(Binarization(), only="parser")


@dataclass(frozen=True)
class TagOptions(ModelOptions):
    """What a tagger learns."""

    column: Literal["upos", "xpos"] = option(
        "upos",
        "Which tags of a CoNLL-U file a tagger learns: the universal ones (upos) or the treebank's own (xpos).",
        shown="upos where the file has them, else xpos",
        only="tagger",
    )


def fine_option(needs: Mapping[str, Any] = {}) -> Any:
    """Make the option `fine` of kinds whose rules, or whose pruner's, may be of coarser tags."""
    return option(
        "none",
        "Where tags have parts, such as N-D, characters that part them: rules are of what stands before the first, "
        "subtypes learn of the rest what they need, and whole tags come out.  auto: - or _ where they part many tags; "
        "none: all that there is of a tag is in the rules.",
        only="parser",
        needs=needs,
    )


def spans_option() -> Any:
    """Make the option `spans` of kinds that follow the gradient of log P(T | w)."""
    help = (
        "Also learn weights for the words at the edges of a phrase and just outside of it; in a tagger, for the words "
        "around each word."
    )
    return option(False, help, tagger=True)


@dataclass(frozen=True)
class TreebankOptions(TreeOptions, TagOptions):
    """What kinds share that have parsers and taggers, and what a model shares with the model that prunes for it."""

    seed: int = seed_option()
    fine: str = fine_option()

    def shared(self, *more: str) -> dict[str, Any]:
        """The values that this model's pruner must have too, with some more by their names."""
        return {name: getattr(self, name) for name in (*(one.name for one in fields(TreebankOptions)), *more)}
