"""Names for the arrays that all modules speak of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

NONE = -1  # where an array of numbers, of rules, symbols or items, has nothing to name
