"""Binary trees as integers: what a treebank is while a grammar with subtypes is made ready to learn from it.

Nodes stand behind their children, a right child's behind a left one's, each with the number of its children: that says
all of a tree, in a hundredth of the memory, and is counted and laid out by compiled code.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from latree.arrays import NONE, Ints, Longs, starts
from latree.inference.forest import Piece, UnknownRuleError
from latree.inference.grammar import Grammar, RuleCounts, number_rules
from latree.jit import lean_kernel
from latree.text.binary import Node, Symbol

TREES_AT_ONCE = 10_000  # that are laid out together


@dataclass(frozen=True, eq=False)
class CodedTrees(Iterable[Node]):
    """A treebank; iterating makes its trees anew."""

    symbols: tuple[Symbol, ...]  # as they were met
    words: tuple[str, ...]
    fine_tags: tuple[str, ...]
    symbol: Ints  # [nodes] among the symbols
    children: Ints  # [nodes] how many
    word: Ints  # [tokens] among the words
    fine: Ints  # [tokens] among the fine tags
    start: Longs  # [trees + 1] first node of each

    @classmethod
    def of(cls, trees: Iterable[Node]) -> CodedTrees:
        """Take in trees, none of which need stay."""
        symbols: dict[Symbol, int] = {}
        words: dict[str, int] = {}
        fine_tags: dict[str, int] = {}
        symbol, children, word, fine, sizes = (array("i") for _ in range(5))
        for tree in trees:
            nodes = _children_first(tree)
            symbol.extend([symbols.setdefault(node.symbol, len(symbols)) for node in nodes])
            children.extend([0 if node.left is None else 1 if node.right is None else 2 for node in nodes])
            leaves = [node for node in nodes if node.left is None]
            word.extend([words.setdefault(node.word or "", len(words)) for node in leaves])
            fine.extend([fine_tags.setdefault(node.fine or node.symbol.label, len(fine_tags)) for node in leaves])
            sizes.append(len(nodes))
        by_node = np.frombuffer(symbol, np.int32), np.frombuffer(children, np.int32)
        by_token = np.frombuffer(word, np.int32), np.frombuffer(fine, np.int32)
        return cls(tuple(symbols), tuple(words), tuple(fine_tags), *by_node, *by_token, starts(sizes))

    def __len__(self) -> int:
        return len(self.start) - 1

    def __iter__(self) -> Iterator[Node]:
        token = 0
        for first, last in pairwise(self.start.tolist()):
            waiting: list[Node] = []
            for k in range(first, last):
                symbol, children = self.symbols[self.symbol[k]], self.children[k]
                if children == 0:
                    node = Node(symbol, word=self.words[self.word[token]])
                    node.fine = self.fine_tags[self.fine[token]]
                    token += 1
                else:
                    right = waiting.pop() if children == 2 else None
                    node = Node(symbol, waiting.pop(), right)
                waiting.append(node)
            yield waiting.pop()

    # -- words

    @cached_property
    def token_tree(self) -> Longs:
        """[trees + 1] the first token of each."""
        first: Longs = starts(self.children == 0)[self.start]
        return first

    @cached_property
    def opens(self) -> NDArray[np.bool_]:
        """[tokens] whether it is the first of its sentence."""
        opens = np.zeros(len(self.word), np.bool_)
        opens[self.token_tree[:-1]] = True
        return opens

    def tags(self, grammar: Grammar) -> Longs:
        """[tokens] their tags, as the lexicon numbers them."""
        tags: Longs = self._numbers(grammar)[self.symbol[self.children == 0]] - grammar.first_tag
        return tags

    def tagged(self, grammar: Grammar) -> Iterator[list[tuple[str, int]]]:
        """(word, tag number) sentences."""
        tags = self.tags(grammar)
        for first, last in pairwise(self.token_tree.tolist()):
            codes = self.word[first:last].tolist()
            yield list(zip(map(self.words.__getitem__, codes), tags[first:last].tolist(), strict=True))

    def fine_numbers(self, number: Mapping[str, int]) -> Longs:
        """[tokens] their fine tags by other numbers."""
        return np.array([number[name] for name in self.fine_tags], np.int64)[self.fine]

    # -- rules

    def rules(self) -> RuleCounts:
        """Count every rule; symbols and rules come out in a fixed order."""
        counts: Counter[tuple[Symbol, Symbol, Symbol | None]] = Counter()
        steps = 0
        for block in self._blocks():
            codes, tokens = np.unique(block.rules(len(self.symbols)), return_counts=True)
            for code, count in zip(codes.tolist(), tokens.tolist(), strict=True):
                counts[self._rule(code)] += count
            steps = max(steps, block.longest_chain)
        return number_rules(self.symbols, counts, steps)

    def _rule(self, code: int) -> tuple[Symbol, Symbol, Symbol | None]:
        rest, right = divmod(code, len(self.symbols) + 1)
        parent, left = divmod(rest, len(self.symbols))
        return self.symbols[parent], self.symbols[left], None if right == 0 else self.symbols[right - 1]

    def pieces(self, grammar: Grammar, entry: Longs) -> Iterator[Piece]:
        """The trees as forests, given the lexical entry of every token, as `from_trees` lays out one tree.

        A rule that the grammar does not have is an `UnknownRuleError`.
        """
        number, token = self._numbers(grammar), 0
        for block in self._blocks():
            codes, place = np.unique(block.rules(len(self.symbols)), return_inverse=True)
            known = [_rule_number(grammar, *self._rule(code)) for code in codes.tolist()]
            inner = block.left != NONE
            rule = np.empty(len(inner), np.int64)
            rule[inner] = np.array(known, np.int64)[place]
            tokens = len(inner) - int(inner.sum())
            rule[~inner] = len(grammar.rules) + entry[token : token + tokens]
            token += tokens
            yield from block._replace(symbol=number[block.symbol]).pieces(rule)

    def _numbers(self, grammar: Grammar) -> Longs:
        """A grammar's numbers of the symbols."""
        unknown = next((symbol for symbol in self.symbols if symbol not in grammar.index), None)
        if unknown is not None:
            raise UnknownRuleError(f"no rule has {unknown}")
        return np.array([grammar.index[symbol] for symbol in self.symbols], np.int64)

    def _blocks(self) -> Iterator[Block]:
        for first in range(0, len(self), TREES_AT_ONCE):
            start = self.start[first : first + TREES_AT_ONCE + 1]
            nodes = slice(start[0], start[-1])
            yield Block.of(self.symbol[nodes].astype(np.int64), self.children[nodes], start - start[0])


