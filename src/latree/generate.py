"""Sentences of a model's own making, drawn from the top down."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from latree.binary import Node, longest_unary_chain
from latree.errors import LatreeError
from latree.grammar import NONE, Grammar
from latree.trellis import Chain
from latree.words import Lexicon

MOST_WORDS = 1000  # a treebank grammar may be drawn into very long sentences; these are drawn anew
TRIES = 100


def generate_tree(grammar: Grammar, theta: NDArray[np.float64], lexicon: Lexicon, rng: np.random.Generator) -> Node:
    """A binary tree drawn from a grammar with one weight a rule, words from the known ones under each tag.

    Trees with longer unary chains than the parser allows are drawn anew, so that each can be parsed back.
    """
    for _ in range(TRIES):
        tree = _expand(grammar, theta, lexicon, rng)
        if tree is not None and longest_unary_chain(tree) <= grammar.unary_steps:
            return tree
    raise LatreeError(f"the grammar keeps running over {MOST_WORDS} words; it may not be a proper one")


def _expand(grammar: Grammar, theta: NDArray[np.float64], lexicon: Lexicon, rng: np.random.Generator) -> Node | None:
    parents = grammar.rules[:, 0]
    order = np.argsort(parents, kind="stable")
    first = np.searchsorted(parents[order], np.arange(len(grammar.symbols) + 1))
    root = Node(grammar.symbols[0])
    stack, words = [(root, 0)], 0
    while stack:
        node, symbol = stack.pop()
        if symbol >= grammar.first_tag:
            node.word = lexicon.sample_word(symbol - grammar.first_tag, rng)
            words += 1
            continue
        choices = order[first[symbol] : first[symbol + 1]]
        odds = theta[choices] / theta[choices].sum()
        _, left, right = grammar.rules[rng.choice(choices, p=odds)].tolist()
        node.left = Node(grammar.symbols[left])
        stack.append((node.left, left))
        if right != NONE:
            node.right = Node(grammar.symbols[right])
            stack.append((node.right, right))
        if words + len(stack) > MOST_WORDS:
            return None
    return root


def generate_sequence(
    model: Chain, lexicon: Lexicon, rng: np.random.Generator
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Words and tag numbers drawn from a bigram model."""
    tag = int(rng.choice(len(model.start), p=model.start / model.start.sum()))
    tags = [tag]
    while len(tags) < MOST_WORDS:
        odds = np.append(model.step[tag], model.stop[tag])
        tag = int(rng.choice(len(odds), p=odds / odds.sum()))
        if tag == len(model.start):
            break
        tags.append(tag)
    return tuple(lexicon.sample_word(tag, rng) for tag in tags), tuple(tags)
