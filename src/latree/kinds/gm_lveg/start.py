"""Where the training of a Gaussian-mixture grammar begins.

From the treebank grammar, all components of a rule alike (the paper's way); or from a grammar with discrete subtypes,
which is a special case: put each subtype at a point of its own, and every T[x, y, z] becomes a component with means at
the points of x, y and z.  The split tree says where the points lie.  A round of splitting is a dimension, and the two
halves of a split lie on either side of zero: siblings are near each other, and the Gaussians' width is how much they
have in common.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from latree.arrays import NONE, Floats, Longs, ranges
from latree.inference.gaussian.mixtures import Components, Mixtures, components
from latree.inference.grammar import Grammar
from latree.inference.subtypes import History
from latree.lexicon.lexical_rules import LexicalRules

if TYPE_CHECKING:
    from latree.kinds.lvg.model import Subtyped


class Start(NamedTuple):
    """A grammar to begin with."""

    components: Components
    mixtures: Mixtures


def make_components(grammar: Grammar, lexical: LexicalRules, size: Longs) -> Components:
    """Components of the grammar's rules and after them of the lexical rules, so many of each."""
    return components(grammar.rules, (lexical.tag + grammar.first_tag).astype(np.int32), size)


def log_overlap(meetings: Longs | int, dim: int, log_sd: float) -> Floats:
    """log of the integral of m Gaussians that have the same mean and standard deviation."""
    m = np.maximum(meetings, 1)
    log_integral: Floats = 0.5 * dim * ((1 - m) * (np.log(2 * np.pi) + 2 * log_sd) - np.log(m))
    return log_integral


def from_treebank(
    components: Components,
    probability: Floats,
    meetings: Longs,
    dim: int,
    wide: int,
    alpha: float | None,
    spread: float,
    rng: np.random.Generator,
) -> Mixtures:
    """Every component of a rule is like the treebank grammar's rule; means are apart by chance, at most `spread`.

    `meetings[r]` says of a rule r on which of its vectors' integrals it makes up for: how many Gaussians meet there,
    0 for none.  Each vector has one such rule, and the grammar begins as the treebank's.  With `alpha`, rho is alpha
    P(r) instead, for every component, as in the paper.
    """
    size = components.size
    log_rho = np.repeat(np.log(probability), size)
    if alpha is not None:
        log_rho += np.log(alpha)
    else:
        log_rho -= np.repeat(np.where(meetings > 0, log_overlap(meetings, dim, 0.0), 0.0) + np.log(size), size)
    mean = rng.uniform(-spread, spread, (components.slots, dim))
    return Mixtures(log_rho, mean, np.zeros((components.slots, wide)))


@dataclass(frozen=True)
class Cube:
    """How subtypes are laid out, and which cells of the tensors are worth a component."""

    side: float = 1.5  # halves of a split lie this far from zero
    log_sd: float = -0.3
    least: float = 0.1  # expected tokens of a cell in the treebank; each rule's best cell is kept whatever it has


def points(history: History, symbol: int, side: float) -> Floats:
    """[subtypes, rounds]: on either side of zero along each round that split it, at zero along the others."""
    size = len(history.ancestors(symbol, history.rounds))
    corners = np.zeros((size, history.rounds))
    for number, parents in enumerate(history.parents):
        now, before = history.ancestors(symbol, number + 1), parents[symbol]
        first = np.array([int(np.flatnonzero(before == parent)[0]) for parent in before])
        split = np.bincount(before)[before] > 1
        at = np.where(split, np.where(first == np.arange(len(before)), -side, side), 0.0)
        corners[:, number] = at[now]
    return corners


def from_subtypes(source: Subtyped, lexical: LexicalRules, wide: int, cube: Cube) -> Start:
    """A trained `Lvg` as a Gaussian mixture grammar, in as many dimensions as it has rounds."""
    grammar, history = source.grammar, source.history
    rule, cell, value = _cells(source, cube.least)
    emissions, lengths = source.lexical_emissions(lexical, history.rounds)
    size = np.append(np.bincount(rule, minlength=len(grammar.rules)), lengths).astype(np.int64)
    components = make_components(grammar, lexical, size)
    place = [points(history, symbol, cube.side) for symbol in range(len(grammar.symbols))]
    mean = np.zeros((components.slots, history.rounds))
    subtype = np.append(cell, np.full((len(emissions), 3), NONE), axis=0)
    subtype[len(cell) :, 0] = ranges(np.zeros_like(lengths), lengths)
    symbols = np.append(grammar.rules[rule], np.full((len(emissions), 3), NONE), axis=0)
    symbols[len(cell) :, 0] = np.repeat(lexical.tag + grammar.first_tag, lengths)
    for port in range(3):
        for symbol in np.unique(symbols[:, port]):
            if symbol > 0:
                mine = np.flatnonzero(symbols[:, port] == symbol)
                mean[components.slot[mine, port]] = place[symbol][subtype[mine, port]]
    overlap = np.where(components.slot[:, 0] == NONE, 0.0, log_overlap(2, history.rounds, cube.log_sd))
    log_rho = np.log(np.maximum(np.append(value, emissions), 1e-300)) - overlap
    return Start(components, Mixtures(log_rho, mean, np.full((components.slots, wide), cube.log_sd)))


def _cells(source: Subtyped, least: float) -> tuple[Longs, Longs, Floats]:
    """Rule, subtypes (x, y, z) and weight of the cells that are kept, by rule."""
    tensors = source.tensors
    rule, *cell = source.layout.coordinates(tensors.place)
    rows = np.repeat(tensors.row_parent, np.diff(tensors.row))
    expected = tensors.value * source.frequency[rows]
    best = np.zeros(len(source.grammar.rules))
    np.maximum.at(best, rule, expected)
    kept = (expected >= least) | (expected >= best[rule])
    return rule[kept], np.stack(cell, 1)[kept], tensors.value[kept]
