"""Layouts of tensors over subtypes, the linear maps between them, and the history of splits."""

from __future__ import annotations

import numpy as np
import pytest

from latree.arrays import NONE, Floats, Longs
from latree.inference.grammar import Grammar
from latree.inference.subtypes import LEAST, Cells, ColumnMap, History, Layout, averaging, regroup
from tests.enumerate import random_grammar

SIZE = np.array([1, 2, 3, 1, 4, 2])  # root, three phrases, two tags


def example(seed: int) -> tuple[Layout, Floats, np.random.Generator]:
    """A random grammar, and numbers for its tensors."""
    rng = np.random.default_rng(seed)
    grammar, _ = random_grammar(rng)
    layout = Layout(grammar, SIZE)
    return layout, rng.random(int(layout.start[-1])), rng


def row_sums(layout: Layout, theta: Floats) -> dict[tuple[int, int], float]:
    """The mass of every subtype (symbol, x) that is the parent of a rule."""
    sums: dict[tuple[int, int], float] = {}
    for rule, parent in enumerate(layout.grammar.rules[:, 0].tolist()):
        for x, row in enumerate(layout.tensor(theta, rule)):
            sums[parent, x] = sums.get((parent, x), 0.0) + float(row.sum())
    return sums


# -- layouts


def test_where_tensors_lie() -> None:
    symbols = random_grammar(np.random.default_rng(0))[0].symbols
    rules = [(0, 1, NONE), (1, 2, 4), (2, 5, NONE), (4, NONE, NONE)]
    layout = Layout(Grammar(symbols, np.array(rules, np.int32), 1), SIZE)
    assert layout.dims.tolist() == [[1, 2, 1], [2, 3, 4], [3, 2, 1], [4, 1, 1]]
    assert layout.start.tolist() == [0, 2, 26, 32, 36]
    assert layout.offset.tolist() == [0, 1, 3, 6, 7, 11, 13]
    assert layout.tag_columns.tolist() == [0, 4, 6]
    theta = np.arange(36.0)
    assert layout.tensor(theta, 1)[1, 2, 3] == 25.0
    sums = [
        theta[:2],
        theta[2:14],
        theta[14:26],
        theta[26:28],
        theta[28:30],
        theta[30:32],
        [],
        *theta[32:, None],
        [],
        [],
    ]
    assert layout.parent_counts(theta).tolist() == [sum(row) for row in sums]


@pytest.mark.parametrize("seed", range(4))
def test_normalise_gives_distributions_over_rules(seed: int) -> None:
    layout, theta, _ = example(seed)
    counts = theta.copy()
    layout.normalise(theta)
    assert row_sums(layout, theta) == pytest.approx(dict.fromkeys(row_sums(layout, counts), 1.0))
    totals = row_sums(layout, counts)
    for rule, parent in enumerate(layout.grammar.rules[:, 0].tolist()):
        shares = [row / totals[parent, x] for x, row in enumerate(layout.tensor(counts, rule))]
        np.testing.assert_allclose(layout.tensor(theta, rule), shares)


def test_normalise_drops_what_is_next_to_nothing_and_leaves_nothing_alone() -> None:
    layout, theta, _ = example(0)
    theta[0] = LEAST * theta.min() / 10
    theta[layout.start[1] :] = 0.0
    layout.normalise(theta)
    assert theta[0] == 0.0
    assert not theta[layout.start[1] :].any()
    assert np.isfinite(theta).all()


# -- maps


@pytest.mark.parametrize("seed", range(4))
def test_regroup_sums_children_and_averages_parents(seed: int) -> None:
    old, theta, rng = example(seed)
    theta[rng.random(len(theta)) < 0.3] = 0.0
    grammar = old.grammar
    kinds = [np.append(rng.permutation((n + 1) // 2), rng.integers((n + 1) // 2, size=n // 2)) for n in SIZE]
    wanted = np.array([int(kind.max()) + 1 for kind in kinds])
    mean = [averaging(kind, rng.random(len(kind)), n) for kind, n in zip(kinds, wanted, strict=True)]
    new = Layout(grammar, wanted)
    found = regroup(old, Cells.of(theta), new, kinds, mean)
    for rule, (a, *below) in enumerate(grammar.rules.tolist()):
        maps = [(mean[s] > 0).astype(float) if s != NONE else np.eye(1) for s in below]
        expected = np.einsum("Xx,Yy,Zz,xyz->XYZ", mean[a], *maps, old.tensor(theta, rule))
        np.testing.assert_allclose(new.tensor(found, rule), expected)


def test_averaging() -> None:
    kind, weight = np.array([0, 1, 0, 2, 1]), np.array([3.0, 1.0, 1.0, 0.0, 1.0])
    mean = averaging(kind, weight, 3)
    assert mean.tolist() == [[0.75, 0, 0.25, 0, 0], [0, 0.5, 0, 0, 0.5], [0, 0, 0, 1, 0]]
    assert averaging(kind, np.zeros(5), 3)[0].tolist() == [0.5, 0, 0.5, 0, 0]


def test_coordinates() -> None:
    layout, theta, _ = example(0)
    for place, (rule, x, y, z) in enumerate(zip(*layout.coordinates(np.arange(len(theta))), strict=True)):
        assert layout.tensor(np.arange(len(theta), dtype=np.float64), rule)[x, y, z] == place


# -- history


def longs(*numbers: int) -> Longs:
    return np.array(numbers, np.int64)


@pytest.fixture
def history() -> History:
    """Of three symbols: the root; one split at once and later in part; one that stays whole for a round."""
    first = (longs(0), longs(0, 0), longs(0))
    second = (longs(0), longs(0, 0, 1), longs(0, 0))
    third = (longs(0), longs(0, 1, 1, 2, 2), longs(0, 1, 1))
    return History().grown(first).grown(second).grown(third)


def test_ancestors(history: History) -> None:
    assert history.rounds == 3
    assert [history.ancestors(1, level).tolist() for level in range(4)] == [
        [0, 0, 0, 0, 0],
        [0, 0, 0, 1, 1],
        [0, 1, 1, 2, 2],
        [0, 1, 2, 3, 4],
    ]
    assert history.ancestors(0, 1).tolist() == [0]
    assert History().ancestors(2, 0).tolist() == [0]


def test_branches_are_the_sides_of_the_first_real_split(history: History) -> None:
    assert [history.branches(symbol).tolist() for symbol in range(3)] == [[0], [0, 0, 0, 1, 1], [0, 1, 1]]
    assert History().branches(1).tolist() == [0]


def test_history_survives_a_file(history: History) -> None:
    sizes = [np.array([len(one) for one in parents]) for parents in history.parents]
    again = History.from_arrays(history.to_arrays(), history.rounds, sizes[-1])
    assert [[p.tolist() for p in one] for one in again.parents] == [
        [p.tolist() for p in one] for one in history.parents
    ]
    earlier = History.from_arrays(history.to_arrays(), 2, sizes[1])
    assert earlier.ancestors(1, 0).tolist() == [0, 0, 0]


# -- maps of columns


@pytest.mark.parametrize("seed", range(3))
def test_a_column_map_is_its_matrix(seed: int) -> None:
    rng = np.random.default_rng(seed)
    blocks = [rng.random(shape) * (rng.random(shape) < 0.7) for shape in ((2, 3), (1, 1), (3, 2))]
    matrix = np.zeros((6, 6))
    matrix[:2, :3], matrix[2:3, 3:4], matrix[3:, 4:] = blocks
    rows = rng.random((4, 6))
    np.testing.assert_allclose(rows @ ColumnMap.of(blocks), rows @ matrix.T)
