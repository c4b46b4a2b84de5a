"""The coarse chart: inside and outside of a scalar grammar over all spans of one sentence.

Split points are summed first, T[b, c] = sum_s left[s, b] right[s, c], one matrix product a span; then every rule
is read off T once.  Left parts of a span lie together by their start and right parts by their end, so that
both factors are contiguous.  Chains of unary rules are summed beforehand into a closure, from `base` (what a binary
rule or a word made) to `top` (what the rule above sees).

Scale: span (i, j) holds its probability divided by the product of its words' scales, so that the scales of two parts
always multiply to that of the whole.  When a width's largest value drifts, the common scale is changed for all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from latree.arrays import NONE, Floats, Ints
from latree.inference.grammar import Grammar
from latree.jit import kernel


class Links(NamedTuple):
    """Sparse non-negative table: rows (parent, left, right, probability)."""

    parent: Ints
    left: Ints
    right: Ints
    prob: Floats


class TagLinks(NamedTuple):
    """Binary rules with a tag on one side, as pairs (parent, inner child) that a word's tags give a weight to.

    The weight of a pair is summed over the tags once a word, not once a span.
    """

    parent: Ints  # [pairs]
    child: Ints  # [pairs]
    pair: Ints  # [rules]
    tag: Ints  # [rules]
    prob: Floats  # [rules]


class ChartGrammar(NamedTuple):
    """A scalar grammar sorted by what its children may be: inner symbols (root, phrases, parts) or tags."""

    inner: int
    tags: int
    lefts: Ints  # inner symbols that are left children
    rights: Ints  # inner symbols that are right children
    both: Links  # children inner, numbered as in `lefts` and `rights`
    tag_left: TagLinks  # left child a tag (numbered among the tags), right child inner
    tag_right: TagLinks
    tag_both: Links
    chain: Links  # closure of unary rules from inner symbols (left) to inner symbols, the empty chain included
    tag_chain: Links  # closure of unary rules from tags (left) to inner symbols
    top: Links  # root -> inner symbol
    top_tag: Links  # root -> tag, for sentences of one word


class Chart(NamedTuple):
    """Scaled inside and outside values; a cell (width w, start i) has number `cell(n, w, i)`."""

    words: int
    log_z: float  # log P(words), -inf where the grammar has no derivation
    root: float  # scaled value of the root: an inside times an outside divided by this is a posterior
    base: Floats  # [cells, inner]
    top: Floats  # [cells, inner]
    base_out: Floats  # what chains above make of a symbol; over one word no binary rule has it
    top_out: Floats
    tag: Floats  # [words, tags]
    tag_out: Floats


def chart_grammar(grammar: Grammar, prob: Floats) -> ChartGrammar:
    """Sort a grammar's rules for the chart; `prob` holds one number a rule."""
    first_tag = grammar.first_tag
    parent, left, right = grammar.rules.T
    binary, top = right != NONE, grammar.rules[:, 0] == 0
    tag_l, tag_r = left >= first_tag, right >= first_tag
    both = binary & ~tag_l & ~tag_r
    lefts, rights = np.unique(left[both]), np.unique(right[both])

    def links(rows: NDArray[np.bool_], x: Ints, y: Ints) -> Links:
        return Links(parent[rows].copy(), x[rows].astype(np.int32), y[rows].astype(np.int32), prob[rows].copy())

    def tag_links(rows: NDArray[np.bool_], tag: Ints, child: Ints) -> TagLinks:
        pairs, pair = np.unique(np.stack([parent[rows], child[rows]], 1), axis=0, return_inverse=True)
        parents, children = pairs.astype(np.int32).T.copy()
        numbers = pair.ravel().astype(np.int32), (tag[rows] - first_tag).astype(np.int32)
        return TagLinks(parents, children, *numbers, prob[rows].copy())

    chain, tag_chain = _unary_closure(grammar, prob)
    return ChartGrammar(
        first_tag,
        len(grammar.symbols) - first_tag,
        lefts.astype(np.int32),
        rights.astype(np.int32),
        links(both, np.searchsorted(lefts, left), np.searchsorted(rights, right)),
        tag_links(binary & tag_l & ~tag_r, left, right),
        tag_links(binary & ~tag_l & tag_r, right, left),
        links(binary & tag_l & tag_r, left - first_tag, right - first_tag),
        chain,
        tag_chain,
        links(~binary & top & ~tag_l, left, right),
        links(~binary & top & tag_l, left - first_tag, right),
    )


