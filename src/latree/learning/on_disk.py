"""Arrays that lie on disk and are read as if they were in memory.

A treebank's trees and forests are gone through in turn, again and again: mapped from a file, they take memory only as
far as there is some to spare.  The files have no names: they are gone when nothing maps them any more, however the
process ends.  What is mapped may be written to, which changes nothing on disk: kernels are compiled for arrays that
may be, and need not be compiled twice.
"""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, TypeVar, overload

import numpy as np

from latree.arrays import Ints, Longs, starts
from latree.errors import LatreeError
from latree.inference.forest import Piece

_LINE = 64  # bytes that a processor reads at a time: where an array begins

Arrays = TypeVar("Arrays", bound=tuple[Any, ...])


@contextmanager
def _file() -> Iterator[IO[bytes]]:
    """Open a file without a name, where the system keeps such (`TMPDIR`)."""
    try:
        with tempfile.TemporaryFile(prefix="latree-") as file:
            yield file
    except OSError as error:
        where = tempfile.gettempdir()
        raise LatreeError(
            f"{where}: the treebank cannot be kept there: {error.strerror or error}; name a folder with more room by "
            "TMPDIR"
        ) from None


def _mapped(file: IO[bytes]) -> mmap.mmap:
    """What was written so far, which stays when the file is closed."""
    file.write(b"\0")  # nothing at all cannot be mapped
    file.flush()
    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)


def on_disk(values: Arrays) -> Arrays:
    """The same NamedTuple with its arrays on disk."""
    arrays = {name: value for name, value in _fields(values).items() if isinstance(value, np.ndarray)}
    first = starts([-(-array.nbytes // _LINE) * _LINE for array in arrays.values()])
    with _file() as file:
        for at, array in zip(first, arrays.values(), strict=False):
            file.seek(int(at))
            file.write(np.ascontiguousarray(array).data)
        whole = _mapped(file)
    shown = {
        name: np.frombuffer(whole, array.dtype, array.size, int(at)).reshape(array.shape)
        for at, (name, array) in zip(first, arrays.items(), strict=False)
    }
    return type(values)(**(_fields(values) | shown))


def _fields(values: tuple[Any, ...]) -> dict[str, Any]:
    return values._asdict()  # type: ignore[attr-defined, no-any-return]


@dataclass(frozen=True)
class PiecesOnDisk(Sequence[Piece]):
    """Pieces, whose numbers lie end to end on disk; another process is sent them as a list."""

    numbers: Ints  # of a piece: rules, ends, symbols and spans
    start: Longs  # [pieces] where its numbers begin
    edges: Longs  # [pieces]
    items: Longs
    entries: Longs

    @classmethod
    def of(cls, pieces: Iterator[Piece]) -> PiecesOnDisk:
        """Take over pieces, none of which need stay."""
        sizes = []
        with _file() as file:
            for piece in pieces:
                for array in piece[:4]:
                    file.write(np.ascontiguousarray(array, np.int32).data)
                sizes.append((len(piece.rule), len(piece.symbol), piece.entries))
            whole = _mapped(file)
        edges, items, entries = np.array(sizes, np.int64).reshape(-1, 3).T
        start = starts(4 * edges + 3 * items)
        return cls(np.frombuffer(whole, np.int32, int(start[-1])), start[:-1], edges, items, entries)

    def __len__(self) -> int:
        return len(self.start)

    @overload
    def __getitem__(self, which: int) -> Piece: ...
    @overload
    def __getitem__(self, which: slice) -> PiecesOnDisk: ...

    def __getitem__(self, which: int | slice) -> Piece | PiecesOnDisk:
        if isinstance(which, slice):
            columns = (self.start, self.edges, self.items, self.entries)
            return PiecesOnDisk(self.numbers, *(column[which] for column in columns))
        edges, items = int(self.edges[which]), int(self.items[which])
        numbers = self.numbers[self.start[which] : self.start[which] + 4 * edges + 3 * items]
        rule, ends, symbol, span = np.split(numbers, np.cumsum([edges, 3 * edges, items]))
        return Piece(rule, ends.reshape(-1, 3), symbol, span.reshape(-1, 2), int(self.entries[which]))

    def __reduce__(self) -> tuple[type[list[Piece]], tuple[list[Piece]]]:
        return list, (list(self),)
