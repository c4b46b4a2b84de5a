"""Where the training of a log-linear grammar begins: at a generative grammar of the same subtypes.

With one scale its weights are the base.  At several, the unsplit grammar is the base, and what each split of the
generative grammar changed is where the new parameters begin: a penalty then leaves of it what is of use.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from latree.arrays import Floats, Longs
from latree.grammar import NONE
from latree.lexical_rules import UNSEEN, LexicalRules, subtype_emissions
from latree.refinement import Refinement

LEAST = 1e-12  # of a word's probability


def log_rules(source: Any, level: int, share: float) -> Floats:
    """log T[x, y, z] after `level` rounds, with a share of the unsplit grammar's, so that no cell is empty."""
    layout, theta, _, _ = source.levels[level]
    even = source.coarse_theta() / (layout.dims[:, 1] * layout.dims[:, 2])
    found: Floats = np.log((1 - share) * theta + share * np.repeat(even, np.diff(layout.start)))
    return found


def log_words(source: Any, lexical: LexicalRules, level: int) -> Floats:
    """log P(w | t_x) after `level` rounds, a number for every lexical rule and subtype of its tag."""
    emissions, width = subtype_emissions(source, lexical, level)
    emissions = np.where(np.repeat(lexical.is_unseen, width), UNSEEN * emissions, emissions)
    found: Floats = np.log(np.maximum(emissions, LEAST))
    return found


def split_changes(
    source: Any, lexical: LexicalRules, tree: Refinement, nodes: Longs, level: int, share: float
) -> Floats:
    """What the round that led to `level` changed for these nodes, which are of that depth."""
    return _distance(source, lexical, tree, nodes, level, share) - _distance(
        source, lexical, tree, tree.parent[nodes], level - 1, share
    )


def _distance(source: Any, lexical: LexicalRules, tree: Refinement, nodes: Longs, level: int, share: float) -> Floats:
    """How far the log weights of nodes of a level are from the unsplit grammar's."""
    rules = len(source.grammar.rules)
    layout, first = source.levels[level].layout, (1 << level) - 1  # of a split tree's nodes of that depth
    production, place = tree.production[nodes], np.maximum(tree.place[nodes] - first, 0)
    found = np.empty(len(nodes))
    of_rule = production < rules
    rule, (x, y, z) = production[of_rule], place[of_rule].T
    cell = layout.start[rule] + (x * layout.dims[rule, 1] + y) * layout.dims[rule, 2] + z
    even = np.log(source.coarse_theta()[rule] / (layout.dims[rule, 1] * layout.dims[rule, 2]))
    found[of_rule] = log_rules(source, level, share)[cell] - even
    found[~of_rule] = _word_distance(source, lexical, level)[production[~of_rule] - rules, place[~of_rule, 0]]
    return found


def _word_distance(source: Any, lexical: LexicalRules, level: int) -> Floats:
    """[lexical rules, subtypes]; of words that are joined with their class, what the class does not say already."""
    fine = log_words(source, lexical, level).reshape(-1, 1 << level)
    found = fine - log_words(source, lexical, 0)[:, None]
    joined = lexical.joined_rule
    return np.asarray(found - np.where(joined == NONE, 0.0, 1.0)[:, None] * found[joined], np.float64)
