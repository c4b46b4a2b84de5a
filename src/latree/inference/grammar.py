"""Symbols and rules as arrays, and how a treebank is counted into them.

Symbols are numbered root first, then phrases and parts, then tags, so that `symbol < first_tag` tells them apart.
A rule is a row (parent, left, right): right is -1 in a unary rule, left and right are -1 in a rule that ends a tag
sequence.  Words have no rules here: P(word | tag) is the lexicon's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from latree.arrays import NONE
from latree.checks import integers, whole_number
from latree.files import Arrays, Header
from latree.text.binary import Node, Symbol, longest_unary_chain

_KIND_ORDER = {"root": 0, "phrase": 1, "part": 2, "tag": 3}
MOST_UNARY_STEPS = 1000  # that a model file may ask for


@dataclass(frozen=True)
class Grammar:
    """The categories and the rules between them, without weights."""

    symbols: tuple[Symbol, ...]
    rules: NDArray[np.int32]  # [rules, 3] parent, left, right
    unary_steps: int  # the most unary rules that may stand on one span, the root's own not counted
    index: dict[Symbol, int] = field(init=False, repr=False, compare=False)
    rule_index: dict[tuple[int, int, int], int] = field(init=False, repr=False, compare=False)
    first_tag: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "index", {symbol: i for i, symbol in enumerate(self.symbols)})
        rows = map(tuple, self.rules.tolist())
        object.__setattr__(self, "rule_index", {row: i for i, row in enumerate(rows)})
        object.__setattr__(self, "first_tag", sum(symbol.kind != "tag" for symbol in self.symbols))

    @classmethod
    def of_file(cls, header: Header, arrays: Arrays) -> Grammar:
        """Take over from a model file, where all that numbers point at is there."""
        symbols = tuple(Symbol.from_json(symbol) for symbol in header["symbols"])
        kinds = [symbol.kind for symbol in symbols]
        tags = kinds.count("tag")
        if kinds[:1] != ["root"] or "root" in kinds[1:] or "tag" in kinds[: len(kinds) - tags] or tags == 0:
            raise ValueError("symbols are not a root, phrases and then tags")
        rules = integers("rules", arrays, (None, 3), NONE, len(symbols))
        if len(rules) == 0 or (rules[:, 0] < 0).any() or (rules[:, 1:] == 0).any():
            raise ValueError("there is no rule, or one without a parent or with the root for a child")
        return cls(symbols, rules.astype(np.int32), whole_number("unary_steps", header, 0, MOST_UNARY_STEPS))

    @property
    def tags(self) -> tuple[Symbol, ...]:
        return self.symbols[self.first_tag :]

    @property
    def tag_index(self) -> dict[Symbol, int]:
        """A tag's place among the tags, as the lexicon numbers them."""
        return {symbol: i for i, symbol in enumerate(self.tags)}

    def describe(self, rule: int) -> str:
        parent, *children = (self.symbols[i] if i >= 0 else None for i in self.rules[rule])
        return f"{parent} -> {' '.join(str(child) for child in children if child is not None)}"


class RuleCounts(NamedTuple):
    """A grammar and how often each of its rules was seen."""

    grammar: Grammar
    counts: NDArray[np.float64]  # [rules]


def inner_nodes(root: Node) -> Iterator[Node]:
    """The nodes that carry a rule: everything above the words' tags."""
    stack = [root]
    while stack:
        node = stack.pop()
        if node.left is None:
            continue
        yield node
        stack.append(node.left)
        if node.right is not None:
            stack.append(node.right)


def tagged_words(root: Node) -> Iterator[tuple[str, Symbol]]:
    """(word, tag symbol) from left to right."""
    stack = [root]
    while stack:
        node = stack.pop()
        if node.word is not None:
            yield node.word, node.symbol
        if node.right is not None:
            stack.append(node.right)
        if node.left is not None:
            stack.append(node.left)


def rule_symbols(node: Node) -> tuple[Symbol, Symbol, Symbol | None]:
    assert node.left is not None
    return node.symbol, node.left.symbol, node.right.symbol if node.right is not None else None


def count_rules(trees: Iterable[Node]) -> RuleCounts:
    """Count every rule of the binarised trees; symbols and rules come out in a fixed order."""
    counts: Counter[tuple[Symbol, Symbol, Symbol | None]] = Counter()
    symbols: set[Symbol] = set()
    steps = 0
    for tree in trees:
        counts.update(map(rule_symbols, inner_nodes(tree)))
        symbols.update(symbol for _, symbol in tagged_words(tree))
        steps = max(steps, longest_unary_chain(tree))
    symbols.update(parent for parent, _, _ in counts)
    return number_rules(symbols, counts, steps)


def number_rules(
    symbols: Iterable[Symbol], counts: Counter[tuple[Symbol, Symbol, Symbol | None]], unary_steps: int
) -> RuleCounts:
    """Fix the numbers of symbols and rules: binary rules first, each sorted by parent, left, right."""
    ordered = tuple(sorted(symbols, key=lambda s: (_KIND_ORDER[s.kind], s)))
    number = {symbol: i for i, symbol in enumerate(ordered)}
    rows = {
        (number[p], number[left], NONE if right is None else number[right]): count
        for (p, left, right), count in counts.items()
    }
    keys = sorted(rows, key=lambda row: (row[2] == NONE, row))
    rules = np.array(keys, np.int32).reshape(-1, 3)
    return RuleCounts(Grammar(ordered, rules, unary_steps), np.array([rows[key] for key in keys], np.float64))


def normalise(rules: NDArray[np.int32], counts: NDArray[np.float64], symbols: int) -> NDArray[np.float64]:
    """Relative frequency given the parent: phi(X -> gamma) = count / sum over gamma' (Petrov 2009, eqn 3)."""
    totals = np.bincount(rules[:, 0], weights=counts, minlength=symbols)
    return np.asarray(counts / totals[rules[:, 0]], np.float64)


def most_frequent_child(grammar: Grammar, weights: Sequence[float] | NDArray[np.float64]) -> Symbol | None:
    """The phrase that most often stands right under the root: the label of a tree of last resort."""
    best: tuple[float, Symbol] | None = None
    for (parent, left, right), weight in zip(grammar.rules.tolist(), weights, strict=True):
        child = grammar.symbols[left]
        if grammar.symbols[parent].kind == "root" and right == NONE and child.kind == "phrase":
            best = max(best, (float(weight), child)) if best else (float(weight), child)
    return best[1] if best else None
