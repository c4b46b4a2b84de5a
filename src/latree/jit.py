"""How latree compiles its kernels: `kernel` for those that Python calls, `inner` for those that only kernels call.

`reassoc` and `contract` let sums be vectorised; infinities and NaN keep their meaning, because -inf is how the
kernels say "impossible", and no division becomes a product with a reciprocal, which overflows for tiny numbers.
Division follows IEEE rules (`error_model`), without a branch in every inner loop.

What lets Python in costs more to compile than most of what is behind it.  So does every array that a kernel is handed,
by itself or in a tuple: hand inner kernels the arrays that they need.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from multiprocessing import parent_process
from typing import TYPE_CHECKING, Any, TypeVar, cast

from numba import njit
from numba.extending import register_jitable

if TYPE_CHECKING:
    from numba.core.decorators import _JITOptions

Function = TypeVar("Function", bound=Callable[..., Any])

OPTIONS: _JITOptions = {"fastmath": {"reassoc", "contract", "nsz"}, "error_model": "numpy"}
IN_MEMORY = (
    "kernels are compiled in memory, anew in every process: neither where latree is installed nor in your home folder "
    "can they be kept; set NUMBA_CACHE_DIR to a folder that can be written to"
)

_kept = True  # on disk, as far as is known


def kernel(function: Function) -> Function:
    """Compile a function when it is first called, and keep it on disk where that can be."""
    compiled: Any = njit(**OPTIONS)(function)
    try:
        compiled.enable_caching()
    except RuntimeError:  # there is no place for it
        _tell_in_memory()
    return cast("Function", compiled)


def _tell_in_memory() -> None:
    """Tell once that nothing is kept; worker processes leave that to their parent."""
    global _kept
    if _kept and parent_process() is None:
        warnings.warn(IN_MEMORY, RuntimeWarning, stacklevel=3)
    _kept = False


def inner(function: Function) -> Function:
    """Have kernels that call a function compile it; for Python it stays what it is."""
    return register_jitable(**OPTIONS)(function)
