"""The coarse chart: inside and outside of a scalar grammar over all spans of one sentence.

Split points are summed first, T[b, c] = sum_s left[s, b] right[s, c], one matrix product a span; then every rule
is read off T once.  Left parts of a span lie together by their start and right parts by their end, so that
both factors are contiguous.  Chains of unary rules are summed beforehand into a closure, from `base` (what a binary
rule or a word made) to `top` (what the rule above sees).

Scale: span (i, j) holds its probability divided by the product of its words' scales, so that the scales of two parts
always multiply to that of the whole.  When a width's largest sum drifts, the common scale is changed for all.

Outside values are asked for with the least posterior that matters: nothing is handed down from spans and splits below
it.  A tree of that posterior or more has no such part, so that it still counts in full for all of its constituents.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from latree.arrays import NONE, Floats, Ints, Longs
from latree.inference.forest import L, P, R
from latree.inference.grammar import Grammar
from latree.inference.subtypes import ColumnMap
from latree.jit import lean, lean_kernel

Sizes = TypeVar("Sizes", int, Ints)

_DRIFT = 2.5  # nats that a word costs beside its emission, about: what scales begin with
_LANES = 8  # numbers that go through vector instructions together


class Links(NamedTuple):
    """Sparse non-negative table, sorted by parent."""

    ends: Ints  # [links, 2 or 3] parent and what it is made of
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
    rights: Ints  # inner symbols that are right children, those of most left children first
    reach: Ints  # [lefts] the columns among which all right children of a left one are
    both: Links  # children inner, as a place in a table of [lefts, rights]
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
    step: ColumnMap  # one unary rule, from all symbols to inner ones, the root's own left out
    steps: int  # that may stand on one span


class Values(NamedTuple):
    """Scaled inside values, or outside ones; a cell (width w, start i) has number `cell(n, w, i)`."""

    base: Floats  # [cells, inner] outside: what chains above make of a symbol; over one word no binary rule has it
    top: Floats  # [cells, inner]
    tag: Floats  # [words, tags]


class Work(NamedTuple):
    """The chart being filled, with the copies that matrix products want; or its outside values, laid out alike."""

    tag: Floats  # [words, tags]
    base: Floats  # [cells, inner]
    top: Floats
    by_start: Floats  # [start, end, lefts]
    by_end: Floats  # [end, start, rights]
    left: Floats  # [words, pairs of tag_left] their weights; outside: what waits to be handed to the words' tags
    right: Floats  # [words, pairs of tag_right]


class Chart(NamedTuple):
    """A sentence read by a scalar grammar."""

    log_z: float  # log P(words), -inf where the grammar has no derivation
    root: float  # scaled value of the root: an inside times an outside divided by this is a posterior
    inside: Values
    grammar: ChartGrammar
    work: Work

    @property
    def words(self) -> int:
        return len(self.inside.tag)

    def outside(self, least: float = 0.0) -> Values:
        """Outside values, as far as posteriors of at least `least` are concerned."""
        out = _outside_of(self.grammar, self.work, least * self.root)
        return Values(out.base, out.top, out.tag)


def chart_grammar(grammar: Grammar, prob: Floats) -> ChartGrammar:
    """Sort a grammar's rules for the chart; `prob` holds one number a rule.  Those without any are left out."""
    first_tag = grammar.first_tag
    used = prob[prob > 0]
    parent, left, right = grammar.rules[prob > 0].T
    binary, top = right != NONE, parent == 0
    tag_l, tag_r = left >= first_tag, right >= first_tag
    both = binary & ~tag_l & ~tag_r
    pairs = np.unique(np.stack([left[both], right[both]]), axis=1)
    lefts, (rights, partners) = np.unique(pairs[0]), np.unique(pairs[1], return_counts=True)
    rights = rights[np.argsort(-partners, kind="stable")]
    row, column = _numbers(lefts, len(grammar.symbols))[left], _numbers(rights, len(grammar.symbols))[right]

    def links(rows: NDArray[np.bool_], *children: Ints) -> Links:
        return Links(_columns(parent[rows], *(child[rows] for child in children)), used[rows])

    def tag_links(rows: NDArray[np.bool_], tag: Ints, child: Ints) -> TagLinks:
        pairs, pair = np.unique(np.stack([parent[rows], child[rows]], 1), axis=0, return_inverse=True)
        return TagLinks(_columns(*pairs.T), _columns(pair.ravel(), tag[rows] - first_tag), used[rows])

    tag_left = tag_links(binary & tag_l & ~tag_r, left, right)
    tag_right = tag_links(binary & ~tag_l & tag_r, right, left)
    rules = ChartRules(
        lefts.astype(np.int32),
        rights.astype(np.int32),
        _reach(row[both], column[both], len(lefts)),
        links(both, row * _padded(len(rights)) + column),
        tag_left.pairs,
        tag_right.pairs,
        links(binary & tag_l & tag_r, left - first_tag, right - first_tag),
        *_chains(unary_closure(grammar, prob)),
    )
    tops = links(~binary & top & ~tag_l, left), links(~binary & top & tag_l, left - first_tag)
    unary = ColumnMap.of([_unary_table(grammar, prob)]), grammar.unary_steps
    return ChartGrammar(first_tag, len(grammar.symbols) - first_tag, rules, tag_left, tag_right, *tops, *unary)


