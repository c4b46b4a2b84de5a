"""Compiles the kernels that most tests need, once, before several workers start; run as `python -m tests.warm`."""

from __future__ import annotations

from tests import kernel_cache


def main() -> None:
    """Do as `latree warm`."""
    kernel_cache.choose()
    from latree.cli.warm import warm

    warm()


if __name__ == "__main__":
    main()
