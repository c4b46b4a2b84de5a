"""Word vectors from a text file: in each line a word and its numbers, as word2vec and GloVe write them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from latree.arrays import Floats
from latree.errors import InputError, LatreeError
from latree.kinds.cvg import DIM, CvgOptions
from latree.text.formats import open_text


class GivenVectors(NamedTuple):
    """The vectors that a file has of some words."""

    vectors: dict[str, Floats]
    dim: int | None  # numbers in each; None without a file

    @classmethod
    def read(cls, path: str | None, wanted: Collection[str]) -> GivenVectors:
        """Read the vectors of the wanted words, and of these in lower case.

        A first line of two whole numbers, as word2vec writes it, is not a word.  The first of several vectors of a
        word counts.
        """
        if path is None:
            return cls({}, None)
        names, vectors, dim = {*wanted, *map(str.lower, wanted)}, {}, 0
        for number, line in _lines(path):
            fields = line.rstrip().split(" ")
            if number == 1 and len(fields) == 2 and all(field.isdecimal() for field in fields):
                continue
            dim = dim or len(fields) - 1
            if not 0 < dim < len(fields):  # a word may have spaces in it
                raise InputError(path, number, f"expected a word and {dim or 'some'} numbers, not {len(fields)} fields")
            word = " ".join(fields[:-dim])
            if word in names and word not in vectors:
                vectors[word] = _numbers(fields[-dim:], path, number)
        if not vectors:
            raise LatreeError(f"{path}: no vectors of words that are in the treebank")
        return cls(vectors, dim)

    def of(self, word: str | None) -> Floats | None:
        """Find the vector of a word, or of the word in lower case."""
        return None if word is None else self.vectors.get(word, self.vectors.get(word.lower()))


def first_words(
    units: Sequence[tuple[str | None, str | None]], given: GivenVectors, options: CvgOptions, rng: np.random.Generator
) -> Floats:
    """Make the vectors of words and classes to begin with: at random, or where a file has them, its own.

    Those of the file are brought to the spread of the others, since larger ones leave the network little to move.
    """
    dim = options.dim or given.dim or DIM
    if given.dim not in (None, dim):
        raise LatreeError(f"{options.vectors}: vectors of {given.dim} numbers; --dim {dim} is another number")
    words = options.spread * rng.standard_normal((len(units), dim))
    known = {k: vector for k, (word, _) in enumerate(units) if (vector := given.of(word)) is not None}
    if known:
        rows = np.stack(list(known.values()))
        words[list(known)] = rows * (options.spread / max(float(rows.std()), 1e-12))
    return words


def _lines(path: str) -> Iterator[tuple[int, str]]:
    with open_text(path) as lines:
        yield from ((number, line) for number, line in enumerate(lines, start=1) if not line.isspace())


def _numbers(fields: list[str], path: str, line: int) -> Floats:
    try:
        numbers = np.array(fields, np.float64)
    except ValueError as error:
        raise InputError(path, line, f"not a number among the numbers of a vector: {error}") from None
    if not np.isfinite(numbers).all():
        raise InputError(path, line, "a vector with a number that is not finite")
    return numbers
