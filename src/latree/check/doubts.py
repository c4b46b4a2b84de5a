"""Which nodes of an annotated tree a parser doubts that did not learn from it.

Two odds are asked of every node.  Given the words alone: how likely is it that a tree of these words has it not?  And
given the words and all other nodes of the tree: how likely is it then?  The first is high wherever the parser goes
astray in a sentence, the second is high around any node that is wrong.  What is wrong by itself has both high, so the
score of a node is the lower of the two.  Both are log odds of one node, and do not grow with the sentence.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property

from latree.check.beliefs import Beliefs
from latree.check.findings import NO_BRACKET, Finding, Kind
from latree.check.nodes import Spot, spots_of, without
from latree.check.unseen import unseen_rules
from latree.kinds.parser import Parser
from latree.text.partial_trees import Bracket
from latree.text.tree import Tree

LEAST = 0.0  # even odds: what is likelier right than wrong is no finding
CLOSE_LOOK = 2.0  # log odds by the words from which on the rest of the tree is asked too
BLURRED = 1e-3  # probabilities below this are summed anew, since pruning took part of them
MOST = 50.0  # log odds of what cannot be


def log_odds(probability: float) -> float:
    """log p / (1 - p), within what odds are told to."""
    if probability <= 0.0 or probability >= 1.0:
        return math.copysign(MOST, probability - 0.5)
    return _told_odds(math.log(probability) - math.log1p(-probability))


def _told_odds(odds: float) -> float:
    return min(max(odds, -MOST), MOST)


def log_ratio(one: float, other: float) -> float | None:
    """log of one weight over another, by their logs; None where neither can be."""
    if one == other == -math.inf:
        return None
    return _told_odds(one - other)


class Doubts:
    """One annotated tree, and the parser that judges it."""

    def __init__(self, parser: Parser, tree: Tree) -> None:
        self.gold = parser.cleaned(tree)
        self.spots = spots_of(self.gold)
        self.beliefs = Beliefs(parser, tuple(self.gold.words()))
        self.parser = parser

    @property
    def is_judged(self) -> bool:
        """Whether the parser has any tree for these words."""
        return bool(self.beliefs.probabilities)

    def findings(self) -> Iterator[Finding]:
        """What the parser finds more likely wrong than right, and rules that it does not know."""
        if not self.is_judged:
            return
        suspects = [self._doubted(spot) for spot in dict.fromkeys(self.spots) if self._is_known(spot)]
        suspects += [self._missed(spot) for spot in self._expected()]
        yield from (one for one in suspects if one is not None and one.score > LEAST)
        yield from unseen_rules(self.parser, self.gold, self._odds_of)

    def _is_known(self, spot: Spot) -> bool:
        """Whether the parser has ever seen the label: of others it cannot judge, and they are told with their rules."""
        return (spot.label, "tag" if spot.is_tag else "phrase") in self._labels

    @cached_property
    def _labels(self) -> set[tuple[str, str]]:
        return {(symbol.label, symbol.kind) for symbol in self.parser.grammar.symbols}

    def _odds_of(self, spot: Spot) -> float:
        """The odds by the words that a node of the tree is not there."""
        return -log_odds(self.beliefs.probabilities.get(spot, 0.0))

    # -- nodes that are there

    def _doubted(self, spot: Spot) -> Finding | None:
        by_words, by_rest = self._odds_of(spot), None
        if by_words <= LEAST:
            return None
        suggestion = self._free_tree
        if by_words > CLOSE_LOOK:
            by_words = self._exactly(by_words, spot.bracket)
            rest = [one.bracket for one in without(self.spots, spot)]
            whole = self.beliefs.log_prob(*self._brackets)
            by_rest = log_ratio(_difference(self.beliefs.log_prob(*rest), whole), whole)
            suggestion = self.beliefs.best(*rest) or suggestion
        return self._told(spot, by_words, by_rest, suggestion)

    def _exactly(self, odds: float, unlikely: Bracket) -> float:
        """The odds against a bracket, summed anew where pruning may have taken most of what speaks for it."""
        if odds < -log_odds(BLURRED):
            return odds
        log_p = self.beliefs.log_prob(unlikely) - self.beliefs.log_prob()
        return -log_odds(math.exp(min(log_p, math.log(BLURRED))))

    def _told(self, spot: Spot, by_words: float, by_rest: float | None, suggestion: Tree) -> Finding:
        there = spots_of(suggestion)
        kind, expected = self._tag_instead(spot, there) if spot.is_tag else self._phrase_instead(spot, there)
        return Finding(
            kind,
            *spot.span,
            spot.label,
            NO_BRACKET if expected is None else expected.label,
            by_words if by_rest is None else min(by_words, by_rest),
            expected_span=None if expected is None or expected.span == spot.span else expected.span,
            given_words=by_words,
            given_rest=by_rest,
            tree=str(self.gold),
            suggestion=str(suggestion),
        )

    def _tag_instead(self, spot: Spot, there: list[Spot]) -> tuple[Kind, Spot]:
        """The tag in the suggested tree; where that is the same, the likeliest other one."""
        found = next(one for one in there if one.is_tag and one.span == spot.span)
        if found != spot:
            return "tag", found
        others = (one for one in self.beliefs.probabilities if one.is_tag and one.span == spot.span and one != spot)
        return "tag", max(others, key=self.beliefs.probabilities.__getitem__, default=spot)

    def _phrase_instead(self, spot: Spot, there: list[Spot]) -> tuple[Kind, Spot | None]:
        """Another label over the same words, else the same or another label over some of them, else nothing."""
        new = [one for one in there if not one.is_tag and one not in self.spots]
        if relabelled := [one for one in new if one.span == spot.span]:
            return "label", relabelled[0]
        alike = [one for one in new if one.label == spot.label and (one.start == spot.start or one.end == spot.end)]
        if rivals := alike or [one for one in new if one.crosses(spot)]:
            return "attachment", max(rivals, key=spot.overlap)
        return "extra", None

    # -- nodes that are not there

    def _expected(self) -> Iterator[Spot]:
        """Likely phrases that the tree could have beside its own; where they cross one of these, that is doubted."""
        odds_against = {spot.span: self._odds_of(spot) for spot in self.spots if not spot.is_tag}
        for spot, probability in self.beliefs.probabilities.items():
            is_likely = not spot.is_tag and log_odds(probability) > LEAST and spot not in self.spots
            is_rival = odds_against.get(spot.span, -MOST) > LEAST  # it is told there as another label
            if is_likely and not is_rival and not any(spot.crosses(one) for one in self.spots):
                yield spot

    def _missed(self, spot: Spot) -> Finding:
        by_words, by_rest = log_odds(self.beliefs.probabilities[spot]), None
        suggestion = self._free_tree
        if by_words > CLOSE_LOOK:
            barred = spot.bracket._replace(forbidden=True)
            by_words = self._exactly(by_words, barred)
            having = self.beliefs.log_prob(*self._brackets, spot.bracket)
            by_rest = log_ratio(having, self.beliefs.log_prob(*self._brackets, barred))
            suggestion = self.beliefs.best(*self._brackets, spot.bracket) or suggestion
        return Finding(
            "missing",
            *spot.span,
            NO_BRACKET,
            spot.label,
            by_words if by_rest is None else min(by_words, by_rest),
            given_words=by_words,
            given_rest=by_rest,
            tree=str(self.gold),
            suggestion=str(suggestion),
        )

    # -- trees

    @cached_property
    def _brackets(self) -> list[Bracket]:
        return [spot.bracket for spot in self.spots]

    @cached_property
    def _free_tree(self) -> Tree:
        """What the parser makes of the words alone."""
        return self.beliefs.best() or self.gold


def _difference(more: float, less: float) -> float:
    """log(exp(more) - exp(less)); of what comes out negative by rounding or by pruning, nothing."""
    if less == -math.inf:
        return more
    return more + math.log1p(-math.exp(less - more)) if more > less else -math.inf
