"""Treebanks on disk: what is mapped is what was given, for this process and for others, and trees are let go."""

from __future__ import annotations

import gc
import pickle
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from latree import LatreeError, Lvg, Tree
from latree.inference.forest import Piece, assemble, no_piece
from latree.learning.loop import Progress, Training
from latree.learning.on_disk import PiecesOnDisk, on_disk
from latree.text.binary import Node


def some_pieces() -> list[Piece]:
    """A chain of one word, nothing at all, and a chain of two."""

    def chain(words: int) -> Piece:
        items = np.arange(words + 1, dtype=np.int32)
        ends = np.stack([items, items - 1, np.full_like(items, -1)], 1)
        return Piece(np.minimum(items, 1), ends, items % 2, np.stack([items * 0, items], 1), words)

    return [chain(1), no_piece(0), chain(2)]


def assert_same(mapped: tuple[object, ...], given: tuple[object, ...]) -> None:
    for one, other in zip(mapped, given, strict=True):
        assert_array_equal(one, other)
        assert np.asarray(one).dtype == np.asarray(other).dtype


def test_pieces_are_those_that_were_given() -> None:
    given = some_pieces()
    kept = PiecesOnDisk.of(iter(given))
    assert len(kept) == 3
    for piece, other in zip(kept, given, strict=True):
        assert_same(piece, other)
    assert_same(kept[1:][1], given[2])
    assert not len(PiecesOnDisk.of(iter(())))


def test_other_processes_get_pieces_as_they_are() -> None:
    sent = pickle.loads(pickle.dumps(PiecesOnDisk.of(iter(some_pieces()))[1:]))
    for piece, other in zip(sent, some_pieces()[1:], strict=True):
        assert_same(piece, other)


def test_a_forest_on_disk_is_the_same_and_may_be_written_to() -> None:
    """Kernels are compiled for arrays that may be."""
    forest = assemble(some_pieces(), 2)
    mapped = on_disk(forest)
    assert_same(mapped, forest)
    assert mapped.rule.flags.writeable
    mapped.rule[:] = 0  # is this process's own affair


def test_no_room_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with pytest.raises(LatreeError, match="TMPDIR"):
        PiecesOnDisk.of(iter(some_pieces()))


def test_trees_that_were_learned_from_are_let_go(dev: list[Tree]) -> None:
    """EM goes by what is on disk: no binary tree is left while it runs."""
    alive: list[int] = []

    def nodes() -> int:
        return sum(type(thing) is Node for thing in gc.get_objects())  # there are things that do not like isinstance

    def watch(_: Progress) -> None:
        if not alive:
            gc.collect()
            alive.append(nodes())

    def stream() -> Iterator[Tree]:
        yield from dev

    before = nodes()
    Lvg(rounds=1, split_iterations=1).fit(stream(), Training(watch))
    assert alive == [before]
