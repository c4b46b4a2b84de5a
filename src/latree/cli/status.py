"""What is said on standard error: notes, and on a terminal a line that tells how far a command is."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TypeVar

T = TypeVar("T")

TICK = 0.5  # seconds from one look at the work to the next
CLEAR = "\r\033[K"  # takes away the line that changes


def note(message: str) -> None:
    """Tell the user something without disturbing standard output."""
    _write(f"{CLEAR if sys.stderr.isatty() else ''}latree: {message}\n")


def _write(text: str) -> None:
    """Write in one piece, since the line that changes is written by a thread of its own."""
    sys.stderr.write(text)
    sys.stderr.flush()


@contextmanager
def status_line(line: Callable[[], str], quiet: bool = False) -> Iterator[None]:
    """Show what `line` tells while the work in here goes on; nothing where standard error is no terminal."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    is_done = Event()
    thread = Thread(target=_show, args=(line, is_done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_done.set()
        thread.join()
        _write(CLEAR)


def _show(line: Callable[[], str], is_done: Event) -> None:
    while not is_done.wait(TICK):
        if text := line():
            columns = os.get_terminal_size(sys.stderr.fileno()).columns or 80  # some terminals do not tell
            _write(CLEAR + text[: columns - 1])


def duration(seconds: float) -> str:
    """Write a time as people say it."""
    if seconds < 100:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


class Count:
    """How many of some things are done, and how fast."""

    def __init__(self, title: str, total: int | None = None) -> None:
        self.title, self.total, self.done = title, total, 0
        self.before = 0  # how many were done when the time began
        self.started = time.perf_counter()

    def add(self, more: int = 1) -> None:
        """Count so many more; the first, for which kernels may be compiled, say nothing of the speed."""
        if self.done == 0:
            self.before, self.started = more, time.perf_counter()
        self.done += more

    def line(self) -> str:
        """Tell how far it is; of what has no end, nothing before it has begun."""
        text = f"{self.title}: {self.done:,}" + ("" if self.total is None else f" of {self.total:,}")
        if self.done == self.before:
            return "" if self.total is None and not self.done else text
        rate = (self.done - self.before) / max(time.perf_counter() - self.started, 1e-9)
        text += f", {rate:,.{0 if rate >= 10 else 1}f} a second"
        return text if self.total is None else f"{text}, about {duration((self.total - self.done) / rate)} left"


def with_progress(items: Iterable[T], title: str, quiet: bool = False, total: int | None = None) -> Iterator[T]:
    """Hand the items on, and show how many they were."""
    count = Count(title, total)
    with status_line(count.line, quiet):
        for item in items:
            count.add()
            yield item
