"""What a log-linear grammar has learned: which productions training moved, how far, and how finely it divided them.

A production is a rule of the grammar or a lexical rule.  Each of its parameters stands for a block of subtypes: one
triple, or at several scales (`refinement`) all those below a node.  What training moved is the parameter's delta; the
weights themselves need not sum to one, and say little alone.  Features of spans (`span_features`), where a model has
them, are parameters too: numbered after the productions', and told by the category of the span.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from latree.arrays import NONE, Floats, Longs
from latree.inference.forms.multiscale import tree_sizes
from latree.inference.subtypes import Layout
from latree.kinds.lvg_d.loglinear import Entries
from latree.kinds.lvg_d.model import LoglinearModel
from latree.kinds.lvg_d.span_features import LENGTHS
from latree.kinds.report import WORD, Categories
from latree.report.value import legible

Group = Literal["rules", "words", "spans"]
GROUPS: tuple[Group, ...] = ("rules", "words", "spans")
SKETCHED = 16  # nodes of a refinement tree to draw, those that moved most; what is above them comes along


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


_TIMES = ("not", "once", "twice", *(f"{n} times" for n in ("three", "four", "five", "six", "seven", "eight", "nine")))


class Moved(NamedTuple):
    """A parameter, what training added to it, and the mean weight of the subtypes, or the spans, that it stands for."""

    number: int
    delta: float
    weight: float

    @property
    def signed_delta(self) -> str:
        if self.delta == 0:
            return "0"
        return f"{self.delta:+.3f}" if abs(self.delta) >= 0.0005 else f"{self.delta:+.0e}"


@dataclass(frozen=True)
class Sketch:
    """A part of a refinement tree; `omitted` children are not drawn."""

    node: Moved
    children: tuple[Sketch, ...]
    omitted: int


class Changes:
    """The facts of one model: its parameters, and how far training moved them."""

    def __init__(self, model: LoglinearModel) -> None:
        self.model, self.grammar, self.lexical = model, model.grammar, model.lexical
        self.names = Categories(model.pruner)  # the same categories and words; it knows how often they occur
        self.has_scales = model.tree is not None
        self.rules = len(model.grammar.rules)
        tags = self.grammar.first_tag + self.lexical.tag
        words = np.stack([tags, np.full_like(tags, NONE), np.full_like(tags, NONE)], 1)
        self.symbols: Longs = np.concatenate([self.grammar.rules, words]).astype(np.int64)  # [productions, 3]
        self._units = model.lexical.named_units()

    # -- categories

    def size(self, symbol: int) -> int:
        """How many parameters the productions of a category have."""
        return self.extent(symbol, False).kept + self.extent(symbol, True).kept

    def extent(self, symbol: int | None, of_words: bool) -> Extent:
        """Measure the rules, or the lexical rules, of a category or of all."""
        wanted = self._is_lexical == of_words
        if symbol is not None:
            wanted &= self.symbols[:, 0] == symbol
        kept, dense = self._kept[wanted].sum(), np.append(self.model.size, 1)[self.symbols[wanted]].prod(1).sum()
        return Extent(int(wanted.sum()), int(kept), int(dense), tuple(np.bincount(self._divided[wanted]).tolist()))

    @cached_property
    def _is_lexical(self) -> NDArray[np.bool_]:
        return np.arange(len(self.symbols)) >= self.rules

    @cached_property
    def _kept(self) -> Longs:
        """[productions] parameters as `complexity` counts them: at several scales the first, and what is not zero."""
        tree = self.model.tree
        if tree is None:
            matters = np.ones(len(self.production), bool)
        else:
            matters = (tree.parent == NONE) | (self.model.node_start + self.delta[: len(self.production)] != 0)
        return np.bincount(self.production[matters], minlength=len(self.symbols)).astype(np.int64)

    @cached_property
    def _divided(self) -> Longs:
        """[productions] how often each is divided, where it is finest."""
        found = np.zeros(len(self.symbols), np.int64)
        if self.model.tree is not None:
            np.maximum.at(found, self.production, np.diff(self._paths.indptr) - 1)
        return found

    @cached_property
    def _paths(self) -> csr_array:
        """[nodes, nodes] what lies on the way to each node of the refinement trees."""
        assert self.model.tree is not None
        return self.model.tree.paths()

    # -- parameters

    @property
    def delta(self) -> Floats:
        """[parameters]"""
        return self.model.delta

    @cached_property
    def owner(self) -> Longs:
        """[parameters] the category of each."""
        spans = self.model.spans
        none = np.zeros(0, np.int64)
        return np.append(self.symbols[self.production, 0], none if spans is None else spans.key % spans.symbols)

    @cached_property
    def kind(self) -> Longs:
        """[parameters] which of `GROUPS`."""
        found = np.full(len(self.delta), GROUPS.index("spans"))
        found[: len(self.production)] = self._is_lexical[self.production]
        return found

    @cached_property
    def production(self) -> Longs:
        """[parameters of productions]"""
        if self.model.tree is not None:
            return self.model.tree.production
        widths = np.diff(self.model.model.layout.start), np.diff(self.model.model.lexical_start)
        return np.repeat(np.arange(len(self.symbols)), np.concatenate(widths))

    def block(self, number: int) -> list[range]:
        """The subtypes that a parameter stands for, of the production's parent, left and right."""
        production, tree = int(self.production[number]), self.model.tree
        size = np.append(self.model.size, 1)[self.symbols[production]]
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
        model, learned = self.model.model, self.model.learned
        own, joined, _ = Entries(np.arange(len(self.lexical.tag)), self.lexical.joined_rule).numbers(
            model.lexical_start
        )
        with np.errstate(over="ignore"):
            words = np.exp(learned.lexical[own] + np.append(learned.change, 0.0)[joined])
            spans = np.exp(learned.spans)
        triples = np.concatenate([self._triples(), np.ones(len(words) + len(spans))])
        weights = np.concatenate([learned.cells.value, words, spans])
        return np.asarray((model.transposed @ (triples * weights)) / (model.transposed @ triples), np.float64)

    def _triples(self) -> Floats:
        """[cells] how many triples of subtypes a cell stands for."""
        model = self.model.model
        if not model.in_blocks:
            return np.ones(len(model.cells.place))
        rule, *nodes = Layout(self.grammar, tree_sizes(self.model.size)).coordinates(model.cells.place)
        return np.asarray((model.layout.dims[rule] >> _depth(np.stack(nodes, 1))).prod(1), np.float64)

    # -- what moved

    def moved(self, symbol: int, kind: Group, up: bool, top: int) -> list[Moved]:
        """The parameters of a category's rules, words or spans that training moved most in one direction."""
        signed = self.delta if up else -self.delta
        found = np.flatnonzero((self.owner == symbol) & (self.kind == GROUPS.index(kind)) & (signed > 0))
        return [self._parameter(k) for k in found[np.argsort(-signed[found], kind="stable")][:top].tolist()]

    def _parameter(self, number: int) -> Moved:
        return Moved(number, float(self.delta[number]), float(self.weight[number]))

    def sketch(self, symbol: int) -> Sketch | None:
        """The refinement tree of a category's most divided production; None where nothing is divided."""
        if self.model.tree is None:
            return None
        nodes = np.bincount(self.production, minlength=len(self.symbols)) * (self.symbols[:, 0] == symbol)
        if nodes.max() < 2:
            return None
        own = np.flatnonzero(self.production == np.argmax(nodes))
        most = own[np.argsort(-np.abs(self.delta[own]), kind="stable")][:SKETCHED]
        drawn = set(self._paths[most[self.delta[most] != 0]].indices.tolist())
        return self._drawn(int(own[0]), own, drawn)

    def _drawn(self, node: int, own: Longs, drawn: set[int]) -> Sketch:
        assert self.model.tree is not None
        below = own[self.model.tree.parent[own] == node].tolist()
        children = tuple(self._drawn(child, own, drawn) for child in below if child in drawn)
        return Sketch(self._parameter(node), children, len(below) - len(children))

    # -- names

    def describe(self, number: int) -> str:
        """`NP-* -> DT-0 NN-2..3`, `NN-1 -> dog`: a production with the subtypes that a parameter stands for; or a
        feature of spans."""
        if number >= len(self.production):
            return self._span(number - len(self.production))
        production = int(self.production[number])
        pairs = zip(self.symbols[production].tolist(), self.block(number), strict=True)
        parent, *children = (self._subtypes(symbol, block) for symbol, block in pairs if symbol != NONE)
        if production >= self.rules:
            children = [self._unit(int(self.lexical.unit[production - self.rules]))]
        return f"{parent} -> {' '.join(children) or '(end)'}"

    def _subtypes(self, symbol: int, block: range) -> str:
        name, size = self.names.name(symbol), int(self.model.size[symbol])
        if size == 1:
            return name
        if len(block) == size:
            return f"{name}-*"
        return f"{name}-{block[0]}" if len(block) == 1 else f"{name}-{block[0]}..{block[-1]}"

    def _unit(self, unit: int) -> str:
        if unit == len(self._units):
            return "(edge)"
        word, name = self._units[unit]
        told = word if word is not None else "(any other)" if name is None else f"(class {name})"
        return legible(told, WORD)

    def _span(self, feature: int) -> str:
        """`NP: first the`, `NP: 2 words`; the number of a feature is made in `SpanFeatures.keys`."""
        spans = self.model.spans
        assert spans is not None
        rest, symbol = divmod(int(spans.key[feature]), spans.symbols)
        rest, second = divmod(rest, spans.units + 1)
        kind, first = divmod(rest, spans.units + 1)
        name = self.names.name(symbol)
        if kind == len(_SPAN_WORDS):
            return f"{name}: {_words(first)}"
        pairs = zip(_SPAN_WORDS[kind], (first, second), strict=False)
        return f"{name}: {', '.join(f'{where} {self._unit(unit)}' for where, unit in pairs)}"


_SPAN_WORDS = (("first",), ("last",), ("before",), ("after",), ("before", "first"), ("last", "after"))


def _words(step: int) -> str:
    """The lengths that count as one."""
    least, most = int(LENGTHS[step - 1]), int(LENGTHS[step]) - 1 if step < len(LENGTHS) else None
    return f"{least} words" if least == most else f"{least} or more words" if most is None else f"{least}-{most} words"


def _depth(place: Longs) -> Longs:
    """How deep nodes of split trees lie, the top at 0."""
    return np.asarray(np.frexp(place + 1)[1] - 1, np.int64)
