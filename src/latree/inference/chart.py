"""The coarse chart: inside and outside of a scalar grammar over all spans of one sentence.

Split points are summed first, T[b, c] = sum_s left[s, b] right[s, c], one matrix product a span; then every rule
is read off T once.  Left parts of a span lie together by their start and right parts by their end, so that
both factors are contiguous.  Chains of unary rules are summed beforehand into a closure, from `base` (what a binary
rule or a word made) to `top` (what the rule above sees).

Scale: span (i, j) holds its probability divided by the product of its words' scales, so that the scales of two parts
always multiply to that of the whole.  When a width's largest sum drifts, the common scale is changed for all.

Outside values are asked for with the least posterior that matters: nothing is handed down from symbols over spans and
from splits below it.  A tree of that posterior or more has no such part, so that it still counts in full for all of its
constituents.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from latree.arrays import Floats, Places
from latree.inference.chart_grammar import ChartGrammar, ChartRules, Links, Pairs, TagLinks
from latree.inference.lanes import LANES, fused, fused_lanes, load, padded, splat, store, total_of
from latree.jit import lean, lean_kernel

_DRIFT = 2.5  # nats that a word costs beside its emission, about: what scales begin with


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


class Share(NamedTuple):
    """What a span has to hand down: room for the span at hand."""

    base: Floats  # [inner] the outside values of what is worth it
    splits: Floats  # [lefts, rights] what rules with two inner children make of that
    rows: Places  # [lefts] where that is anything
    weight: Floats  # [lefts] the sums of these rows


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
def _up(first: Places, child: Places, weight: Floats, below: Floats, out: Floats) -> None:
    """Add up what parents are made of."""
    for a in range(len(first) - 1):
        total = 0.0
        for r in range(first[a], first[a + 1]):
            total += weight[r] * below[child[r]]
        out[a] += total


@lean
def _down(first: Places, child: Places, weight: Floats, above: Floats, out: Floats) -> None:
    """Hand what parents have to what they are made of."""
    for a in range(len(first) - 1):
        if above[a] != 0.0:
            for r in range(first[a], first[a + 1]):
                out[child[r]] += weight[r] * above[a]


@lean
def _pairs_down(pairs: Pairs, weight: Floats, inside: Floats, above: Floats, out: Floats, heard: Floats) -> None:
    for a in range(len(pairs.first) - 1):
        if above[a] != 0.0:
            for p in range(pairs.first[a], pairs.first[a + 1]):
                child = pairs.child[p]
                out[child] += weight[p] * above[a]
                heard[p] += inside[child] * above[a]


@lean
def _both_up(rules: Links, reach: Places, starting: Floats, ending: Floats, splits: Floats, base: Floats) -> None:
    """What rules with two inner children make of a span, given its beginnings and ends at every split point."""
    for b in range(0, starting.shape[1], LANES):
        for c in range(0, reach[b], LANES):
            _square(starting, ending, b, c, splits)
    _up(rules.first, rules.child, rules.prob, splits.reshape(-1), base)


@lean
def _square(starting: Floats, ending: Floats, b: int, c: int, splits: Floats) -> None:
    """Sum eight left children beside eight right ones over all split points: 64 sums, which stay in registers."""
    row0, row1, row2, row3 = splat(0.0), splat(0.0), splat(0.0), splat(0.0)
    row4, row5, row6, row7 = splat(0.0), splat(0.0), splat(0.0), splat(0.0)
    for s in range(len(starting)):
        left, right = starting[s, b : b + LANES], load(ending[s], c)
        row0, row1 = fused(left[0], right, row0), fused(left[1], right, row1)
        row2, row3 = fused(left[2], right, row2), fused(left[3], right, row3)
        row4, row5 = fused(left[4], right, row4), fused(left[5], right, row5)
        row6, row7 = fused(left[6], right, row6), fused(left[7], right, row7)
    for k, row in enumerate((row0, row1, row2, row3, row4, row5, row6, row7)):
        store(row, splits[b + k], c)


@lean
def _tags_up(rules: Links, left: Floats, right: Floats, base: Floats) -> None:
    for a in range(len(rules.first) - 1):
        for r in range(rules.first[a], rules.first[a + 1]):
            base[a] += rules.prob[r] * left[rules.child[r, 0]] * right[rules.child[r, 1]]


@lean
def _sum(values: Floats) -> float:
    total = 0.0
    for x in range(len(values)):
        total += values[x]
    return total


@lean
def _keep(inside: Floats, outside: Floats, limit: float, kept: Floats) -> bool:
    """Copy what is worth more than a limit; whether anything is.  Of a derivation each span has one symbol at its base,
    so that these shares never count twice."""
    some = False
    for a in range(len(inside)):
        worth = inside[a] * outside[a] > limit
        kept[a] = outside[a] if worth else 0.0
        some |= worth
    return some


@lean
def fill_span(g: ChartRules, work: Work, splits: Floats, i: int, j: int) -> float:
    """Fill base and top of words i to j - 1, given all spans inside; returns the sum over top."""
    n, width = len(work.tag), j - i
    c = cell(n, width, i)
    base, top = work.base[c], work.top[c]
    if width == 1:
        _up(g.tag_chain.first, g.tag_chain.child, g.tag_chain.prob, work.tag[i], top)
    else:
        if width == 2:
            _tags_up(g.tag_both, work.tag[i], work.tag[i + 1], base)
        _up(g.tag_left.first, g.tag_left.child, work.left[i], work.top[cell(n, width - 1, i + 1)], base)
        _up(g.tag_right.first, g.tag_right.child, work.right[j - 1], work.top[cell(n, width - 1, i)], base)
        starting, ending = work.by_start[i, i + 1 : j], work.by_end[j, i + 1 : j]
        _both_up(g.both, g.reach, starting, ending, splits, base)
        _up(g.chain.first, g.chain.child, g.chain.prob, base, top)
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
    reach: Places,
    share: Share,
    starting: Floats,
    ending: Floats,
    mass: Floats,
    to_starting: Floats,
    to_ending: Floats,
    limit: float,
) -> None:
    """Hand a span's share down to its beginnings and ends at every split point.

    An end's `mass` is the sum over its symbols.
    """
    rows = _find_rows(rules, reach, share)
    for s in range(len(starting)):
        for k in range(rows):
            b, heard = share.rows[k], splat(0.0)
            left, row = starting[s, b], share.splits[b]
            if left * mass[s] * share.weight[k] <= limit:
                continue
            for c in range(0, reach[b], LANES):
                part = load(row, c)
                heard = fused_lanes(part, load(ending[s], c), heard)
                store(fused(left, part, load(to_ending[s], c)), to_ending[s], c)
            to_starting[s, b] += total_of(heard)


@lean
def _find_rows(rules: Links, reach: Places, share: Share) -> int:
    """Find what rules with two inner children make of a span's share, and the left children that have any of it."""
    flat = share.splits.reshape(-1)
    flat[:] = 0.0
    _down(rules.first, rules.child, rules.prob, share.base, flat)
    rows = 0
    for b in range(len(reach)):
        sums = splat(0.0)
        for c in range(0, reach[b], LANES):
            sums = fused(1.0, load(share.splits[b], c), sums)
        weight = total_of(sums)
        if weight > 0.0:
            share.rows[rows], share.weight[rows] = b, weight
            rows += 1
    return rows


