"""What the formats of foreign grammars have in common: how their parts become a model.

A file's symbols and subtypes keep their own numbers in `Parts`; `assemble` brings both into latree's order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from latree.arrays import NONE, Floats, Longs
from latree.errors import LatreeError
from latree.files import compact
from latree.inference.grammar import number_rules
from latree.inference.subtypes import History, Layout
from latree.kinds.lvg.model import Lvg
from latree.lexicon.options import LexiconOptions
from latree.lexicon.signatures import make_scheme
from latree.lexicon.words import Lexicon
from latree.text.binary import Binarization, Symbol
from latree.text.labels import LabelRules
from latree.text.tree import unescape

Vectors = Mapping[str, Floats]  # a number for each subtype of a tag, by word or by class of unknown words

_UNARY_STEPS = 2  # that the Berkeley parser takes on one span
_MOST_STEPS = 50  # of the iteration to expected frequencies
_LEAST_CHANGE = 1e-10


class SplitTree(NamedTuple):
    """A subtype and what it was split into; at the bottom are the present subtypes, by their numbers in the file."""

    label: int
    children: Sequence[SplitTree] = ()


@dataclass(frozen=True)
class Words:
    """A lexicon: counts c_TW and c_TS by tag, each a vector over the tag's subtypes."""

    words: Mapping[int, Vectors]
    signatures: Mapping[int, Vectors]
    scheme: str
    options: LexiconOptions
    # [subtypes, subtypes] of each tag: P(w | t_x) is its mixture of all P(w | t)
    smoothing: Mapping[int, Floats]


@dataclass(frozen=True)
class Parts:
    """A grammar as a file has it; symbol numbers are places in `symbols`."""

    symbols: Sequence[Symbol]
    trees: Mapping[int, SplitTree]  # a symbol without one has one subtype
    rules: Mapping[tuple[int, int, int], Floats]  # tensor [parent, left, right] of each rule; NONE: no right child
    binarization: Binarization
    lexicon: Words


def symbol_of(name: str, is_root: bool, is_inner: bool) -> Symbol:
    """The symbol of a name; a tag may well be called `@` or `^`."""
    if not is_inner:
        return Symbol("tag", name)
    label = name.removesuffix("^g")
    if is_root:
        return Symbol("root", label)
    return Symbol("part", label[1:]) if label.startswith("@") else Symbol("phrase", label)


class Descent(NamedTuple):
    """A symbol's splits: `parents[r]` maps what round r + 1 left to what there was before it."""

    parents: list[Longs]
    leaves: list[int]  # the present subtypes by their numbers in the file, in the order of the tree


def descent(tree: SplitTree) -> Descent:
    """Number the nodes of every generation from left to right; the last generation are the present subtypes."""
    level, parents = [tree], []
    while any(node.children for node in level):
        families = [node.children or [node] for node in level]
        parents.append(np.repeat(np.arange(len(level)), [len(family) for family in families]))
        level = [child for family in families for child in family]
    leaves = [node.label for node in level]
    if sorted(leaves) != list(range(len(leaves))):
        raise LatreeError(f"the subtypes of a split tree are not 0 to {len(leaves) - 1}: {leaves}")
    return Descent(parents, leaves)


def assemble(parts: Parts) -> Lvg:
    """The model that these parts make."""
    grammar, _ = number_rules(parts.symbols, Counter(_named_rules(parts)), _UNARY_STEPS)
    place = {grammar.index[symbol]: k for k, symbol in enumerate(parts.symbols)}
    descents = [descent(parts.trees.get(place[s], SplitTree(0))) for s in range(len(grammar.symbols))]
    layout = Layout(grammar, np.array([len(one.leaves) for one in descents], np.int64))
    root = grammar.symbols[0].label
    labels = LabelRules(phrase_cuts="-=^", tag_cuts="-=^", root=root)
    words = parts.lexicon
    model = Lvg(labels=labels, binarization=parts.binarization, unknown=words.scheme, lexicon=words.options)
    model.grammar, model.size = grammar, layout.size
    model.history = _history(descents)
    model.theta = compact(_tensors(layout, parts, [one.leaves for one in descents]))
    model.frequency = expected_frequency(layout, model.theta)
    tags = [(place[s], descents[s].leaves) for s in range(grammar.first_tag, len(descents))]
    model.lexicon = _lexicon(words, tags)
    model.given_smoothing = [words.smoothing[tag][np.ix_(leaves, leaves)] for tag, leaves in tags]
    model.prepare()
    return model


