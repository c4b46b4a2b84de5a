"""What a parser believes of a sentence, and what it would believe if some brackets of its tree were known."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from latree.check.nodes import Spot
from latree.inference.forest import PASS, P
from latree.kinds.parser import Parser
from latree.kinds.search import Search
from latree.text.partial_trees import Bracket, PartialTree
from latree.text.tree import Tree

LOOSENESS = 1e-2  # how much less is pruned where the probabilities of all nodes are asked for


class Beliefs:
    """One sentence and its parser; what is asked for twice is made once."""

    def __init__(self, parser: Parser, words: tuple[str, ...]) -> None:
        self.parser, self.words = parser, words
        self._made: dict[frozenset[Bracket], Search | None] = {}

    @cached_property
    def _all(self) -> Search | None:
        return self.parser.searched(self.words, LOOSENESS)

    @cached_property
    def probabilities(self) -> dict[Spot, float]:
        """How likely every phrase and every tag is that survives pruning; empty where there is no tree."""
        search, symbols = self._all, self.parser.grammar.symbols
        if search is None:
            return {}
        forest = search.forest
        ruled = np.where(forest.rule == PASS, 0.0, search.inference.posterior)
        likely = np.bincount(forest.ends[:, P], weights=ruled, minlength=len(forest.symbol))
        found: dict[Spot, float] = {}
        for item in np.flatnonzero(likely > 0).tolist():
            symbol, (start, end) = symbols[forest.symbol[item]], forest.span[item].tolist()
            if symbol.kind in ("phrase", "tag"):
                spot = Spot(symbol.label, start, end, symbol.kind == "tag")
                found[spot] = min(found.get(spot, 0.0) + float(likely[item]), 1.0)
        return found

    def log_prob(self, *brackets: Bracket) -> float:
        """log P(words, brackets): the sum over all trees that agree with them."""
        search = self._given(brackets)
        return -np.inf if search is None else float(search.log_z[0])

    def best(self, *brackets: Bracket) -> Tree | None:
        """The best of the trees that agree with the brackets; None where there is none."""
        search = self._given(brackets)
        if search is None:
            return None
        derivation = search.best("max-rule")[0]
        return derivation.tree(self.parser.grammar, self.words) if derivation.edges else None

    def _given(self, brackets: Iterable[Bracket]) -> Search | None:
        """What is left of all trees; None where that is nothing."""
        known = frozenset(brackets)
        if self._all is None or not known:
            return self._all
        if known not in self._made:
            # In a fixed order, so that sums come out the same to the last digit.
            partial = PartialTree(self.words, tuple(sorted(known, key=str)))
            self._made[known] = self.parser.searched_within(self._all, partial)
        return self._made[known]
