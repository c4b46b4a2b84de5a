"""Where the training of a log-linear grammar begins: at a generative grammar of the same subtypes.

With one scale its weights are the base.  At several, what each split of the generative grammar changed is where a
node's parameter begins, and nodes are divided where that raises the likelihood of the treebank enough.  The cells of a
level are then those of all rules and, after them, of all words: a number for every lexical rule and subtype of its tag.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from latree.arrays import Floats, Longs
from latree.inference.grammar import Grammar
from latree.kinds.lvg_d.refinement import Refinement
from latree.lexicon.lexical_rules import UNSEEN, LexicalRules

if TYPE_CHECKING:
    from latree.kinds.lvg.model import Subtyped

LEAST = 1e-12  # of a word's probability


def log_rules(source: Subtyped, level: int, share: float) -> Floats:
    """log T[x, y, z] after `level` rounds, with a share of the unsplit grammar's, so that no cell is empty."""
    layout, theta, _, _ = source.level(level)
    even = source.coarse_theta() / (layout.dims[:, 1] * layout.dims[:, 2])
    with np.errstate(divide="ignore"):  # a rule that the unsplit grammar does without stays so
        log_theta: Floats = np.log((1 - share) * theta + share * np.repeat(even, np.diff(layout.start)))
    return log_theta


def log_words(source: Subtyped, lexical: LexicalRules, level: int) -> Floats:
    """log P(w | t_x) after `level` rounds, a number for every lexical rule and subtype of its tag."""
    emissions, width = source.lexical_emissions(lexical, level)
    emissions = np.where(np.repeat(lexical.is_unseen, width), UNSEEN * emissions, emissions)
    log_emissions: Floats = np.log(np.maximum(emissions, LEAST))
    return log_emissions


def grown(source: Subtyped, lexical: LexicalRules, share: float, least: float) -> tuple[Refinement, Floats]:
    """Refinement trees as fine as the generative grammar makes worthwhile, and the parameters of their nodes.

    A node is divided where all the splits below it gain at least so many nats, that is, where the likelihood of the
    treebank would suffer so much without: the sum over the finest cells below of expected count times change of the
    log weight.
    """
    splits, rounds = split_ports(source.grammar, lexical), source.history.rounds
    counts, distance = _counts(source, lexical), [_distances(source, lexical, k, share) for k in range(rounds + 1)]
    tree = Refinement.whole(len(splits))
    delta, fresh, cells = np.zeros(tree.nodes), np.arange(tree.nodes), np.arange(tree.nodes)
    for level in range(rounds):
        home, size = _homes(source, len(counts), level), len(distance[level])
        gain = np.bincount(home, counts * distance[rounds], size) - np.bincount(home, counts, size) * distance[level]
        chosen = np.zeros(tree.nodes, bool)
        chosen[fresh] = gain[cells] >= least
        before, tree = tree.nodes, tree.divided(chosen, splits)
        fresh = np.arange(before, tree.nodes)
        above, cells = _cells(source, tree, tree.parent[fresh], level), _cells(source, tree, fresh, level + 1)
        delta = np.append(delta, distance[level + 1][cells] - distance[level][above])
    return tree, delta


def split_ports(grammar: Grammar, lexical: LexicalRules) -> NDArray[np.bool_]:
    """[productions, 3] at which ports a rule of the grammar, or a lexical rule, has a symbol with subtypes."""
    return np.concatenate([grammar.rules > 0, np.tile([True, False, False], (len(lexical.tag), 1))])


def _counts(source: Subtyped, lexical: LexicalRules) -> Floats:
    """[finest cells] expected in the treebank."""
    layout = source.layout
    rules = source.theta * np.repeat(source.frequency[layout.row_parent], np.diff(layout.row))
    emissions, width = source.lexical_emissions(lexical, source.history.rounds)
    first = layout.offset[source.grammar.first_tag + lexical.tag]
    words = emissions * source.frequency[np.repeat(first, width) + np.arange(len(emissions)) % width.max()]
    return np.append(rules, words)


def _distances(source: Subtyped, lexical: LexicalRules, level: int, share: float) -> Floats:
    """[cells] how far log weights of a level are from the unsplit grammar's."""
    layout = source.level(level).layout
    even = np.log(source.coarse_theta() / (layout.dims[:, 1] * layout.dims[:, 2]))
    rules = log_rules(source, level, share) - np.repeat(even, np.diff(layout.start))
    words = log_words(source, lexical, level) - np.repeat(log_words(source, lexical, 0), 1 << level)
    return np.append(rules, words)


def _homes(source: Subtyped, cells: int, level: int) -> Longs:
    """[finest cells, so many] the cell of an earlier level that each lies in."""
    layout, early, steps = source.layout, source.level(level).layout, source.history.rounds - level
    rule, *cell = layout.coordinates(np.arange(int(layout.start[-1])))
    rules = early.places(rule, *(port >> steps for port in cell))
    return np.append(rules, early.start[-1] + (np.arange(cells - len(rules)) >> steps))


def _cells(source: Subtyped, tree: Refinement, nodes: Longs, level: int) -> Longs:
    """The cell of each of a level's nodes."""
    rules, layout = len(source.grammar.rules), source.level(level).layout
    production, place = tree.production[nodes], np.maximum(tree.place[nodes] - ((1 << level) - 1), 0)
    of_rule = production < rules
    in_rules = layout.places(np.where(of_rule, production, 0), *place.T)
    in_words = layout.start[-1] + (production - rules) * (1 << level) + place[:, 0]
    return np.where(of_rule, in_rules, in_words)
