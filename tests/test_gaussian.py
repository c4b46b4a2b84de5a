"""Gaussian mixtures against brute force: every derivation, every choice of components, one integral at a time."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import pytest
from scipy.special import logsumexp

from latree.arrays import NONE, Floats, Ints
from latree.inference.chart import fill_chart
from latree.inference.chart_grammar import chart_grammar
from latree.inference.forest import PASS, Forest, L, P, Piece, R, assemble, from_trees, restrict
from latree.inference.forms.sparse import zeros_like as no_counts
from latree.inference.gaussian.limits import NO_LIMIT, ComponentLimit, _keep_heaviest, how_many_kept
from latree.inference.gaussian.mixtures import Mixtures, components, no_statistics, zeros_like
from latree.inference.gaussian.overlaps import exponentials
from latree.inference.gaussian.slots import slot_forest
from latree.inference.gaussian.sweeps import _both_sweeps, _Limits, gaussian_infer, gaussian_log_z
from latree.inference.grammar import Grammar
from latree.inference.prune import prune, rule_finder
from latree.inference.subtypes import Layout
from latree.inference.sweep import infer
from latree.inference.trellis import chain_rules, gold_chain
from latree.text.binary import Node, Symbol
from tests.enumerate import weights_of
from tests.forests import all_edge_sets, edge_rules
from tests.grammars import SEEDS, example, full_forest, random_tensors, tag_grammar
from tests.mixtures import CASES, Case, case_of, tree_case

SHAPES = [(1, 1), (2, 2), (2, 1), (3, 3), (3, 1)]  # dimensions of a vector, and of its spread: diagonal or spherical


# -- the oracle


def log_integral(weights: Mixtures, slots: tuple[int, ...]) -> float:
    """The log of the integral of a product of any number of Gaussians, by their natural parameters."""
    mean = weights.mean[list(slots)]
    var = np.broadcast_to(np.exp(2 * weights.log_sd[list(slots)]), mean.shape)
    precision, force = (1 / var).sum(0), (mean / var).sum(0)
    constant = (mean**2 / var + np.log(2 * np.pi * var)).sum(0)
    return float(0.5 * (np.log(2 * np.pi / precision) + force**2 / precision - constant).sum())


def meeting_points(forest: Forest, edges: list[int]) -> list[list[tuple[int, int]]]:
    """The latent vectors of one derivation: for each, the (edge, port) whose Gaussians meet in it.

    A vector belongs to an item, and to those above it that hand it on: through PASS, or through a word of a lattice.
    """
    vector: dict[int, int] = {}
    met: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for e in sorted(edges):  # children first
        parent, left, right = (int(i) for i in forest.ends[e])
        hands_on = left >= 0 and (forest.rule[e] == PASS or forest.rule[e] >= forest.rules)
        vector[parent] = vector[left] if hands_on else parent
        if forest.rule[e] == PASS:
            continue
        if forest.symbol[parent] != 0:
            met[vector[parent]].append((e, P))
        if not hands_on:
            for port, child in ((L, left), (R, right)):
                if child >= 0:
                    met[vector[child]].append((e, port))
    return list(met.values())


def component_weights(case: Case, edges: list[int]) -> Iterator[tuple[list[int], float]]:
    """Every choice of a component for every rule of a derivation, with its weight."""
    rule = edge_rules(case.forest, case.entry_rule)
    ruled = [e for e in edges if rule[e] != PASS]
    points, known = meeting_points(case.forest, edges), dict[tuple[int, ...], float]()
    for choice in itertools.product(*(range(*case.parts.first[[rule[e], rule[e] + 1]]) for e in ruled)):
        component = dict(zip(ruled, choice, strict=True))
        weight = math.exp(sum(case.weights.log_rho[c] for c in choice))
        for point in points:
            slots = tuple(int(case.parts.slot[component[e], port]) for e, port in point)
            if slots not in known:
                known[slots] = math.exp(log_integral(case.weights, slots))
            weight *= known[slots]
        yield list(choice), weight


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("seed", SEEDS)
def test_sweeps_equal_enumeration(kind: str, seed: int, shape: tuple[int, int]) -> None:
    case = CASES[kind](seed, shape, most=2)
    result = gaussian_infer(case.slots, case.parts, case.weights)
    total, posterior, count = 0.0, np.zeros(len(case.forest.rule)), np.zeros_like(case.weights.log_rho)
    for edges in all_edge_sets(case.forest, int(case.forest.root[0])):
        for choice, weight in component_weights(case, edges):
            total += weight
            posterior[edges] += weight
            np.add.at(count, choice, weight)
    assert result.log_z[0] == pytest.approx(math.log(total))
    posterior[case.forest.rule == PASS] = 0.0
    np.testing.assert_allclose(result.posterior, posterior / total, atol=1e-12)
    np.testing.assert_allclose(result.gradient.log_rho, count / total, atol=1e-12)


def test_cases_have_what_they_should() -> None:
    """Levels of unary rules, edges of one rule that differ in their split point, and rules of unlike sizes."""
    forests = [tree_case(seed).forest for seed in SEEDS]
    assert any((forest.rule == PASS).any() for forest in forests)
    split = [np.unique(np.column_stack([f.rule, f.ends[:, P]]), axis=0, return_counts=True)[1] for f in forests]
    assert any((counts > 1).any() for counts in split)
    assert all(len(set(tree_case(seed).parts.size)) == 3 for seed in SEEDS)


# -- gradients


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", CASES)
def test_gradient_equals_finite_differences(kind: str, shape: tuple[int, int]) -> None:
    seed = SHAPES.index(shape)
    case = CASES[kind](seed, shape, most=6, words=4)
    slots = case.slots
    gradient = gaussian_infer(slots, case.parts, case.weights).gradient
    rng, step = np.random.default_rng(seed), 1e-5
    for name, values in case.weights._asdict().items():
        moves = np.argwhere(np.abs(getattr(gradient, name)) > 1e-6)
        for at in map(tuple, rng.permutation(moves)[:40]):
            both = []
            for sign in (1, -1):
                moved = values.copy()
                moved[at] += sign * step
                both.append(gaussian_log_z(slots, case.parts, case.weights._replace(**{name: moved}))[0])
            slope = (both[0] - both[1]) / (2 * step)
            assert getattr(gradient, name)[at] == pytest.approx(slope, rel=1e-5, abs=1e-8), (name, at)


@pytest.mark.parametrize("kind", CASES)
def test_what_no_derivation_uses_has_no_gradient(kind: str) -> None:
    """Moving everything whose gradient is nought leaves log Z as it was."""
    case = CASES[kind](0)
    case = case._replace(forest=_one_derivation(case.forest))
    result = gaussian_infer(case.slots, case.parts, case.weights)
    idle = [part == 0 for part in result.gradient]
    assert all(part.any() and not part.all() for part in idle)
    moved = Mixtures(*(np.where(still, part + 0.5, part) for still, part in zip(idle, case.weights, strict=True)))
    assert gaussian_log_z(case.slots, case.parts, moved)[0] == pytest.approx(result.log_z[0], abs=1e-12)


def _one_derivation(forest: Forest) -> Forest:
    keep = np.zeros(len(forest.rule), bool)
    keep[all_edge_sets(forest, int(forest.root[0]))[0]] = True
    return restrict(forest, keep)


@pytest.mark.parametrize("kind", CASES)
def test_statistics_add_up_and_may_be_left_out(kind: str) -> None:
    case = CASES[kind](1)
    once = gaussian_infer(case.slots, case.parts, case.weights)
    twice = gaussian_infer(case.slots, case.parts, case.weights, Mixtures(*(part.copy() for part in once.gradient)))
    for one, two in zip(once.gradient, twice.gradient, strict=True):
        np.testing.assert_allclose(two, 2 * one)
    alone = gaussian_infer(case.slots, case.parts, case.weights, no_statistics(case.weights))
    np.testing.assert_array_equal(alone.log_z, once.log_z)
    np.testing.assert_array_equal(alone.posterior, once.posterior)
    np.testing.assert_array_equal(gaussian_log_z(case.slots, case.parts, case.weights), once.log_z)
    assert sum(part.size for part in alone.gradient) == 0


# -- other models, other methods


def density(grid: Floats, weights: Mixtures, slot: int) -> Floats:
    """N(x | mean, var) on a grid of one dimension."""
    sd = float(np.exp(weights.log_sd[slot, 0]))
    return np.asarray(np.exp(-0.5 * ((grid - weights.mean[slot, 0]) / sd) ** 2) / (sd * math.sqrt(2 * math.pi)))


def weight_function(case: Case, rule: int, grid: Floats) -> Floats:
    """W_r (eqn 4) at every point of a grid over the latent vectors that the rule has."""
    total: Floats = np.zeros(())
    for c in range(case.parts.first[rule], case.parts.first[rule + 1]):
        product = np.exp(case.weights.log_rho[c])
        for slot in case.parts.slot[c]:
            if slot != NONE:
                product = np.multiply.outer(product, density(grid, case.weights, slot))
        total = total + product
    return total


def test_sums_equal_integrals_on_a_grid() -> None:
    """S -> A, A -> s t, A -> B, B -> s t: eqn 6 by the trapezoid rule, without a word of components."""
    symbols = (Symbol("root", "S"), *(Symbol("phrase", x) for x in "AB"), *(Symbol("tag", x) for x in "st"))
    a, b, s, t = range(1, 5)
    rules = np.array([(a, s, t), (b, s, t), (0, a, NONE), (a, b, NONE)], np.int32)
    grammar = Grammar(symbols, rules, 1)
    forest = full_forest(grammar, np.ones(4), np.array([[1.0, 0.0], [0.0, 1.0]]))
    case = case_of(grammar, forest, 5, (1, 1))
    grid = np.linspace(-12.0, 12.0, 161)
    step = grid[1] - grid[0]
    a_st, b_st, s_a, a_b = (weight_function(case, r, grid) for r in range(4))
    first, second = (weight_function(case, int(r), grid) for r in case.entry_rule[[0, 3]])
    inside_b = np.einsum("abc,b,c->a", b_st, first, second) * step**2
    by_words = np.einsum("abc,b,c->a", a_st, first, second) * step**2
    by_b = a_b @ inside_b * step
    total = s_a @ (by_words + by_b) * step
    result = gaussian_infer(case.slots, case.parts, case.weights)
    assert result.log_z[0] == pytest.approx(math.log(total), rel=1e-9)
    for rule, mass in ((0, by_words), (1, by_b)):
        posterior = result.posterior[forest.rule == rule]
        assert posterior == pytest.approx([s_a @ mass * step / total], rel=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_narrow_gaussians_are_subtypes(seed: int) -> None:
    """Points far apart are subtypes: the model is then an LVG (section 2.2), but for a constant a latent vector."""
    rng = np.random.default_rng(seed)
    grammar, theta, emissions = example(seed, words=3)
    forest, size = full_forest(grammar, theta, emissions), np.array([1, 2, 3, 1, 2, 2])
    layout = Layout(grammar, size)
    tensors, entries = random_tensors(grammar, size, rng), rng.random((3, 4))
    weights = weights_of(grammar, tensors, entries, size)
    stats = no_counts(weights)
    expected = infer(forest, weights, stats, size)

    tags = np.tile(np.array([4, 5], np.int32), 3)
    cells = [layout.dims[r] for r in range(len(grammar.rules))] + [np.array([size[tag], 1, 1]) for tag in tags]
    parts = components(grammar.rules, tags, np.array([math.prod(cell) for cell in cells]))
    sd, d = 1e-3, 2
    mean = np.zeros((parts.slots, d))
    for rule, cell in enumerate(cells):
        for c, subtypes in enumerate(itertools.product(*map(range, cell)), start=int(parts.first[rule])):
            for port, slot in enumerate(parts.slot[c]):
                if slot != NONE:
                    mean[slot] = subtypes[port]
    overlap = (4 * np.pi * sd**2) ** (-d / 2)  # of a Gaussian with itself; every vector is the parent of one rule
    has_parent = parts.slot[:, P] != NONE
    with np.errstate(divide="ignore"):
        log_rho = np.log(np.append(tensors, entries)) - np.where(has_parent, math.log(overlap), 0.0)
    mixtures = Mixtures(log_rho, mean, np.full((parts.slots, 1), math.log(sd)))
    slots = slot_forest(forest, np.arange(len(tags)) + len(grammar.rules), parts.size)
    found = gaussian_infer(slots, parts, mixtures)
    np.testing.assert_allclose(found.log_z, expected.log_z)
    np.testing.assert_allclose(found.posterior, expected.posterior, atol=1e-12)
    counts = np.zeros(len(tensors))
    counts[weights.place] = stats.value
    np.testing.assert_allclose(found.gradient.log_rho, np.append(counts, stats.entry), atol=1e-12)


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("copies", [2, 3, 5])
def test_components_may_be_split_into_equal_parts(kind: str, copies: int) -> None:
    """One component is as good as several with the same Gaussians that share its weight, however many there are."""
    case = CASES[kind](2)
    whole = gaussian_infer(case.slots, case.parts, case.weights)
    rules, first = case.parts.size, case.parts.first
    rows = np.zeros((len(rules), 3), np.int32)
    rows[:] = np.where(case.parts.slot[first[:-1]] == NONE, NONE, 1)
    parts = components(rows, np.zeros(0, np.int32), rules * copies)
    mean, log_sd = (np.zeros((parts.slots, part.shape[1])) for part in case.weights[1:])
    source = np.repeat(np.arange(first[-1]), copies)
    for port in (P, L, R):
        here = parts.slot[:, port] != NONE
        mean[parts.slot[here, port]] = case.weights.mean[case.parts.slot[source[here], port]]
        log_sd[parts.slot[here, port]] = case.weights.log_sd[case.parts.slot[source[here], port]]
    weights = Mixtures(case.weights.log_rho[source] - math.log(copies), mean, log_sd)
    split = gaussian_infer(slot_forest(case.forest, case.entry_rule, parts.size), parts, weights)
    assert split.log_z[0] == pytest.approx(whole.log_z[0])
    np.testing.assert_allclose(split.posterior, whole.posterior, atol=1e-12)
    together = split.gradient.log_rho.reshape(-1, copies).sum(1)
    np.testing.assert_allclose(together, whole.gradient.log_rho, atol=1e-12)


# -- batches


def test_a_batch_equals_its_sentences() -> None:
    grammar, theta, emissions = example(1, words=4)
    chart, find = chart_grammar(grammar, theta), rule_finder(grammar, theta)
    charts = [fill_chart(chart, emissions[:n]) for n in (4, 2, 3, 4)]
    pieces = [prune(c, find, 0.0) for c in charts if np.isfinite(c.log_z)]
    assert len(pieces) >= 2
    together = case_of(grammar, assemble(pieces, len(grammar.rules)), 1)
    batch = gaussian_infer(together.slots, together.parts, together.weights)
    stats = zeros_like(together.weights)
    for k, piece in enumerate(pieces):
        # All sentences have an even number of entries for each tag, so that words stay the same.
        alone = case_of(grammar, assemble([piece], len(grammar.rules)), 1)
        entry_rule = together.entry_rule[sum(p.entries for p in pieces[:k]) :][: piece.entries]
        slots = slot_forest(alone.forest, entry_rule, alone.parts.size)
        result = gaussian_infer(slots, alone.parts, together.weights, stats)
        assert batch.log_z[k] == pytest.approx(result.log_z[0])
        mine = together.forest.sentence[together.forest.ends[:, P]] == k
        np.testing.assert_allclose(np.sort(batch.posterior[mine]), np.sort(result.posterior), atol=1e-12)
    for name, values in stats._asdict().items():
        np.testing.assert_allclose(getattr(batch.gradient, name), values, atol=1e-12)


def test_a_sentence_without_derivations_leaves_the_others_alone() -> None:
    case = tree_case(1)
    rules = case.forest.rules
    rule, ends, symbol, span = case.forest[:4]
    piece = Piece(rule, ends, symbol, span, len(case.entry_rule))
    nothing = Piece(rule[:0], ends[:0], symbol[:0], span[:0], 0)
    forest = assemble([nothing, piece], rules)
    slots = slot_forest(forest, case.entry_rule, case.parts.size)
    alone = gaussian_infer(case.slots, case.parts, case.weights)
    both = gaussian_infer(slots, case.parts, case.weights)
    assert both.log_z.tolist() == [-np.inf, pytest.approx(alone.log_z[0])]
    np.testing.assert_allclose(both.gradient.mean, alone.gradient.mean, atol=1e-12)


def test_a_word_without_a_rule_has_no_derivation() -> None:
    case = tree_case(1)
    slots = slot_forest(case.forest, np.full_like(case.entry_rule, NONE), case.parts.size)
    result = gaussian_infer(slots, case.parts, case.weights)
    assert result.log_z.tolist() == [-np.inf]
    assert not result.posterior.any()
    assert not any(part.any() for part in result.gradient)


def test_edges_without_a_lexical_rule_are_as_if_they_were_not_there() -> None:
    case = tree_case(1)
    lexical = np.flatnonzero(case.forest.rule >= case.forest.rules)
    found = 0
    for gone in lexical:
        keep = np.arange(len(case.forest.rule)) != gone
        smaller = restrict(case.forest, keep)
        if smaller.root[0] < 0:
            continue
        found += 1
        expected = gaussian_infer(case._replace(forest=smaller).slots, case.parts, case.weights)
        entry_rule = case.entry_rule.copy()
        entry_rule[case.forest.rule[gone] - case.forest.rules] = NONE
        result = gaussian_infer(slot_forest(case.forest, entry_rule, case.parts.size), case.parts, case.weights)
        assert result.log_z[0] == pytest.approx(expected.log_z[0])
        for name, values in result.gradient._asdict().items():
            np.testing.assert_allclose(values, getattr(expected.gradient, name), atol=1e-12)
    assert found > 0


# -- range


def log_overlaps(case: Case, here: Ints, there: Ints) -> Floats:
    """[slots here, slots there] log of the overlap of two Gaussians each."""
    return np.array([[log_integral(case.weights, (int(x), int(y))) for y in there] for x in here])


def parts_of(case: Case, rule: int) -> tuple[Floats, Ints]:
    """log rho and the slots of a rule's components."""
    where = slice(case.parts.first[rule], case.parts.first[rule + 1])
    return case.weights.log_rho[where], case.parts.slot[where]


