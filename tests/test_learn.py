"""Adam, against its formula written out for one number."""

from __future__ import annotations

import numpy as np
import pytest

from latree.learning.adam import Adam


def test_one_parameter_by_hand() -> None:
    adam, x = Adam(rate=0.1), np.array([[1.0]])
    first = second = 0.0
    expected = 1.0
    for t, gradient in enumerate([0.5, -2.0, 1.0], start=1):
        first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
        expected += 0.1 * (first / (1 - 0.9**t)) / (np.sqrt(second / (1 - 0.999**t)) + 1e-8)
        adam.step("x", x, np.array([[gradient]]), np.array([0]))
        assert x[0, 0] == pytest.approx(expected, rel=1e-12)


def test_rows_that_are_not_touched_stay() -> None:
    adam, x = Adam(), np.zeros((3, 2))
    adam.step("x", x, np.ones((2, 2)), np.array([0, 2]))
    assert (x[1] == 0).all()
    assert x[0, 0] == pytest.approx(0.01)
    adam.step("x", x, np.ones((1, 2)), np.array([1]))
    assert x[1, 0] == pytest.approx(0.01)  # its own first step


def test_it_goes_on_from_its_arrays() -> None:
    one, x = Adam(), np.zeros(2)
    one.step("x", x, np.array([1.0, -1.0]), np.arange(2))
    other, y = Adam(), x.copy()
    other.restore(one.to_arrays())
    for adam, z in ((one, x), (other, y)):
        adam.step("x", z, np.array([0.3, 0.2]), np.arange(2))
    assert x.tolist() == y.tolist()
