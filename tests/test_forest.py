"""Forests: trees in, trees out, and the order that inference relies on."""

from __future__ import annotations

import math

import numpy as np
import pytest

from latree.arrays import NONE, Floats, hold_all, is_among
from latree.inference.chart import fill_chart
from latree.inference.chart_grammar import chart_grammar
from latree.inference.derivations import Derivations
from latree.inference.forest import (
    PASS,
    Forest,
    L,
    P,
    Piece,
    R,
    UnknownRuleError,
    anchors,
    anchors_of_piece,
    assemble,
    from_trees,
    restrict,
    share,
    trim,
)
from latree.inference.grammar import Grammar
from latree.inference.kbest import k_best
from latree.inference.prune import prune, rule_finder
from latree.inference.sweep import inside_only
from latree.text.binary import Node
from tests.enumerate import PHRASES, ROOT, TAGS, derivations, shape, weights_of
from tests.forests import all_edge_sets
from tests.grammars import SEEDS, example, full_forest, ones
from tests.searches import bare_parser, full_search


def entries(grammar: Grammar, words: int) -> list[dict[int, int]]:
    """Every tag for every word, numbered as the chart numbers them."""
    tags = len(grammar.tags)
    return [{grammar.first_tag + t: i * tags + t for t in range(tags)} for i in range(words)]


def packed(grammar: Grammar, trees: list[Node], words: int) -> Forest:
    count = words * len(grammar.tags)
    return assemble([from_trees(grammar, trees, entries(grammar, words), count)], len(grammar.rules))


def log_z(grammar: Grammar, theta: Floats, emissions: Floats, forest: Forest) -> float:
    weights = weights_of(grammar, theta, emissions, ones(grammar))
    return float(inside_only(forest, weights, ones(grammar))[0][0])


def shapes(grammar: Grammar, forest: Forest, words: int) -> set[str]:
    """Every tree of a forest."""
    names = [f"w{i}" for i in range(words)]
    sets = all_edge_sets(forest, int(forest.root[0]))
    return trees_of(grammar, forest, sets, names)


def trees_of(grammar: Grammar, forest: Forest, sets: list[list[int]], words: list[str]) -> set[str]:
    shared = Derivations.of(forest, sets)
    return {str(shared.trees(grammar, root, words)[0]) for root in shared.root.tolist()}


# -- from trees


@pytest.mark.parametrize("seed", SEEDS)
def test_one_tree_is_one_derivation_of_its_own_weight(seed: int) -> None:
    grammar, theta, emissions = example(seed)
    for one in derivations(grammar, theta, emissions)[::10]:
        forest = packed(grammar, [one.tree], len(emissions))
        assert len(all_edge_sets(forest, int(forest.root[0]))) == 1
        assert shapes(grammar, forest, len(emissions)) == {shape(one.tree)}
        assert log_z(grammar, theta, emissions, forest) == pytest.approx(math.log(one.weight))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_union_of_a_k_best_list_holds_all_its_trees(seed: int) -> None:
    grammar, theta, emissions = example(seed)
    listed = sorted(derivations(grammar, theta, emissions), key=lambda d: -d.weight)[:10]
    forest = packed(grammar, [d.tree for d in listed], len(emissions))
    every = shapes(grammar, forest, len(emissions))
    assert {shape(d.tree) for d in listed} <= every <= shapes(grammar, full_forest(grammar, theta, emissions), 4)
    # Packing shares parts: a tree of the forest is made of pieces of the list, and each only once.
    assert len(every) == len(all_edge_sets(forest, int(forest.root[0])))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_union_of_all_trees_has_the_sum_of_all(seed: int) -> None:
    grammar, theta, emissions = example(seed)
    found = derivations(grammar, theta, emissions)
    forest = packed(grammar, [d.tree for d in found] * 2, len(emissions))
    assert log_z(grammar, theta, emissions, forest) == pytest.approx(math.log(sum(d.weight for d in found)))


