"""A forest as Gaussian mixtures see it: by slots, where equal Gaussians are merged, or by edges, where they are not.

A tag lattice needs no forest.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from latree.arrays import Floats, Longs, starts
from latree.inference.forest import Forest
from latree.inference.gaussian.limits import NO_LIMIT, ComponentLimit
from latree.inference.gaussian.mixtures import Components, Mixtures
from latree.inference.gaussian.sequences import (
    Joints,
    find_joints,
    gaussian_chain,
    gradient,
    new_moments,
    sum_mixtures,
)
from latree.inference.gaussian.slots import SlotForest, resized, slot_forest
from latree.inference.gaussian.sweeps import GaussianInference, gaussian_infer, gaussian_log_z
from latree.inference.gaussian.unmerged import Apart, UnmergedForest, unmerged_forest, unmerged_infer, unmerged_log_z
from latree.inference.potentials import NO_POTENTIALS, Potentials
from latree.inference.sequences import Lattice
from latree.inference.trellis import ChainRules


class SeenLattice(NamedTuple):
    """A tag lattice in the place of a forest; its nodes stand for items, and for edges of lexical rules."""

    lattice: Lattice
    rules: ChainRules
    joints: Joints

    @classmethod
    def of(cls, lattice: Lattice, rules: ChainRules, word_rule: Longs, components: Components) -> Self:
        """`word_rule` [nodes] has the lexical rules, numbered after the grammar's, or NONE."""
        return cls(lattice, rules, find_joints(rules, components.first, lattice, word_rule))

    @property
    def edges(self) -> int:
        """How many a forest of it would have."""
        return len(self.joints.rule) + len(self.lattice.tag)

    def resized(self, size: Longs) -> Self:
        """Make room for other numbers of components in the rules."""
        joints = find_joints(self.rules, starts(size), self.lattice, self.joints.word_rule)
        return self._replace(joints=joints)


Seen = SlotForest | UnmergedForest | SeenLattice


def see(forest: Forest, entry_rule: Longs, size: Longs, apart: Apart | None) -> SlotForest | UnmergedForest:
    """View a forest as `slot_forest` does, or with equal Gaussians apart."""
    return slot_forest(forest, entry_rule, size) if apart is None else unmerged_forest(forest, entry_rule, apart)


def rules_in(seen: Seen) -> Longs:
    """The rules of a forest's edges."""
    if isinstance(seen, SeenLattice):
        parts: tuple[NDArray[Any], ...] = (seen.joints.rule, seen.joints.word_rule)
    else:
        parts = (seen.side_rule, seen.side_word) if isinstance(seen, SlotForest) else (seen.rule,)
    rules = np.unique(np.concatenate(parts)).astype(np.int64)
    return rules[rules >= 0]


def with_sizes(seen: Seen, size: Longs) -> Seen:
    """Make room for other numbers of components in the rules."""
    if isinstance(seen, SeenLattice):
        return seen.resized(size)
    return resized(seen, size) if isinstance(seen, SlotForest) else seen


def infer_seen(
    seen: Seen,
    components: Components,
    weights: Mixtures,
    stats: Mixtures | None = None,
    limit: ComponentLimit = NO_LIMIT,
    potentials: Potentials = NO_POTENTIALS,
) -> GaussianInference:
    """Both sweeps, whichever the view."""
    if isinstance(seen, SeenLattice):
        return _infer_lattice(seen, components, weights, potentials)
    infer = gaussian_infer if isinstance(seen, SlotForest) else unmerged_infer
    return infer(seen, components, weights, stats, limit, potentials)  # type: ignore[arg-type]


def _infer_lattice(
    seen: SeenLattice, components: Components, weights: Mixtures, potentials: Potentials
) -> GaussianInference:
    """Sums over tag sequences, with new statistics; posteriors are those of nodes."""
    chain = gaussian_chain(seen.rules, components, weights)
    moments, factors = new_moments(chain), np.zeros(len(seen.lattice.tag))
    for part in (potentials.item, potentials.edge):
        factors += part if len(part) else 0.0
    sums = sum_mixtures(chain, seen.lattice, seen.joints, factors, moments)
    return GaussianInference(sums.log_z, sums.node, gradient(chain, weights, moments))


def log_z_seen(
    seen: SlotForest | UnmergedForest,
    components: Components,
    weights: Mixtures,
    limit: ComponentLimit = NO_LIMIT,
    potentials: Potentials = NO_POTENTIALS,
) -> Floats:
    """log Z of every sentence, whichever the view."""
    log_z = gaussian_log_z if isinstance(seen, SlotForest) else unmerged_log_z
    return log_z(seen, components, weights, limit, potentials)  # type: ignore[arg-type]
