"""Eight numbers at a time, in kernels.

A compiler makes vector instructions of a loop, but few of a short one: it takes two or four vectors a turn, asks before
each loop whether arrays overlap, and does what is left over one by one.  Where rows are a few dozen numbers long that
was most of the time.  Here a kernel says itself what goes through the processor together; one that has narrower
vectors does it in parts.

    sums = splat(0.0)
    sums = fused(weight, load(row, at), sums)      # sums + weight * row[at : at + LANES]
    store(sums, out, at)

Arrays are of one dimension and in one piece.  Nobody asks whether they are long enough: rows are `padded`.  In Python
the same functions take and give arrays of eight.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.extending import intrinsic, models, overload, register_model

from latree.arrays import Floats, Places
from latree.jit import LEAN_OPTIONS, lean

Sizes = TypeVar("Sizes", int, Places)

LANES = 8


@lean
def padded(size: Sizes) -> Sizes:
    """The next size that eight divides."""
    return (size + (LANES - 1)) // LANES * LANES


def load(values: Floats, at: int) -> Floats:
    """Read eight numbers of an array."""
    return values[at : at + LANES].copy()


def store(lanes: Floats, values: Floats, at: int) -> None:
    """Write eight numbers into an array."""
    values[at : at + LANES] = lanes


def splat(number: float) -> Floats:
    """The same number eight times."""
    return np.full(LANES, number)


def fused(factor: float, lanes: Floats, others: Floats) -> Floats:
    """others + factor * lanes, rounded once where a processor can."""
    return others + factor * lanes


def fused_lanes(factors: Floats, lanes: Floats, others: Floats) -> Floats:
    """The same with a factor for each."""
    return others + factors * lanes


def times(lanes: Floats, others: Floats) -> Floats:
    """Products, one by one."""
    return lanes * others


def total_of(lanes: Floats) -> float:
    """The sum of all eight."""
    return float(lanes.sum())


# -- what they are in kernels


class _Lanes(types.Type):  # type: ignore[misc]
    """What a variable of eight numbers is to numba."""


_LANES = _Lanes("Lanes")
_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_PLACE = ir.IntType(32)
_ALL_FIRST = ir.Constant(ir.VectorType(_PLACE, LANES), [0] * LANES)
_intrinsic: Any = intrinsic  # what it makes takes other arguments than the function that says how to compile it
_ALIGNED = np.dtype(np.float64).itemsize  # as any row of numbers is


@register_model(_Lanes)
class _Model(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, data_models: Any, lanes: Any) -> None:
        super().__init__(data_models, lanes, _VECTOR)


def _place(context: Any, builder: Any, array: Any, values: Any, at: Any) -> Any:
    """Where eight numbers of an array begin."""
    data = context.make_array(array)(context, builder, values).data
    return builder.bitcast(builder.gep(data, [at]), _VECTOR.as_pointer())


def _spread(builder: Any, number: Any) -> Any:
    nothing = ir.Constant(_VECTOR, ir.Undefined)
    first = builder.insert_element(nothing, number, ir.Constant(_PLACE, 0))
    return builder.shuffle_vector(first, nothing, _ALL_FIRST)


def _plus_product(builder: Any, others: Any, one: Any, other: Any) -> Any:
    """In one instruction where there is one."""
    return builder.fadd(others, builder.fmul(one, other, flags=["contract"]), flags=["contract"])


@_intrinsic
def _load(typing: Any, values: Any, at: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        loaded = builder.load(_place(context, builder, signature.args[0], *given))
        loaded.align = _ALIGNED
        return loaded

    return _LANES(values, types.intp), code


@_intrinsic
def _store(typing: Any, lanes: Any, values: Any, at: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        stored = builder.store(given[0], _place(context, builder, signature.args[1], *given[1:]))
        stored.align = _ALIGNED
        return context.get_dummy_value()

    return types.void(_LANES, values, types.intp), code


@_intrinsic
def _splat(typing: Any, number: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return _spread(builder, given[0])

    return _LANES(types.float64), code


@_intrinsic
def _fused(typing: Any, factor: Any, lanes: Any, others: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return _plus_product(builder, given[2], _spread(builder, given[0]), given[1])

    return _LANES(types.float64, _LANES, _LANES), code


@_intrinsic
def _fused_lanes(typing: Any, factors: Any, lanes: Any, others: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return _plus_product(builder, given[2], given[0], given[1])

    return _LANES(_LANES, _LANES, _LANES), code


@_intrinsic
def _times(typing: Any, lanes: Any, others: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.fmul(*given)

    return _LANES(_LANES, _LANES), code


@_intrinsic
def _total_of(typing: Any, lanes: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        parts = [builder.extract_element(given[0], ir.Constant(_PLACE, k)) for k in range(LANES)]
        while len(parts) > 1:
            half = len(parts) // 2
            parts = [builder.fadd(one, other) for one, other in zip(parts[:half], parts[half:], strict=True)]
        return parts[0]

    return types.float64(_LANES), code


def _in_kernels(function: Callable[..., Any], code: Callable[..., Any]) -> None:
    """Say what a function is in kernels."""
    options: Any = {"jit_options": LEAN_OPTIONS, "strict": False}
    overload(function, **options)(code)


_in_kernels(load, lambda values, at: lambda values, at: _load(values, at))
_in_kernels(store, lambda lanes, values, at: lambda lanes, values, at: _store(lanes, values, at))
_in_kernels(splat, lambda number: lambda number: _splat(number))
_in_kernels(fused, lambda factor, lanes, others: lambda factor, lanes, others: _fused(factor, lanes, others))
_in_kernels(
    fused_lanes, lambda factors, lanes, others: lambda factors, lanes, others: _fused_lanes(factors, lanes, others)
)
_in_kernels(times, lambda lanes, others: lambda lanes, others: _times(lanes, others))
_in_kernels(total_of, lambda lanes: lambda lanes: _total_of(lanes))
