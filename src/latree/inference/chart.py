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

from latree.arrays import NONE, Floats, Ints, Longs
from latree.inference.forest import L, P, R
from latree.inference.grammar import Grammar
from latree.jit import inner, kernel

_LANES = 8  # numbers that go through vector instructions together


class Links(NamedTuple):
    """Sparse non-negative table."""

    ends: Ints  # [links, 3] parent, left, right
    prob: Floats  # [links]


class TagLinks(NamedTuple):
    """Binary rules with a tag on one side, as pairs (parent, inner child) that a word's tags give a weight to.

    The weight of a pair is summed over the tags once a word, not once a span.
    """

    pairs: Ints  # [pairs, 2] parent, child
    rules: Ints  # [rules, 2] pair, tag
    prob: Floats  # [rules]


class ChartRules(NamedTuple):
    """The rules that the kernels go through in every span, as few arrays as may be: each is more to compile."""

    lefts: Ints  # inner symbols that are left children
    rights: Ints  # inner symbols that are right children
    both: Links  # children inner, numbered as in `lefts` and `rights`
    tag_left: Ints  # pairs of the rules with a tag to the left
    tag_right: Ints
    tag_both: Links
    chain: Links  # closure of unary rules from inner symbols (left) to inner symbols, the empty chain included
    tag_chain: Links  # closure of unary rules from tags (left) to inner symbols


class ChartGrammar(NamedTuple):
    """A scalar grammar sorted by what its children may be: inner symbols (root, phrases, parts) or tags."""

    inner: int
    tags: int
    rules: ChartRules
    tag_left: TagLinks  # left child a tag (numbered among the tags), right child inner
    tag_right: TagLinks
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
    """Sort a grammar's rules for the chart; `prob` holds one number a rule.  Those without any are left out."""
    first_tag = grammar.first_tag
    used = prob[prob > 0]
    parent, left, right = grammar.rules[prob > 0].T
    binary, top = right != NONE, parent == 0
    tag_l, tag_r = left >= first_tag, right >= first_tag
    both = binary & ~tag_l & ~tag_r
    lefts, rights = np.unique(left[both]), np.unique(right[both])

    def links(rows: NDArray[np.bool_], x: Ints, y: Ints) -> Links:
        return Links(_columns(parent[rows], x[rows], y[rows]), used[rows])

    def tag_links(rows: NDArray[np.bool_], tag: Ints, child: Ints) -> TagLinks:
        pairs, pair = np.unique(np.stack([parent[rows], child[rows]], 1), axis=0, return_inverse=True)
        return TagLinks(_columns(*pairs.T), _columns(pair.ravel(), tag[rows] - first_tag), used[rows])

    tag_left = tag_links(binary & tag_l & ~tag_r, left, right)
    tag_right = tag_links(binary & ~tag_l & tag_r, right, left)
    rules = ChartRules(
        lefts.astype(np.int32),
        rights.astype(np.int32),
        links(both, np.searchsorted(lefts, left), np.searchsorted(rights, right)),
        tag_left.pairs,
        tag_right.pairs,
        links(binary & tag_l & tag_r, left - first_tag, right - first_tag),
        *_unary_closure(grammar, prob),
    )
    tops = links(~binary & top & ~tag_l, left, right), links(~binary & top & tag_l, left - first_tag, right)
    return ChartGrammar(first_tag, len(grammar.symbols) - first_tag, rules, tag_left, tag_right, *tops)


def _columns(*columns: Longs | Ints) -> Ints:
    return np.ascontiguousarray(np.stack(columns, 1), np.int32)


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
        return Links(_columns(a, b, np.full(len(a), NONE)), table[a, b])

    return links(closure[:first_tag, :first_tag]), links(closure[:first_tag, first_tag:])


@kernel
def cell(words: int, width: int, start: int) -> int:
    """Cells are numbered by width, then by start."""
    return (width - 1) * words - (width - 1) * (width - 2) // 2 + start


@kernel
def _weigh(links: TagLinks, tag: Floats, weight: Floats) -> None:
    """Add up what every word's tags make of each pair: weight[word, pair]."""
    for i in range(len(tag)):
        for r in range(len(links.prob)):
            weight[i, links.rules[r, 0]] += links.prob[r] * tag[i, links.rules[r, 1]]


@kernel
def _unweigh(links: TagLinks, heard: Floats, tag_out: Floats) -> None:
    """Hand what the pairs have heard from above on to the words' tags."""
    for i in range(len(tag_out)):
        for r in range(len(links.prob)):
            tag_out[i, links.rules[r, 1]] += links.prob[r] * heard[i, links.rules[r, 0]]


@inner
def _pairs_up(pairs: Ints, weight: Floats, child: Floats, out: Floats) -> None:
    for p in range(len(pairs)):
        out[pairs[p, 0]] += weight[p] * child[pairs[p, 1]]


@inner
def _pairs_down(pairs: Ints, weight: Floats, child: Floats, above: Floats, child_out: Floats, heard: Floats) -> None:
    for p in range(len(pairs)):
        outside = above[pairs[p, 0]]
        child_out[pairs[p, 1]] += weight[p] * outside
        heard[p] += outside * child[pairs[p, 1]]


