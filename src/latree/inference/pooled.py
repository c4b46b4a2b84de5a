"""Several distributions over the derivations of one forest as one: the geometric mean of them, normalised.

Each is taken by the PCFG over the forest that is nearest to it, which has the same posteriors.  Where all of them are
equal, so is their mean; where one rules an edge out, the mean does.  (The product of posteriors of rules, by which the
best tree is chosen in Petrov 2010, is no distribution.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from latree.arrays import Floats
from latree.inference.decode import variational_scores
from latree.inference.forest import Forest, P
from latree.inference.forms.sparse import no_statistics, sparse, with_entries
from latree.inference.grammar import Grammar
from latree.inference.potentials import Potentials
from latree.inference.subtypes import Layout
from latree.inference.sweep import infer


class Posteriors(Protocol):
    """What inference over a forest says."""

    @property
    def log_z(self) -> Floats:
        """[sentences] log of the sum over derivations."""

    @property
    def posterior(self) -> Floats:
        """[edges] the probability that each is in the derivation."""


class Pooled(NamedTuple):
    """Posteriors of the mean; derivations weigh the geometric mean of what they weigh by themselves."""

    log_z: Floats
    posterior: Floats
    edge: Floats  # [edges] log weights: their sum over a derivation is log P(T | w), before it is normalised
    known: Floats  # [sentences] what is beside the sum of log weights in log P(T, w): the mean of the members' log Z

    def log_weight(self, forest: Forest, edges: list[int]) -> float:
        """log P(T, w) of a derivation; -inf where it has no edges."""
        if not edges:
            return -np.inf
        return float(self.known[forest.sentence[forest.ends[edges[0], P]]] + self.edge[edges].sum())


def pooled(grammar: Grammar, forest: Forest, members: Sequence[Posteriors]) -> Pooled:
    """Infer by the normalised geometric mean of several distributions over a forest."""
    edge = np.mean([variational_scores(forest, one.posterior) for one in members], axis=0)
    return by_edges(grammar, forest, edge, np.mean([one.log_z for one in members], axis=0))


def tempered(grammar: Grammar, forest: Forest, posterior: Floats, log_z: Floats, temperature: float) -> Pooled:
    """Infer by a distribution to the power of 1 / temperature, normalised: above one it is less sure, below one surer.

    The distribution is taken by the PCFG over the forest that is nearest to it, as above; log P(w) stays what it is.
    """
    edge = variational_scores(forest, posterior) / temperature
    powers = by_edges(grammar, forest, edge, np.zeros(len(log_z)))
    whole = np.where(np.isfinite(powers.log_z), powers.log_z, 0.0)  # nothing is left of some sentences
    return Pooled(log_z, powers.posterior, edge, log_z - whole)


def by_edges(grammar: Grammar, forest: Forest, edge: Floats, known: Floats) -> Pooled:
    """Infer by one log weight an edge; `known` is added to every derivation of a sentence."""
    layout = Layout(grammar, np.ones(len(grammar.symbols), np.int64))
    entries = np.ones(max(int(forest.rule.max(initial=0)) + 1 - forest.rules, 0))
    ones = with_entries(sparse(layout, np.ones(len(grammar.rules))), entries, entries.astype(np.int64))
    sums = infer(forest, ones, no_statistics(ones), layout.size, Potentials(edge=edge))
    return Pooled(known + sums.log_z, sums.posterior, edge, known)
