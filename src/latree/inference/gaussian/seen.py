"""A forest as Gaussian mixtures see it: by slots, where equal Gaussians are merged, or by edges, where they are not."""

from __future__ import annotations

import numpy as np

from latree.arrays import Floats, Longs
from latree.inference.forest import Forest
from latree.inference.gaussian.limits import NO_LIMIT, ComponentLimit
from latree.inference.gaussian.mixtures import Components, Mixtures
from latree.inference.gaussian.slots import SlotForest, resized, slot_forest
from latree.inference.gaussian.sweeps import GaussianInference, gaussian_infer, gaussian_log_z
from latree.inference.gaussian.unmerged import Apart, UnmergedForest, unmerged_forest, unmerged_infer, unmerged_log_z
from latree.inference.potentials import NO_POTENTIALS, Potentials

Seen = SlotForest | UnmergedForest


def see(forest: Forest, entry_rule: Longs, size: Longs, apart: Apart | None) -> Seen:
    """View a forest as `slot_forest` does, or with equal Gaussians apart."""
    return slot_forest(forest, entry_rule, size) if apart is None else unmerged_forest(forest, entry_rule, apart)


def rules_in(seen: Seen) -> Longs:
    """The rules of a forest's edges."""
    parts = (seen.side_rule, seen.side_word) if isinstance(seen, SlotForest) else (seen.rule,)
    rules = np.unique(np.concatenate(parts)).astype(np.int64)
    return rules[rules >= 0]


def with_sizes(seen: Seen, size: Longs) -> Seen:
    """Make room for other numbers of components in the rules."""
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
    infer = gaussian_infer if isinstance(seen, SlotForest) else unmerged_infer
    return infer(seen, components, weights, stats, limit, potentials)  # type: ignore[arg-type]


def log_z_seen(
    seen: Seen,
    components: Components,
    weights: Mixtures,
    limit: ComponentLimit = NO_LIMIT,
    potentials: Potentials = NO_POTENTIALS,
) -> Floats:
    """log Z of every sentence, whichever the view."""
    log_z = gaussian_log_z if isinstance(seen, SlotForest) else unmerged_log_z
    return log_z(seen, components, weights, limit, potentials)  # type: ignore[arg-type]
