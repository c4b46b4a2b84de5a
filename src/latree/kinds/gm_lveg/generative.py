"""Mixtures as a distribution over trees and sentences: the generative sibling of those that are trained on P(T | w).

Outcomes are the units of the lexical rules: frequent words, and classes of others, a class being one outcome however
many words it has.  So that every unit has one weight under a tag, words go by their unit alone.
"""

from __future__ import annotations

from latree.errors import LatreeError
from latree.inference.gaussian.mass import Derivable, InfiniteMassError, Mass, derivable
from latree.inference.gaussian.mixtures import Components, Mixtures
from latree.inference.grammar import Grammar
from latree.lexicon.lexical_rules import LexicalRules

LIGHTER = 0.01  # what words lose first of their log weights, where the sum over all trees is infinite
TRIES = 20  # twice as much each time


class Normaliser:
    """Sums over all sentences of a grammar, whatever its weights."""

    def __init__(self, grammar: Grammar, lexical: LexicalRules) -> None:
        self.grammar, self.lexical = grammar, lexical
        self._known: tuple[Components, Derivable] | None = None

    def derivable(self, components: Components) -> Derivable:
        """What there is to sum over; kept for as long as the components are the same."""
        if self._known is None or self._known[0] is not components:
            lexical = self.lexical
            self._known = components, derivable(self.grammar, lexical.tag, lexical.outcomes, components)
        return self._known[1]

    def settle(self, components: Components, mixtures: Mixtures) -> Mass:
        """Sum over all sentences; where that is infinite, words are made lighter, in place, until it is not.

        All trees of a sentence have as many words: no P(T | w) changes.
        """
        everything = self.derivable(components)
        for k in range(TRIES):
            try:
                return Mass(everything, mixtures)
            except InfiniteMassError:
                mixtures.log_rho[everything.words] -= LIGHTER * 2**k
        raise LatreeError("the sum over all sentences is no number any more; the last checkpoint is good")

    def normalised(self, components: Components, mixtures: Mixtures) -> Mixtures:
        """The same distribution with Z = 1: a tree has one rule of the root, and that is divided by Z."""
        settled = mixtures._replace(log_rho=mixtures.log_rho.copy())
        mass = self.settle(components, settled)
        settled.log_rho[mass.derivable.root] -= mass.log_z
        return settled
