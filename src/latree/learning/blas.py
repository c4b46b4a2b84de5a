"""Threads of the linear algebra below numpy and scipy, which training does without."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any


def one_thread() -> AbstractContextManager[Any]:
    """Hold BLAS to one thread for as long as it is entered.

    What training asks of it are vectors and small matrices: several threads would wait for each other ten times as
    long as they work, and round differently from one.
    """
    # Not before: only training needs these.  scipy has a BLAS of its own, which can be held once it is there.
    import scipy.linalg.blas  # noqa: F401
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[Any] = threadpool_limits(1, user_api="blas")
    return limits
