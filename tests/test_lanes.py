"""Eight numbers at a time: in kernels the functions do what they do to arrays in Python."""

from __future__ import annotations

import numpy as np
import pytest

from latree.arrays import Floats
from latree.inference.lanes import LANES, fused, fused_lanes, load, padded, splat, store, times, total_of
from latree.jit import lean_kernel


def _all_of_them(values: Floats, factor: float, out: Floats) -> float:
    first, second = load(values, 1), load(values, LANES + 3)
    made = fused(factor, first, splat(2.0))
    made = fused_lanes(made, second, times(first, second))
    store(made, out, 2)
    return total_of(made)


_compiled = lean_kernel(_all_of_them)


def test_kernels_and_python_agree() -> None:
    values, factor = np.random.default_rng(0).normal(size=3 * LANES), -0.7
    told, done = np.full((2, LANES + 4), np.nan)
    total = _all_of_them(values, factor, told)
    assert _compiled(values, factor, done) == pytest.approx(total, rel=1e-13)
    np.testing.assert_allclose(done, told, rtol=1e-13)
    first, second = values[1 : LANES + 1], values[LANES + 3 : 2 * LANES + 3]
    np.testing.assert_allclose(told[2:-2], (2.0 + factor * first) * second + first * second, rtol=1e-13)
    assert np.isnan(done[[0, 1, -2, -1]]).all()  # nothing else was written


def test_sizes_are_padded_to_whole_vectors() -> None:
    assert [padded(size) for size in (0, 1, LANES, LANES + 1)] == [0, LANES, LANES, 2 * LANES]
    sizes = np.array([0, 1, LANES + 1], np.uint32)
    assert padded(sizes).tolist() == [0, LANES, 2 * LANES]
    assert padded(sizes).dtype == np.uint32
