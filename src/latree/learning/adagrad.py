"""How parameters follow a gradient: AdaGrad (Duchi, Hazan & Singer 2011), diagonal, over the rows a batch touched."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from latree.arrays import Floats, Longs
from latree.files import Arrays


@dataclass
class AdaGrad:
    """Descends.  Each number has its own pace: the more it has moved, the slower it goes."""

    rate: float = 0.05
    least: float = 1e-6
    squares: dict[str, Floats] = field(default_factory=dict)  # sums of the squared gradients so far

    def step(self, name: str, parameters: Floats, gradient: Floats, rows: Longs) -> None:
        """Move the named parameters, in place, against the gradient, which is given of these rows alone."""
        if name not in self.squares:
            self.squares[name] = np.zeros_like(parameters)
        squares = self.squares[name][rows] + gradient**2
        self.squares[name][rows] = squares
        parameters[rows] -= self.rate * gradient / (np.sqrt(squares) + self.least)

    def to_arrays(self) -> Arrays:
        """For a checkpoint."""
        return dict(self.squares)

    def restore(self, arrays: Arrays) -> None:
        """Take over what `to_arrays` gave."""
        self.squares = {name: array.copy() for name, array in arrays.items()}