def test_exponentials() -> None:
    inputs = np.append(np.linspace(-707.0, 709.0, 10001), [-720.0, -np.inf, 720.0, np.inf, np.nan])
    values = inputs.copy()
    exponentials(values, len(values), np.empty(len(values), np.int64))
    np.testing.assert_allclose(values[:-5], np.exp(inputs[:-5]), rtol=1e-13)
    np.testing.assert_array_equal(values[-5:], [0.0, 0.0, np.inf, np.inf, np.nan])


def test_long_sentences_do_not_underflow() -> None:
    """Two hundred words, S -> A, A -> s A, A -> s, against the same recursion in logarithms."""
    root, a, s = Symbol("root", "S"), Symbol("phrase", "A"), Symbol("tag", "s")
    grammar = Grammar((root, a, s), np.array([(1, 2, 1), (0, 1, NONE), (1, 2, NONE)], np.int32), 1)
    n = 200
    node = Node(a, Node(s, word="w"))
    for _ in range(n - 1):
        node = Node(a, Node(s, word="w"), node)
    piece = from_trees(grammar, [Node(root, node)], [{2: i} for i in range(n)], n)
    case = case_of(grammar, assemble([piece], 3), 0)
    case = case._replace(entry_rule=np.full(n, 3), weights=case.weights._replace(log_rho=case.weights.log_rho - 20.0))
    (step, step_slot), (top, top_slot), (end, end_slot), (word, word_slot) = (parts_of(case, r) for r in range(4))
    message = end + logsumexp(log_overlaps(case, end_slot[:, L], word_slot[:, P]) + word, axis=1)
    below = end_slot
    by_word = logsumexp(log_overlaps(case, step_slot[:, L], word_slot[:, P]) + word, axis=1)
    for _ in range(n - 1):
        message = step + by_word + logsumexp(log_overlaps(case, step_slot[:, R], below[:, P]) + message, axis=1)
        below = step_slot
    expected = logsumexp(top + logsumexp(log_overlaps(case, top_slot[:, L], below[:, P]) + message, axis=1))
    assert expected < -6000
    result = gaussian_infer(case.slots, case.parts, case.weights)
    assert result.log_z[0] == pytest.approx(expected)
    counts = np.add.reduceat(result.gradient.log_rho, case.parts.first[:-1])
    np.testing.assert_allclose(counts, [n - 1, 1, 1, n, 0], rtol=1e-9)
    np.testing.assert_allclose(result.posterior, 1.0, rtol=1e-9)