def _numbers(symbols: Ints, among: int) -> Ints:
    """Which place each of so many symbols has in a list, NONE where it has none."""
    numbers = np.full(among, NONE, np.int32)
    numbers[symbols] = np.arange(len(symbols))
    return numbers


def _reach(row: Ints, column: Ints, rows: int) -> Ints:
    """How many columns each row of a table uses, rounded up to what vector instructions divide evenly."""
    reach = np.zeros(rows, np.int32)
    np.maximum.at(reach, row, column + 1)
    return _padded(reach)


def _columns(*columns: Longs | Ints) -> Ints:
    return np.ascontiguousarray(np.stack(columns, 1), np.int32)


def unary_closure(grammar: Grammar, prob: Floats) -> Floats:
    """sum over l = 0..unary_steps of U^l, with U[a, b] = P(a -> b); the root's own unary rules stand apart.

    A row for every inner symbol, a column for every symbol.
    """
    first_tag, step = grammar.first_tag, _unary_table(grammar, prob)
    closure = np.eye(*step.shape)
    for _ in range(grammar.unary_steps):
        closure = step[:, :first_tag] @ closure
        closure[:, first_tag:] += step[:, first_tag:]
        closure += np.eye(*step.shape)
    return closure


def _unary_table(grammar: Grammar, prob: Floats) -> Floats:
    """U[a, b] = P(a -> b), a row for every inner symbol, a column for every symbol; none for the root."""
    step = np.zeros((grammar.first_tag, len(grammar.symbols)))
    unary = (grammar.rules[:, 2] == NONE) & (grammar.rules[:, 0] != 0)
    step[grammar.rules[unary, 0], grammar.rules[unary, 1]] = prob[unary]
    return step


def _chains(closure: Floats) -> tuple[Links, Links]:
    """The closure's cells, those from inner symbols and those from tags."""
    inner = len(closure)

    def links(table: Floats) -> Links:
        a, b = np.nonzero(table)
        return Links(_columns(a, b), table[a, b])

    return links(closure[:, :inner]), links(closure[:, inner:])


@lean_kernel
def cell(words: int, width: int, start: int) -> int:
    """Cells are numbered by width, then by start."""
    return (width - 1) * words - (width - 1) * (width - 2) // 2 + start


@lean_kernel
def _weigh(links: TagLinks, tag: Floats, weight: Floats) -> None:
    """Add up what every word's tags make of each pair: weight[word, pair]."""
    for i in range(len(tag)):
        for r in range(len(links.prob)):
            weight[i, links.rules[r, 0]] += links.prob[r] * tag[i, links.rules[r, 1]]


@lean_kernel
def _unweigh(links: TagLinks, heard: Floats, tag_out: Floats) -> None:
    """Hand what the pairs have heard from above on to the words' tags."""
    for i in range(len(tag_out)):
        for r in range(len(links.prob)):
            tag_out[i, links.rules[r, 1]] += links.prob[r] * heard[i, links.rules[r, 0]]


@lean
def _up(ends: Ints, weight: Floats, below: Floats, out: Floats) -> None:
    """Add up what parents are made of.  They stand in order: each is summed in a register and stored once."""
    r = 0
    while r < len(ends):
        parent, total = ends[r, P], 0.0
        while r < len(ends) and ends[r, P] == parent:
            total += weight[r] * below[ends[r, L]]
            r += 1
        out[parent] += total


@lean
def _down(ends: Ints, weight: Floats, above: Floats, out: Floats) -> None:
    """Hand what parents have to what they are made of."""
    for r in range(len(ends)):
        out[ends[r, L]] += weight[r] * above[ends[r, P]]


@lean
def _pairs_down(pairs: Ints, weight: Floats, child: Floats, above: Floats, child_out: Floats, heard: Floats) -> None:
    for p in range(len(pairs)):
        outside = above[pairs[p, 0]]
        child_out[pairs[p, 1]] += weight[p] * outside
        heard[p] += outside * child[pairs[p, 1]]


