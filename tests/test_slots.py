"""The slots' view of a forest against plain sets."""

from __future__ import annotations

import numpy as np
import pytest

from latree.arrays import NONE, Longs
from latree.inference.forest import PASS, Forest, L, P, R, assemble
from latree.inference.gaussian.slots import SlotForest, slot_forest
from latree.inference.trellis import chain, chain_rules, fill_trellis, lattice
from tests.forests import edge_rules, two_words
from tests.grammars import SEEDS, TAGS, example, full_forest, random_chain


def tree_slots(seed: int) -> tuple[Forest, Longs, Longs, SlotForest]:
    forest = full_forest(*example(seed))
    entry_rule = two_words(forest, 2)
    size = np.random.default_rng(seed).integers(1, 4, forest.rules + 4)
    return forest, entry_rule, size, slot_forest(forest, entry_rule, size)


def ins_of(slots: SlotForest, item: int) -> list[int]:
    return [int(side) for side in slots.in_side[slots.in_start[item] : slots.in_start[item + 1]]]


def uses_of(slots: SlotForest, item: int) -> list[int]:
    return [int(side) for side in slots.use_side[slots.use_start[item] : slots.use_start[item + 1]]]


@pytest.mark.parametrize("seed", SEEDS)
def test_ins_and_uses_are_the_distinct_rules_around_an_item(seed: int) -> None:
    forest, entry_rule, _, slots = tree_slots(seed)
    rule = edge_rules(forest, entry_rule)
    made: list[set[tuple[int, int]]] = [set() for _ in forest.symbol]
    used: list[set[tuple[int, int]]] = [set() for _ in forest.symbol]
    for e, ends in enumerate(forest.ends.tolist()):  # children first
        if rule[e] == PASS:
            made[ends[P]] |= made[ends[L]]
            continue
        made[ends[P]].add((rule[e], P))
        for port in (L, R):
            if ends[port] >= 0:
                used[ends[port]].add((rule[e], port))
    for item in range(len(forest.symbol)):
        for sides, expected in ((ins_of(slots, item), made[item]), (uses_of(slots, item), used[item])):
            found = [(int(slots.side_rule[s]), int(slots.side_port[s])) for s in sides]
            assert set(found) == expected
            assert len(found) == len(expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_pairs_share_the_block_of_their_rules(seed: int) -> None:
    *_, slots = tree_slots(seed)
    use_of_block = np.repeat(np.arange(len(slots.side_rule)), np.diff(slots.block_start))
    for item in range(len(slots.in_start) - 1):
        pairs = [(use, made) for use in uses_of(slots, item) for made in ins_of(slots, item)]
        blocks = slots.pair_block[slots.pair_start[item] : slots.pair_start[item + 1]]
        assert list(zip(use_of_block[blocks].tolist(), slots.block_in[blocks].tolist(), strict=True)) == pairs
    assert len(set(zip(use_of_block.tolist(), slots.block_in.tolist(), strict=True))) == len(slots.block_in)


@pytest.mark.parametrize("seed", SEEDS)
def test_edges_find_their_in_and_their_uses(seed: int) -> None:
    forest, entry_rule, size, slots = tree_slots(seed)
    rule = edge_rules(forest, entry_rule)
    made = np.repeat(np.arange(len(slots.in_side)), np.diff(slots.edge_start))
    in_item = np.repeat(np.arange(len(forest.symbol)), np.diff(slots.in_start))
    use_item = np.repeat(np.arange(len(forest.symbol)), np.diff(slots.use_start))
    assert sorted(slots.edge.tolist()) == np.flatnonzero(forest.rule != PASS).tolist()
    for i, e, *uses in zip(made, slots.edge, slots.left, slots.right, strict=True):
        assert in_item[i] == forest.ends[e, P]
        assert slots.side_rule[slots.in_side[i]] == rule[e]
        assert slots.in_at[i + 1] - slots.in_at[i] == size[rule[e]]
        for port, use in zip((L, R), uses, strict=True):
            assert (use == NONE) == (forest.ends[e, port] == NONE)
            if use != NONE:
                assert use_item[use] == forest.ends[e, port]
                side = slots.use_side[use]
                assert (slots.side_rule[side], slots.side_port[side]) == (rule[e], port)


def test_entries_without_a_rule_are_left_out() -> None:
    forest, entry_rule, size, whole = tree_slots(1)
    lexical = np.flatnonzero(forest.rule >= forest.rules)
    gone = lexical[0]
    entry_rule[forest.rule[gone] - forest.rules] = NONE
    slots = slot_forest(forest, entry_rule, size)
    assert sorted({*whole.edge.tolist()} - {*slots.edge.tolist()}) == [gone]
    assert not ins_of(slots, int(forest.ends[gone, P]))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_word_in_a_lattice_multiplies_what_follows(seed: int) -> None:
    grammar, theta, emissions = random_chain(seed)
    rules = chain_rules(grammar)
    forest = assemble([lattice(fill_trellis(chain(rules, theta), emissions), rules, 0.0)], len(grammar.rules))
    entry_rule = two_words(forest, TAGS)
    size = np.random.default_rng(seed).integers(1, 4, forest.rules + 2 * TAGS)
    slots = slot_forest(forest, entry_rule, size)
    words = np.flatnonzero(forest.rule >= forest.rules)
    for e in words:
        item, rest = int(forest.ends[e, P]), int(forest.ends[e, L])
        word = edge_rules(forest, entry_rule)[e]
        found = [(slots.side_rule[s], slots.side_word[s]) for s in ins_of(slots, item)]
        assert found == [(slots.side_rule[s], word) for s in ins_of(slots, rest)]
        for i in range(slots.in_start[item], slots.in_start[item + 1]):
            assert slots.in_at[i + 1] - slots.in_at[i] == size[slots.side_rule[slots.in_side[i]]] * size[word]
        assert not uses_of(slots, rest)
    assert sorted({*slots.link_edge.tolist()}) == words.tolist()


def test_the_root_cannot_be_a_child() -> None:
    forest, entry_rule, size, _ = tree_slots(1)
    symbol = forest.symbol.copy()
    symbol[forest.ends[forest.ends[:, R] >= 0, R][0]] = 0
    with pytest.raises(ValueError, match="root"):
        slot_forest(forest._replace(symbol=symbol), entry_rule, size)
