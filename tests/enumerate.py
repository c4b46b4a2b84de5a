"""The oracle: every derivation of a few words, one by one, with no dynamic programming to get wrong."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from latree.arrays import NONE, Floats, Longs
from latree.inference.forms.sparse import Sparse, sparse, with_words
from latree.inference.grammar import Grammar
from latree.inference.subtypes import Layout
from latree.text.binary import Node, Symbol

ROOT = Symbol("root", "ROOT")
PHRASES = [Symbol("phrase", name) for name in ("A", "B", "C")]
TAGS = [Symbol("tag", name) for name in ("s", "t")]


class Anchored(NamedTuple):
    """A rule over a span (rule NONE: a word under its tag)."""

    rule: int
    start: int
    split: int
    end: int
    symbol: int


class Derivation(NamedTuple):
    tree: Node
    weight: float
    rules: tuple[Anchored, ...]


def random_grammar(
    rng: np.random.Generator, *, unary_steps: int = 2, density: float = 0.15, unary_density: float = 0.2
) -> tuple[Grammar, Floats]:
    """A grammar over three phrases and two tags with some of the possible rules, and a weight for each."""
    symbols = (ROOT, *PHRASES, *TAGS)
    phrases, children = range(1, 4), range(1, 6)
    binary = [(a, b, c) for a in range(4) for b in children for c in children if rng.random() < density]
    unary = [(a, b, NONE) for a in phrases for b in children if a != b and rng.random() < unary_density]
    tops = [(0, b, NONE) for b in children if rng.random() < 0.8] or [(0, 1, NONE)]
    rules = sorted(binary) + sorted(unary + tops)
    return Grammar(symbols, np.array(rules, np.int32), unary_steps), rng.random(len(rules)) * 0.3


def derivations(grammar: Grammar, theta: Floats, emissions: Floats) -> list[Derivation]:
    """All derivations of a sentence given P(word | tag) [words, tags], with the product of their weights."""
    return list(_root(grammar, theta, emissions))


def _word(grammar: Grammar, emissions: Floats, symbol: int, i: int) -> Iterator[Derivation]:
    weight = float(emissions[i, symbol - grammar.first_tag])
    if weight > 0:
        node = Node(grammar.symbols[symbol], None, None, f"w{i}")
        yield Derivation(node, weight, (Anchored(NONE, i, NONE, i + 1, symbol),))


def _binary(grammar: Grammar, theta: Floats, emissions: Floats, symbol: int, i: int, j: int) -> Iterator[Derivation]:
    for r, (a, b, c) in enumerate(grammar.rules.tolist()):
        if a != symbol or c == NONE:
            continue
        for s in range(i + 1, j):
            lefts = list(_top(grammar, theta, emissions, b, i, s))
            rights = list(_top(grammar, theta, emissions, c, s, j))
            for left, right in itertools.product(lefts, rights):
                node = Node(grammar.symbols[a], left.tree, right.tree)
                weight = float(theta[r]) * left.weight * right.weight
                yield Derivation(node, weight, (Anchored(r, i, s, j, a), *left.rules, *right.rules))


def _unary(
    grammar: Grammar, theta: Floats, emissions: Floats, symbol: int, i: int, j: int, steps: int
) -> Iterator[Derivation]:
    for r, (a, b, c) in enumerate(grammar.rules.tolist()):
        if a != symbol or c != NONE:
            continue
        for child in _top(grammar, theta, emissions, b, i, j, steps):
            node = Node(grammar.symbols[a], child.tree)
            yield Derivation(node, float(theta[r]) * child.weight, (Anchored(r, i, NONE, j, a), *child.rules))


def _top(
    grammar: Grammar, theta: Floats, emissions: Floats, symbol: int, i: int, j: int, steps: int | None = None
) -> Iterator[Derivation]:
    """A symbol over a span, built with at most `steps` unary rules on it."""
    steps = grammar.unary_steps if steps is None else steps
    if symbol >= grammar.first_tag:
        if j == i + 1:
            yield from _word(grammar, emissions, symbol, i)
        return
    yield from _binary(grammar, theta, emissions, symbol, i, j)
    if steps > 0:
        yield from _unary(grammar, theta, emissions, symbol, i, j, steps - 1)


def _root(grammar: Grammar, theta: Floats, emissions: Floats) -> Iterator[Derivation]:
    n = len(emissions)
    yield from _binary(grammar, theta, emissions, 0, 0, n)
    yield from _unary(grammar, theta, emissions, 0, 0, n, grammar.unary_steps)


def anchored_posteriors(found: list[Derivation]) -> dict[Anchored, float]:
    """Expected number of each rule over its span."""
    total = math.fsum(d.weight for d in found)
    counts: dict[Anchored, float] = defaultdict(float)
    for derivation in found:
        for rule in derivation.rules:
            counts[rule] += derivation.weight / total
    return dict(counts)


def shape(node: Node) -> str:
    """A tree as a string that tells any two derivations apart."""
    if node.word is not None:
        return f"({node.symbol} {node.word})"
    children = [shape(child) for child in (node.left, node.right) if child is not None]
    return f"({node.symbol} {' '.join(children)})"


def weights_of(grammar: Grammar, theta: Floats, emissions: Floats, size: Longs) -> Sparse:
    """The weights of a forest of words with these emissions, for so many subtypes of each symbol."""
    layout = Layout(grammar, size)
    return with_words(sparse(layout, theta), layout, emissions)