def test_a_deep_tree_is_no_matter() -> None:
    a, s = PHRASES[0], TAGS[0]
    node = Node(s, word="w")
    for _ in range(3000):
        node = Node(a, Node(s, word="w"), node)
    grammar = Grammar((ROOT, *PHRASES, *TAGS), np.array([(1, 4, 1), (1, 4, 4), (0, 1, NONE)], np.int32), 0)
    theta, emissions = np.array([0.5, 0.25, 0.125]), np.full((3001, 2), 0.1)
    forest = packed(grammar, [Node(ROOT, node)], 3001)
    expected = 2999 * math.log(0.5) + math.log(0.25 * 0.125) + 3001 * math.log(0.1)
    assert log_z(grammar, theta, emissions, forest) == pytest.approx(expected)


def test_unknown_rules_and_tags_are_named() -> None:
    a, b, s, t = PHRASES[0], PHRASES[1], TAGS[0], TAGS[1]
    grammar = Grammar((ROOT, a, b, s, t), np.array([(1, 3, 4), (0, 1, NONE)], np.int32), 1)
    tags = [{3: 0, 4: 1}, {3: 2}]

    def pack(tree: Node) -> Piece:
        return from_trees(grammar, [tree], tags, 4)

    first, second = Node(s, word="old"), Node(s, word="men")
    with pytest.raises(UnknownRuleError, match=r"^no rule A -> s s$"):
        pack(Node(ROOT, Node(a, first, second)))
    with pytest.raises(UnknownRuleError, match=r"^no rule B -> s$"):
        pack(Node(ROOT, Node(b, first)))
    with pytest.raises(UnknownRuleError, match=r"^'men' cannot be tagged t$"):
        pack(Node(ROOT, Node(a, first, Node(t, word="men"))))
    with pytest.raises(UnknownRuleError, match=r"^'old' cannot be tagged B$"):
        pack(Node(ROOT, Node(a, Node(b, word="old"), second)))


# -- trim


def piece_of(rows: list[tuple[int, int, int, int]], symbols: list[int]) -> Piece:
    """From (rule, parent, left, right) rows."""
    table = np.array(rows, np.int32).reshape(-1, 4)
    span = np.tile(np.array([[0, 1]], np.int32), (len(symbols), 1))
    return Piece(table[:, 0].copy(), table[:, 1:].copy(), np.array(symbols, np.int32), span, 7)


def test_trim_drops_what_cannot_be_built_and_what_is_not_reached() -> None:
    # 0 a word; 1 is built from it; 2 is built and not reached; 3 has no edge, and so 4 is not built; 5 is the root.
    rows = [(9, 0, -1, -1), (1, 1, 0, -1), (2, 2, 0, -1), (3, 4, 3, 0), (4, 5, 1, -1), (5, 5, 4, -1), (6, 5, 1, 3)]
    trimmed = trim(piece_of(rows, [4, 1, 2, 3, 1, 0]))
    assert trimmed.rule.tolist() == [9, 1, 4]
    assert trimmed.ends.tolist() == [[0, -1, -1], [1, 0, -1], [2, 1, -1]]
    assert trimmed.symbol.tolist() == [4, 1, 0]
    assert len(trimmed.span) == 3
    assert trimmed.entries == 7


def test_trim_leaves_nothing_where_the_root_is_not_built() -> None:
    trimmed = trim(piece_of([(9, 0, -1, -1), (1, 2, 1, 0)], [4, 1, 0]))
    assert len(trimmed.rule) == len(trimmed.symbol) == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_every_edge_of_a_pruned_forest_is_in_some_derivation(seed: int) -> None:
    grammar, theta, emissions = example(seed)
    model = bare_parser(grammar, theta)
    piece = model.prune(fill_chart(model.chart, emissions), 0.02)
    assert len(piece.rule) > 0
    forest = assemble([piece], len(grammar.rules))
    used = {edge for edges in all_edge_sets(forest, int(forest.root[0])) for edge in edges}
    assert used == set(range(len(forest.rule)))


