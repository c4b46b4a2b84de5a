"""How parameters follow a gradient: Adam (Kingma & Ba 2015), lazily over the parameters that a batch has touched."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

import numpy as np

from latree.arrays import Floats, Longs
from latree.files import Arrays
from latree.jit import lean_kernel


@dataclass
class Adam:
    """Ascends.  A row that a batch does not touch is left alone, its moments too: rare rules keep their pace.

    Each array of parameters has its own moments, and every row its own count of steps for the bias correction.
    """

    rate: float = 0.01
    decay: tuple[float, float] = (0.9, 0.999)
    least: float = 1e-8
    moments: dict[str, tuple[Floats, Floats, Longs]] = field(default_factory=dict)

    def step(self, name: str, parameters: Floats, gradient: Floats, rows: Longs) -> None:
        """Move these rows of the named parameters, a contiguous array, in place, along their gradient."""
        if name not in self.moments:
            zeros = np.zeros_like(parameters)
            self.moments[name] = (zeros, zeros.copy(), np.zeros(len(parameters), np.int64))
        first, second, steps = self.moments[name]
        width = prod(parameters.shape[1:])
        x, slope, mean, square = (a.reshape(len(a), width) for a in (parameters, gradient, first, second))
        _step(x, slope, mean, square, steps, rows, self.rate, self.decay, self.least)

    def squares(self, name: str) -> Floats:
        """The sum of the squared gradients so far, about."""
        _, second, steps = self.moments[name]
        return second * steps.reshape(-1, *(1 for _ in range(second.ndim - 1)))

    def take(self, name: str, rows: Longs) -> None:
        """Go on with other rows, each of which was one of those that there are."""
        if name in self.moments:
            first, second, steps = self.moments[name]
            self.moments[name] = first[rows], second[rows], steps[rows]

    def to_arrays(self) -> Arrays:
        """For a checkpoint."""
        parts = ("first", "second", "steps")
        return {f"{name}.{part}": a for name, all_ in self.moments.items() for part, a in zip(parts, all_, strict=True)}

    def restore(self, arrays: Arrays) -> None:
        """Take over what `to_arrays` gave."""
        for name in {key.rpartition(".")[0] for key in arrays}:
            self.moments[name] = tuple(arrays[f"{name}.{part}"].copy() for part in ("first", "second", "steps"))  # type: ignore[assignment]


@lean_kernel
def _step(
    parameters: Floats,
    gradient: Floats,
    first: Floats,
    second: Floats,
    steps: Longs,
    rows: Longs,
    rate: float,
    decay: tuple[float, float],
    least: float,
) -> None:
    """Move rows along a gradient that has no others, in one pass, since every step waits for it."""
    slow, slower = decay
    for k in range(len(rows)):
        row = rows[k]
        steps[row] += 1
        short, shorter = 1.0 - slow ** steps[row], 1.0 - slower ** steps[row]
        for column in range(gradient.shape[1]):
            slope = gradient[k, column]
            first[row, column] = slow * first[row, column] + (1.0 - slow) * slope
            second[row, column] = slower * second[row, column] + (1.0 - slower) * slope * slope
            mean, square = first[row, column] / short, second[row, column] / shorter
            parameters[row, column] += rate * mean / (np.sqrt(square) + least)
