"""Names for the arrays that all modules speak of, and how rows are laid end to end."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Places = NDArray[np.uint32]  # in arrays that compiled code reads: of what is unsigned it need not ask whether it is
# counted from the end, which was half the time of its shortest loops

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
    return _matched(values, np.sort(few))[1]


def hold_all(values: Longs, few: Longs) -> bool:
    """Tell whether all of some few distinct numbers, which alone are sorted, are among the values."""
    place, found = _matched(values, np.sort(few))
    seen = np.zeros(len(few), np.bool_)
    seen[place[found]] = True
    return bool(seen.all())


def _matched(values: Longs, ordered: Longs) -> tuple[Longs, NDArray[np.bool_]]:
    """Where each value would be among numbers that are in order, and whether it is there."""
    if not len(ordered):
        return np.zeros(len(values), np.int64), np.zeros(len(values), np.bool_)
    place = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    found: NDArray[np.bool_] = ordered[place] == values
    return place, found