@inner
def _chain_up(ends: Ints, prob: Floats, base: Floats, top: Floats) -> None:
    for r in range(len(prob)):
        top[ends[r, P]] += prob[r] * base[ends[r, L]]


@inner
def _chain_down(ends: Ints, prob: Floats, top_out: Floats, base_out: Floats) -> None:
    for r in range(len(prob)):
        base_out[ends[r, L]] += prob[r] * top_out[ends[r, P]]


class _Work(NamedTuple):
    """The chart being filled, with the copies that matrix products want; or its outside values, laid out alike."""

    tag: Floats  # [words, tags]
    base: Floats  # [cells, inner]
    top: Floats
    by_start: Floats  # [start, end, lefts]
    by_end: Floats  # [end, start, rights]
    left: Floats  # [words, pairs of tag_left] their weights; outside: what waits to be handed to the words' tags
    right: Floats  # [words, pairs of tag_right]


@inner
def _both_up(ends: Ints, prob: Floats, starting: Floats, ending: Floats, splits: Floats, base: Floats) -> None:
    """What rules with two inner children make of a span, given its beginnings and ends at every split point."""
    splits[:] = 0.0
    for s in range(len(starting)):
        for b in range(starting.shape[1]):
            left = starting[s, b]
            if left != 0.0:
                for c in range(ending.shape[1]):
                    splits[b, c] += left * ending[s, c]
    r = 0
    while r < len(prob):  # rules are sorted by parent: sum in a register, store once
        parent, total = ends[r, P], 0.0
        while r < len(prob) and ends[r, P] == parent:
            total += prob[r] * splits[ends[r, L], ends[r, R]]
            r += 1
        base[parent] += total


@inner
def _tags_up(ends: Ints, prob: Floats, left: Floats, right: Floats, base: Floats) -> None:
    for r in range(len(prob)):
        base[ends[r, P]] += prob[r] * left[ends[r, L]] * right[ends[r, R]]


@inner
def _largest(values: Floats, big: float) -> float:
    for x in range(len(values)):
        big = max(big, values[x])
    return big


@kernel
def _inside(g: ChartRules, work: _Work, splits: Floats, width: int) -> tuple[int, float]:
    """Fill base and top from a width on, until values drift; returns the last width and its largest value."""
    n, big = len(work.tag), 1.0
    while width <= n:
        big = 0.0
        for i in range(n - width + 1):
            c, j = cell(n, width, i), i + width
            base, top = work.base[c], work.top[c]
            if width == 1:
                _chain_up(g.tag_chain.ends, g.tag_chain.prob, work.tag[i], top)
            else:
                if width == 2:
                    _tags_up(g.tag_both.ends, g.tag_both.prob, work.tag[i], work.tag[i + 1], base)
                _pairs_up(g.tag_left, work.left[i], work.top[cell(n, width - 1, i + 1)], base)
                _pairs_up(g.tag_right, work.right[j - 1], work.top[cell(n, width - 1, i)], base)
                starting, ending = work.by_start[i, i + 1 : j], work.by_end[j, i + 1 : j]
                _both_up(g.both.ends, g.both.prob, starting, ending, splits, base)
                _chain_up(g.chain.ends, g.chain.prob, base, top)
            for b in range(len(g.lefts)):
                work.by_start[i, j, b] = top[g.lefts[b]]
            for b in range(len(g.rights)):
                work.by_end[j, i, b] = top[g.rights[b]]
            big = _largest(top, _largest(base, big))
        if width > 1 and big > 0.0 and not 1e-50 < big < 1e50:
            break
        width += 1
    return width, big


def _rescale(work: _Work, width: int, log_factor: float) -> None:
    """Multiply every span of k words by exp(k * log_factor), up to the given width."""
    n = len(work.tag)
    for values in (work.tag, work.left, work.right):
        values *= np.exp(log_factor)
    for k in range(1, width + 1):
        factor, start = np.exp(k * log_factor), np.arange(n - k + 1)
        cells = slice(cell(n, k, 0), cell(n, k + 1, 0))
        work.base[cells] *= factor
        work.top[cells] *= factor
        work.by_start[start, start + k] *= factor
        work.by_end[start + k, start] *= factor


@inner
def _both_down(
    ends: Ints,
    prob: Floats,
    above: Floats,
    splits: Floats,
    starting: Floats,
    ending: Floats,
    to_starting: Floats,
    to_ending: Floats,
) -> None:
    """Hand the outside `above` of a span down to its beginnings and ends at every split point."""
    splits[:] = 0.0
    for r in range(len(prob)):
        splits[ends[r, L], ends[r, R]] += prob[r] * above[ends[r, P]]
    for s in range(len(starting)):
        for b in range(starting.shape[1]):
            left, heard = starting[s, b], 0.0
            for c in range(ending.shape[1]):
                heard += splits[b, c] * ending[s, c]
                to_ending[s, c] += splits[b, c] * left
            to_starting[s, b] += heard


