"""What is made of single words, kept: a few words make most of any text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from sys import getsizeof
from typing import Any

import numpy as np
from numpy.typing import NDArray

Row = tuple[NDArray[Any], ...]  # one or several arrays, of the same lengths for all words

MOST_BYTES = 1 << 26
ROW_BYTES = 400  # of a row beside its numbers and its word: the arrays, the key and its place


class KeptRows:
    """Rows of numbers by word and by whether it opens its sentence, up to a bound on memory."""

    def __init__(self, make: Callable[[str, bool], Row]) -> None:
        self._make = make
        self._rows: dict[tuple[str, bool], Row] = {}
        self._bytes = 0

    def row(self, word: str, first: bool) -> Row:
        row = self._rows.get((word, first))
        if row is None:
            row = self._make(word, first)
            if self._bytes >= MOST_BYTES:
                self._rows.clear()
                self._bytes = 0
            self._rows[word, first] = row
            self._bytes += ROW_BYTES + getsizeof(word) + sum(part.nbytes for part in row)
        return row

    def of(self, sentences: Iterable[Sequence[str]]) -> list[NDArray[Any]]:
        """The rows of all words of some sentences laid end to end, [words, numbers], of each array that a row has."""
        row = self.row
        rows = [row(word, position == 0) for words in sentences for position, word in enumerate(words)]
        return [np.concatenate(parts).reshape(len(rows), -1) for parts in zip(*rows, strict=True)]
