"""What EM promises, whatever it fits: the objective never falls."""

from __future__ import annotations

import math

from latree.errors import LatreeError

ROUNDING = 1e-7  # of the objective, or of one where that is less


def check_climb(before: float, now: float, where: str, *, what: str = "log-likelihood", rising: bool = True) -> None:
    """A fall, or a number that is none, is a fault of the program, which must not end in a model."""
    if not math.isfinite(now):
        raise LatreeError(f"the {what} became {now} ({where}); the last checkpoint, if there is one, is good")
    if rising and now < before - ROUNDING * max(abs(before), 1.0):
        raise LatreeError(f"the {what} fell from {before} to {now} ({where}); please report this")
