"""The entropy of derivations given the first words of a sentence, which each word reduces (Hale 2003, 2006).

A derivation D is a whole tree with its subtypes and its words, those that are not read yet too.  With

    L_k(b) = log sum of P(D)^b over all D that begin with w_1..w_k

the entropy of D given these words is H_k = L_k(1) - L_k'(1).  L_k(b) is a prefix probability under weights to the power
of b, so that no further recurrence is needed; the slope is taken from b = 1 + e and 1 - e.  Its error, e^2 / 6 times
the third cumulant of log P(D) and what is rounded, is below a thousandth of a nat.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from latree.arrays import Floats
from latree.inference.prefixes import Prefixes, PrefixGrammar, prefix_grammar
from latree.inference.subtypes import Cells, Layout
from latree.lexicon.distribution import WordDistribution

_STEP = 1e-6  # e


class _Power(NamedTuple):
    """A grammar whose weights are another's to a power."""

    power: float
    grammar: PrefixGrammar


class DerivationEntropy:
    """Tells how much is open after every word."""

    def __init__(self, layout: Layout, rules: Cells, words: WordDistribution) -> None:
        self.words = words
        self._powers = [self._powered(layout, rules, power) for power in (1.0, 1.0 + _STEP, 1.0 - _STEP)]

    def _powered(self, layout: Layout, rules: Cells, power: float) -> _Power:
        columns = np.eye(self.words.lexicon.tags)
        masses = np.array([(self.words.outcomes(column) ** power).sum() for column in columns])
        return _Power(power, prefix_grammar(layout, Cells(rules.place, rules.value**power), masses))

    def after(self, tokens: Sequence[str]) -> Floats:
        """H_0 to H_n, before the first word and after each; NaN after a word that nothing goes on with."""
        emissions = [self.words.emissions(token, place == 0) for place, token in enumerate(tokens)]
        whole, above, below = (_log_prefixes(power, emissions) for power in self._powers)
        return whole - (above - below) / (2 * _STEP)


def _log_prefixes(powered: _Power, emissions: Sequence[Floats]) -> Floats:
    """L_0 to L_n."""
    prefixes = Prefixes(powered.grammar, len(emissions))
    probs = [powered.grammar.mass]
    for row in emissions:
        probs.append(prefixes.read(row**powered.power) if probs[-1] > 0.0 else np.nan)
    logs = [np.log(prob) if prob > 0.0 else np.nan for prob in probs]
    return np.array([*accumulate(logs)])
