"""What training changed in a log-linear grammar: which parameters moved, how far, and how finely it divided rules.

A production is a rule of the grammar or a lexical rule.  Each of its parameters stands for a block of subtypes: one
triple, or at several scales (`refinement`) all those below a node.  What training moved is the parameter's delta; the
weights themselves need not sum to one, and say little alone.  Features of spans (`span_features`), where a model has
them, are parameters too: numbered after the productions', and told by the category of the span.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from latree.arrays import NONE, Floats, Longs
from latree.inference.forms.multiscale import tree_sizes
from latree.inference.subtypes import Layout
from latree.kinds.lvg_d.loglinear import Entries
from latree.kinds.lvg_d.model import LoglinearModel

GROUPS = ("rules", "words", "spans")  # of parameters
_TIMES = ("not", "once", "twice", *(f"{n} times" for n in ("three", "four", "five", "six", "seven", "eight", "nine")))


class Extent(NamedTuple):
    """How many parameters some productions have."""

    productions: int
    kept: int
    dense: int  # as many as there would be with one for every triple of subtypes
    divided: tuple[int, ...]  # productions that are divided not at all, once, twice and so on

    def __str__(self) -> str:
        return f"{self.kept:,} of {self.dense:,} in {self.productions:,}"

    @property
    def times(self) -> str:
        """`12 not, 5 once, 3 twice`."""
        return ", ".join(f"{count:,} {times}" for count, times in zip(self.divided, _TIMES, strict=False) if count)


class Changes:
    """The parameters of a model, and how far training moved them."""

    def __init__(self, model: LoglinearModel) -> None:
        self.model, self.delta, self.rules = model, model.delta, len(model.grammar.rules)
        words = np.full((len(model.lexical.tag), 3), NONE)
        words[:, 0] = model.grammar.first_tag + model.lexical.tag
        self.symbols: Longs = np.concatenate([model.grammar.rules, words]).astype(np.int64)  # [productions, 3]
        self.size: Longs = np.append(model.size, 1)[self.symbols]  # [productions, 3] subtypes

    @cached_property
    def production(self) -> Longs:
        """[parameters of productions]"""
        if self.model.tree is not None:
            return self.model.tree.production
        return np.repeat(np.arange(len(self.symbols)), self.size.prod(1))

    @cached_property
    def owner(self) -> Longs:
        """[parameters] the category of each."""
        spans = self.model.spans
        of_spans = np.zeros(0, np.int64) if spans is None else spans.key % spans.symbols
        return np.append(self.symbols[self.production, 0], of_spans)

    @cached_property
    def group(self) -> Longs:
        """[parameters] which of `GROUPS`."""
        of_spans = np.full(len(self.delta) - len(self.production), GROUPS.index("spans"))
        return np.append(self.production >= self.rules, of_spans)

    @cached_property
    def paths(self) -> csr_array:
        """[nodes, nodes] what lies on the way to each node of the refinement trees."""
        assert self.model.tree is not None
        return self.model.tree.paths()

    # -- how many

    def extent(self, symbol: int | None, of_words: bool) -> Extent:
        """Measure the rules, or the lexical rules, of a category or of all."""
        wanted = (np.arange(len(self.symbols)) >= self.rules) == of_words
        if symbol is not None:
            wanted &= self.symbols[:, 0] == symbol
        kept, dense = self._kept[wanted].sum(), self.size[wanted].prod(1).sum()
        return Extent(int(wanted.sum()), int(kept), int(dense), tuple(np.bincount(self._divided[wanted]).tolist()))

    @cached_property
    def _kept(self) -> Longs:
        """[productions] parameters as `complexity` counts them: at several scales the first, and what is not zero."""
        tree, production = self.model.tree, self.production
        if tree is not None:
            weighs = self.model.node_start + self.delta[: len(production)] != 0
            production = production[(tree.parent == NONE) | weighs]
        return np.bincount(production, minlength=len(self.symbols))

    @cached_property
    def _divided(self) -> Longs:
        """[productions] how often each is divided, where it is finest."""
        times = np.zeros(len(self.symbols), np.int64)
        if self.model.tree is not None:
            np.maximum.at(times, self.production, np.diff(self.paths.indptr) - 1)
        return times

    # -- what each stands for

    def block(self, number: int) -> list[range]:
        """The subtypes that a parameter stands for, of the production's parent, left and right."""
        production, tree = int(self.production[number]), self.model.tree
        size = self.size[production]
        if tree is not None:
            width = size >> _depth(tree.place[number])
            first = (tree.place[number] + 1) * width - size
        else:
            cell = number - int(np.searchsorted(self.production, production))
            first, width = np.array(np.unravel_index(cell, size)), np.ones(3, np.int64)
        return [range(a, a + n) for a, n in zip(first.tolist(), width.tolist(), strict=True)]

    @cached_property
    def weight(self) -> Floats:
        """[parameters] the mean over the triples of subtypes that each stands for; of a word that is joined with its
        class, both together, as within a sentence; of a feature of spans, the factor that they get."""
        model, learned, lexical = self.model.model, self.model.learned, self.model.lexical
        entries = Entries(np.arange(len(lexical.tag)), lexical.joined_rule)
        alone, joined, _ = entries.numbers(model.lexical_start)
        with np.errstate(over="ignore"):
            words = np.exp(learned.lexical[alone] + np.append(learned.change, 0.0)[joined])
            spans = np.exp(learned.spans)
        triples = np.concatenate([self._triples(), np.ones(len(words) + len(spans))])
        weights = np.concatenate([learned.cells.value, words, spans])
        return np.asarray((model.transposed @ (triples * weights)) / (model.transposed @ triples), np.float64)

    def _triples(self) -> Floats:
        """[cells] how many triples of subtypes a cell stands for."""
        model = self.model.model
        if not model.in_blocks:
            return np.ones(len(model.cells.place))
        rule, *nodes = Layout(self.model.grammar, tree_sizes(self.model.size)).coordinates(model.cells.place)
        return np.asarray((model.layout.dims[rule] >> _depth(np.stack(nodes, 1))).prod(1), np.float64)

    # -- what moved

    def moved(self, symbol: int, group: str, sign: int, top: int) -> list[int]:
        """The parameters of a category's rules, words or spans that training moved most in one direction."""
        mine = np.flatnonzero((self.owner == symbol) & (self.group == GROUPS.index(group)) & (sign * self.delta > 0))
        most: list[int] = mine[np.argsort(-sign * self.delta[mine], kind="stable")][:top].tolist()
        return most

    def most_divided(self, symbol: int) -> Longs:
        """The nodes of a category's most divided production, the top first; none where nothing is divided."""
        nodes = np.bincount(self.production, minlength=len(self.symbols)) * (self.symbols[:, 0] == symbol)
        divided = self.model.tree is not None and nodes.max() > 1
        return np.flatnonzero(self.production == np.argmax(nodes)) if divided else np.zeros(0, np.int64)


def _depth(place: Longs) -> Longs:
    """How deep nodes of split trees lie, the top at 0."""
    return np.asarray(np.frexp(place + 1)[1] - 1, np.int64)
