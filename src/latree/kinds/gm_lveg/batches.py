"""Batches of the sentences of a treebank, in parts that several processes share.

Forests are made once, put together in batches of sentences of like length, and kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from latree.arrays import Floats
from latree.inference.gaussian.mixtures import Components
from latree.kinds.examples import Example, by_length
from latree.kinds.gm_lveg.training import Batch, Mirror, Rows, gradient
from latree.kinds.jobs import Parcel
from latree.learning.shards import Shards, Sum

if TYPE_CHECKING:
    from latree.kinds.gm_lveg.model import GaussianModel
    from latree.parallel import Jobs


class Told(NamedTuple):
    """What every process keeps while components stay as they are."""

    mirror: Mirror
    rows: Sequence[Rows]  # the parameters that each batch has a say in


class Batches:
    """Sentences of like length together, a step each, in parts that several processes share; to be closed."""

    def __init__(self, model: GaussianModel, examples: Sequence[Example], jobs: Jobs) -> None:
        groups, parts = by_length(examples, model.options.batch), model.options.parts
        self.sizes = [len(group) for group in groups]
        recipes = [[group[k::parts] for group in groups] for k in range(min(parts, max(self.sizes)))]
        self.shards = Shards(recipes, partial(build_parts, Parcel(model)), jobs)
        self._rows: tuple[Components, list[Rows]] | None = None
        self._told: Told | None = None

    def rows(self, mirror: Mirror) -> list[Rows]:
        """The parameters that each batch has a say in; found anew where there are other components."""
        if self._rows is None or self._rows[0] is not mirror.components:
            by_part = zip(*self.shards.each(rows_of_parts, mirror), strict=True)
            found = [Rows.union([rows for rows in parts if rows is not None]) for parts in by_part]
            self._rows = mirror.components, found
        return self._rows[1]

    def gradient(self, mirror: Mirror, rows: Sequence[Rows], number: int, now: Sequence[Floats]) -> Sum:
        """Add up what the parts of a batch say (`gradient_of_part`), all of whose parameters are `now` like this."""
        if self._told is None or self._told.mirror is not mirror or self._told.rows is not rows:
            self._told = Told(mirror, rows)
        return self.shards.sum(gradient_of_part, self._told, number, now)


@dataclass
class BatchParts:
    """One part of every batch, None where a batch has fewer parts."""

    batches: list[Batch | None]
    components: Components  # that the batches have room for

    def fit(self, components: Components) -> list[Batch | None]:
        """The batches with room for these components."""
        if components is not self.components:
            self.batches = [batch and batch.resized(components) for batch in self.batches]
            self.components = components
        return self.batches


def build_parts(parcel: Parcel, groups: Sequence[Sequence[Example]]) -> BatchParts:
    """Make the forests of a part of every batch."""
    model = parcel.model
    return BatchParts([model.batch(group) if group else None for group in groups], model.components)


def rows_of_parts(parts: BatchParts, mirror: Mirror) -> list[Rows | None]:
    """The parameters that the parts of batches have a say in."""
    return [batch and batch.rows(mirror.components) for batch in parts.fit(mirror.components)]


def gradient_of_part(parts: BatchParts, told: Told, number: int, now: Sequence[Floats]) -> Sum:
    """What is raised, but for sums over all sentences, of a part of a batch; its gradient by the batch's parameters,
    which are `now` like this, end to end; and how often each component is expected in the gold trees."""
    mirror, rows = told.mirror, told.rows[number]
    rows.put(now, mirror.weights)
    batch = parts.fit(mirror.components)[number]
    if batch is None:
        return 0.0, np.zeros(sum(part.size for part in now) + len(rows.components))
    log_likelihood, slope, count = gradient(batch, mirror)
    return log_likelihood, np.concatenate([*(part.ravel() for part in rows.of(slope)), count[rows.components]])
