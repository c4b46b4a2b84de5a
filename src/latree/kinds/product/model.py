"""Several grammars as one: the best tree maximises the product of their posteriors (Petrov 2010).

Grammars that differ in nothing but their seed make different mistakes, and so do generative and discriminative ones; a
tree that all of them find likely is a better one.  The members must share symbols and rules, which they do when trained
on the same treebank.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from latree.arrays import Floats, Longs
from latree.errors import LatreeError
from latree.files import Arrays, Header, ModelFile, part_of
from latree.inference.forest import Forest, Piece
from latree.inference.pooled import Pooled, Posteriors, pooled
from latree.inference.prune import Cascade
from latree.inference.reading import Reading
from latree.inference.sequences import Lattice, Sums
from latree.kinds.fine_tags import FineTagger
from latree.kinds.model import ForestModel
from latree.kinds.parser import Parser
from latree.kinds.pruned import PrunedModel
from latree.kinds.registry import TAGGER, all_kinds, from_state
from latree.kinds.search import Trouble
from latree.kinds.sentences import Sentence
from latree.kinds.tagger import Tagger


@dataclass(frozen=True, eq=False)
class ProductReading(Reading):
    """What each member makes of words."""

    members: tuple[Reading, ...]


JOINT = Cascade(1e-3, ((2, 1e-4),))  # looser than for one: each member prunes what the one before left


def _same(one: Any, other: Any) -> bool:
    """Whether two models, which may be from files of their own, have learned the same."""
    if one is other or one.kind != other.kind:
        return one is other
    mine, theirs = one.state().arrays, other.state().arrays
    return mine.keys() == theirs.keys() and all(np.array_equal(mine[name], theirs[name]) for name in mine)


class Together(ForestModel[Any]):
    """Mixed into a parser or a tagger: what several that are trained choose as one."""

    certifies = False

    def __init__(self, members: Sequence[Any] = ()) -> None:
        self.members = tuple(copy(member) for member in members)  # a product sets how much its members prune
        self.training = {"members": [member.training for member in members]}
        if members:
            self._check()
            first = self.members[0]
            self.grammar, self.lexicon, self.theta = first.grammar, first.lexicon, first.theta
            self.max_length, self.threshold = first.max_length, min(member.threshold for member in self.members)
            self._take_after(first)
            self._let_pruners_speak_once()

    @abstractmethod
    def _take_after(self, first: Any) -> None:
        """Take over what all members have from the first."""

    def _let_pruners_speak_once(self) -> None:
        """A grammar that prunes for several members has one say in what they decide, as each of them has."""
        heard: list[Any] = []
        for member in self.members:
            if isinstance(member, PrunedModel) and member.joint:
                member.joint = not any(_same(member.pruner, one) for one in heard)
                heard.append(member.pruner)

    def _check(self) -> None:
        of_taggers = self.kind.endswith(TAGGER)
        kinds = (kind for kind in all_kinds().values() if kind.multiplies)
        able = [kind.tagger_name if of_taggers else kind.name for kind in kinds]
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
        return f"<{type(self).__name__} of {', '.join(map(repr, self.members))}>"

    # -- search

    def read(self, tokens: Sequence[str]) -> ProductReading:
        return ProductReading(tuple(member.read(tokens) for member in self.members))

    def read_all(self, sentences: Sequence[Sequence[str]]) -> ProductReading:
        return ProductReading(tuple(member.read_all(sentences) for member in self.members))

    def _parts(self, reading: ProductReading) -> Iterator[tuple[Any, Reading]]:
        """Every member with its reading."""
        return zip(self.members, reading.members, strict=True)

    def coarse(self, reading: ProductReading) -> Any:
        return self.members[0].coarse(reading.members[0])

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

    def stand_in(self, tokens: tuple[str, ...], trouble: Trouble) -> Any:
        return self.members[0].stand_in(tokens, trouble)

    def sample(self, sentence: Sentence | None = None, seed: int | None = None) -> Any:
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


class Product(Together, Parser):
    """`Product([first, second])` parses as its members do, and together better."""

    kind = "product"
    for_people = (*Parser.for_people, "members")
    run_options = ("cascade", *Parser.run_options)

    def _take_after(self, first: Parser) -> None:
        self.labels, self.binarization = first.labels, first.binarization
        narrowest = self.threshold
        self.cascade = JOINT
        self.threshold = min(narrowest, self.threshold)  # some are better with less

    @property
    def cascade(self) -> Cascade:
        cascade: Cascade = self.members[0].cascade
        return cascade

    @cascade.setter
    def cascade(self, value: Cascade) -> None:
        for member in self.members:
            member.cascade = value
        self.threshold = min(member.threshold for member in self.members)

    @property
    def fine(self) -> FineTagger | None:
        tagger: FineTagger | None = self.members[0].fine
        return tagger


class ProductTagger(Together, Tagger):
    """`ProductTagger([first, second])` tags as its members do, and together better."""

    kind = "product-tagger"
    for_people = (*Tagger.for_people, "members")

    def _take_after(self, first: Tagger) -> None:
        self.column, self.rules = first.column, first.rules

    @property
    def needs_forests(self) -> bool:
        return any(member.needs_forests for member in self.members)

    def coarse_all(self, reading: ProductReading, first: Longs) -> tuple[Floats, Floats]:
        found: tuple[Floats, Floats] = self.members[0].coarse_all(reading.members[0], first)
        return found

    def narrow(self, lattice: Lattice, reading: ProductReading) -> Lattice:
        """Each member prunes what the one before left."""
        for member, part in self._parts(reading):
            lattice = member.narrow(lattice, part)
        return lattice

    def sequence_opinions(self, lattice: Lattice, reading: ProductReading) -> Sequence[Sums]:
        return [one for member, part in self._parts(reading) for one in member.sequence_opinions(lattice, part)]


def together(members: Sequence[Any]) -> Product | ProductTagger:
    """The product of some parsers, or of some taggers."""
    return ProductTagger(members) if isinstance(members[0], Tagger) else Product(members)