@lean
def _tags_down(rules: Links, above: Floats, left: Floats, right: Floats, to_left: Floats, to_right: Floats) -> None:
    for a in range(len(rules.first) - 1):
        if above[a] != 0.0:
            for r in range(rules.first[a], rules.first[a + 1]):
                share, b, c = rules.prob[r] * above[a], rules.child[r, 0], rules.child[r, 1]
                to_left[b] += share * right[c]
                to_right[c] += share * left[b]


@lean_kernel
def _outside(g: ChartRules, work: Work, out: Work, mass: Floats, share: Share, limit: float) -> None:
    """Hand outside values down from the widest span, whose own are given; what is worth no more than `limit` is not."""
    n = len(work.tag)
    for k in range(n):
        width = n - k
        for i in range(k + 1):
            c, j = cell(n, width, i), i + width
            top, base = out.top[c], out.base[c]
            for b in range(len(g.lefts)):
                top[g.lefts[b]] += out.by_start[i, j, b]
            for b in range(len(g.rights)):
                top[g.rights[b]] += out.by_end[j, i, b]
            _down(g.chain.first, g.chain.child, g.chain.prob, top, base)
            if width == 1:
                _down(g.tag_chain.first, g.tag_chain.child, g.tag_chain.prob, top, out.tag[i])
                continue
            if not _keep(work.base[c], base, limit, share.base):
                continue
            if width == 2:
                _tags_down(g.tag_both, share.base, work.tag[i], work.tag[i + 1], out.tag[i], out.tag[i + 1])
            x, y = cell(n, width - 1, i + 1), cell(n, width - 1, i)
            _pairs_down(g.tag_left, work.left[i], work.top[x], share.base, out.top[x], out.left[i])
            _pairs_down(g.tag_right, work.right[j - 1], work.top[y], share.base, out.top[y], out.right[j - 1])
            starting, ending = work.by_start[i, i + 1 : j], work.by_end[j, i + 1 : j]
            below = starting, ending, mass[j, i + 1 : j], out.by_start[i, i + 1 : j], out.by_end[j, i + 1 : j]
            _both_down(g.both, g.reach, share, *below, limit)