@lean
def _both_up(rules: Links, reach: Ints, starting: Floats, ending: Floats, splits: Floats, base: Floats) -> None:
    """What rules with two inner children make of a span, given its beginnings and ends at every split point."""
    splits[:] = 0.0
    for s in range(0, len(starting), 2):  # two at once: the table is loaded and stored half as often
        t = min(s + 1, len(starting) - 1)
        for b in range(starting.shape[1]):
            left, next_left = starting[s, b], starting[t, b] if t > s else 0.0
            if left + next_left != 0.0:
                for c in range(reach[b]):
                    splits[b, c] += left * ending[s, c] + next_left * ending[t, c]
    _up(rules.ends, rules.prob, splits.reshape(-1), base)


@lean
def _tags_up(ends: Ints, prob: Floats, left: Floats, right: Floats, base: Floats) -> None:
    for r in range(len(prob)):
        base[ends[r, P]] += prob[r] * left[ends[r, L]] * right[ends[r, R]]


@lean
def _sum(values: Floats) -> float:
    total = 0.0
    for x in range(len(values)):
        total += values[x]
    return total


@lean
def _product(inside: Floats, outside: Floats) -> float:
    """What a span adds to the root's value: each derivation has one symbol at the base of a span."""
    total = 0.0
    for x in range(len(inside)):
        total += inside[x] * outside[x]
    return total


@lean
def fill_span(g: ChartRules, work: Work, splits: Floats, i: int, j: int) -> float:
    """Fill base and top of words i to j - 1, given all spans inside; returns the sum over top."""
    n, width = len(work.tag), j - i
    c = cell(n, width, i)
    base, top = work.base[c], work.top[c]
    if width == 1:
        _up(g.tag_chain.ends, g.tag_chain.prob, work.tag[i], top)
    else:
        if width == 2:
            _tags_up(g.tag_both.ends, g.tag_both.prob, work.tag[i], work.tag[i + 1], base)
        _up(g.tag_left, work.left[i], work.top[cell(n, width - 1, i + 1)], base)
        _up(g.tag_right, work.right[j - 1], work.top[cell(n, width - 1, i)], base)
        starting, ending = work.by_start[i, i + 1 : j], work.by_end[j, i + 1 : j]
        _both_up(g.both, g.reach, starting, ending, splits, base)
        _up(g.chain.ends, g.chain.prob, base, top)
    for b in range(len(g.lefts)):
        work.by_start[i, j, b] = top[g.lefts[b]]
    for b in range(len(g.rights)):
        work.by_end[j, i, b] = top[g.rights[b]]
    return _sum(top)


@lean_kernel
def _inside(g: ChartRules, work: Work, splits: Floats, first: int, last: int) -> tuple[int, float]:
    """Fill base and top from a width to another, or until values drift.

    Returns the width that was filled last, and its largest sum where values have drifted, else one.
    """
    for width in range(first, last + 1):
        big = 0.0
        for i in range(len(work.tag) - width + 1):
            big = max(big, fill_span(g, work, splits, i, i + width))
        if width > 1 and big > 0.0 and not 1e-50 < big < 1e50:
            return width, big
    return last, 1.0


def _rescale(work: Work, width: int, log_factor: float) -> None:
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


@lean
def _both_down(
    rules: Links,
    reach: Ints,
    above: Floats,
    splits: Floats,
    starting: Floats,
    ending: Floats,
    mass: Floats,
    to_starting: Floats,
    to_ending: Floats,
    limit: float,
) -> None:
    """Hand the outside `above` of a span down to its beginnings and ends at every split point.

    An end's `mass` is the sum over its symbols.
    """
    flat = splits.reshape(-1)
    flat[:] = 0.0
    _down(rules.ends, rules.prob, above, flat)
    most = _sum(flat)
    for s in range(len(starting)):
        for b in range(starting.shape[1]):
            left, heard = starting[s, b], 0.0
            if left * mass[s] * most <= limit:
                continue
            for c in range(reach[b]):
                heard += splits[b, c] * ending[s, c]
                to_ending[s, c] += splits[b, c] * left
            to_starting[s, b] += heard


@lean
def _tags_down(
    ends: Ints, prob: Floats, above: Floats, left: Floats, right: Floats, to_left: Floats, to_right: Floats
) -> None:
    for r in range(len(prob)):
        share = prob[r] * above[ends[r, P]]
        to_left[ends[r, L]] += share * right[ends[r, R]]
        to_right[ends[r, R]] += share * left[ends[r, L]]


@lean_kernel
def _outside(g: ChartRules, work: Work, out: Work, mass: Floats, splits: Floats, limit: float) -> None:
    """Hand outside values down from the widest span, whose own are given; what is worth no more than `limit` is not."""
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
            _down(g.chain.ends, g.chain.prob, top, above)
            if width == 1:
                _down(g.tag_chain.ends, g.tag_chain.prob, top, out.tag[i])
                continue
            if _product(work.base[c], above) <= limit:
                continue
            if width == 2:
                words = work.tag[i], work.tag[i + 1], out.tag[i], out.tag[i + 1]
                _tags_down(g.tag_both.ends, g.tag_both.prob, above, *words)
            x, y = cell(n, width - 1, i + 1), cell(n, width - 1, i)
            _pairs_down(g.tag_left, work.left[i], work.top[x], above, out.top[x], out.left[i])
            _pairs_down(g.tag_right, work.right[j - 1], work.top[y], above, out.top[y], out.right[j - 1])
            starting, ending = work.by_start[i, i + 1 : j], work.by_end[j, i + 1 : j]
            below = starting, ending, mass[j, i + 1 : j], out.by_start[i, i + 1 : j], out.by_end[j, i + 1 : j]
            _both_down(g.both, g.reach, above, splits, *below, limit)