def _unary_closure(grammar: Grammar, prob: Floats) -> tuple[Links, Links]:
    """sum over l = 0..unary_steps of U^l, with U[a, b] = P(a -> b); the root's own unary rules stand apart."""
    size, first_tag = len(grammar.symbols), grammar.first_tag
    step = np.zeros((size, size))
    unary = (grammar.rules[:, 2] == NONE) & (grammar.rules[:, 0] != 0)
    step[grammar.rules[unary, 0], grammar.rules[unary, 1]] = prob[unary]
    closure = np.eye(size)
    for _ in range(grammar.unary_steps):
        closure = np.eye(size) + step @ closure

    def links(table: Floats) -> Links:
        a, b = np.nonzero(table)
        return Links(a.astype(np.int32), b.astype(np.int32), np.full(len(a), NONE, np.int32), table[a, b])

    return links(closure[:first_tag, :first_tag]), links(closure[:first_tag, first_tag:])


@kernel
def cell(words: int, width: int, start: int) -> int:
    """Cells are numbered by width, then by start."""
    return (width - 1) * words - (width - 1) * (width - 2) // 2 + start


@kernel
def _weigh(links: TagLinks, tag: Floats) -> Floats:
    """What every word's tags make of each pair: weight[word, pair]."""
    weight = np.zeros((len(tag), len(links.parent)))
    for i in range(len(tag)):
        for r in range(len(links.prob)):
            weight[i, links.pair[r]] += links.prob[r] * tag[i, links.tag[r]]
    return weight


@kernel
def _unweigh(links: TagLinks, heard: Floats, tag_out: Floats) -> None:
    """Hand what the pairs have heard from above on to the words' tags."""
    for i in range(len(tag_out)):
        for r in range(len(links.prob)):
            tag_out[i, links.tag[r]] += links.prob[r] * heard[i, links.pair[r]]


@kernel
def _pairs_up(links: TagLinks, weight: Floats, child: Floats, out: Floats) -> None:
    for p in range(len(weight)):
        out[links.parent[p]] += weight[p] * child[links.child[p]]


@kernel
def _pairs_down(
    links: TagLinks, weight: Floats, child: Floats, above: Floats, child_out: Floats, heard: Floats
) -> None:
    for p in range(len(weight)):
        outside = above[links.parent[p]]
        child_out[links.child[p]] += weight[p] * outside
        heard[p] += outside * child[links.child[p]]


@kernel
def _chain_up(links: Links, base: Floats, top: Floats) -> None:
    for r in range(len(links.prob)):
        top[links.parent[r]] += links.prob[r] * base[links.left[r]]


@kernel
def _chain_down(links: Links, top_out: Floats, base_out: Floats) -> None:
    for r in range(len(links.prob)):
        base_out[links.left[r]] += links.prob[r] * top_out[links.parent[r]]


@kernel
def _file(g: ChartGrammar, i: int, j: int, values: Floats, by_start: Floats, by_end: Floats) -> None:
    """Put a finished span where the matrix products will look for it."""
    for b in range(len(g.lefts)):
        by_start[i, j, b] = values[g.lefts[b]]
    for c in range(len(g.rights)):
        by_end[j, i, c] = values[g.rights[c]]


class _Work(NamedTuple):
    """The chart being filled, with the copies that matrix products want."""

    tag: Floats  # [words, tags]
    base: Floats  # [cells, inner]
    top: Floats
    by_start: Floats  # [start, end, lefts]
    by_end: Floats  # [end, start, rights]
    weight_left: Floats  # [words, pairs of tag_left]
    weight_right: Floats


