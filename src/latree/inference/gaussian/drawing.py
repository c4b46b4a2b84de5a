"""Trees of a GM-LVeG's own, drawn from the top down by the masses of what may stand below (`mass`).

A component that reads a child through slot s has component r'k' below it with a probability of G[r'k', s] m_r'k' / u_s:
latent vectors need not be drawn, since their integral is in G.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from latree.arrays import NONE, Floats, Longs
from latree.errors import LatreeError
from latree.inference.forest import L
from latree.inference.gaussian.mass import Mass
from latree.inference.gaussian.mixtures import Components
from latree.inference.gaussian.slots import STRIP
from latree.inference.grammar import Grammar
from latree.inference.sampling import MOST_WORDS, TRIES, choose_by_sums
from latree.text.binary import Node

Spell = Callable[[int, bool, np.random.Generator], str]  # a word for a lexical rule; whether it opens the sentence


class MixtureDrawer:
    """Draws trees, with words by `spell`; lexical rules are numbered from 0."""

    def __init__(self, grammar: Grammar, components: Components, mass: Mass, spell: Spell) -> None:
        self.grammar, self.mass, self.spell = grammar, mass, spell
        self.rule = np.repeat(np.arange(len(components.size)), components.size)
        self.slot = components.slot
        self._sums: dict[tuple[int, int], tuple[Longs, Floats]] = {}
        self._of_root = np.cumsum(mass.of_root)

    def tree(self, rng: np.random.Generator) -> Node:
        """Draw a tree; one that is longer than any sentence is drawn anew."""
        for _ in range(TRIES):
            tree = self._expand(rng)
            if tree is not None:
                return tree
        raise LatreeError(f"the grammar keeps running over {MOST_WORDS} words")

    def _expand(self, rng: np.random.Generator) -> Node | None:
        """From the root down, left to right; None where it grows too long."""
        top = Node(self.grammar.symbols[0])
        first = int(self.mass.derivable.root[choose_by_sums(self._of_root, rng)])
        stack, words = [(top, first, NONE)], 0
        while stack:
            node, component, level = stack.pop()
            rule = int(self.rule[component]) - len(self.grammar.rules)
            if rule >= 0:
                node.word = self.spell(rule, words == 0, rng)
                words += 1
                continue
            stack += reversed(self._children(node, component, level, rng))
            if words + len(stack) > MOST_WORDS:
                return None
        return top

    def _children(
        self, node: Node, component: int, level: int, rng: np.random.Generator
    ) -> list[tuple[Node, int, int]]:
        """Give a node its children: each with a component, and the level of this in a chain of unary rules."""
        drawn = []
        below = level - 1 if level > 0 else NONE  # a unary rule stands on what has one such rule less
        for symbol, slot in zip(self.grammar.rules[self.rule[component], L:], self.slot[component, L:], strict=True):
            if symbol != NONE:
                child = Node(self.grammar.symbols[symbol])
                drawn.append((child, *self._component(int(symbol), int(slot), below, rng)))
        node.left, node.right = drawn[0][0], drawn[1][0] if len(drawn) > 1 else None
        return drawn

    def _component(self, symbol: int, slot: int, level: int, rng: np.random.Generator) -> tuple[int, int]:
        """A component that makes a symbol, and its level; NONE asks for any."""
        if (slot, level) not in self._sums:
            self._sums[slot, level] = self._odds(symbol, slot, level)
        rows, sums = self._sums[slot, level]
        at_level, row = divmod(choose_by_sums(sums, rng), len(rows))
        return int(rows[row]), at_level if level == NONE else level

    def _odds(self, symbol: int, slot: int, level: int) -> tuple[Longs, Floats]:
        """The components that make a symbol, and the sums up to each, by level, of how likely they are below a slot."""
        places, cells = self.mass.derivable.meetings.places, self.mass.overlaps.cells
        rows = places.component[places.in_first[symbol] : places.in_first[symbol + 1]]
        columns = places.slot[places.use_first[symbol] : places.use_first[symbol + 1]]
        width, column = -(-len(columns) // STRIP) * STRIP, int(np.flatnonzero(columns == slot)[0])
        overlap = cells[places.cell[symbol] + column :: width][: len(rows)]
        levels = slice(None) if level == NONE else slice(level, level + 1)
        return rows, np.cumsum(self.mass.by_level[levels, rows] * overlap)