@inner
def _tags_down(
    ends: Ints, prob: Floats, above: Floats, left: Floats, right: Floats, to_left: Floats, to_right: Floats
) -> None:
    for r in range(len(prob)):
        share = prob[r] * above[ends[r, P]]
        to_left[ends[r, L]] += share * right[ends[r, R]]
        to_right[ends[r, R]] += share * left[ends[r, L]]


@kernel
def _outside(g: ChartRules, work: _Work, out: _Work, splits: Floats) -> None:
    """Hand outside values down from the widest span, whose own are given."""
    n = len(work.tag)
    for k in range(n):
        width = n - k
        for i in range(k + 1):
            c, j = cell(n, width, i), i + width
            top, above = out.top[c], out.base[c]
            for b in range(len(g.lefts)):
                top[g.lefts[b]] += out.by_start[i, j, b]
            for b in range(len(g.rights)):
                top[g.rights[b]] += out.by_end[j, i, b]
            _chain_down(g.chain.ends, g.chain.prob, top, above)
            if width == 1:
                _chain_down(g.tag_chain.ends, g.tag_chain.prob, top, out.tag[i])
                continue
            if width == 2:
                words = work.tag[i], work.tag[i + 1], out.tag[i], out.tag[i + 1]
                _tags_down(g.tag_both.ends, g.tag_both.prob, above, *words)
            x, y = cell(n, width - 1, i + 1), cell(n, width - 1, i)
            _pairs_down(g.tag_left, work.left[i], work.top[x], above, out.top[x], out.left[i])
            _pairs_down(g.tag_right, work.right[j - 1], work.top[y], above, out.top[y], out.right[j - 1])
            starting, ending = work.by_start[i, i + 1 : j], work.by_end[j, i + 1 : j]
            below = starting, ending, out.by_start[i, i + 1 : j], out.by_end[j, i + 1 : j]
            _both_down(g.both.ends, g.both.prob, above, splits, *below)


def _padded(size: int) -> int:
    """A number of columns that vector instructions divide evenly."""
    return -(-size // _LANES) * _LANES


def _work(g: ChartGrammar, tag: Floats) -> _Work:
    """Make an empty chart of words with these weights of their tags."""
    n, cells = len(tag), len(tag) * (len(tag) + 1) // 2
    base, top = np.zeros((cells, g.inner)), np.zeros((cells, g.inner))
    by_start, by_end = np.zeros((n, n + 1, len(g.rules.lefts))), np.zeros((n + 1, n, _padded(len(g.rules.rights))))
    work = _Work(
        tag, base, top, by_start, by_end, *(np.zeros((n, len(p))) for p in (g.rules.tag_left, g.rules.tag_right))
    )
    _weigh(g.tag_left, tag, work.left)
    _weigh(g.tag_right, tag, work.right)
    return work


def _root_value(g: ChartGrammar, work: _Work) -> float:
    value = work.base[-1, 0] + (g.top.prob * work.top[-1, g.top.ends[:, L]]).sum()
    if len(work.tag) == 1:
        value += (g.top_tag.prob * work.tag[0, g.top_tag.ends[:, L]]).sum()
    return float(value)


def _outside_of(g: ChartGrammar, work: _Work, splits: Floats) -> _Work:
    out = _Work(*(np.zeros_like(values) for values in work))
    out.base[-1, 0] = 1.0  # the root's binary rules
    out.top[-1, g.top.ends[:, L]] += g.top.prob
    if len(work.tag) == 1:
        out.tag[0, g.top_tag.ends[:, L]] += g.top_tag.prob
    _outside(g.rules, work, out, splits)
    _unweigh(g.tag_left, out.left, out.tag)
    _unweigh(g.tag_right, out.right, out.tag)
    return out


def fill_chart(grammar: ChartGrammar, emissions: Floats, *, with_outside: bool = True) -> Chart:
    """The chart of one sentence, given P(word | tag) for its words [words, tags]; every word needs some tag."""
    n, scale = len(emissions), emissions.max(1)
    work = _work(grammar, emissions / scale[:, None])
    splits = np.empty((len(grammar.rules.lefts), _padded(len(grammar.rules.rights))))
    width, drift = 0, 0.0
    while width < n:
        width, big = _inside(grammar.rules, work, splits, width + 1)
        if width <= n:  # values have drifted
            change = -np.log(big) / width
            _rescale(work, width, change)
            drift += change
    root = _root_value(grammar, work)
    log_z = float(np.log(root) + np.log(scale).sum() - n * drift) if root > 0.0 else -np.inf
    if root <= 0.0 or not with_outside:
        return Chart(n, log_z, root, work.base, work.top, work.base[:0], work.top[:0], work.tag, work.tag[:0])
    out = _outside_of(grammar, work, splits)
    return Chart(n, log_z, root, work.base, work.top, out.base, out.top, work.tag, out.tag)


def chart_bytes(grammar: ChartGrammar, words: int) -> int:
    """What a sentence of so many words needs in memory."""
    square = 2 * words * (words + 1) * (len(grammar.rules.lefts) + len(grammar.rules.rights))
    return 8 * (square + 2 * words * (words + 1) * grammar.inner + 2 * words * grammar.tags)
