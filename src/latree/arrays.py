"""Names for the arrays that all modules speak of, and how rows are laid end to end."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

NONE = -1  # where an array of numbers, of rules, symbols or items, has nothing to name


def starts(lengths: ArrayLike) -> Longs:
    """Find where each of some rows begins that are laid end to end, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def ranges(first: Longs, lengths: Longs) -> Longs:
    """Count up from each of some numbers, so many steps, and lay what comes out end to end."""
    before = starts(lengths)
    return np.repeat(first - before[:-1], lengths) + np.arange(before[-1])


def is_among(values: Longs, few: Longs) -> NDArray[np.bool_]:
    """Tell which values are among some few others, which alone are sorted; `np.isin` would sort all."""
    if not len(few):
        return np.zeros(len(values), np.bool_)
    few = np.sort(few)
    found: NDArray[np.bool_] = few[np.minimum(np.searchsorted(few, values), len(few) - 1)] == values
    return found