def _children_first(tree: Node) -> Sequence[Node]:
    """All nodes, each behind its children."""
    stack, nodes = [tree], []
    while stack:
        node = stack.pop()
        nodes.append(node)
        if node.left is not None:
            stack.append(node.left)
            if node.right is not None:
                stack.append(node.right)
    nodes.reverse()
    return nodes


def _rule_number(grammar: Grammar, parent: Symbol, left: Symbol, right: Symbol | None) -> int:
    row = grammar.index[parent], grammar.index[left], NONE if right is None else grammar.index[right]
    if row not in grammar.rule_index:
        raise UnknownRuleError(f"no rule {parent} -> {left} {right or ''}".rstrip())
    return grammar.rule_index[row]


class Block(NamedTuple):
    """Some trees laid out; nodes are numbered from the first of them all."""

    symbol: Longs  # [nodes]
    left: Longs  # [nodes] a node, NONE under a word's tag
    right: Longs
    first: Longs  # [nodes] position in its sentence of the first word below
    width: Longs  # words below
    steps: Longs  # unary rules below on the same span
    start: Longs  # [trees + 1]

    @classmethod
    def of(cls, symbol: Longs, children: Ints, start: Longs) -> Block:
        left, right, first, width, steps, room = (np.empty(len(symbol), np.int64) for _ in range(6))
        _link(children, start, left, right, first, width, steps, room)
        return cls(symbol, left, right, first, width, steps, start)

    def rules(self, symbols: int) -> Longs:
        """A number for the rule under every node but tags, of so many symbols."""
        inner = self.left != NONE
        left, right = self.left[inner], self.right[inner]
        last = np.where(right == NONE, 0, self.symbol[right] + 1)
        return np.asarray((self.symbol[inner] * symbols + self.symbol[left]) * (symbols + 1) + last)

    @property
    def longest_chain(self) -> int:
        """The most unary steps in a row over one span, that of the root not counted."""
        below_roots = self.steps.copy()
        below_roots[self.start[1:] - 1] = 0
        return int(below_roots.max(initial=0))

    def pieces(self, rule: Longs) -> Iterator[Piece]:
        """The trees as forests, given the rule or lexical entry of every node: wider spans come later, on one span
        more unary steps, and the root last."""
        tree, words = np.repeat(np.arange(len(self.start) - 1), np.diff(self.start)), int(self.width.max(initial=0)) + 1
        top, steps = self.longest_chain + 1, self.steps.copy()
        steps[self.start[1:] - 1] = top
        order = np.argsort(((tree * words + self.width) * (top + 1) + steps) * words + self.first)
        place = np.empty(len(order) + 1, np.int64)
        place[order] = np.arange(len(order)) - np.repeat(self.start[:-1], np.diff(self.start))
        place[NONE] = NONE
        ends = np.stack([place[:-1], place[self.left], place[self.right]], 1)
        span = np.stack([self.first, self.first + self.width], 1)
        columns = [column[order].astype(np.int32) for column in (rule, ends, self.symbol, span)]
        for first, last in pairwise(self.start.tolist()):
            yield Piece(*(column[first:last] for column in columns), 0)  # type: ignore[arg-type, call-arg]


@lean_kernel
def _link(
    children: Ints, start: Longs, left: Longs, right: Longs, first: Longs, width: Longs, steps: Longs, room: Longs
) -> None:
    """Find every node's children and what is below it; there is room for the nodes without a parent yet."""
    for tree in range(len(start) - 1):
        waiting, position = 0, 0
        for node in range(start[tree], start[tree + 1]):
            left[node] = right[node] = NONE
            first[node], width[node], steps[node] = position, 1, 0
            if children[node] == 0:
                position += 1
            else:
                if children[node] == 2:
                    waiting -= 1
                    right[node] = room[waiting]
                    width[node] += width[right[node]] - 1
                waiting -= 1
                child = room[waiting]
                left[node], first[node] = child, first[child]
                if children[node] == 2:
                    width[node] += width[child]
                else:
                    width[node], steps[node] = width[child], steps[child] + 1
            room[waiting] = node
            waiting += 1