class _WorkOut(NamedTuple):
    """Outside values being filled, laid out as `_Work` is; `heard` waits to be handed to the words' tags."""

    tag: Floats
    base: Floats
    top: Floats
    by_start: Floats
    by_end: Floats
    heard_left: Floats
    heard_right: Floats


@kernel
def _inside_cell(g: ChartGrammar, work: _Work, i: int, j: int, base: Floats) -> None:
    """Everything that binary rules make of span (i, j)."""
    n, width = len(work.tag), j - i
    if width == 2:
        links = g.tag_both
        for r in range(len(links.prob)):
            base[links.parent[r]] += links.prob[r] * work.tag[i, links.left[r]] * work.tag[i + 1, links.right[r]]
    _pairs_up(g.tag_left, work.weight_left[i], work.top[cell(n, width - 1, i + 1)], base)
    _pairs_up(g.tag_right, work.weight_right[j - 1], work.top[cell(n, width - 1, i)], base)
    splits = np.dot(work.by_start[i, i + 1 : j].T, work.by_end[j, i + 1 : j])
    r, rules = 0, len(g.both.prob)
    while r < rules:  # rules are sorted by parent: sum in a register, store once
        parent, total = g.both.parent[r], 0.0
        while r < rules and g.both.parent[r] == parent:
            total += g.both.prob[r] * splits[g.both.left[r], g.both.right[r]]
            r += 1
        base[parent] += total


@kernel
def _rescale(work: _Work, width: int, log_factor: float) -> None:
    """Multiply every span of k words by exp(k * log_factor), up to the given width."""
    n = len(work.tag)
    factor = np.exp(log_factor)
    work.tag[:] *= factor
    work.weight_left[:] *= factor
    work.weight_right[:] *= factor
    for k in range(1, width + 1):
        factor = np.exp(k * log_factor)
        for i in range(n - k + 1):
            work.base[cell(n, k, i)] *= factor
            work.top[cell(n, k, i)] *= factor
            work.by_start[i, i + k] *= factor
            work.by_end[i + k, i] *= factor


@kernel
def _inside(g: ChartGrammar, work: _Work) -> float:
    """Fill base and top; returns the log factor a word by which the values were multiplied."""
    n, drift = len(work.tag), 0.0
    for width in range(1, n + 1):
        big = 0.0
        for i in range(n - width + 1):
            c = cell(n, width, i)
            base, top = work.base[c], work.top[c]
            if width == 1:
                _chain_up(g.tag_chain, work.tag[i], top)
            else:
                _inside_cell(g, work, i, i + width, base)
                _chain_up(g.chain, base, top)
            _file(g, i, i + width, top, work.by_start, work.by_end)
            big = max(big, top.max(), base.max())
        if width > 1 and big > 0.0 and not 1e-50 < big < 1e50:
            change = -np.log(big) / width
            _rescale(work, width, change)
            drift += change
    return drift


@kernel
def _outside_cell(g: ChartGrammar, work: _Work, out: _WorkOut, i: int, j: int, above: Floats, splits: Floats) -> None:
    """Hand the outside `above` of span (i, j) down to all pairs of parts that binary rules may make it of."""
    n, width = len(work.tag), j - i
    if width == 2:
        links = g.tag_both
        for r in range(len(links.prob)):
            share = links.prob[r] * above[links.parent[r]]
            out.tag[i, links.left[r]] += share * work.tag[i + 1, links.right[r]]
            out.tag[i + 1, links.right[r]] += share * work.tag[i, links.left[r]]
    c, d = cell(n, width - 1, i + 1), cell(n, width - 1, i)
    _pairs_down(g.tag_left, work.weight_left[i], work.top[c], above, out.top[c], out.heard_left[i])
    _pairs_down(g.tag_right, work.weight_right[j - 1], work.top[d], above, out.top[d], out.heard_right[j - 1])
    splits[:] = 0.0
    for r in range(len(g.both.prob)):
        splits[g.both.left[r], g.both.right[r]] += g.both.prob[r] * above[g.both.parent[r]]
    out.by_start[i, i + 1 : j] += np.dot(work.by_end[j, i + 1 : j], splits.T)
    out.by_end[j, i + 1 : j] += np.dot(work.by_start[i, i + 1 : j], splits)


