"""Where the training of a log-linear grammar begins: at a generative grammar of the same subtypes.

With one scale its weights are the base.  At several, what each split of the generative grammar changed is where a
node's parameter begins, and nodes are divided where that raises the likelihood of the treebank enough.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from latree.arrays import Floats, Longs
from latree.inference.grammar import Grammar
from latree.kinds.lvg_d.refinement import Refinement
from latree.lexicon.lexical_rules import UNSEEN, LexicalRules, subtype_emissions

LEAST = 1e-12  # of a word's probability


def log_rules(source: Any, level: int, share: float) -> Floats:
    """log T[x, y, z] after `level` rounds, with a share of the unsplit grammar's, so that no cell is empty."""
    layout, theta, _, _ = source.level(level)
    even = source.coarse_theta() / (layout.dims[:, 1] * layout.dims[:, 2])
    with np.errstate(divide="ignore"):  # a rule that the unsplit grammar does without stays so
        log_theta: Floats = np.log((1 - share) * theta + share * np.repeat(even, np.diff(layout.start)))
    return log_theta


def log_words(source: Any, lexical: LexicalRules, level: int) -> Floats:
    """log P(w | t_x) after `level` rounds, a number for every lexical rule and subtype of its tag."""
    emissions, width = subtype_emissions(source, lexical, level)
    emissions = np.where(np.repeat(lexical.is_unseen, width), UNSEEN * emissions, emissions)
    log_emissions: Floats = np.log(np.maximum(emissions, LEAST))
    return log_emissions


def grown(source: Any, lexical: LexicalRules, share: float, least: float) -> tuple[Refinement, Floats]:
    """Refinement trees as fine as the generative grammar makes worthwhile, and the parameters of their nodes.

    A node is divided where all the splits below it gain at least so many nats.
    """
    splits = split_ports(source.grammar, lexical)
    tree = Refinement.whole(len(splits))
    delta, fresh = np.zeros(tree.nodes), np.arange(tree.nodes)
    for level in range(source.history.rounds):
        chosen = np.zeros(tree.nodes, bool)
        chosen[fresh] = _gains(source, lexical, tree, fresh, level, share) >= least
        before, tree = tree.nodes, tree.divided(chosen, splits)
        fresh = np.arange(before, tree.nodes)
        delta = np.append(delta, split_changes(source, lexical, tree, fresh, level + 1, share))
    return tree, delta


def split_ports(grammar: Grammar, lexical: LexicalRules) -> NDArray[np.bool_]:
    """[productions, 3] at which ports a rule of the grammar, or a lexical rule, has a symbol with subtypes."""
    return np.concatenate([grammar.rules > 0, np.tile([True, False, False], (len(lexical.tag), 1))])


def _gains(source: Any, lexical: LexicalRules, tree: Refinement, nodes: Longs, level: int, share: float) -> Floats:
    """How much the likelihood of the treebank would suffer if nodes of this level were not divided: the sum over the
    finest cells below of expected count times change of the log weight."""
    of_rule, place = _cells(source, tree, nodes, level)
    rules = _gain(_rule_counts(source), _rule_homes(source, level), *_both(_rule_distances, source, share, level))
    counts = _word_counts(source, lexical)
    homes = np.arange(len(counts)) >> (source.history.rounds - level)
    words = _gain(counts, homes, *_both(_word_distances, source, lexical, level))
    return np.where(of_rule, rules[np.where(of_rule, place, 0)], words[np.where(of_rule, 0, place)])


def _both(distances: Callable[..., Floats], source: Any, about: Any, level: int) -> tuple[Floats, Floats]:
    """At the finest level, and at this."""
    return distances(source, about, source.history.rounds), distances(source, about, level)


def _gain(count: Floats, home: Longs, fine: Floats, coarse: Floats) -> Floats:
    """[coarse cells] where `home` says which of these each fine cell lies in."""
    size = len(coarse)
    return np.asarray(np.bincount(home, count * fine, size) - np.bincount(home, count, size) * coarse, np.float64)


def _rule_counts(source: Any) -> Floats:
    """[finest cells of all rules] expected in the treebank."""
    layout = source.layout
    counts: Floats = source.theta * np.repeat(source.frequency[layout.row_parent], np.diff(layout.row))
    return counts


def _rule_homes(source: Any, level: int) -> Longs:
    """[finest cells of all rules] the cell of an earlier level that each lies in."""
    layout, early, steps = source.layout, source.level(level).layout, source.history.rounds - level
    rule, *cell = layout.coordinates(np.arange(int(layout.start[-1])))
    x, y, z = (port >> steps for port in cell)
    homes: Longs = early.start[rule] + (x * early.dims[rule, 1] + y) * early.dims[rule, 2] + z
    return homes


def _word_counts(source: Any, lexical: LexicalRules) -> Floats:
    """[lexical rules and subtypes] expected in the treebank."""
    emissions, width = subtype_emissions(source, lexical)
    first = source.layout.offset[source.grammar.first_tag + lexical.tag]
    counts: Floats = emissions * source.frequency[np.repeat(first, width) + np.arange(len(emissions)) % width.max()]
    return counts


def split_changes(
    source: Any, lexical: LexicalRules, tree: Refinement, nodes: Longs, level: int, share: float
) -> Floats:
    """What the round that led to `level` changed for these nodes, which are of that depth."""
    return _distance(source, lexical, tree, nodes, level, share) - _distance(
        source, lexical, tree, tree.parent[nodes], level - 1, share
    )


def _distance(source: Any, lexical: LexicalRules, tree: Refinement, nodes: Longs, level: int, share: float) -> Floats:
    """How far the log weights of nodes of a level are from the unsplit grammar's."""
    of_rule, place = _cells(source, tree, nodes, level)
    distance = np.empty(len(nodes))
    distance[of_rule] = _rule_distances(source, share, level)[place[of_rule]]
    distance[~of_rule] = _word_distances(source, lexical, level)[place[~of_rule]]
    return distance


def _cells(source: Any, tree: Refinement, nodes: Longs, level: int) -> tuple[NDArray[np.bool_], Longs]:
    """Tell whether each of a level's nodes is a rule's, and its cell among those of all rules or of all words."""
    rules, layout = len(source.grammar.rules), source.level(level).layout
    production, place = tree.production[nodes], np.maximum(tree.place[nodes] - ((1 << level) - 1), 0)
    of_rule, (x, y, z) = production < rules, place.T
    rule = np.where(of_rule, production, 0)
    cell = layout.start[rule] + (x * layout.dims[rule, 1] + y) * layout.dims[rule, 2] + z
    return of_rule, np.where(of_rule, cell, (production - rules) * (1 << level) + x)


def _rule_distances(source: Any, share: float, level: int) -> Floats:
    """[cells of all rules] how far log weights of a level are from the unsplit grammar's."""
    layout = source.level(level).layout
    even = np.log(source.coarse_theta() / (layout.dims[:, 1] * layout.dims[:, 2]))
    log_ratio: Floats = log_rules(source, level, share) - np.repeat(even, np.diff(layout.start))
    return log_ratio


def _word_distances(source: Any, lexical: LexicalRules, level: int) -> Floats:
    """[lexical rules and subtypes] the same of words."""
    return log_words(source, lexical, level) - np.repeat(log_words(source, lexical, 0), 1 << level)