def _padded(size: Sizes) -> Sizes:
    """A number of columns that vector instructions divide evenly."""
    return -(-size // _LANES) * _LANES


def empty_work(g: ChartGrammar, words: int) -> Work:
    """Make an empty chart of so many words."""
    n, cells = words, words * (words + 1) // 2
    base, top = np.zeros((cells, g.inner)), np.zeros((cells, g.inner))
    by_start, by_end = np.zeros((n, n + 1, len(g.rules.lefts))), np.zeros((n + 1, n, _padded(len(g.rules.rights))))
    pairs = (np.zeros((n, len(p))) for p in (g.rules.tag_left, g.rules.tag_right))
    return Work(np.zeros((n, g.tags)), base, top, by_start, by_end, *pairs)


def weigh_tags(g: ChartGrammar, work: Work, words: slice) -> None:
    """Weigh the rules with a tag on one side by the tags of some words, which are in the chart."""
    _weigh(g.tag_left, work.tag[words], work.left[words])
    _weigh(g.tag_right, work.tag[words], work.right[words])


def root_value(g: ChartGrammar, work: Work, words: int) -> float:
    """The root's value over the first so many words."""
    whole = cell(len(work.tag), words, 0)
    value = work.base[whole, 0] + (g.top.prob * work.top[whole, g.top.ends[:, L]]).sum()
    if words == 1:
        value += (g.top_tag.prob * work.tag[0, g.top_tag.ends[:, L]]).sum()
    return float(value)


def room_for_splits(g: ChartGrammar) -> Floats:
    """Room for what two inner children make together."""
    return np.empty((len(g.rules.lefts), _padded(len(g.rules.rights))))


def _outside_of(g: ChartGrammar, work: Work, limit: float) -> Work:
    out = Work(*(np.zeros_like(values) for values in work))
    out.base[-1, 0] = 1.0  # the root's binary rules
    out.top[-1, g.top.ends[:, L]] += g.top.prob
    if len(work.tag) == 1:
        out.tag[0, g.top_tag.ends[:, L]] += g.top_tag.prob
    _outside(g.rules, work, out, work.by_end.sum(2), room_for_splits(g), limit)
    _unweigh(g.tag_left, out.left, out.tag)
    _unweigh(g.tag_right, out.right, out.tag)
    return out


class Limits(Protocol):
    """What rules parts of a chart out while it is filled."""

    def on_tags(self, work: Work) -> None:
        """Rule out tags, before rules are weighed by them."""

    def on_width(self, work: Work, width: int) -> None:
        """Rule out what spans so many words, before it becomes part of more."""

    def inside(self, work: Work, drift: float) -> Values:
        """What pruning is to go by, given the log of what a word's scale was changed by."""


def fill_chart(grammar: ChartGrammar, emissions: Floats, limits: Limits | None = None) -> Chart:
    """The chart of one sentence, given P(word | tag) for its words [words, tags]; every word needs some tag."""
    n, scale = len(emissions), emissions.max(1) * np.exp(-_DRIFT)
    work, splits = empty_work(grammar, n), room_for_splits(grammar)
    work.tag[:] = emissions / scale[:, None]
    if limits is not None:
        limits.on_tags(work)
    weigh_tags(grammar, work, slice(n))
    width, drift = 0, 0.0
    while width < n:
        width, big = _inside(grammar.rules, work, splits, width + 1, n if limits is None else width + 1)
        if limits is not None:
            limits.on_width(work, width)
        if big != 1.0:  # values have drifted
            change = -np.log(big) / width
            _rescale(work, width, change)
            drift += change
    root = root_value(grammar, work, n)
    log_z = float(np.log(root) + np.log(scale).sum() - n * drift) if root > 0.0 else -np.inf
    inside = Values(work.base, work.top, work.tag) if limits is None else limits.inside(work, drift)
    return Chart(log_z, root, inside, grammar, work)


def chart_bytes(grammar: ChartGrammar, words: int) -> int:
    """What a sentence of so many words needs in memory."""
    square = 2 * words * (words + 1) * (len(grammar.rules.lefts) + len(grammar.rules.rights))
    return 8 * (square + 2 * words * (words + 1) * grammar.inner + 2 * words * grammar.tags)
