"""What is set otherwise in this process while a training goes on, and set back after it."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

SELDOM = 100_000  # objects that are made before Python looks for cycles among them


@contextmanager
def set_for_training() -> Iterator[None]:
    """Hold BLAS to one thread, and have Python look for cycles of objects less often.

    What training asks of BLAS are vectors and small matrices: several threads would wait for each other ten times as
    long as they work, and round differently from one.  A treebank is very many objects, and no cycle.
    """
    # Not before: only training needs these.  scipy has a BLAS of its own, which can be held once it is there.
    import scipy.linalg.blas  # noqa: F401
    from threadpoolctl import threadpool_limits

    often, *later = gc.get_threshold()
    try:
        gc.set_threshold(max(often, SELDOM) if often else 0, *later)
        with threadpool_limits(1, user_api="blas"):
            yield
    finally:
        gc.set_threshold(often, *later)
