"""Rules of an annotated tree that a grammar lacks, so that it cannot derive the tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from latree.arrays import NONE
from latree.check.findings import Finding
from latree.check.nodes import Spot, nodes_of
from latree.inference.grammar import Grammar, rule_symbols
from latree.kinds.parser import Parser
from latree.text.binary import Node
from latree.text.tree import Tree

KNOWN = "a rule that is known"


def unseen_rules(parser: Parser, gold: Tree, odds_against: Callable[[Spot], float]) -> Iterator[Finding]:
    """Tell of every phrase of a cleaned tree of which the grammar lacks a rule.

    As suspicious as the phrase is the worst of itself and its children.
    """
    phrases = ((spot, node) for spot, node in nodes_of(gold) if not spot.is_tag)
    rules = _rules_by_phrase(parser.binarization.apply(gold))
    for (spot, node), own in zip(phrases, rules, strict=True):
        if unseen := [_written(one) for one in own if not _knows(parser.grammar, one)]:
            concerned = [*_children(spot, node), *([spot] if node is not gold else [])]
            yield Finding(
                "rule",
                *spot.span,
                f"{spot.label} -> {' '.join(child.label for child in node)}",
                KNOWN,
                max(map(odds_against, concerned)),
                tree=str(gold),
                note=", ".join(dict.fromkeys(unseen)),
            )


def _children(spot: Spot, node: Tree) -> Iterator[Spot]:
    start = spot.start
    for child in node:
        end = start + len(child.words())
        yield Spot(child.label, start, end, child.is_leaf)
        start = end


def _rules_by_phrase(root: Node) -> Iterator[list[Node]]:
    """The binary nodes that each phrase of the tree was made into, phrases in the order of `subtrees`."""
    waiting = [root]
    while waiting:
        own, children = _own_nodes(waiting.pop())
        yield own
        waiting.extend(child for child in reversed(children) if child.word is None)


def _own_nodes(phrase: Node) -> tuple[list[Node], list[Node]]:
    """A phrase with its parts, and its children."""
    own, children, stack = list[Node](), list[Node](), [phrase]
    while stack:
        node = stack.pop()
        if node is phrase or node.symbol.kind == "part":
            own.append(node)
            stack.extend(reversed(node.children()))
        else:
            children.append(node)
    return own, children


def _knows(grammar: Grammar, node: Node) -> bool:
    numbers = (NONE if symbol is None else grammar.index.get(symbol) for symbol in rule_symbols(node))
    return tuple(numbers) in grammar.rule_index


def _written(node: Node) -> str:
    parent, left, right = rule_symbols(node)
    return f"{parent} -> {left} {right or ''}".rstrip()
