"""The parameters of Gaussian mixtures: which rule has which components, and what each component's slots hold.

W_r(a, b, c) = sum_k rho_k N(a) N(b) N(c) (Zhao, Zhang & Tu 2018, eqn 4): a component has a weight, and a Gaussian of
its own at every port that has a latent vector.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from latree.arrays import NONE, Floats, Ints, Longs, starts


class Components(NamedTuple):
    """Which numbers belong to which rule."""

    first: Longs  # [rules + 1] first component of each rule
    slot: Ints  # [components, 3] slot at each port, NONE where there is no latent vector

    @property
    def size(self) -> Longs:
        """[rules] how many components each rule has: K_r."""
        return np.diff(self.first)

    @property
    def slots(self) -> int:
        return int(self.slot.max(initial=NONE)) + 1


class Mixtures(NamedTuple):
    """Weights, or statistics of the same type: the gradient of log Z."""

    log_rho: Floats  # [components]
    mean: Floats  # [slots, d]
    log_sd: Floats  # [slots, d], or [slots, 1] where Gaussians are spherical


def components(rules: Ints, tags: Ints, size: Longs) -> Components:
    """The components of a grammar's rules [rules, 3] and after them of lexical rules, of which `tags` holds the tags.

    The root, symbol 0, has no latent vector.  The slots of a rule lie by port, then by component.
    """
    words = np.column_stack([tags, np.full((len(tags), 2), NONE)])
    return laid_out(np.concatenate([rules, words]) > 0, size)


def laid_out(vectors: NDArray[np.bool_], size: Longs) -> Components:
    """Components of rules of which is known [rules, 3] whether there is a latent vector at a port."""
    first = starts(size)
    rule, step = np.repeat(np.arange(len(size)), size), np.repeat(size, size)
    slots_before = starts(size * vectors.sum(1))[rule]
    ports_before: Longs = np.cumsum(vectors, 1) - vectors
    component = np.arange(first[-1]) - first[rule]
    slot = (slots_before + component)[:, None] + ports_before[rule] * step[:, None]
    return Components(first, np.where(vectors[rule], slot, NONE).astype(np.int32))


def zeros_like(weights: Mixtures) -> Mixtures:
    """Make statistics of no mass."""
    return Mixtures(*(np.zeros_like(part) for part in weights))


def no_statistics(weights: Mixtures) -> Mixtures:
    """Make statistics without room, for inference that is after posteriors alone."""
    return Mixtures(*(part[:0] for part in weights))
