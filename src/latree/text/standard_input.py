"""Standard input, of which one can ask whether another line has come already."""

from __future__ import annotations

import io
import select
import sys
from functools import cache
from typing import IO, Any


class _Impatient(io.FileIO):
    """A file that can be told not to wait for input."""

    waits = True

    def readinto(self, buffer: Any) -> int | None:
        return super().readinto(buffer) if self.waits or self._ready() else None

    def _ready(self) -> bool:
        try:
            return bool(select.select([self], [], [], 0)[0])
        except OSError:  # where only sockets can be asked
            return True


class _Live(io.BufferedReader):
    """Buffered lines."""

    raw: _Impatient

    def has_line(self) -> bool:
        """Whether the next line can be read without waiting for it."""
        self.raw.waits = False
        try:
            return b"\n" in self.peek(1)
        finally:
            self.raw.waits = True


@cache
def _live(descriptor: int) -> _Live:
    return _Live(_Impatient(descriptor, closefd=False))


def standard_input() -> IO[bytes]:
    """The bytes of standard input, always by the same buffer."""
    try:
        return _live(sys.stdin.fileno())
    except io.UnsupportedOperation:  # something in memory stands in for it
        return sys.stdin.buffer


def input_waiting() -> bool:
    """Whether standard input has another line at hand; of what lies in memory that is always so."""
    source = standard_input()
    return source.has_line() if isinstance(source, _Live) else True
