"""What a model file says, looked at before it is used: compiled code reads arrays without looking.

A file may be cut, damaged or made by someone else.  Whatever is wrong is a ValueError, which loading tells as damage.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from latree.arrays import Floats, Longs

Arrays = Mapping[str, NDArray[Any]]


def integers(
    name: str, arrays: Arrays, shape: tuple[int | None, ...], least: int = 0, below: int | None = None
) -> Longs:
    """The array of this name: integers, `least` or more and less than `below`, in this shape (None: any length)."""
    array = _in_shape(name, arrays, shape)
    if array.dtype.kind not in "iu":
        raise ValueError(f"{name} holds no integers")
    if array.size and (int(array.min()) < least or (below is not None and int(array.max()) >= below)):
        most = "any" if below is None else below - 1
        raise ValueError(f"{name} has {array.min()} to {array.max()}, where {least} to {most} can be")
    return array.astype(np.int64)


def numbers(name: str, arrays: Arrays, shape: tuple[int | None, ...]) -> Floats:
    """The array of this name: numbers in this shape (None: any length)."""
    array = _in_shape(name, arrays, shape)
    if array.dtype.kind not in "iuf":
        raise ValueError(f"{name} holds no numbers")
    if np.isnan(array).any():
        raise ValueError(f"{name} has what is no number")
    return array.astype(np.float64)


def ascending(name: str, arrays: Arrays, below: int) -> Longs:
    """The array of this name: integers from 0, less than `below`, each larger than the one before."""
    array = integers(name, arrays, (None,), 0, below)
    if (np.diff(array) <= 0).any():
        raise ValueError(f"{name} does not ascend")
    return array


def boundaries(name: str, arrays: Arrays, count: int, end: int) -> Longs:
    """The array of this name: where so many rows begin that are laid end to end, and where the last one ends."""
    array = integers(name, arrays, (count + 1,), 0, end + 1)
    if array[0] != 0 or array[-1] != end or (np.diff(array) < 0).any():
        raise ValueError(f"{name} does not lead from 0 to {end}")
    return array


def whole_number(name: str, header: Mapping[str, Any], least: int, most: int) -> int:
    """The header's entry of this name."""
    value = header[name]
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ValueError(f"{name} is {value!r}, where {least} to {most} can be")
    return value


def positive(name: str, header: Mapping[str, Any], default: float) -> float:
    """The header's entry of this name, a number above zero; files may be without."""
    value = header.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise ValueError(f"{name} is {value!r}, where only a number above 0 can be")
    return float(value)


def truth(name: str, header: Mapping[str, Any], default: bool) -> bool:
    """The header's entry of this name, yes or no; files may be without."""
    value = header.get(name, default)
    if not isinstance(value, bool):
        raise ValueError(f"{name} is {value!r}, where only true or false can be")
    return value


def _in_shape(name: str, arrays: Arrays, shape: tuple[int | None, ...]) -> NDArray[Any]:
    array = arrays[name]
    fits = len(array.shape) == len(shape)
    if not fits or any(wanted not in (None, n) for n, wanted in zip(array.shape, shape, strict=True)):
        wanted = " x ".join("any" if n is None else str(n) for n in shape)
        raise ValueError(f"{name} is {' x '.join(map(str, array.shape))}, not {wanted}")
    return array
