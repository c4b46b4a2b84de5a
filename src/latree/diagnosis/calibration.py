"""How far the probabilities of a parser can be trusted, by gold trees that it did not learn from.

A constituent is right where the gold tree has its label over the same words, punctuation too; a tree where it is the
gold tree, tags too.  Gold trees are read as the model reads those that it learns from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from latree.errors import LatreeError
from latree.inference.phrases import SentencePhrases
from latree.inference.results import Parse
from latree.kinds.jobs import Parcel
from latree.kinds.parser import Parser
from latree.kinds.sentences import batches
from latree.parallel import Pool
from latree.scoring.reliability import Claim, Reliability, reliability
from latree.text.tree import Tree

if TYPE_CHECKING:
    from latree.parallel import Jobs

LEAST = 0.05  # the probability that a constituent is considered with


class Claims(NamedTuple):
    """What a parser says of one sentence, and what is so of it."""

    best: list[Claim]  # the constituents of its best tree
    likely: list[Claim]  # all constituents that it finds likely enough
    tree: Claim


@dataclass(frozen=True)
class Calibration:
    """What a parser said of some sentences."""

    claims: Sequence[Claims]
    left_out: int  # sentences that have a stand-in, which comes without probabilities
    temperature: float
    least: float

    @cached_property
    def best(self) -> Reliability:
        return reliability(chain.from_iterable(one.best for one in self.claims))

    @cached_property
    def likely(self) -> Reliability:
        return reliability(chain.from_iterable(one.likely for one in self.claims))

    @cached_property
    def tree(self) -> Reliability:
        return reliability(one.tree for one in self.claims)

    def to_json(self) -> dict[str, Any]:
        return {
            "temperature": self.temperature,
            "sentences": len(self.claims),
            "left_out": self.left_out,
            "least": self.least,
            "best_tree": self.best.to_json(),
            "constituents": self.likely.to_json(),
            "trees": self.tree.to_json(),
        }


def checked_parser(model: Any) -> Parser:
    """Check that a model has probabilities of constituents that a temperature can change."""
    if not isinstance(model, Parser):
        raise LatreeError(f"calibration is of constituents; a {model.kind} tags but does not parse")
    return model


def claims_of(parse: Parse, gold: Tree, least: float) -> Claims | None:
    """Compare what is said of a sentence with its gold tree; None where the model itself derives nothing."""
    if parse.status != "ok" or not isinstance(parse.look_up, SentencePhrases):
        return None
    (root, *_), right = gold.spans(), set(gold.spans())

    def judged(constituents: Iterable[Any]) -> list[Claim]:
        return [(one.probability, one[:3] in right) for one in constituents if one.label != root[0]]

    return Claims(
        judged(parse.constituents), judged(parse.look_up.likely(least)), (parse.probability, parse.tree == gold)
    )


Judged = tuple[Parse, Claims | None]


def judge_batch(model: Parser, batch: Sequence[Tree], least: float) -> list[Judged]:
    """Parse the words of gold trees, and compare."""
    parses = model.analyse([tree.words() for tree in batch])
    return [(parse, claims_of(parse, gold, least)) for parse, gold in zip(parses, batch, strict=True)]


def judge(model: Parser, gold: Iterable[Tree], jobs: Jobs = 1, least: float = LEAST) -> Iterator[Judged]:
    """Parse the words of gold trees, cleaned by the model's rules, and compare; in order."""
    work = partial(judge_batch, least=least)
    with Pool(jobs, Parcel.open, Parcel(model)) as pool:
        yield from chain.from_iterable(pool.stream(work, batches(gold)))


def calibration(judged: Iterable[Judged], temperature: float, least: float = LEAST) -> Calibration:
    """Gather what was said."""
    claims = [one for _, one in judged]
    told = [one for one in claims if one is not None]
    return Calibration(told, len(claims) - len(told), temperature, least)
