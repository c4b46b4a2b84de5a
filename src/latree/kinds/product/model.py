"""Several grammars as one: the best tree maximises the product of their posteriors (Petrov 2010).

Grammars that differ in nothing but their seed make different mistakes, and so do generative and discriminative ones; a
tree that all of them find likely is a better one.  The members must share symbols and rules, which they do when trained
on the same treebank.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from latree.arrays import Floats, Longs
from latree.errors import LatreeError
from latree.files import Arrays, Header, ModelFile, part_of
from latree.inference.chart import Chart
from latree.inference.forest import Forest, Piece
from latree.inference.pooled import Pooled, Posteriors, pooled
from latree.inference.prune import Cascade
from latree.inference.reading import Reading
from latree.inference.results import Parse
from latree.kinds.fine_tags import FineTagger
from latree.kinds.parser import Parser
from latree.kinds.pruned import PrunedParser
from latree.kinds.registry import all_kinds, from_state
from latree.kinds.search import Trouble
from latree.kinds.sentences import Sentence


@dataclass(frozen=True, eq=False)
class ProductReading(Reading):
    """What each member makes of words."""

    members: tuple[Reading, ...]


JOINT = Cascade(1e-3, ((2, 1e-4),))  # looser than for one: each member prunes what the one before left


def _same(one: Parser, other: Parser) -> bool:
    """Whether two models, which may be from files of their own, have learned the same."""
    if one is other or one.kind != other.kind:
        return one is other
    mine, theirs = one.state().arrays, other.state().arrays
    return mine.keys() == theirs.keys() and all(np.array_equal(mine[name], theirs[name]) for name in mine)


class Product(Parser):
    """`Product([first, second])` parses as its members do, and together better."""

    kind = "product"
    for_people = (*Parser.for_people, "members")
    certifies = False
    run_options = ("cascade", *Parser.run_options)

    def __init__(self, members: Sequence[Any] = ()) -> None:
        self.members = tuple(copy(member) for member in members)  # a product sets how much its members prune
        self.training = {"members": [member.training for member in members]}
        if members:
            self._check()
            first = self.members[0]
            self.grammar, self.lexicon, self.theta = first.grammar, first.lexicon, first.theta
            self.labels, self.binarization, self.max_length = first.labels, first.binarization, first.max_length
            narrowest = min(member.threshold for member in self.members)
            self.cascade = JOINT
            self.threshold = min(narrowest, self.threshold)  # some are better with less
            self._let_pruners_speak_once()

    def _let_pruners_speak_once(self) -> None:
        """A grammar that prunes for several members has one say in what they decide, as each of them has."""
        heard: list[Any] = []
        for member in self.members:
            if isinstance(member, PrunedParser) and member.joint:
                member.joint = not any(_same(member.pruner, one) for one in heard)
                heard.append(member.pruner)

    def _check(self) -> None:
        able = [kind.name for kind in all_kinds().values() if kind.multiplies]
        for member in self.members:
            if member.kind not in able:
                raise LatreeError(f"a {member.kind} cannot be multiplied; these kinds can: {', '.join(able)}")
        first = self.members[0].grammar
        for number, member in enumerate(self.members[1:], start=2):
            same = member.grammar.symbols == first.symbols and np.array_equal(member.grammar.rules, first.rules)
            if not same:
                raise LatreeError(
                    f"model {number} has other symbols or rules than the first; train all on the same treebank"
                )

    def __repr__(self) -> str:
        return f"<Product of {', '.join(map(repr, self.members))}>"

    @property
    def cascade(self) -> Cascade:
        cascade: Cascade = self.members[0].cascade
        return cascade

    @cascade.setter
    def cascade(self, value: Cascade) -> None:
        for member in self.members:
            member.cascade = value
        self.threshold = min(member.threshold for member in self.members)

    # -- search

    def read(self, tokens: Sequence[str]) -> ProductReading:
        return ProductReading(tuple(member.read(tokens) for member in self.members))

    def _parts(self, reading: ProductReading) -> Iterator[tuple[Any, Reading]]:
        """Every member with its reading."""
        return zip(self.members, reading.members, strict=True)

    def coarse(self, reading: ProductReading) -> Chart:
        chart: Chart = self.members[0].coarse(reading.members[0])
        return chart

    def prune(self, coarse: Any, threshold: float) -> Piece:
        piece: Piece = self.members[0].prune(coarse, threshold)
        return piece

    def refine(
        self, forest: Forest, reading: ProductReading, looseness: float, gold: tuple[Longs, int] | None = None
    ) -> Forest:
        """Each member prunes what the one before left."""
        for member, part in self._parts(reading):
            forest = member.refine(forest, part, looseness, gold)
        return forest

    def opinions(self, forest: Forest, reading: ProductReading) -> list[Posteriors]:
        """Those of each member: with one that decides jointly, its pruner's too."""
        return [one for member, part in self._parts(reading) for one in member.opinions(forest, part)]

    @property
    def fine(self) -> FineTagger | None:
        tagger: FineTagger | None = self.members[0].fine
        return tagger

    def infer(self, forest: Forest, reading: ProductReading) -> Pooled:
        return pooled(self.grammar, forest, self.opinions(forest, reading))

    def log_inside(self, forest: Forest, reading: ProductReading) -> Floats:
        """The mean over members, so that P(T, w) is their geometric mean."""
        values = [member.log_inside(forest, part) for member, part in self._parts(reading)]
        return np.asarray(np.mean(values, axis=0), np.float64)

    def viterbi_scores(self, forest: Forest, reading: ProductReading) -> Floats:
        raise LatreeError("a product of grammars has no single best derivation; use another objective")

    def likeliest_tag(self, word: str, first: bool) -> str:
        tag: str = self.members[0].likeliest_tag(word, first)
        return tag

    def stand_in(self, tokens: tuple[str, ...], trouble: Trouble) -> Parse:
        found: Parse = self.members[0].stand_in(tokens, trouble)
        return found

    def sample(self, sentence: Sentence | None = None, seed: int | None = None) -> Parse:
        raise LatreeError("a product of grammars cannot be drawn from; sample from one of its members")

    # -- size: that of all members

    def subtype_counts(self) -> Longs | None:
        counts = [member.subtype_counts() for member in self.members]
        return None if any(one is None for one in counts) else np.asarray(np.sum(counts, axis=0), np.int64)

    def complexity(self) -> Longs:
        return np.asarray(np.sum([member.complexity() for member in self.members], axis=0), np.int64)

    # -- files

    def state(self) -> ModelFile:
        headers: list[Header] = []
        arrays: Arrays = {}
        for number, member in enumerate(self.members):
            header, part = member.state()
            headers.append({"kind": member.kind, **header})
            arrays |= {f"{number}.{name}": array for name, array in part.items()}
        return ModelFile({"members": headers, "training": self.training, **self.calibration()}, arrays)

    @classmethod
    def from_state(cls, header: Header, arrays: Arrays) -> Self:
        members = []
        for number, member in enumerate(header["members"]):
            members.append(from_state(member.get("kind", "lvg"), member, part_of(f"{number}.", arrays)))
        product = cls(members)
        product.training = dict(header.get("training", product.training))  # the first files have none of their own
        return product
