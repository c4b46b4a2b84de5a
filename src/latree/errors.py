"""The exceptions that latree raises for its users' mistakes; the command line prints them without a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class LatreeError(Exception):
    """Something that the user can mend: the message says where, what was wrong, and what to do."""


class InputError(LatreeError):
    """A fault in a file: `where` is `file:line` or `file:line:column`, both counted from one."""

    def __init__(self, file: str, line: int, message: str, column: int | None = None) -> None:
        self.file, self.line, self.column = file, line, column
        where = f"{file}:{line}" if column is None else f"{file}:{line}:{column}"
        super().__init__(f"{where}: {message}")


class NotTrainedError(LatreeError, AttributeError):
    """A model was asked for what only `fit` or a model file gives it; to `hasattr`, it does not have that."""


@contextmanager
def interrupts_plain() -> Iterator[None]:
    """Raise what Ctrl-C caused as what it is: at the door of compiled code it turns up as a SystemError, and where such
    code is being imported as an ImportError."""
    try:
        yield
    except (SystemError, ImportError) as error:
        if isinstance(error.__cause__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        raise