def empty_work(g: ChartGrammar, words: int) -> Work:
    """Make an empty chart of so many words."""
    n, cells = words, words * (words + 1) // 2
    base, top = np.zeros((cells, g.inner)), np.zeros((cells, g.inner))
    lefts, rights = padded(len(g.rules.lefts)), padded(len(g.rules.rights))
    by_start, by_end = np.zeros((n, n + 1, lefts)), np.zeros((n + 1, n, rights))
    pairs = (np.zeros((n, len(p.child))) for p in (g.rules.tag_left, g.rules.tag_right))
    return Work(np.zeros((n, g.tags)), base, top, by_start, by_end, *pairs)


def weigh_tags(g: ChartGrammar, work: Work, words: slice) -> None:
    """Weigh the rules with a tag on one side by the tags of some words, which are in the chart."""
    _weigh(g.tag_left, work.tag[words], work.left[words])
    _weigh(g.tag_right, work.tag[words], work.right[words])


def root_value(g: ChartGrammar, work: Work, words: int) -> float:
    """The root's value over the first so many words."""
    whole = cell(len(work.tag), words, 0)
    value = work.base[whole, 0] + (g.top.prob * work.top[whole, g.top.child]).sum()
    if words == 1:
        value += (g.top_tag.prob * work.tag[0, g.top_tag.child]).sum()
    return float(value)


def room_for_splits(g: ChartGrammar) -> Floats:
    """Room for what two inner children make together."""
    return np.empty((padded(len(g.rules.lefts)), padded(len(g.rules.rights))))


def _room_for_share(g: ChartGrammar) -> Share:
    lefts = len(g.rules.lefts)
    return Share(np.empty(g.inner), room_for_splits(g), np.empty(lefts, np.uint32), np.empty(lefts))


def _outside_of(g: ChartGrammar, work: Work, limit: float) -> Work:
    out = Work(*(np.zeros_like(values) for values in work))
    out.base[-1, 0] = 1.0  # the root's binary rules
    out.top[-1, g.top.child] += g.top.prob
    if len(work.tag) == 1:
        out.tag[0, g.top_tag.child] += g.top_tag.prob
    _outside(g.rules, work, out, work.by_end.sum(2), _room_for_share(g), limit)
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
