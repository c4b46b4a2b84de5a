"""How latree compiles its kernels: one decorator, cached on disk.

`reassoc` and `contract` let sums be vectorised; infinities and NaN keep their meaning, because -inf is how the
kernels say "impossible", and no division becomes a product with a reciprocal, which overflows for tiny numbers.
Division follows IEEE rules (`error_model`), without a branch in every inner loop.
"""

from __future__ import annotations

from numba import njit

kernel = njit(cache=True, fastmath={"reassoc", "contract", "nsz"}, error_model="numpy")
