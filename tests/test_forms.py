"""What every form keeps to: the axioms of `inference.sweep`, rule by rule and over forests, against brute force."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
import pytest

from latree.arrays import NONE, Floats, Longs
from latree.inference.forest import PASS, Forest
from latree.inference.forms.factored import Factored
from latree.inference.forms.multiscale import MultiScale, expanded, tree_sizes
from latree.inference.forms.sparse import Sparse, sparse, with_entries
from latree.inference.grammar import Grammar
from latree.inference.lanes import LANES
from latree.inference.subtypes import Layout
from latree.inference.sweep import _FORMS, Edges, infer, inside_only
from tests import factored
from tests.enumerate import weights_of
from tests.forests import all_edge_sets, cell, subtype_weights
from tests.grammars import SEEDS, example, full_forest, random_tensors

WORDS = 3


class Specimen(NamedTuple):
    """A forest of a few words with random weights of some form, and these as a number for every triple."""

    grammar: Grammar
    forest: Forest
    weights: Any
    size: Longs
    triples: Sparse

    def tensor(self, rule: int) -> Floats:
        """T[x, y, z] of a rule."""
        parent, *children = self.grammar.rules[rule].tolist()
        shape = (self.size[parent], *(1 if child == NONE else self.size[child] for child in children))
        table = np.zeros(shape)
        for place in np.ndindex(*shape):
            table[place] = cell(self.forest, self.triples, rule, *place)
        return table


def sparse_specimen(seed: int) -> Specimen:
    rng = np.random.default_rng(100 + seed)
    grammar, theta, emissions = example(seed, words=WORDS, most=40)
    size = np.array([1, 2, 3, 1, 2, 2])
    weights = weights_of(grammar, random_tensors(grammar, size, rng), rng.random((WORDS, 4)), size)
    return Specimen(grammar, full_forest(grammar, theta, emissions), weights, size, weights)


def multiscale_specimen(seed: int) -> Specimen:
    rng = np.random.default_rng(200 + seed)
    grammar, theta, emissions = example(seed, words=WORDS, most=12)
    size = np.array([1, 2, 4, 1, 2, 2])
    trees = tree_sizes(size)
    blocks = sparse(Layout(grammar, trees), random_tensors(grammar, trees, rng))
    lengths = np.tile(size[grammar.first_tag :], WORDS)
    weights = MultiScale(with_entries(blocks, rng.random(int(lengths.sum())), lengths))
    forest = full_forest(grammar, theta, emissions)
    return Specimen(grammar, forest, weights, size, expanded(Layout(grammar, size), weights))


def factored_specimen(seed: int) -> Specimen:
    one = factored.example(seed, (WORDS,), concepts=2, most=30)
    return Specimen(one.grammar, one.forest, one.weights, one.width, factored.written_out(one)[1])


SPECIMENS: dict[type, Callable[[int], Specimen]] = {
    Sparse: sparse_specimen,
    MultiScale: multiscale_specimen,
    Factored: factored_specimen,
}
every_form = pytest.mark.parametrize("form", SPECIMENS, ids=lambda form: form.__name__)
every_seed = pytest.mark.parametrize("seed", SEEDS)


def test_every_form_that_is_registered_is_here() -> None:
    assert {*SPECIMENS} == {form for form in _FORMS if form.__module__.startswith("latree.")}


def numbers_of(weights: Any) -> Iterator[Floats]:
    """The arrays of numbers among weights or statistics; what is whole numbers says where they stand."""
    for part in weights:
        if isinstance(part, tuple):
            yield from numbers_of(part)
        elif part.dtype == np.float64:
            yield part


def statistics_of(weights: Any) -> Any:
    """Statistics of no mass."""
    made = deepcopy(weights)
    for part in numbers_of(made):
        part[...] = 0.0
    return made


def without_room(weights: Any) -> Any:
    """Statistics that have no room for anything."""
    parts = (
        without_room(part)
        if isinstance(part, tuple)
        else np.zeros((0,) * part.ndim)
        if part.dtype == np.float64
        else part
        for part in weights
    )
    return type(weights)(*parts)


# -- one rule


class Readings(NamedTuple):
    """What each port of a rule reads, given the messages at the others."""

    up: Floats
    to_left: Floats
    to_right: Floats
    share: Floats


def read(one: Specimen, rule: int, parent: Floats, left: Floats, right: Floats) -> Readings:
    rules, form = np.full(parent.shape[1], rule, np.int32), _FORMS[type(one.weights)]
    made = Readings(np.zeros_like(parent), np.zeros_like(left), np.zeros_like(right), np.zeros(len(rules)))
    widest = max(len(parent), len(left), len(right))
    room = np.full(form["room"](one.weights, widest) * len(rules), np.nan)
    form["up"](one.weights, rules, left, right, made.up, room)
    edges = Edges(rules, parent, left, right, np.ones(len(rules)), made.to_left, made.to_right, made.share, room)
    form["down"](one.weights, edges, statistics_of(one.weights))
    return made


def messages(one: Specimen, rule: int, rng: np.random.Generator, columns: int = LANES) -> list[Floats]:
    """Random ones for the three ports; a port without an item has one row of ones."""
    symbols = one.grammar.rules[rule].tolist()
    return [np.ones((1, columns)) if s == NONE else rng.random((int(one.size[s]), columns)) for s in symbols]


@every_form
@every_seed
def test_a_rule_is_its_tensor(form: type, seed: int) -> None:
    """Whichever port is the hole, and the three holes agree on what all plugged in come to."""
    one, rng = SPECIMENS[form](seed), np.random.default_rng(seed)
    for rule, (_, _, last) in enumerate(one.grammar.rules.tolist()):
        parent, left, right = messages(one, rule, rng)
        tensor, found = one.tensor(rule), read(one, rule, parent, left, right)
        np.testing.assert_allclose(found.up, np.einsum("xyz,ym,zm->xm", tensor, left, right), atol=1e-12)
        np.testing.assert_allclose(found.to_left, np.einsum("xyz,xm,zm->ym", tensor, parent, right), atol=1e-12)
        np.testing.assert_allclose(found.share, (found.up * parent).sum(0), atol=1e-12)
        np.testing.assert_allclose(found.share, (found.to_left * left).sum(0), atol=1e-12)
        if last != NONE:
            np.testing.assert_allclose(found.to_right, np.einsum("xyz,xm,ym->zm", tensor, parent, left), atol=1e-12)
            np.testing.assert_allclose(found.share, (found.to_right * right).sum(0), atol=1e-12)


@every_form
@pytest.mark.parametrize("port", range(3))
def test_a_rule_is_linear_in_each_port(form: type, port: int) -> None:
    one, rng = SPECIMENS[form](1), np.random.default_rng(port)
    for rule, symbols in enumerate(one.grammar.rules.tolist()):
        if symbols[port] == NONE:
            continue
        first, second = (messages(one, rule, rng) for _ in range(2))
        second = [second[k] if k == port else message for k, message in enumerate(first)]
        mixed = [2.0 * a + 3.0 * b if k == port else a for k, (a, b) in enumerate(zip(first, second, strict=True))]
        a, b, both = (read(one, rule, *plugged) for plugged in (first, second, mixed))
        for k, (of_a, of_b, of_both) in enumerate(zip(a, b, both, strict=True)):
            if k != port and (k == 3 or symbols[k] != NONE):  # a hole does not see what lies at its own port
                np.testing.assert_allclose(of_both, 2.0 * of_a + 3.0 * of_b, atol=1e-12)


# -- forests


@every_form
@every_seed
def test_sweeps_equal_brute_force(form: type, seed: int) -> None:
    """Every derivation, with every subtype of every item."""
    one = SPECIMENS[form](seed)
    stats = statistics_of(one.weights)
    found = infer(one.forest, one.weights, stats, one.size)
    sets = all_edge_sets(one.forest, int(one.forest.root[0]))
    masses = [sum(subtype_weights(one.forest, one.triples, one.size, edges)) for edges in sets]
    assert found.log_z[0] == pytest.approx(np.log(sum(masses)))
    posterior = np.zeros(len(one.forest.rule))
    for edges, mass in zip(sets, masses, strict=True):
        posterior[edges] += mass / sum(masses)
    ruled = one.forest.rule != PASS
    np.testing.assert_allclose(found.posterior[ruled], posterior[ruled], atol=1e-12)
    alone = infer(one.forest, one.weights, without_room(one.weights), one.size)
    np.testing.assert_allclose(alone.posterior, found.posterior, atol=1e-12)


@every_form
@every_seed
def test_expectations_are_the_gradient(form: type, seed: int) -> None:
    """d log Z / d log theta = E[count], by central differences."""
    one, step = SPECIMENS[form](seed), 1e-5
    stats = statistics_of(one.weights)
    infer(one.forest, one.weights, stats, one.size)
    for parameters, counts in zip(numbers_of(one.weights), numbers_of(stats), strict=True):
        flat, expected = parameters.reshape(-1), counts.reshape(-1)  # views
        assert (expected[flat == 0] == 0).all()
        for k in np.flatnonzero(flat)[::5].tolist():
            value, sums = flat[k], []
            for sign in (1, -1):
                flat[k] = value * np.exp(sign * step)
                sums.append(inside_only(one.forest, one.weights, one.size)[0][0])
            flat[k] = value
            assert (sums[0] - sums[1]) / (2 * step) == pytest.approx(expected[k], rel=1e-5, abs=1e-8)


@every_form
def test_scales_hold_what_floats_cannot(form: type) -> None:
    """Words of 1e-200: the product of three is far below the smallest float."""
    one = SPECIMENS[form](2)
    plain, _ = inside_only(one.forest, one.weights, one.size)
    *_, entries = numbers_of(one.weights)
    entries *= 1e-200
    tiny, _ = inside_only(one.forest, one.weights, one.size)
    assert tiny[0] - plain[0] == pytest.approx(WORDS * np.log(1e-200))
