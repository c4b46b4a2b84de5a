"""Subtypes of symbols: how many there are, where each came from, and how tensors over them are reshaped.

A rule's tensor T[x, y, z] is laid out flat, rule after rule.  Splitting, merging, smoothing and projecting are all
linear maps on its ports, so they are all written with one function, `transform`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from latree.arrays import Floats, Longs
from latree.grammar import NONE, Grammar
from latree.jit import kernel

LEAST = 1e-30  # probabilities below this are taken for zero: EM never revives them


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
        return np.concatenate([[0], np.cumsum(self.dims.prod(1))]).astype(np.int64)

    @cached_property
    def offset(self) -> Longs:
        """[symbols + 1] the first of each symbol's subtypes when all are laid end to end."""
        return np.concatenate([[0], np.cumsum(self.size)]).astype(np.int64)

    @cached_property
    def tag_columns(self) -> Longs:
        """[tags + 1] the first column of each tag where all tags' subtypes are laid end to end."""
        first_tag = self.grammar.first_tag
        return np.asarray(self.offset[first_tag:] - self.offset[first_tag], np.int64)

    def tensor(self, theta: Floats, rule: int) -> Floats:
        return theta[self.start[rule] : self.start[rule + 1]].reshape(self.dims[rule])

    def parent_counts(self, counts: Floats) -> Floats:
        """How often each subtype, numbered as in `offset`, is the parent of a rule."""
        totals = np.zeros(int(self.offset[-1]))
        _add_rows(counts, self.start, self.dims, self.offset[self.grammar.rules[:, 0]], totals)
        return totals

    def normalise(self, counts: Floats) -> None:
        """In place: relative frequency given the parent subtype (Petrov 2009, eqn 3); below `LEAST` it is zero."""
        _divide_rows(counts, self.start, self.dims, self.offset[self.grammar.rules[:, 0]], self.parent_counts(counts))


@kernel
def _add_rows(theta: Floats, start: Longs, dims: Longs, first: Longs, totals: Floats) -> None:
    for rule in range(len(dims)):
        wide, at = dims[rule, 1] * dims[rule, 2], start[rule]
        for x in range(dims[rule, 0]):
            totals[first[rule] + x] += theta[at + x * wide : at + (x + 1) * wide].sum()


@kernel
def _divide_rows(theta: Floats, start: Longs, dims: Longs, first: Longs, totals: Floats) -> None:
    for rule in range(len(dims)):
        wide, at = dims[rule, 1] * dims[rule, 2], start[rule]
        for x in range(dims[rule, 0]):
            total = totals[first[rule] + x]
            for k in range(at + x * wide, at + (x + 1) * wide):
                theta[k] = theta[k] / total if theta[k] > LEAST * total else 0.0


Maps = Sequence[Floats]  # one matrix a symbol, [new subtypes, old subtypes]


def transform(old: Layout, theta: Floats, new: Layout, parents: Maps, children: Maps | None) -> Floats:
    """T'[X, Y, Z] = sum_xyz P[X, x] C[Y, y] C[Z, z] T[x, y, z] for every rule; None leaves the children alone."""
    result = np.empty(int(new.start[-1]))
    for rule, (a, b, c) in enumerate(old.grammar.rules.tolist()):
        tensor = old.tensor(theta, rule)
        moved = (parents[a] @ tensor.reshape(len(tensor), -1)).reshape(-1, *tensor.shape[1:])
        if children is not None and b != NONE:
            moved = np.einsum("Yy,Xyz->XYz", children[b], moved)
        if children is not None and c != NONE:
            moved = moved @ children[c].T
        result[new.start[rule] : new.start[rule + 1]] = moved.ravel()
    return result


def membership(kind: Longs, classes: int) -> Floats:
    """The 0/1 matrix [classes, members] of a map from members to classes."""
    matrix: Floats = (np.arange(classes)[:, None] == kind[None, :]).astype(np.float64)
    return matrix


def averaging(kind: Longs, weight: Floats, classes: int) -> Floats:
    """The matrix that takes class averages, members weighted; a class without weight averages evenly."""
    member = membership(kind, classes)
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
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], rounds: int) -> History:
        found = []
        for k in range(rounds):
            cuts = np.cumsum(arrays[f"history.{k}.size"])[:-1]
            found.append(tuple(np.split(arrays[f"history.{k}"], cuts)))
        return cls(tuple(found))

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