# -- assemble


def batch() -> tuple[Grammar, list[Piece]]:
    """Several sentences over one grammar, as pieces."""
    grammar, theta, emissions = example(2)
    model = bare_parser(grammar, theta)
    charts = [fill_chart(model.chart, emissions[:n] * k) for k, n in ((1, 4), (0.5, 3), (0.7, 4), (1, 2))]
    pieces = [model.prune(chart, 0.0) for chart in charts if np.isfinite(chart.log_z)]
    assert len(pieces) >= 3
    return grammar, pieces


def test_children_come_on_lower_levels() -> None:
    grammar, pieces = batch()
    forest = assemble(pieces, len(grammar.rules))
    level = np.searchsorted(forest.layer, np.arange(len(forest.symbol)), side="right") - 1
    assert forest.layer[0] == forest.level[0] == forest.group[0] == 0
    assert forest.layer[-1] == len(forest.symbol)
    assert forest.level[-1] == len(forest.group) - 1
    assert forest.group[-1] == len(forest.rule)
    for port in (L, R):
        there = forest.ends[:, port] >= 0
        assert (level[forest.ends[there, port]] < level[forest.ends[there, P]]).all()
    # The edges of a level are those into its items.
    first_edge = forest.group[forest.level]
    edge_level = np.searchsorted(first_edge, np.arange(len(forest.rule)), side="right") - 1
    assert (edge_level == level[forest.ends[:, P]]).all()


def test_a_group_has_one_rule_and_one_symbol_a_port() -> None:
    grammar, pieces = batch()
    forest = assemble(pieces, len(grammar.rules))
    symbol = np.append(forest.symbol, NONE)
    runs = list(zip(forest.group[:-1], forest.group[1:], strict=True))
    assert any(hi - lo > 1 for lo, hi in runs)
    assert (forest.rule == PASS).any()
    for lo, hi in runs:
        rules = set(forest.rule[lo:hi].tolist())
        assert len(rules) == 1 or min(rules) >= len(grammar.rules)  # lexical entries of one tag
        assert len({tuple(row) for row in symbol[forest.ends[lo:hi]]}) == 1


def test_pieces_keep_their_order_and_their_own_entries() -> None:
    grammar, pieces = batch()
    rules = len(grammar.rules)
    forest = assemble(pieces, rules)
    assert forest.sentence[forest.root].tolist() == list(range(len(pieces)))
    assert (forest.symbol[forest.root] == 0).all()
    shift = 0
    for k, piece in enumerate(pieces):
        inside = forest.sentence[forest.ends[:, P]] == k
        assert sorted(forest.rule[inside]) == sorted(np.where(piece.rule >= rules, piece.rule + shift, piece.rule))
        assert (forest.sentence[forest.ends[inside, L]] == k)[forest.ends[inside, L] >= 0].all()
        items = forest.sentence == k
        have = zip(forest.symbol[items].tolist(), forest.span[items].tolist(), strict=True)
        assert sorted(have) == sorted(zip(piece.symbol.tolist(), piece.span.tolist(), strict=True))
        shift += piece.entries


def test_together_as_alone() -> None:
    grammar, pieces = batch()
    together = assemble(pieces, len(grammar.rules))
    for k, piece in enumerate(pieces):
        alone = assemble([piece], len(grammar.rules))
        words = int(piece.span.max())
        names = [f"w{i}" for i in range(words)]
        every = all_edge_sets(together, int(together.root[k]))
        found = trees_of(grammar, together, every, names)
        assert found == shapes(grammar, alone, words)


def test_a_sentence_without_derivations_has_no_root() -> None:
    grammar, pieces = batch()
    empty = trim(piece_of([(9, 0, -1, -1), (1, 2, 1, 0)], [4, 1, 0]))
    forest = assemble([empty, pieces[0], empty, pieces[1], empty], len(grammar.rules))
    assert (forest.root < 0).tolist() == [True, False, True, False, True]
    assert forest.sentence[forest.root[[1, 3]]].tolist() == [1, 3]


