"""Scores of function labels, such as SBJ in NP-SBJ, which the bracket score leaves out.

A function is right where its phrase has the right span and category and carries it.  How many are right among phrases
that were found (Blaheta & Charniak 2000) tells the labelling from the bracketing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any

from latree.scoring.evalb import COLLINS, Bracket, Parameters
from latree.scoring.score import ROOT, kept_words, rates_of
from latree.text.tree import Tree

_PARTS = re.compile(r"(?<=.)[-=]")  # a label that begins with a mark keeps it, as -LRB- does
Phrase = tuple[Bracket, list[str]]  # with its functions


def functions_of(label: str) -> list[str]:
    """The functions that a label names: what stands after the category, numbers aside."""
    _, *parts = _PARTS.split(label)
    return [part for part in parts if part and not part.isdecimal()]


@dataclass(frozen=True)
class FunctionScores:
    """Functions of the gold trees, of the parses, and of both; and of those whose phrase is on the other side too."""

    gold: Counter[str] = field(default_factory=Counter)
    test: Counter[str] = field(default_factory=Counter)
    matched: Counter[str] = field(default_factory=Counter)
    gold_found: Counter[str] = field(default_factory=Counter)  # of gold, on phrases that the parse has
    test_found: Counter[str] = field(default_factory=Counter)  # of the parse, on phrases that gold has

    def add(self, left: Sequence[Phrase], right: Sequence[Phrase]) -> None:
        """Count the phrases of one sentence, of gold and of the parse."""
        gold, test = (Counter((name, bracket) for bracket, names in side for name in names) for side in (left, right))
        both = {bracket for bracket, _ in left} & {bracket for bracket, _ in right}
        for total, functions in ((self.gold, gold), (self.test, test), (self.matched, gold & test)):
            total.update(function for function, _ in functions.elements())
        for total, functions in ((self.gold_found, gold), (self.test_found, test)):
            total.update(function for function, phrase in functions.elements() if phrase in both)

    def to_json(self) -> dict[str, Any]:
        """Rates of all functions together and of each, the most frequent of the gold trees first."""
        names = sorted(self.gold | self.test, key=lambda name: (-self.gold[name], name))
        return {"all": self._rates(names), "by_function": {name: self._rates([name]) for name in names}}

    def _rates(self, names: Iterable[str]) -> dict[str, float]:
        matched, gold, test, gold_found, test_found = (
            sum(counts[name] for name in names)
            for counts in (self.matched, self.gold, self.test, self.gold_found, self.test_found)
        )
        found = rates_of(matched, gold_found, test_found)
        return rates_of(matched, gold, test) | {"f1_found": found["f1"], "found": gold_found}


def score_functions(
    gold: Iterable[Tree], predicted: Iterable[Tree | None], parameters: Parameters = COLLINS
) -> FunctionScores:
    """Count functions over trees whose labels still have them; a sentence without a usable parse has none."""
    parameters = replace(parameters, delete=parameters.delete | {ROOT})
    scores = FunctionScores()
    for left, right in zip(gold, predicted, strict=True):
        kept = kept_words(left, right, parameters)
        scores.add(list(_phrases(left, kept.gold, parameters)), list(_phrases(right, kept.test, parameters)))
    return scores


def _phrases(tree: Tree | None, keep: Sequence[bool], parameters: Parameters) -> Iterator[Phrase]:
    """The phrases over words that are kept, each with its functions."""
    if tree is None or not keep:
        return
    offsets = [0, *accumulate(keep)]
    for name, start, end in tree.spans():
        label = parameters.label(name)
        if offsets[start] < offsets[end] and label is not None:
            yield (label, offsets[start], offsets[end]), functions_of(name)
