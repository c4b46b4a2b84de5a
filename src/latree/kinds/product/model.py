"""Several grammars as one: the best tree maximises the product of their posteriors (Petrov 2010).

Grammars that differ in nothing but their seed make different mistakes, and so do generative and discriminative ones; a
tree that all of them find likely is a better one.  The members must share symbols and rules, which they do when trained
on the same treebank.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from latree.arrays import Floats, Longs
from latree.errors import LatreeError
from latree.files import part_of
from latree.inference import decode
from latree.inference.chart import Chart
from latree.inference.forest import Forest, Piece
from latree.inference.objectives import Objective
from latree.inference.prune import Cascade
from latree.inference.results import Parse
from latree.inference.search import Search
from latree.kinds.model import Trouble
from latree.kinds.parser import Parser
from latree.kinds.registry import all_kinds


class JointInference(NamedTuple):
    """Means over the members: of log Z (so P(T, w) is their geometric mean), and of posteriors."""

    log_z: Floats
    posterior: Floats
    members: tuple[Any, ...]


JOINT = Cascade(1e-3, ((2, 1e-4),))  # looser than for one: each member prunes what the one before left


class Product(Parser):
    """`Product([first, second])` parses as its members do, and together better."""

    kind = "product"
    certifies = False
    run_options = (*Parser.run_options, "cascade")

    def __init__(self, members: Sequence[Any] = ()) -> None:
        self.members = tuple(copy(member) for member in members)  # a product sets how much its members prune
        self.training = {"members": [member.training for member in members]}
        if members:
            self._check()
            first = self.members[0]
            self.grammar, self.lexicon, self.theta = first.grammar, first.lexicon, first.theta
            self.labels, self.binarization, self.max_length = first.labels, first.binarization, first.max_length
            self.cascade = JOINT

    def _check(self) -> None:
        for member in self.members:
            if getattr(member, "cascade", None) is None:
                able = ", ".join(kind.name for kind in all_kinds().values() if kind.multiplies)
                raise LatreeError(f"a {member.kind} cannot be multiplied; these kinds can: {able}")
        first = self.members[0].grammar
        for number, member in enumerate(self.members[1:], start=2):
            same = member.grammar.symbols == first.symbols and np.array_equal(member.grammar.rules, first.rules)
            if not same:
                raise LatreeError(
                    f"model {number} has other symbols or rules than the first; train all on the same treebank"
                )

    @property
    def cascade(self) -> Cascade:
        cascade: Cascade = self.members[0].cascade
        return cascade

    @cascade.setter
    def cascade(self, value: Cascade) -> None:
        for member in self.members:
            member.cascade = value
        self.threshold = value.chart

    # -- search: each member sees its own columns of the emissions

    def emissions(self, tokens: Sequence[str]) -> Floats:
        return np.concatenate([member.emissions(tokens) for member in self.members], axis=1)

    @property
    def columns(self) -> int:
        return sum(member.columns for member in self.members)

    def _parts(self, emissions: Floats) -> Iterator[tuple[Any, Floats]]:
        start = 0
        for member in self.members:
            yield member, np.ascontiguousarray(emissions[:, start : start + member.columns])
            start += member.columns

    def coarse(self, emissions: Floats) -> Chart:
        member, part = next(self._parts(emissions))
        chart: Chart = member.coarse(part)
        return chart

    def prune(self, coarse: Any, threshold: float) -> Piece:
        piece: Piece = self.members[0].prune(coarse, threshold)
        return piece

    def refine(
        self, forest: Forest, emissions: Floats, looseness: float, gold: tuple[Longs, int] | None = None
    ) -> Forest:
        """Each member prunes what the one before left."""
        for member, part in self._parts(emissions):
            forest = member.refine(forest, part, looseness, gold)
        return forest

    def infer(self, forest: Forest, emissions: Floats) -> Any:
        found = tuple(member.infer(forest, part) for member, part in self._parts(emissions))
        log_z = np.mean([one.log_z for one in found], axis=0)
        posterior = np.mean([one.posterior for one in found], axis=0)
        return JointInference(log_z, posterior, found)

    def log_inside(self, forest: Forest, emissions: Floats) -> Floats:
        values = [member.log_inside(forest, part) for member, part in self._parts(emissions)]
        return np.asarray(np.mean(values, axis=0), np.float64)

    def log_z(self, search: Search) -> Floats:
        return search.inference.log_z

    def edge_scores(self, search: Search, objective: Objective) -> Floats:
        """Max-rule: the sum over members of log posteriors; the other objectives take the mean posterior."""
        if objective == "viterbi":
            raise LatreeError("a product of grammars has no single best derivation; use another objective")
        if objective != "max-rule":
            return super().edge_scores(search, objective)
        members: tuple[Any, ...] = search.inference.members  # type: ignore[attr-defined]
        parts = [decode.max_rule_scores(search.forest, member.posterior) for member in members]
        return np.asarray(np.sum(parts, axis=0), np.float64)

    def stand_in(self, tokens: tuple[str, ...], trouble: Trouble) -> Parse:
        found: Parse = self.members[0].stand_in(tokens, trouble)
        return found

    def sample(self, tokens: Sequence[str] | None = None, seed: int | None = None) -> Parse:
        raise LatreeError("a product of grammars cannot be drawn from; sample from one of its members")

    # -- size: that of all members

    def subtype_counts(self) -> Longs | None:
        counts = [member.subtype_counts() for member in self.members]
        return None if any(one is None for one in counts) else np.asarray(np.sum(counts, axis=0), np.int64)

    def complexity(self) -> Longs:
        return np.asarray(np.sum([member.complexity() for member in self.members], axis=0), np.int64)

    # -- files

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        headers: list[dict[str, Any]] = []
        arrays: dict[str, NDArray[Any]] = {}
        for number, member in enumerate(self.members):
            header, part = member.state()
            headers.append({"kind": member.kind, **header})
            arrays |= {f"{number}.{name}": array for name, array in part.items()}
        return {"members": headers}, arrays

    @classmethod
    def from_state(cls, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        from latree.kinds.registry import from_state

        members = []
        for number, member in enumerate(header["members"]):
            members.append(from_state(member.get("kind", "lvg"), member, part_of(f"{number}.", arrays)))
        return cls(members)
