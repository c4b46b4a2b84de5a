"""Where tables are printed."""

from __future__ import annotations

from typing import NoReturn

from rich.console import Console as RichConsole


class Console(RichConsole):
    """A console that leaves to its caller what happens where the reader has gone; rich would end the program with 1."""

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError
