"""Subtypes of symbols: how many there are, where each came from, and how tensors over them are reshaped.

A rule's tensor T[x, y, z] is laid out flat, rule after rule.  Merging subtypes and projecting on coarser ones is the
same thing, written once: `regroup`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from latree.arrays import Floats, Longs, starts
from latree.checks import integers
from latree.files import Arrays
from latree.inference.grammar import Grammar
from latree.jit import kernel

LEAST = 1e-30  # probabilities below this are taken for zero: EM never revives them
MOST_SUBTYPES = 1 << 12  # of a symbol, that a model file may have


@dataclass(frozen=True)
class Layout:
    """Where the tensors of a grammar lie for given numbers of subtypes."""

    grammar: Grammar
    size: Longs  # [symbols] subtypes of each symbol; the root has one

    @cached_property
    def dims(self) -> Longs:
        """[rules, 3]; an absent child is one wide."""
        padded = np.append(self.size, 1)
        return np.asarray(padded[self.grammar.rules], np.int64)

    @cached_property
    def start(self) -> Longs:
        """[rules + 1] where each tensor begins."""
        return starts(self.dims.prod(1))

    @cached_property
    def offset(self) -> Longs:
        """[symbols + 1] the first of each symbol's subtypes when all are laid end to end."""
        return starts(self.size)

    @cached_property
    def tag_columns(self) -> Longs:
        """[tags + 1] the first column of each tag where all tags' subtypes are laid end to end."""
        first_tag = self.grammar.first_tag
        return np.asarray(self.offset[first_tag:] - self.offset[first_tag], np.int64)

    def tensor(self, theta: Floats, rule: int) -> Floats:
        return theta[self.start[rule] : self.start[rule + 1]].reshape(self.dims[rule])

    @cached_property
    def rule_row(self) -> Longs:
        """[rules + 1] the first row of each rule; a row is what a rule and a subtype of its parent have."""
        return starts(self.dims[:, 0])

    @cached_property
    def row(self) -> Longs:
        """[rows + 1] where each row begins."""
        wide = self.dims[:, 1] * self.dims[:, 2]
        return starts(np.repeat(wide, self.dims[:, 0]))

    @cached_property
    def row_parent(self) -> Longs:
        """[rows] the subtype that is the parent, numbered as in `offset`."""
        shift = self.offset[self.grammar.rules[:, 0]] - self.rule_row[:-1]
        return np.repeat(shift, self.dims[:, 0]) + np.arange(self.rule_row[-1])

    def coordinates(self, place: Longs) -> tuple[Longs, Longs, Longs, Longs]:
        """Rule, x, y and z of the numbers at these places."""
        rule = np.searchsorted(self.start, place, side="right") - 1
        x, yz = np.divmod(place - self.start[rule], (self.dims[:, 1] * self.dims[:, 2])[rule])
        return rule, x, *np.divmod(yz, self.dims[rule, 2])

    def places(self, rule: Longs, x: Longs, y: Longs, z: Longs) -> Longs:
        """The places of numbers given by rule, x, y and z."""
        return np.asarray(self.start[rule] + (x * self.dims[rule, 1] + y) * self.dims[rule, 2] + z, np.int64)

    def parent_counts(self, counts: Floats) -> Floats:
        """How often each subtype, numbered as in `offset`, is the parent of a rule."""
        return parent_sums(counts, self.row, self.row_parent, int(self.offset[-1]))

    def normalise(self, counts: Floats) -> None:
        """In place: relative frequency given the parent subtype (Petrov 2009, eqn 3)."""
        normalise_rows(counts, self.row, self.row_parent, self.parent_counts(counts))


@kernel
def parent_sums(values: Floats, row: Longs, row_parent: Longs, subtypes: int) -> Floats:
    """Sums over all rows of each parent subtype."""
    sums = np.zeros(subtypes)
    for r in range(len(row_parent)):
        sums[row_parent[r]] += values[row[r] : row[r + 1]].sum()
    return sums


@kernel
def normalise_rows(values: Floats, row: Longs, row_parent: Longs, sums: Floats) -> None:
    """In place: divide by the parent's sum; what comes below `LEAST` is zero."""
    for r in range(len(row_parent)):
        total = sums[row_parent[r]]
        for k in range(row[r], row[r + 1]):
            values[k] = values[k] / total if values[k] > LEAST * total else 0.0


@dataclass(frozen=True)
class ColumnMap:
    """A matrix with a block for each tag and zeros elsewhere, to multiply rows of numbers by: `rows @ column_map`.

    Few of its cells have any weight, and no threads are started for a product as small as a sentence's.
    """

    source: Longs  # [cells] columns of the rows
    target: Longs  # [cells] columns of the product
    value: Floats  # [cells]
    width: int  # of the product
    __array_ufunc__ = None  # so that arrays leave the product to this class

    @classmethod
    def of(cls, blocks: Sequence[Floats]) -> ColumnMap:
        """Put blocks [columns of the product, columns of the rows] together, a tag's after another's."""
        first = starts([block.shape[0] for block in blocks]), starts([block.shape[1] for block in blocks])
        cells = [np.nonzero(block) for block in blocks]
        target, source = (
            np.concatenate([cell[side] + begin for cell, begin in zip(cells, first[side], strict=False)])
            for side in (0, 1)
        )
        value = np.concatenate([block[cell] for block, cell in zip(blocks, cells, strict=True)])
        return cls(source, target, value, int(first[0][-1]))

    def __rmatmul__(self, rows: Floats) -> Floats:
        product = np.zeros((len(rows), self.width))
        _map_columns(self.source, self.target, self.value, rows, product)
        return product


@kernel
def _map_columns(source: Longs, target: Longs, value: Floats, rows: Floats, product: Floats) -> None:
    """Targets stand in order: each is summed in a register and stored once."""
    for i in range(len(rows)):
        k = 0
        while k < len(value):
            column, total = target[k], 0.0
            while k < len(value) and target[k] == column:
                total += rows[i, source[k]] * value[k]
                k += 1
            product[i, column] = total


class Cells(NamedTuple):
    """The cells of full tensors that have some weight."""

    place: Longs
    value: Floats

    @classmethod
    def of(cls, theta: Floats) -> Cells:
        """Find them, in truth values, which is quicker than in numbers."""
        place = np.flatnonzero(theta != 0.0)
        return cls(place, theta[place])


def regroup(old: Layout, cells: Cells, new: Layout, kinds: Sequence[Longs], mean: Sequence[Floats]) -> Floats:
    """Subtypes put together: children are summed, parents averaged.

    `kinds[symbol]` says what each old subtype becomes, `mean[symbol]` [new, old] how much it weighs as a parent:
    T'[X, Y, Z] = sum over x in X, y in Y, z in Z of mean[X, x] T[x, y, z].
    """
    kind = np.concatenate([*kinds, [0]])  # the last is for absent children
    weight = np.concatenate([matrix[one, np.arange(len(one))] for one, matrix in zip(kinds, mean, strict=True)])
    rule, *cell = old.coordinates(cells.place)
    first = old.offset[old.grammar.rules][rule]  # an absent child's, NONE = -1, is the last
    x, y, z = (kind[first[:, port] + cell[port]] for port in range(3))
    target = new.places(rule, x, y, z)
    values = cells.value * weight[first[:, 0] + cell[0]]
    return np.bincount(target, weights=values, minlength=int(new.start[-1])).astype(np.float64)


def project(
    old: Layout, cells: Cells, kinds: Sequence[Longs], frequency: Floats
) -> tuple[Layout, Floats, list[Floats]]:
    """Put subtypes together, parents averaged by how often each occurs: the layout, the tensors, and the averages."""
    size = np.array([int(kind.max()) + 1 for kind in kinds])
    parts = np.split(frequency, old.offset[1:-1])
    mean = [averaging(kind, part, int(n)) for kind, part, n in zip(kinds, parts, size, strict=True)]
    new = Layout(old.grammar, size)
    return new, regroup(old, cells, new, kinds, mean), mean


def averaging(kind: Longs, weight: Floats, classes: int) -> Floats:
    """The matrix that takes class averages, members weighted; a class without weight averages evenly."""
    member: Floats = (np.arange(classes)[:, None] == kind[None, :]).astype(np.float64)
    weighted = member * weight
    totals = weighted.sum(1, keepdims=True)
    even = member / np.maximum(member.sum(1, keepdims=True), 1)
    matrix: Floats = np.divide(weighted, totals, out=even, where=totals > 0)
    return matrix


@dataclass(frozen=True)
class History:
    """The split trees: `parents[r][s]` maps the subtypes of symbol s after round r + 1 to those before it."""

    parents: tuple[tuple[Longs, ...], ...] = ()

    def grown(self, parents: Sequence[Longs]) -> History:
        return History((*self.parents, tuple(parents)))

    @property
    def rounds(self) -> int:
        return len(self.parents)

    def to_arrays(self) -> dict[str, Longs]:
        """The arrays of a model file."""
        arrays = {}
        for k, parents in enumerate(self.parents):
            arrays[f"history.{k}"] = np.concatenate(parents)
            arrays[f"history.{k}.size"] = np.array([len(parent) for parent in parents])
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Arrays, rounds: int, size: Longs) -> History:
        """The history that wrote these, of symbols that now have so many subtypes."""
        before, parents = np.ones_like(size), []
        for k in range(rounds):
            after = integers(f"history.{k}.size", arrays, size.shape, 1)
            step = integers(f"history.{k}", arrays, (int(after.sum()),))
            if (step >= np.repeat(before, after)).any():
                raise ValueError(f"history.{k} leads to subtypes that there are not")
            parents.append(tuple(np.split(step, np.cumsum(after)[:-1])))
            before = after
        if not np.array_equal(before, size):
            raise ValueError("the history does not end at the subtypes that there are")
        return cls(tuple(parents))

    def ancestors(self, symbol: int, level: int) -> Longs:
        """For each present subtype of a symbol the one it came from after `level` rounds (0: the symbol itself)."""
        kind = np.arange(len(self.parents[-1][symbol]), dtype=np.int64) if self.parents else np.zeros(1, np.int64)
        for step in reversed(self.parents[level:]):
            kind = step[symbol][kind]
        return kind

    def branches(self, symbol: int) -> Longs:
        """Which side of its first real split each present subtype lies on: smoothing stays within a side."""
        for level in range(1, self.rounds + 1):
            kind = self.ancestors(symbol, level)
            if kind.max() > 0:
                return kind
        return np.zeros(1, np.int64)
