"""The best derivation of a forest.

Everything here maximises a sum of one score an edge.  What the score is makes the method:

    Viterbi            log weight of the rule
    max-rule product   log posterior of the anchored rule (Petrov & Klein 2007)
    max-rule sum       the posterior itself
    variational        log posterior of the rule given its parent
    brackets           posterior of the phrase
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latree.arrays import NONE, Floats, Ints, Longs
from latree.inference.forest import PASS, Forest, L, P, R
from latree.inference.potentials import expected_parts
from latree.jit import kernel

_TIE = 1e-6  # what a posterior weighs where it is only to break ties


def anchored(forest: Forest, posterior: Floats) -> Floats:
    """Posterior of each edge's rule over its span, whatever the unary level: q of the max-rule objective.

    Only unary rules stand at several levels; an edge with two children or none is the only one of its kind.
    """
    unary = np.flatnonzero((forest.rule >= 0) & (forest.ends[:, L] >= 0) & (forest.ends[:, R] < 0))
    parent = forest.ends[unary, P]
    size, rules = int(forest.span.max(initial=0)) + 1, int(forest.rule.max(initial=0)) + 1
    place = (forest.sentence[parent].astype(np.int64) * size + forest.span[parent, 0]) * size + forest.span[parent, 1]
    _, kind = np.unique(place * rules + forest.rule[unary], return_inverse=True)
    q = posterior.copy()
    q[unary] = np.bincount(kind, weights=posterior[unary])[kind]
    return q


def max_rule_scores(forest: Forest, q: Floats, *, product: bool = True) -> Floats:
    """Edge scores of the max-rule objectives, from `anchored` posteriors; passing an item on costs nothing.

    Trees of the same words differ in the number of unary rules alone.  So that the sum does not gain by more of them,
    a unary rule scores q - 1/2: it must be likelier than not (the sum is then the expected number of right rules
    less that of wrong ones, up to a constant).
    """
    if product:
        with np.errstate(divide="ignore"):
            q = np.log(q)
    else:
        q = np.where(q == 0, -np.inf, q)
        q[(forest.ends[:, L] >= 0) & (forest.ends[:, R] < 0)] -= 0.5
    q[forest.rule == PASS] = 0.0
    return q


def variational_scores(forest: Forest, posterior: Floats) -> Floats:
    """log of each edge's share of its parent item: the PCFG over the forest that is nearest to the posterior.

    (Matsuzaki et al. 2005; Petrov & Klein 2007.)
    """
    items, edges = expected_parts(forest, posterior)
    share, mass = np.zeros(len(edges)), items[forest.ends[:, P]]
    np.divide(edges, mass, out=share, where=mass > 0)
    with np.errstate(divide="ignore"):
        return np.log(share)


def bracket_scores(forest: Forest, phrase_probability: Floats, posterior: Floats) -> Floats:
    """Minimum Bayes risk on brackets: each phrase scores p - 1/2, so that one likelier than not is worth having.

    Brackets say nothing of tags and parts: of trees with the same brackets, the one of the likelier rules is taken.
    """
    probability = phrase_probability[forest.ends[:, P]]
    scores = np.where(probability > 0, probability - 0.5, 0.0) + _TIE * posterior
    scores[posterior == 0] = -np.inf
    scores[forest.rule == PASS] = 0.0
    return scores


class Best(NamedTuple):
    """For every item its best score and the edge that gives it (-1: none)."""

    score: Floats
    edge: Longs


@kernel
def _best(ends: Ints, scores: Floats, value: Floats, back: Longs) -> None:
    for e in range(len(ends)):
        total = scores[e]
        if ends[e, L] >= 0:
            total += value[ends[e, L]]
        if ends[e, R] >= 0:
            total += value[ends[e, R]]
        if total > value[ends[e, P]]:
            value[ends[e, P]], back[ends[e, P]] = total, e


def best(forest: Forest, scores: Floats) -> Best:
    """The highest-scoring derivation below every item."""
    items = len(forest.symbol)
    choice = Best(np.full(items, -np.inf), np.full(items, NONE))
    _best(forest.ends, scores, *choice)
    return choice


@kernel
def _trace(back: Longs, ends: Ints, root: int, edges: Longs, stack: Longs) -> int:
    """Follow the best edges down; returns how many there are."""
    used, height = 0, 1
    stack[0] = root
    while height > 0:
        height -= 1
        edge = back[stack[height]]
        if edge < 0:
            return 0
        edges[used] = edge
        used += 1
        for port in (R, L):
            if ends[edge, port] >= 0:
                stack[height] = ends[edge, port]
                height += 1
    return used


def best_edges(forest: Forest, choice: Best, sentence: int) -> list[int]:
    """The edges of a sentence's best derivation, if it has one, a parent's before its children's, left to right."""
    root = int(forest.root[sentence])
    if root < 0:
        return []
    edges, stack = np.empty((2, len(choice.edge) + 1), np.int64)
    used = _trace(choice.edge, forest.ends, root, edges, stack)
    return list(edges[:used].tolist())


def only(forest: Forest, edges: list[int]) -> Floats:
    """Edge scores by which a derivation that is known already is the best: its edges are free, others ruled out."""
    scores = np.full(len(forest.rule), -np.inf)
    scores[edges] = 0.0
    return scores
