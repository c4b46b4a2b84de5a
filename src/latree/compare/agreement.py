"""How much two ways to divide the same things have in common."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from latree.arrays import Floats

_NOTHING = 1e-12  # bits


@dataclass(frozen=True)
class Agreement:
    """Entropies in bits of the rows, of the columns, and what either tells of the other."""

    rows: float
    columns: float
    shared: float  # mutual information

    @classmethod
    def of(cls, table: Floats) -> Agreement:
        """The agreement of a table of counts, which may be fractions."""
        rows, columns = _entropy(table.sum(1)), _entropy(table.sum(0))
        return cls(rows, columns, max(rows + columns - _entropy(table), 0.0))

    @property
    def of_columns(self) -> float:
        """How much of the columns the rows tell, in per cent; all where there is nothing to tell."""
        return 100 * self.shared / self.columns if self.columns > _NOTHING else 100.0

    @property
    def of_rows(self) -> float:
        """How much of the rows the columns tell, in per cent; all where there is nothing to tell."""
        return 100 * self.shared / self.rows if self.rows > _NOTHING else 100.0

    @property
    def v_measure(self) -> float:
        """The harmonic mean of both, homogeneity and completeness (Rosenberg & Hirschberg 2007), in per cent."""
        both = self.of_columns + self.of_rows
        return 2 * self.of_columns * self.of_rows / both if both > _NOTHING else 0.0


def _entropy(counts: Floats) -> float:
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum())