def test_long_tag_sequences_do_not_underflow() -> None:
    """The same for one tag again and again: t -> w t, where the word's Gaussian multiplies the step's."""
    grammar, n = tag_grammar(), 200
    rules = chain_rules(grammar)
    case = case_of(grammar, assemble([gold_chain(rules, [0] * n, [0] * n)], rules.rules), 0, most=2)
    case = case._replace(weights=case.weights._replace(log_rho=case.weights.log_rho - 20.0))
    start, stop, step = (parts_of(case, int(r)) for r in (rules.start[0], rules.stop[0], rules.step[0, 0]))
    word, word_slot = parts_of(case, rules.rules)

    def read(use: Ints, message: Floats, below: Ints) -> Floats:
        """[components of the use] of a message over the components of the rule that makes the rest."""
        return np.array(
            [
                logsumexp(
                    [
                        rho + message[j] + log_integral(case.weights, (int(slot), int(w[P]), int(below[j, P])))
                        for rho, w in zip(word, word_slot, strict=True)
                        for j in range(len(below))
                    ]
                )
                for slot in use
            ]
        )

    message, below = stop
    for _ in range(n - 1):
        message, below = step[0] + read(step[1][:, L], message, below), step[1]
    expected = logsumexp(start[0] + read(start[1][:, L], message, below))
    assert expected < -6000
    result = gaussian_infer(case.slots, case.parts, case.weights)
    assert result.log_z[0] == pytest.approx(expected)
    np.testing.assert_allclose(result.posterior, 1.0, rtol=1e-9)


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("log_rho", np.nan),
        ("log_rho", np.inf),
        ("mean", np.nan),
        ("mean", np.inf),
        ("log_sd", np.nan),
        ("log_sd", np.inf),
    ],
)
def test_parameters_that_are_no_numbers_show(kind: str, name: str, value: float) -> None:
    case = CASES[kind](1)
    used = np.argwhere(getattr(gaussian_infer(case.slots, case.parts, case.weights).gradient, name))
    for at in map(tuple, used[:: max(1, len(used) // 10)]):
        parts = getattr(case.weights, name).copy()
        parts[at] = value
        result = gaussian_infer(case.slots, case.parts, case.weights._replace(**{name: parts}))
        assert not np.isfinite(result.log_z[0])


@pytest.mark.parametrize("kind", CASES)
def test_impossible_components_are_as_if_they_were_not_there(kind: str) -> None:
    """log rho = -inf: the weight is zero, and so is its part in everything."""
    case = CASES[kind](1)
    log_rho = case.weights.log_rho.copy()
    last = case.parts.first[1:] - 1
    log_rho[last[case.parts.size > 1]] = -np.inf
    result = gaussian_infer(case.slots, case.parts, case.weights._replace(log_rho=log_rho))
    faint = gaussian_infer(case.slots, case.parts, case.weights._replace(log_rho=np.maximum(log_rho, -300.0)))
    assert result.log_z[0] == pytest.approx(faint.log_z[0])
    for name, values in result.gradient._asdict().items():
        np.testing.assert_allclose(values, getattr(faint.gradient, name), atol=1e-12)


# -- limits on components

Message = dict[tuple[int, ...], float]  # by the components whose parent slots meet: one, or a word's and one more


def hard(k: int) -> ComponentLimit:
    return ComponentLimit(k, k, 1.0)


def limited_log_z(case: Case, limit: ComponentLimit) -> float:
    """The inside sweep by dictionaries: every message that a rule reads loses its lightest components."""
    forest, rule = case.forest, edge_rules(case.forest, case.entry_rule)
    is_link = (forest.rule == PASS) | ((forest.rule >= forest.rules) & (forest.ends[:, L] >= 0))
    is_read = set(forest.ends[~is_link][:, [L, R]].ravel().tolist())
    messages: list[Message] = []
    for item in range(len(forest.symbol)):
        message: Message = defaultdict(float)
        for e in np.flatnonzero(forest.ends[:, P] == item):
            for key, weight in made_by(case, rule[e], bool(is_link[e]), forest.ends[e, L:].tolist(), messages):
                message[key] += weight
        messages.append(heaviest(case, message, limit) if item in is_read else message)
    return math.log(sum(messages[int(forest.root[0])].values()))


def made_by(
    case: Case, rule: int, is_link: bool, children: list[int], messages: list[Message]
) -> Iterator[tuple[tuple[int, ...], float]]:
    """An edge's part of its parent's message."""
    if rule == PASS:
        yield from messages[children[0]].items()
        return
    for c in range(case.parts.first[rule], case.parts.first[rule + 1]):
        weight = math.exp(case.weights.log_rho[c])
        if is_link:
            yield from (((c, *key), weight * rest) for key, rest in messages[children[0]].items())
            continue
        for port, child in zip((L, R), children, strict=True):
            if child >= 0:
                weight *= sum(w * overlap(case, key, (c, port)) for key, w in messages[child].items())
        yield (c,), weight


def overlap(case: Case, key: tuple[int, ...], *more: tuple[int, int]) -> float:
    """The integral of the Gaussians of components at the parent's port, and of others at another."""
    slots = [case.parts.slot[c, P] for c in key] + [case.parts.slot[c, port] for c, port in more]
    return math.exp(log_integral(case.weights, tuple(map(int, slots))))


def heaviest(case: Case, message: Message, limit: ComponentLimit) -> Message:
    """By the weight of a Gaussian that integrates to one."""
    k = len(message)
    allowed = k if k <= limit.k_min else min(limit.k_min + math.floor(k**limit.theta), limit.k_max)
    order = sorted(message, key=lambda key: message[key] * overlap(case, key), reverse=True)
    return {key: message[key] for key in order[:allowed]}


LIMITS = [hard(1), hard(2), hard(4), ComponentLimit(0, 3, 1.0), ComponentLimit(2, 5, 0.35), ComponentLimit(1, 9, 0.6)]


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_heaviest_components_are_kept(kind: str, seed: int, limit: ComponentLimit) -> None:
    case = CASES[kind](seed)
    found = gaussian_log_z(case.slots, case.parts, case.weights, limit)[0]
    assert found == pytest.approx(limited_log_z(case, limit))
    assert gaussian_infer(case.slots, case.parts, case.weights, limit=limit).log_z[0] == found


@pytest.mark.parametrize("limit", [hard(1000), ComponentLimit(0, 1000, 1.0), ComponentLimit(1000, 2000, 0.35)])
@pytest.mark.parametrize("kind", CASES)
def test_a_limit_beyond_all_messages_changes_nothing(kind: str, limit: ComponentLimit) -> None:
    case = CASES[kind](2, most=6, words=4)
    exact = gaussian_infer(case.slots, case.parts, case.weights)
    found = gaussian_infer(case.slots, case.parts, case.weights, limit=limit)
    np.testing.assert_array_equal(found.log_z, exact.log_z)
    np.testing.assert_array_equal(found.posterior, exact.posterior)
    for name, values in found.gradient._asdict().items():
        np.testing.assert_array_equal(values, getattr(exact.gradient, name))
    np.testing.assert_array_equal(gaussian_log_z(case.slots, case.parts, case.weights, limit), exact.log_z)


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("seed", SEEDS)
def test_limits_only_lose(kind: str, seed: int) -> None:
    """Log Z does not exceed the exact one, and posteriors are those of a probability, if not all of it."""
    case = CASES[kind](seed, most=6, words=4)
    exact = gaussian_log_z(case.slots, case.parts, case.weights)[0]
    found = [gaussian_infer(case.slots, case.parts, case.weights, limit=hard(k)) for k in (1, 3, 9, 27)]
    assert max(one.log_z[0] for one in found) <= exact
    assert found[0].log_z[0] < exact
    assert found[-1].log_z[0] > found[0].log_z[0]
    for one in found:
        assert one.posterior.min() >= 0
        assert one.posterior.max() <= 1 + 1e-12


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("kind", CASES)
def test_with_inside_scores_limited_the_gradient_is_that_of_log_z(kind: str, k: int) -> None:
    case = CASES[kind](k, most=6, words=4)
    slots, limits = case.slots, _Limits(hard(k), NO_LIMIT)
    found = _both_sweeps(slots, case.parts, case.weights, zeros_like(case.weights), limits)
    assert found.log_z[0] < gaussian_log_z(slots, case.parts, case.weights)[0]
    rng, step = np.random.default_rng(k), 1e-5
    for name, values in case.weights._asdict().items():
        slopes = getattr(found.gradient, name)
        for at in map(tuple, rng.permutation(np.argwhere(np.isfinite(slopes)))[:40]):
            both = []
            for sign in (1, -1):
                moved = values.copy()
                moved[at] += sign * step
                both.append(gaussian_log_z(slots, case.parts, case.weights._replace(**{name: moved}), hard(k))[0])
            assert slopes[at] == pytest.approx((both[0] - both[1]) / (2 * step), rel=1e-5, abs=1e-8), (name, at)


@pytest.mark.parametrize("kind", CASES)
def test_outside_scores_are_limited_too(kind: str) -> None:
    """Log Z is none of theirs; what they lose is lost to the posteriors."""
    case = CASES[kind](1, most=6, words=4)
    exact = gaussian_infer(case.slots, case.parts, case.weights)
    limits = _Limits(NO_LIMIT, hard(1))
    found = _both_sweeps(case.slots, case.parts, case.weights, zeros_like(case.weights), limits)
    assert found.log_z[0] == exact.log_z[0]
    assert (found.posterior <= exact.posterior + 1e-12).all()
    assert found.posterior.sum() < exact.posterior.sum() - 0.01


def test_what_is_allowed() -> None:
    """With the constants of the paper, and where the count is just at the threshold."""
    paper = ComponentLimit(40, 50, 0.35)
    assert [how_many_kept(k, paper) for k in (0, 1, 40, 41, 44, 100, 720, 10000)] == [0, 1, 40, 41, 43, 45, 50, 50]
    assert [how_many_kept(k, hard(40)) for k in (3, 40, 41, 500)] == [3, 40, 40, 40]
    assert [how_many_kept(k, ComponentLimit(0, 5, 1.0)) for k in (1, 5, 6)] == [1, 5, 5]
    assert [how_many_kept(k, ComponentLimit(0, 5, 0.0)) for k in (1, 6)] == [1, 1]
    assert how_many_kept(41, ComponentLimit(40, 90, 0.9)) == 41


def test_of_equal_components_the_first_are_kept() -> None:
    weight = np.array([1.0, 3.0, 0.0, 1.0, 2.0, 1.0])
    for k, kept in (
        (1, [1]),
        (2, [1, 4]),
        (3, [0, 1, 4]),
        (4, [0, 1, 3, 4]),
        (5, [0, 1, 3, 4, 5]),
        (6, [0, 1, 3, 4, 5]),
    ):
        coefficient = np.full(6, 7.0)
        coefficient[2] = 0.0
        _keep_heaviest(weight, coefficient, hard(k))
        assert np.flatnonzero(coefficient).tolist() == kept


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("name", ["log_rho", "mean", "log_sd"])
def test_limits_do_not_hide_what_is_no_number(kind: str, name: str) -> None:
    case = CASES[kind](1)
    used = np.argwhere(getattr(gaussian_infer(case.slots, case.parts, case.weights).gradient, name))
    parts = getattr(case.weights, name).copy()
    parts[tuple(used[0])] = np.nan
    weights = case.weights._replace(**{name: parts})
    assert np.isnan(gaussian_infer(case.slots, case.parts, weights, limit=hard(2)).log_z[0])