def _named_rules(parts: Parts) -> list[tuple[Symbol, Symbol, Symbol | None]]:
    symbols = parts.symbols
    return [(symbols[a], symbols[b], None if c == NONE else symbols[c]) for a, b, c in parts.rules]


def _history(descents: Sequence[Descent]) -> History:
    """All symbols have the same number of rounds; one that was not split any more stays as it is."""
    rounds = max(len(one.parents) for one in descents)
    filled = [one.parents + [np.arange(len(one.leaves))] * (rounds - len(one.parents)) for one in descents]
    return History(tuple(tuple(parents) for parents in zip(*filled, strict=True)))


def _tensors(layout: Layout, parts: Parts, leaves: Sequence[list[int]]) -> Floats:
    """All rules' tensors laid end to end, the subtypes in the order of the split trees."""
    theta = np.empty(int(layout.start[-1]))
    number = [layout.grammar.index[symbol] for symbol in parts.symbols]
    for (a, b, c), tensor in parts.rules.items():
        row = (number[a], number[b], NONE if c == NONE else number[c])
        rule = layout.grammar.rule_index[row]
        ports = [leaves[symbol] if symbol != NONE else [0] for symbol in row]
        if tensor.shape != tuple(len(port) for port in ports):
            wanted = " x ".join(str(len(port)) for port in ports)
            raise LatreeError(f"the rule {layout.grammar.describe(rule)} does not have {wanted} weights")
        theta[layout.start[rule] : layout.start[rule + 1]] = tensor[np.ix_(*ports)].ravel()
    return theta


def expected_frequency(layout: Layout, theta: Floats) -> Floats:
    """How often each subtype occurs in a tree of the grammar's own making: f = e_root + f W.

    W[p, c] is the expected number of children c of p.  The sum over generations is cut off where a grammar is not
    consistent, so that it does not grow without end.
    """
    children = _expected_children(layout, theta)
    start = np.zeros(len(children))
    start[0] = 1.0
    frequency = start
    for _ in range(_MOST_STEPS):
        following = start + frequency @ children
        settled = np.abs(following - frequency).sum() < _LEAST_CHANGE
        frequency = following
        if settled:
            break
    return frequency


def _expected_children(layout: Layout, theta: Floats) -> Floats:
    total = int(layout.offset[-1])
    children = np.zeros((total, total))
    for rule, (a, b, c) in enumerate(layout.grammar.rules.tolist()):
        tensor = layout.tensor(theta, rule)
        rows = slice(layout.offset[a], layout.offset[a + 1])
        children[rows, layout.offset[b] : layout.offset[b + 1]] += tensor.sum(2)
        if c != NONE:
            children[rows, layout.offset[c] : layout.offset[c + 1]] += tensor.sum(1)
    return children


# --- the lexicon


def _lexicon(words: Words, tags: Sequence[tuple[int, list[int]]]) -> Lexicon:
    """The counts of all tags' subtypes side by side; words in the order of their first appearance."""
    vocabulary, counts = _table(words.words, tags)
    if not vocabulary:
        raise LatreeError("the grammar's lexicon has no words")
    signatures, signature_counts = _table(words.signatures, tags)
    word, column = np.nonzero(counts)
    return Lexicon(
        vocabulary,
        signatures,
        np.searchsorted(word, np.arange(len(vocabulary) + 1)),
        column,
        counts[word, column],
        signature_counts,
        make_scheme(words.scheme),
        words.options,
    )


def _table(by_tag: Mapping[int, Vectors], tags: Sequence[tuple[int, list[int]]]) -> tuple[tuple[str, ...], Floats]:
    """The items that have any mass and their table [items, columns]."""
    total = sum(len(leaves) for _, leaves in tags)
    rows: dict[str, Floats] = {}
    column = 0
    for tag, leaves in tags:
        for item, vector in by_tag.get(tag, {}).items():
            # Words stand in memory with real parentheses.
            rows.setdefault(unescape(item), np.zeros(total))[column : column + len(leaves)] += vector[leaves]
        column += len(leaves)
    rows = {item: row for item, row in rows.items() if row.any()}
    return tuple(rows), compact(np.array(list(rows.values())).reshape(-1, total))
