"""Compiles the kernels that most tests need, once, before several workers start; run as `python -m tests.warm`."""

from __future__ import annotations

from contextlib import suppress

from tests import kernel_cache


def main() -> None:
    """Train and use a model of every kind."""
    kernel_cache.choose()
    from latree.errors import LatreeError
    from latree.inference.results import OBJECTIVES
    from tests.command import SLEEPS
    from tests.kinds_matrix import NAMES, model

    for name in NAMES:
        grammar = model(name)
        grammar.kbest(SLEEPS.split(), 3)
        for objective in OBJECTIVES:
            with suppress(LatreeError):  # a kind may refuse an objective
                list(grammar.analyse([SLEEPS.split()], objective))


if __name__ == "__main__":
    main()
