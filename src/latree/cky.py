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

from latree.grammar import NONE, Grammar
from latree.jit import kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


class Links(NamedTuple):
    """Sparse non-negative table: rows (parent, left, right, probability)."""

    parent: Ints
    left: Ints
    right: Ints
    prob: Floats


class ChartGrammar(NamedTuple):
    """A scalar grammar sorted by what its children may be: inner symbols (root, phrases, parts) or tags."""

    inner: int
    tags: int
    lefts: Ints  # inner symbols that are left children
    rights: Ints  # inner symbols that are right children
    both: Links  # children inner, numbered as in `lefts` and `rights`
    tag_left: Links  # left child a tag (numbered among the tags), right child inner
    tag_right: Links
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
    base_out: Floats
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

    chain, tag_chain = _unary_closure(grammar, prob)
    return ChartGrammar(
        first_tag,
        len(grammar.symbols) - first_tag,
        lefts.astype(np.int32),
        rights.astype(np.int32),
        links(both, np.searchsorted(lefts, left), np.searchsorted(rights, right)),
        links(binary & tag_l & ~tag_r, left - first_tag, right),
        links(binary & ~tag_l & tag_r, left, right - first_tag),
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
def cell(words, width, start):  # type: ignore[no-untyped-def]
    """Cells are numbered by width, then by start."""
    return (width - 1) * words - (width - 1) * (width - 2) // 2 + start


@kernel
def _add_up(links, left, right, out):  # type: ignore[no-untyped-def]
    """out[parent] += prob * left[.] * right[.]"""
    for r in range(len(links.prob)):
        out[links.parent[r]] += links.prob[r] * left[links.left[r]] * right[links.right[r]]


@kernel
def _add_down(links, parent, left, right, to_left, to_right):  # type: ignore[no-untyped-def]
    """What a parent's outside gives to each child."""
    for r in range(len(links.prob)):
        x, y = links.left[r], links.right[r]
        share = links.prob[r] * parent[links.parent[r]]
        to_left[x] += share * right[y]
        to_right[y] += share * left[x]


@kernel
def _chain_up(links, base, top):  # type: ignore[no-untyped-def]
    for r in range(len(links.prob)):
        top[links.parent[r]] += links.prob[r] * base[links.left[r]]


@kernel
def _chain_down(links, top_out, base_out):  # type: ignore[no-untyped-def]
    for r in range(len(links.prob)):
        base_out[links.left[r]] += links.prob[r] * top_out[links.parent[r]]


@kernel
def _file(g, i, j, values, by_start, by_end):  # type: ignore[no-untyped-def]
    """Put a finished span where the matrix products will look for it."""
    for b in range(len(g.lefts)):
        by_start[i, j, b] = values[g.lefts[b]]
    for c in range(len(g.rights)):
        by_end[j, i, c] = values[g.rights[c]]


@kernel
def _inside_cell(g, n, i, j, tag, top, by_start, by_end, base):  # type: ignore[no-untyped-def]
    """Everything that binary rules make of span (i, j)."""
    if j - i == 2:
        _add_up(g.tag_both, tag[i], tag[i + 1], base)
    _add_up(g.tag_left, tag[i], top[cell(n, j - i - 1, i + 1)], base)
    _add_up(g.tag_right, top[cell(n, j - i - 1, i)], tag[j - 1], base)
    splits = np.dot(by_start[i, i + 1 : j].T, by_end[j, i + 1 : j])
    for r in range(len(g.both.prob)):
        base[g.both.parent[r]] += g.both.prob[r] * splits[g.both.left[r], g.both.right[r]]


@kernel
def _rescale(n, width, log_factor, tag, base, top, by_start, by_end):  # type: ignore[no-untyped-def]
    """Multiply every span of k words by exp(k * log_factor), up to the given width."""
    tag *= np.exp(log_factor)
    for k in range(1, width + 1):
        factor = np.exp(k * log_factor)
        for i in range(n - k + 1):
            base[cell(n, k, i)] *= factor
            top[cell(n, k, i)] *= factor
            by_start[i, i + k] *= factor
            by_end[i + k, i] *= factor


@kernel
def _inside(g, n, tag, base, top, by_start, by_end):  # type: ignore[no-untyped-def]
    """Fill base and top; returns the log factor a word by which the values were multiplied."""
    drift = 0.0
    for width in range(1, n + 1):
        big = 0.0
        for i in range(n - width + 1):
            c = cell(n, width, i)
            if width == 1:
                _chain_up(g.tag_chain, tag[i], top[c])
            else:
                _inside_cell(g, n, i, i + width, tag, top, by_start, by_end, base[c])
                _chain_up(g.chain, base[c], top[c])
            _file(g, i, i + width, top[c], by_start, by_end)
            big = max(big, top[c].max(), base[c].max())
        if width > 1 and big > 0.0 and not 1e-50 < big < 1e50:
            change = -np.log(big) / width
            _rescale(n, width, change, tag, base, top, by_start, by_end)
            drift += change
    return drift


@kernel
def _outside_cell(g, n, i, j, tag, top, by_start, by_end, above, tag_out, top_out, to_start, to_end, splits):  # type: ignore[no-untyped-def]
    """Hand the outside `above` of span (i, j) down to all pairs of parts that binary rules may make it of."""
    if j - i == 2:
        _add_down(g.tag_both, above, tag[i], tag[i + 1], tag_out[i], tag_out[i + 1])
    c, d = cell(n, j - i - 1, i + 1), cell(n, j - i - 1, i)
    _add_down(g.tag_left, above, tag[i], top[c], tag_out[i], top_out[c])
    _add_down(g.tag_right, above, top[d], tag[j - 1], top_out[d], tag_out[j - 1])
    splits[:] = 0.0
    for r in range(len(g.both.prob)):
        splits[g.both.left[r], g.both.right[r]] += g.both.prob[r] * above[g.both.parent[r]]
    to_start[i, i + 1 : j] += np.dot(by_end[j, i + 1 : j], splits.T)
    to_end[j, i + 1 : j] += np.dot(by_start[i, i + 1 : j], splits)


@kernel
def _outside(g, n, tag, top, by_start, by_end, base_out, top_out, tag_out):  # type: ignore[no-untyped-def]
    to_start, to_end = np.zeros_like(by_start), np.zeros_like(by_end)
    splits = np.zeros((len(g.lefts), len(g.rights)))
    whole = cell(n, n, 0)
    base_out[whole, 0] = 1.0  # the root's binary rules
    for r in range(len(g.top.prob)):
        top_out[whole, g.top.left[r]] += g.top.prob[r]
    if n == 1:
        for r in range(len(g.top_tag.prob)):
            tag_out[0, g.top_tag.left[r]] += g.top_tag.prob[r]
    for k in range(n):
        width = n - k
        for i in range(n - width + 1):
            c = cell(n, width, i)
            for b in range(len(g.lefts)):
                top_out[c, g.lefts[b]] += to_start[i, i + width, b]
            for b in range(len(g.rights)):
                top_out[c, g.rights[b]] += to_end[i + width, i, b]
            if width == 1:
                _chain_down(g.tag_chain, top_out[c], tag_out[i])
            else:
                _chain_down(g.chain, top_out[c], base_out[c])
                _outside_cell(
                    g, n, i, i + width, tag, top, by_start, by_end, base_out[c], tag_out, top_out, to_start, to_end, splits
                )


@kernel
def _root_value(g, n, tag, base, top):  # type: ignore[no-untyped-def]
    whole = cell(n, n, 0)
    value = base[whole, 0]
    for r in range(len(g.top.prob)):
        value += g.top.prob[r] * top[whole, g.top.left[r]]
    if n == 1:
        for r in range(len(g.top_tag.prob)):
            value += g.top_tag.prob[r] * tag[0, g.top_tag.left[r]]
    return value


@kernel
def _fill(g, emissions, with_outside):  # type: ignore[no-untyped-def]
    n = len(emissions)
    cells = n * (n + 1) // 2
    tag, log_scale = np.empty_like(emissions), 0.0
    for i in range(n):
        big = emissions[i].max()
        log_scale += np.log(big)
        tag[i] = emissions[i] / big
    base, top = np.zeros((cells, g.inner)), np.zeros((cells, g.inner))
    by_start, by_end = np.zeros((n, n + 1, len(g.lefts))), np.zeros((n + 1, n, len(g.rights)))
    drift = _inside(g, n, tag, base, top, by_start, by_end)
    root = _root_value(g, n, tag, base, top)
    log_z = np.log(root) + log_scale - n * drift if root > 0.0 else -np.inf
    outside_cells = cells if with_outside and root > 0.0 else 0
    base_out, top_out = np.zeros((outside_cells, g.inner)), np.zeros((outside_cells, g.inner))
    tag_out = np.zeros_like(tag)
    if outside_cells > 0:
        _outside(g, n, tag, top, by_start, by_end, base_out, top_out, tag_out)
    return log_z, root, base, top, base_out, top_out, tag, tag_out


def fill_chart(grammar: ChartGrammar, emissions: Floats, *, with_outside: bool = True) -> Chart:
    """The chart of one sentence, given P(word | tag) for its words [words, tags]; every word needs some tag."""
    return Chart(len(emissions), *_fill(grammar, np.ascontiguousarray(emissions), with_outside))


def chart_bytes(grammar: ChartGrammar, words: int) -> int:
    """What a sentence of so many words needs in memory."""
    square = 2 * words * (words + 1) * (len(grammar.lefts) + len(grammar.rights))
    return 8 * (square + 2 * words * (words + 1) * grammar.inner + 2 * words * grammar.tags)
