"""Latent variable grammars: categories with learned subtypes (Petrov 2009, section 2.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from latree.errors import LatreeError
from latree.kinds.options import TreebankOptions
from latree.kinds.registry import Kind
from latree.options import Options, constant, option

_EM: dict[str, Any] = {"estimator": "em"}
_MERGES = _EM | {"subtypes": None}
AUTO: Literal["auto"] = "auto"
MOST_ROUNDS = 7  # with AUTO, which ends before where held-out trees are parsed no better


def read_rounds(text: str) -> int | Literal["auto"]:
    """Read what a user writes for a number of rounds."""
    if text == AUTO:
        return AUTO
    if not text.isdecimal() or int(text) < 1:
        raise LatreeError(f"{text} is no number of rounds; give 1 or more, or {AUTO}")
    return int(text)


def doublings(subtypes: int) -> int:
    """The rounds in which one subtype becomes so many."""
    if subtypes < 1 or subtypes & (subtypes - 1):
        raise LatreeError(f"{subtypes} subtypes cannot be reached by doubling; give a power of two")
    return subtypes.bit_length() - 1


@dataclass(frozen=True)
class VariationalOptions(Options):
    """The prior, and how long a round fits under it."""

    truncation: int = option(
        16,
        "Subtypes that a category can have at most, a power of two; the prior uses as many as help.",
        least=2,
    )
    concentration: float = option(
        1.0,
        "How many subtypes the prior expects a category to have: the larger, the more.",
        least=1e-6,
    )
    strength: float = 1.0  # alpha: how closely children's subtypes follow beta
    rule_prior: float = 0.2  # a_r
    word_prior: float = 1.0  # a_w; zero: words by maximum likelihood
    iterations: int = 20  # mean-field iterations of a round
    threshold: float = 0.5  # a subtype with a smaller expected count is unused

    def __post_init__(self) -> None:
        if min(self.concentration, self.strength, self.rule_prior) <= 0 or self.word_prior < 0:
            raise LatreeError("concentration, strength and rule_prior must be positive, and word_prior not negative")
        doublings(self.truncation)


@dataclass(frozen=True)
class LvgOptions(TreebankOptions):
    """How subtypes are found; the constants of a round are the Berkeley parser's, but for how rules are smoothed."""

    rounds: int | Literal["auto"] = option(
        4,
        "Rounds of training: each splits every subtype in two and takes back the splits that help least.  auto: as "
        "long as they help on --dev, and the round that is best there is kept.",
        only="parser",
        needs=_MERGES,
        read=read_rounds,
        metavar="N|auto",
    )
    subtypes: int | None = option(
        None,
        "Give every category exactly so many subtypes, a power of two, and take no split back.",
        least=1,
        shown="as many as --rounds finds useful; for a tagger 8",
        tagger=8,
        needs=_EM,
    )
    merge_fraction: float = option(
        0.5,
        "Share of the splits that each round takes back, from 0 to 1.",
        name="merge",
        least=0.0,
        most=1.0,
        only="parser",
        needs=_MERGES,
    )
    split_iterations: int = option(50, "Passes over the treebank (EM) in each round after the split.", least=1)
    merge_iterations: int = option(
        20,
        "Passes over the treebank (EM) in each round after splits were taken back.",
        least=1,
        only="parser",
        needs=_MERGES,
    )
    smooth_iterations: int = option(
        10,
        "Passes over the treebank (EM) in each round that draw subtypes of a category towards each other.",
        least=1,
        needs=_EM,
    )
    rule_smoothing: float = option(
        0.05,  # the Berkeley parser's is 0.01, for ten times the trees
        "Share of a rule's probability that each subtype of its parent takes from the others, from 0 to 1: the fewer "
        "trees, the more.",
        least=0.0,
        most=1.0,
        tagger=0.01,
        needs=_EM,
    )
    tolerance: float = option(
        0.0,
        "Go on to the next step early when a pass raises the log-likelihood by less than this a word; 0: never.",
        least=0.0,
    )
    estimator: Literal["em", "variational"] = option(
        "em",
        "How the number of subtypes is found: em splits and takes back a fixed share, variational lets a prior decide "
        "how many of --truncation are of use.",
        only="parser",
    )
    noise: float = 1.0  # per cent by which fresh subtypes differ, and counts that the first grammar adds at most
    word_smoothing: float = 0.1  # share that a word's subtype takes from its siblings
    prior: VariationalOptions = constant(VariationalOptions(), only="parser", needs={"estimator": "variational"})

    def __post_init__(self) -> None:
        if self.subtypes is not None:
            doublings(self.subtypes)
        if self.rounds != AUTO and self.rounds < 0:  # none: the unsplit grammar, for comparison
            raise LatreeError(f"{self.rounds} is no number of rounds; give 0 or more, or {AUTO}")

    @property
    def planned_rounds(self) -> int:
        """How many rounds a training takes."""
        if self.estimator == "variational":
            return doublings(self.prior.truncation)
        if self.subtypes is not None:
            return doublings(self.subtypes)
        return MOST_ROUNDS if self.rounds == AUTO else self.rounds

    @property
    def seeks_rounds(self) -> bool:
        """Whether held-out data say how many rounds there are."""
        return self.estimator == "em" and self.subtypes is None and self.rounds == AUTO


KIND = Kind(
    "lvg",
    "Learned subtypes of categories, by split-merge EM or a prior.",
    options=LvgOptions,
    parser="latree.kinds.lvg.model:Lvg",
    tagger="latree.kinds.lvg.model:LvgTagger",
    multiplies=True,
    generates=True,
)
