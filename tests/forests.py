"""Forests taken apart: their derivations one by one, over subtypes and over lexical rules."""

from __future__ import annotations

import itertools
import math
from functools import cache, partial

import numpy as np

from latree.arrays import NONE, Longs
from latree.inference.forest import PASS, Forest
from latree.inference.forms.sparse import Sparse


def cell(forest: Forest, weights: Sparse, rule: int, x: int, y: int, z: int) -> float:
    """T[x, y, z] of a rule, or e[x] of a lexical entry."""
    if rule >= forest.rules:
        return float(weights.entry[weights.entry_start[rule - forest.rules] + x])
    row, pairs = weights.rule_row[rule] + x, weights.pair[weights.rule_pair[rule] :]
    cells = range(weights.row[row], weights.row[row + 1])
    return sum(float(weights.value[k]) for k in cells if tuple(pairs[weights.cell_pair[k]]) == (y, z))


def subtype_weights(forest: Forest, weights: Sparse, size: np.ndarray, edges: list[int]) -> list[float]:
    """The weight of one derivation for all subtypes of all its items: no messages, one assignment at a time."""
    place = {NONE: NONE}  # whose subtype an item has: its own, or through PASS that of an item below
    for e in sorted(edges):  # children first
        parent, left, _ = forest.ends[e].tolist()
        place[parent] = place[left] if forest.rule[e] == PASS else parent
    ruled = [e for e in edges if forest.rule[e] != PASS]
    ends = [[place[item] for item in forest.ends[e].tolist()] for e in ruled]
    known = cache(partial(cell, forest, weights))
    items = sorted({item for ports in ends for item in ports} - {NONE})
    found = []
    for choice in itertools.product(*(range(size[forest.symbol[i]]) for i in items)):
        at = dict(zip(items, choice, strict=True)) | {NONE: 0}
        numbers = (known(int(forest.rule[e]), *(at[i] for i in ports)) for e, ports in zip(ruled, ends, strict=True))
        found.append(math.prod(numbers))
    return found


def all_edge_sets(forest: Forest, item: int) -> list[list[int]]:
    """The edges of every derivation below an item."""
    sets = []
    for e in np.flatnonzero(forest.ends[:, 0] == item):
        below = [all_edge_sets(forest, int(i)) for i in forest.ends[e, 1:] if i >= 0]
        sets += [[int(e)] + [x for part in parts for x in part] for parts in itertools.product(*below)]
    return sets


def edge_rules(forest: Forest, entry_rule: Longs) -> list[int]:
    """The rule of every edge, lexical rules included."""
    return [int(r) if r < forest.rules else int(entry_rule[r - forest.rules]) for r in forest.rule]


def two_words(forest: Forest, tags: int) -> Longs:
    """The entries' lexical rules for a vocabulary of two words, which take turns: the third is the first again."""
    entries = int(forest.rule.max()) - forest.rules + 1
    return forest.rules + np.arange(entries) % (2 * tags)
