"""Messages of Gaussian mixtures cut down to their heaviest components, as the paper does (section 3.2)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latree.arrays import NONE, Floats
from latree.inference.gaussian.overlaps import Table
from latree.inference.gaussian.slots import SlotForest
from latree.jit import kernel


class ComponentLimit(NamedTuple):
    """How many components of a message are kept (section 3.2): all where there are at most `k_min`, else the
    min(k_min + floor(k ** theta), k_max) heaviest of k.  The paper's k_hard is k_min = k_max = k_hard, whatever theta.

    The mass of the others is lost: log Z is then too low, and posteriors and gradients are approximate.
    """

    k_min: int
    k_max: int
    theta: float


NO_LIMIT = ComponentLimit(0, 0, 0.0)  # known by k_max = 0: everything is kept, and exact


@kernel
def how_many_kept(count: int, limit: ComponentLimit) -> int:
    """How many of so many components are kept."""
    if count <= limit.k_min:
        return count
    return min(limit.k_min + int(np.floor(count**limit.theta)), limit.k_max, count)


@kernel
def _keep_heaviest(weight: Floats, coefficient: Floats, limit: ComponentLimit) -> None:
    """Set the coefficients of the others to zero; of equal weights the first are kept.  NaN is not touched: it must
    show."""
    count, size = int(np.count_nonzero(weight)), len(weight)
    allowed = how_many_kept(count, limit)
    if allowed == count:
        return
    bound = np.partition(weight, size - allowed)[size - allowed]
    equals = allowed - np.count_nonzero(weight > bound)
    for k in range(size):
        if weight[k] == bound and equals > 0:
            equals -= 1
        elif weight[k] <= bound:
            coefficient[k] = 0.0


@kernel
def limit_inside(slots: SlotForest, table: Table, alpha: Floats, item: int, limit: ComponentLimit) -> None:
    """Drop the lightest components of an item's message.

    What no use reads stays whole.  That is the root's, which is no mixture but a number in parts, and what is only
    handed on: it is limited where it arrives.
    """
    begin, end = slots.in_at[slots.in_start[item]], slots.in_at[slots.in_start[item + 1]]
    is_read = slots.use_start[item] < slots.use_start[item + 1]
    if is_read and end - begin > limit.k_min:
        _keep_heaviest(_weights(slots, table, alpha, item), alpha[begin:end], limit)


@kernel
def _weights(slots: SlotForest, table: Table, alpha: Floats, item: int) -> Floats:
    """Weigh the components of an item's message, as Gaussians that integrate to one: products of Gaussians have a
    constant that is kept apart."""
    first, last = slots.in_start[item], slots.in_start[item + 1]
    begin = slots.in_at[first]
    weight = alpha[begin : slots.in_at[last]].copy()
    for i in range(first, last):
        side = slots.in_side[i]
        if slots.side_word[side] != NONE:
            for k in range(slots.in_at[i + 1] - slots.in_at[i]):
                weight[slots.in_at[i] - begin + k] *= np.exp(table.offset[slots.side_at[side] + k])
    return weight


@kernel
def limit_outside(slots: SlotForest, above: Floats, item: int, limit: ComponentLimit) -> None:
    """Drop the lightest components of what an item hears from its uses."""
    heard = above[slots.use_at[slots.use_start[item]] : slots.use_at[slots.use_start[item + 1]]]
    if len(heard) > limit.k_min:
        _keep_heaviest(heard, heard, limit)


@kernel
def tell_only_kept(slots: SlotForest, alpha: Floats, item: int, below: Floats) -> None:
    """`limit_inside` in reverse: log Z does not depend on what was dropped."""
    for k in range(slots.in_at[slots.in_start[item]], slots.in_at[slots.in_start[item + 1]]):
        if alpha[k] == 0.0:
            below[k] = 0.0
