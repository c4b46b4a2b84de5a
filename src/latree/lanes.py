"""Eight numbers at a time, in kernels.

A compiler makes vector instructions of a loop, but few of a short one: it takes two or four vectors a turn, asks before
each loop whether arrays overlap, and does what is left over one by one.  Where rows are a few dozen numbers long that
was most of the time.  Here a kernel says itself what goes through the processor together; one that has narrower
vectors does it in parts.

    sums = splat(0.0)
    sums = fused(weight, load(row, at), sums)      # sums + weight * row[at : at + LANES]
    store(sums, out, at)

Arrays are of one dimension and in one piece.  Nobody asks whether they are long enough: rows are padded (`padded`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.extending import intrinsic, models, register_model

from latree.arrays import Places

Sizes = TypeVar("Sizes", int, Places)

LANES = 8


def padded(size: Sizes) -> Sizes:
    """The next size that eight divides."""
    return (size + (LANES - 1)) // LANES * LANES


class _Lanes(types.Type):  # type: ignore[misc]
    """What a variable of eight numbers is to numba."""


_LANES = _Lanes("Lanes")
_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_FIRST = ir.Constant(ir.IntType(32), 0)
_ALL_FIRST = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
_ALIGNED = np.dtype(np.float64).itemsize  # as any row of numbers is


def _for_kernels(function: Callable[..., Any]) -> Any:
    """Make a function one that kernels call, with arguments of theirs; its text says how to compile it."""
    return intrinsic(function)


@register_model(_Lanes)
class _Model(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, data_models: Any, lanes: Any) -> None:
        super().__init__(data_models, lanes, _VECTOR)


def _place(context: Any, builder: Any, row: Any, values: Any, at: Any) -> Any:
    """Where eight numbers of an array begin."""
    data = context.make_array(row)(context, builder, values).data
    return builder.bitcast(builder.gep(data, [at]), _VECTOR.as_pointer())


def _spread(builder: Any, number: Any) -> Any:
    none = ir.Constant(_VECTOR, ir.Undefined)
    return builder.shuffle_vector(builder.insert_element(none, number, _FIRST), none, _ALL_FIRST)


@_for_kernels
def load(typing: Any, values: Any, at: Any) -> Any:
    """values[at : at + LANES]."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        loaded = builder.load(_place(context, builder, signature.args[0], *arguments))
        loaded.align = _ALIGNED
        return loaded

    return _LANES(values, types.intp), code


@_for_kernels
def store(typing: Any, lanes: Any, values: Any, at: Any) -> Any:
    """values[at : at + LANES] = lanes."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        stored = builder.store(arguments[0], _place(context, builder, signature.args[1], *arguments[1:]))
        stored.align = _ALIGNED
        return context.get_dummy_value()

    return types.void(_LANES, values, types.intp), code


@_for_kernels
def splat(typing: Any, number: Any) -> Any:
    """The same number eight times."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _spread(builder, arguments[0])

    return _LANES(types.float64), code


@_for_kernels
def fused(typing: Any, factor: Any, lanes: Any, others: Any) -> Any:
    """others + factor * lanes, rounded once where a processor can."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number, left, right = arguments
        return builder.fadd(right, builder.fmul(_spread(builder, number), left, flags=["contract"]), flags=["contract"])

    return _LANES(types.float64, _LANES, _LANES), code


@_for_kernels
def fused_lanes(typing: Any, factors: Any, lanes: Any, others: Any) -> Any:
    """others + factors * lanes, one by one."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        left, right, others = arguments
        return builder.fadd(others, builder.fmul(left, right, flags=["contract"]), flags=["contract"])

    return _LANES(_LANES, _LANES, _LANES), code


@_for_kernels
def total_of(typing: Any, lanes: Any) -> Any:
    """The sum of all eight."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        numbers = [builder.extract_element(arguments[0], ir.Constant(ir.IntType(32), k)) for k in range(LANES)]
        while len(numbers) > 1:
            half = len(numbers) // 2
            numbers = [builder.fadd(one, other) for one, other in zip(numbers[:half], numbers[half:], strict=True)]
        return numbers[0]

    return types.float64(_LANES), code