# -- parts of a forest


@pytest.mark.parametrize("seed", SEEDS)
def test_derivations_share_what_they_have_in_common(seed: int) -> None:
    grammar, theta, emissions = example(seed)
    search = full_search(grammar, theta, emissions)
    listed = k_best(search.forest, search.scores("viterbi"), 10)
    lists = [edges for _, edges in listed]
    shared = Derivations.of(search.forest, [*lists, [], lists[0]])
    assert len(shared.edge) < sum(map(len, lists))
    assert shared.root[-2:].tolist() == [NONE, shared.root[0]]
    assert len(set(zip(shared.edge.tolist(), *shared.below.T.tolist(), strict=True))) == len(shared.edge)
    weights = weights_of(grammar, theta, emissions, ones(grammar))
    log_weights, _ = inside_only(shared.as_forest(), weights, ones(grammar))
    np.testing.assert_allclose(log_weights, [*(score for score, _ in listed), -np.inf, listed[0][0]])
    found = search.weighed(lists)
    assert [one.edges for one in found] == lists
    np.testing.assert_allclose([one.log_weight for one in found], log_weights[:-2])


@pytest.mark.parametrize("seed", SEEDS)
def test_restricting_leaves_the_derivations_of_kept_edges(seed: int) -> None:
    forest = full_forest(*example(seed))
    every = all_edge_sets(forest, int(forest.root[0]))
    keep = np.random.default_rng(seed).random(len(forest.rule)) < 0.8
    keep[every[0]] = True
    part = restrict(forest, keep)
    left = [edges for edges in every if keep[edges].all()]
    assert len(all_edge_sets(part, int(part.root[0]))) == len(left) < len(every)
    assert sorted(part.rule) == sorted(forest.rule[sorted({edge for edges in left for edge in edges})])
    assert restrict(forest, np.zeros(len(keep), np.bool_)).root.tolist() == [NONE]


@pytest.mark.parametrize("seed", SEEDS)
def test_shared_subtrees_keep_the_sums(seed: int) -> None:
    """The same words in every tree: each distinct subtree is one item, and each tree still has its own weight."""
    grammar, theta, emissions = example(seed)
    found = derivations(grammar, theta, emissions)[::3]
    pieces = [from_trees(grammar, [d.tree], entries(grammar, 4)) for d in found]
    forest = assemble(pieces, len(grammar.rules))
    shared = share(forest)
    assert len(shared.symbol) < len(forest.symbol)
    weights = weights_of(grammar, theta, emissions, ones(grammar))
    result = inside_only(shared, weights, ones(grammar))[0]
    np.testing.assert_allclose(result, [math.log(d.weight) for d in found])


@pytest.mark.parametrize("seed", SEEDS[:5])
def test_a_piece_has_the_anchors_of_its_forest(seed: int) -> None:
    grammar, theta, emissions = example(seed)
    piece = prune(fill_chart(chart_grammar(grammar, theta), emissions), rule_finder(grammar, theta), 0.0)
    alone, after = anchors_of_piece(piece, 5), anchors(assemble([piece], len(grammar.rules)), 5)
    assert sorted(alone.tolist()) == sorted(after.tolist())


def test_what_is_among_few_is_what_numpy_finds() -> None:
    rng = np.random.default_rng(0)
    for few in (0, 1, 7, 60):
        values, wanted = rng.integers(0, 50, 200), rng.integers(0, 50, few)
        assert (is_among(values, wanted) == np.isin(values, wanted)).all()


def test_values_hold_all_of_few_where_none_is_missing() -> None:
    values = np.array([5, 3, 3, 9])
    for few, all_there in (([], True), ([3], True), ([9, 3, 5], True), ([3, 4], False), ([10], False)):
        assert hold_all(values, np.array(few, np.int64)) == all_there
    assert not hold_all(values[:0], values)