@kernel
def _outside_root(g: ChartGrammar, n: int, out: _WorkOut) -> None:
    whole = cell(n, n, 0)
    out.base[whole, 0] = 1.0  # the root's binary rules
    for r in range(len(g.top.prob)):
        out.top[whole, g.top.left[r]] += g.top.prob[r]
    if n == 1:
        for r in range(len(g.top_tag.prob)):
            out.tag[0, g.top_tag.left[r]] += g.top_tag.prob[r]


@kernel
def _outside(g: ChartGrammar, work: _Work, out: _WorkOut) -> None:
    n = len(work.tag)
    splits = np.zeros((len(g.lefts), len(g.rights)))
    _outside_root(g, n, out)
    for k in range(n):
        width = n - k
        for i in range(n - width + 1):
            c = cell(n, width, i)
            for b in range(len(g.lefts)):
                out.top[c, g.lefts[b]] += out.by_start[i, i + width, b]
            for b in range(len(g.rights)):
                out.top[c, g.rights[b]] += out.by_end[i + width, i, b]
            _chain_down(g.chain, out.top[c], out.base[c])
            if width == 1:
                _chain_down(g.tag_chain, out.top[c], out.tag[i])
            else:
                _outside_cell(g, work, out, i, i + width, out.base[c], splits)
    _unweigh(g.tag_left, out.heard_left, out.tag)
    _unweigh(g.tag_right, out.heard_right, out.tag)


@kernel
def _root_value(g: ChartGrammar, n: int, tag: Floats, base: Floats, top: Floats) -> float:
    whole = cell(n, n, 0)
    value: float = base[whole, 0]
    for r in range(len(g.top.prob)):
        value += g.top.prob[r] * top[whole, g.top.left[r]]
    if n == 1:
        for r in range(len(g.top_tag.prob)):
            value += g.top_tag.prob[r] * tag[0, g.top_tag.left[r]]
    return value


@kernel
def _fill(
    g: ChartGrammar, emissions: Floats, with_outside: bool
) -> tuple[float, float, Floats, Floats, Floats, Floats, Floats, Floats]:
    n = len(emissions)
    cells = n * (n + 1) // 2
    tag, log_scale = np.empty_like(emissions), 0.0
    for i in range(n):
        big = emissions[i].max()
        log_scale += np.log(big)
        tag[i] = emissions[i] / big
    by_start, by_end = np.zeros((n, n + 1, len(g.lefts))), np.zeros((n + 1, n, len(g.rights)))
    base, top = np.zeros((cells, g.inner)), np.zeros((cells, g.inner))
    work = _Work(tag, base, top, by_start, by_end, _weigh(g.tag_left, tag), _weigh(g.tag_right, tag))
    drift = _inside(g, work)
    root = _root_value(g, n, tag, base, top)
    if root <= 0.0 or not with_outside:
        log_z = np.log(root) + log_scale - n * drift if root > 0.0 else -np.inf
        return log_z, root, base, top, base[:0], top[:0], tag, tag[:0]
    out = _WorkOut(
        np.zeros_like(tag),
        np.zeros_like(base),
        np.zeros_like(top),
        np.zeros_like(by_start),
        np.zeros_like(by_end),
        np.zeros_like(work.weight_left),
        np.zeros_like(work.weight_right),
    )
    _outside(g, work, out)
    return np.log(root) + log_scale - n * drift, root, base, top, out.base, out.top, tag, out.tag


def fill_chart(grammar: ChartGrammar, emissions: Floats, *, with_outside: bool = True) -> Chart:
    """The chart of one sentence, given P(word | tag) for its words [words, tags]; every word needs some tag."""
    return Chart(len(emissions), *_fill(grammar, np.ascontiguousarray(emissions), with_outside))


def chart_bytes(grammar: ChartGrammar, words: int) -> int:
    """What a sentence of so many words needs in memory."""
    square = 2 * words * (words + 1) * (len(grammar.lefts) + len(grammar.rights))
    return 8 * (square + 2 * words * (words + 1) * grammar.inner + 2 * words * grammar.tags)
