"""The tags of many sentences at once: sums over tag sequences with subtypes, and the best sequence by max-rule.

What `sweep` and `decode` do for any forest is done here for tag lattices alone, where it takes a fraction of the time:
sentences are laid end to end, a batch is a call of a kernel, and no forest is made.  Numbers are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from latree.arrays import NONE, Floats, Longs, starts
from latree.inference.forms.sparse import Sparse
from latree.inference.subtypes import Layout
from latree.inference.trellis import Chain
from latree.jit import inner, kernel, lean, lean_kernel


class Lattice(NamedTuple):
    """The tags that words may have.  A node is a word under a tag; a step leads from it to a node of the next word."""

    sentence: Longs  # [sentences + 1] first word of each
    word: Longs  # [words + 1] first node of each
    tag: Longs  # [nodes]
    step: Longs  # [words + 1] first step into each word, by the node before, then by the word's; none into a first word
    is_open: NDArray[np.bool_]  # [steps] whether it may be taken

    @property
    def word_of_node(self) -> Longs:
        return np.repeat(np.arange(len(self.word) - 1), np.diff(self.word))


class SubtypeChain(NamedTuple):
    """A bigram model over the subtypes of tags, laid end to end."""

    chain: Chain
    columns: Longs  # [tags + 1] the first subtype of each tag


class Sums(NamedTuple):
    """What all sequences of a lattice come to: log Z, and probabilities that sequences go through nodes and steps."""

    log_z: Floats  # [sentences]
    node: Floats  # [nodes]
    step: Floats  # [steps]


class Expected(NamedTuple):
    """How often the numbers of a `SubtypeChain` and its words are expected; without room (`NOTHING`) none is kept."""

    step: Floats  # [1 + columns, 1 + columns] the first row begins sentences, and the first column ends them
    word: Floats  # [words, columns]


NOTHING = Expected(np.zeros((0, 0)), np.zeros((0, 0)))


def subtype_chain(layout: Layout, cells: Sparse) -> SubtypeChain:
    """The tables of a grammar of tag bigrams, zero where there is no rule."""
    table = np.zeros((int(layout.offset[-1]),) * 2)
    table[cell_places(layout, cells.place)] = cells.value
    start, step, stop = (np.ascontiguousarray(part) for part in (table[0, 1:], table[1:, 1:], table[1:, 0]))
    return SubtypeChain(Chain(start, step, stop), layout.tag_columns)


def cell_places(layout: Layout, place: Longs) -> tuple[Longs, Longs]:
    """Rows and columns of cells in a table of all subtypes: the root's row begins sentences, its column ends them."""
    rule, x, y, _ = layout.coordinates(place)
    parent, child = layout.grammar.rules[rule, :2].T
    return layout.offset[parent] + x, np.where(child == NONE, 0, layout.offset[child] + y)


# -- lattices


@kernel
def likely_tags(sentence: Longs, posterior: Floats, threshold: float) -> Lattice:
    """Keep the tags whose probability [words, tags] is at least the threshold, and not zero."""
    words, tags = posterior.shape
    word, tag = np.zeros(words + 1, np.int64), np.empty(words * tags, np.int64)
    nodes = 0
    for i in range(words):
        for t in range(tags):
            if posterior[i, t] >= threshold and posterior[i, t] > 0.0:
                tag[nodes] = t
                nodes += 1
        word[i + 1] = nodes
    step = _steps(sentence, word)
    return Lattice(sentence, word, tag[:nodes].copy(), step, np.ones(step[-1], np.bool_))


@kernel
def _steps(sentence: Longs, word: Longs) -> Longs:
    """Number the steps between all nodes of words that stand side by side."""
    step = np.zeros(len(word), np.int64)
    for k in range(len(sentence) - 1):
        for i in range(sentence[k], sentence[k + 1]):
            inner_word = i > sentence[k]
            step[i + 1] = step[i] + ((word[i] - word[i - 1]) * (word[i + 1] - word[i]) if inner_word else 0)
    return step


@kernel
def narrowed(lattice: Lattice, sums: Sums, least: float) -> Lattice:
    """Keep what has at least this probability; a sentence that would lose all its sequences keeps them."""
    keep, is_open = sums.node >= least, lattice.is_open & (sums.step >= least)
    reached = keep.copy()
    for k in range(len(lattice.sentence) - 1):
        first, last = lattice.sentence[k], lattice.sentence[k + 1]
        if not _is_passable(lattice, is_open, reached, first, last):
            keep[lattice.word[first] : lattice.word[last]] = True
            is_open[lattice.step[first] : lattice.step[last]] = lattice.is_open[
                lattice.step[first] : lattice.step[last]
            ]
    return restricted(lattice, keep, is_open)


@inner
def _is_passable(
    lattice: Lattice, is_open: NDArray[np.bool_], reached: NDArray[np.bool_], first: int, last: int
) -> bool:
    """Whether some sequence of words first..last has only open steps, and nodes that are `reached`, of which those are
    left to which a way leads."""
    for i in range(first + 1, last):
        before, here = lattice.word[i - 1], lattice.word[i]
        ahead = lattice.word[i + 1] - here
        for n in range(ahead):
            found = False
            for m in range(here - before):
                found = found or (reached[before + m] and is_open[lattice.step[i] + m * ahead + n])
            reached[here + n] = found and reached[here + n]
    return bool(reached[lattice.word[last - 1] : lattice.word[last]].any())


@kernel
def restricted(lattice: Lattice, keep: NDArray[np.bool_], is_open: NDArray[np.bool_]) -> Lattice:
    """The lattice of the kept nodes, with these steps open."""
    word = np.zeros_like(lattice.word)
    for i in range(len(word) - 1):
        word[i + 1] = word[i] + keep[lattice.word[i] : lattice.word[i + 1]].sum()
    step = _steps(lattice.sentence, word)
    kept_open, used = np.empty(step[-1], np.bool_), 0
    for i in range(len(word) - 1):
        before, here, e = lattice.word[i - 1] if i > 0 else 0, lattice.word[i], lattice.step[i]
        if lattice.step[i + 1] == e:
            continue
        for m in range(before, here):
            for n in range(here, lattice.word[i + 1]):
                if keep[m] and keep[n]:
                    kept_open[used] = is_open[e]
                    used += 1
                e += 1
    return Lattice(lattice.sentence, word, lattice.tag[keep], step, kept_open)


# -- sums


def sum_sequences(model: SubtypeChain, lattice: Lattice, emissions: Floats, expected: Expected = NOTHING) -> Sums:
    """Sum over all sequences of tags and subtypes, given what words weigh [words, columns]; what is expected is added
    to `expected`, where that has room."""
    up = _sum_forward(model, lattice, emissions)
    sums = Sums(up.log_z, np.zeros(len(lattice.tag)), np.zeros(len(lattice.is_open)))
    _backward(model, lattice, emissions, up, np.zeros_like(up.value), sums, expected)
    return sums


def log_z_of(model: SubtypeChain, lattice: Lattice, emissions: Floats) -> Floats:
    """[sentences] the log of the sum over all sequences."""
    return _sum_forward(model, lattice, emissions).log_z


class _Forward(NamedTuple):
    """What the way forward leaves for the way back."""

    row: Longs  # [nodes + 1] where the numbers of each begin, one a subtype
    value: Floats  # the sum over beginnings of sequences that end there, over the product of all scales so far
    scale: Floats  # [words]
    log_z: Floats  # [sentences]


def _sum_forward(model: SubtypeChain, lattice: Lattice, emissions: Floats) -> _Forward:
    row = starts(np.diff(model.columns)[lattice.tag])
    up = _Forward(row, np.zeros(row[-1]), np.empty(len(emissions)), np.empty(len(lattice.sentence) - 1))
    _forward(model, lattice, emissions, *up)
    return up


@lean_kernel
def _forward(
    model: SubtypeChain, lattice: Lattice, emissions: Floats, row: Longs, forward: Floats, scale: Floats, log_z: Floats
) -> None:
    """Fill a row of numbers for every node; those of a word are divided by their sum, its scale."""
    stop = model.chain.stop
    for k in range(len(log_z)):
        first, last, log = lattice.sentence[k], lattice.sentence[k + 1], 0.0
        for i in range(first, last):
            total = 0.0
            for n in range(lattice.word[i], lattice.word[i + 1]):
                total += _reach(model, lattice, row, emissions[i], forward, i, n, i == first)
            scale[i] = total
            for x in range(row[lattice.word[i]], row[lattice.word[i + 1]]):
                forward[x] /= total
            log += np.log(total)
        total = 0.0
        for n in range(lattice.word[last - 1], lattice.word[last]):
            begin = model.columns[lattice.tag[n]]
            for x in range(row[n + 1] - row[n]):
                total += forward[row[n] + x] * stop[begin + x]
        log_z[k] = log + np.log(total) if total > 0.0 else -np.inf  # what is no number is not above zero either


@lean
def _reach(
    model: SubtypeChain, lattice: Lattice, row: Longs, emission: Floats, forward: Floats, i: int, n: int, is_first: bool
) -> float:
    """Fill the row of node n of word i; returns its sum."""
    begin, at, size = model.columns[lattice.tag[n]], row[n], row[n + 1] - row[n]
    if is_first:
        for x in range(size):
            forward[at + x] = model.chain.start[begin + x]
    else:
        ahead = lattice.word[i + 1] - lattice.word[i]
        e = lattice.step[i] + n - lattice.word[i]
        for m in range(lattice.word[i - 1], lattice.word[i]):
            if lattice.is_open[e]:
                above = model.columns[lattice.tag[m]]
                for y in range(row[m + 1] - row[m]):
                    part, step = forward[row[m] + y], model.chain.step[above + y]
                    for x in range(size):
                        forward[at + x] += part * step[begin + x]
            e += ahead
    total = 0.0
    for x in range(size):
        forward[at + x] *= emission[begin + x]
        total += forward[at + x]
    return total


@lean_kernel
def _backward(
    model: SubtypeChain,
    lattice: Lattice,
    emissions: Floats,
    up: _Forward,
    backward: Floats,
    sums: Sums,
    expected: Expected,
) -> None:
    """Go back over every sentence that has a sequence; on the way fill the sums."""
    row, forward, scale, wanted = up.row, up.value, up.scale, len(expected.step) > 0
    for k in range(len(sums.log_z)):
        if not np.isfinite(sums.log_z[k]):
            continue
        first, last = lattice.sentence[k], lattice.sentence[k + 1]
        _begin_at_end(model, lattice, row, forward, backward, last - 1)
        for back in range(last - first):
            i = last - 1 - back
            for n in range(lattice.word[i], lattice.word[i + 1]):
                begin = model.columns[lattice.tag[n]]
                for x in range(row[n + 1] - row[n]):
                    together = forward[row[n] + x] * backward[row[n] + x]
                    sums.node[n] += together
                    if wanted:
                        expected.word[i, begin + x] += together
                        if i == first:
                            expected.step[0, 1 + begin + x] += together
                        if i == last - 1:
                            expected.step[1 + begin + x, 0] += together
                    backward[row[n] + x] *= emissions[i, begin + x] / scale[i]
            if i > first:
                _step_back(model, lattice, row, forward, backward, i, sums.step, expected.step)


@lean
def _begin_at_end(
    model: SubtypeChain, lattice: Lattice, row: Longs, forward: Floats, backward: Floats, last: int
) -> None:
    """The backward rows of a last word: products with the forward ones sum to one."""
    total = 0.0
    for n in range(lattice.word[last], lattice.word[last + 1]):
        begin = model.columns[lattice.tag[n]]
        for x in range(row[n + 1] - row[n]):
            backward[row[n] + x] = model.chain.stop[begin + x]
            total += forward[row[n] + x] * backward[row[n] + x]
    for x in range(row[lattice.word[last]], row[lattice.word[last + 1]]):
        backward[x] /= total


@lean
def _step_back(
    model: SubtypeChain,
    lattice: Lattice,
    row: Longs,
    forward: Floats,
    backward: Floats,
    i: int,
    posterior: Floats,
    expected: Floats,
) -> None:
    """From word i, whose backward rows have its weights in them, to the word before."""
    e = lattice.step[i]
    for m in range(lattice.word[i - 1], lattice.word[i]):
        above = model.columns[lattice.tag[m]]
        for n in range(lattice.word[i], lattice.word[i + 1]):
            if lattice.is_open[e]:
                begin, at, size = model.columns[lattice.tag[n]], row[n], row[n + 1] - row[n]
                for y in range(row[m + 1] - row[m]):
                    here, step, total = forward[row[m] + y], model.chain.step[above + y], 0.0
                    for x in range(size):
                        total += step[begin + x] * backward[at + x]
                    backward[row[m] + y] += total
                    posterior[e] += here * total
                    if len(expected) > 0:
                        for x in range(size):
                            expected[1 + above + y, 1 + begin + x] += here * step[begin + x] * backward[at + x]
            e += 1


# -- the best sequence


def best_nodes(lattice: Lattice, opinions: Sequence[Sums]) -> Longs:
    """[words] the node of each in the best sequence by max-rule: the highest sum of log posteriors of all rules, which
    are words, steps, beginning and end, by all opinions; NONE where a sentence has no sequence."""
    with np.errstate(divide="ignore"):
        node = np.sum([np.log(one.node) for one in opinions], axis=0)
        step = np.sum([np.log(one.step) for one in opinions], axis=0)
    return _best_nodes(lattice, node, step)


@kernel
def _best_nodes(lattice: Lattice, node: Floats, step: Floats) -> Longs:
    score, back = np.full(len(node), -np.inf), np.full(len(node), NONE)
    chosen = np.full(len(lattice.word) - 1, NONE)
    for k in range(len(lattice.sentence) - 1):
        first, last = lattice.sentence[k], lattice.sentence[k + 1]
        for i in range(first, last):
            ends = (1.0 if i == first else 0.0) + (1.0 if i == last - 1 else 0.0)  # rules as likely as the tag itself
            for n in range(lattice.word[i], lattice.word[i + 1]):
                if i > first:
                    _best_before(lattice, step, score, back, i, n)
                score[n] = (score[n] if i > first else 0.0) + (1.0 + ends) * node[n]
        best = NONE
        for n in range(lattice.word[last - 1], lattice.word[last]):
            if score[n] > (score[best] if best != NONE else -np.inf):
                best = n
        for i in range(last - first if best != NONE else 0):
            chosen[last - 1 - i] = best
            best = back[best]
    return chosen


@inner
def _best_before(lattice: Lattice, step: Floats, score: Floats, back: Longs, i: int, n: int) -> None:
    """Find the best way to node n of word i, and what it scores."""
    ahead = lattice.word[i + 1] - lattice.word[i]
    e = lattice.step[i] + n - lattice.word[i]
    for m in range(lattice.word[i - 1], lattice.word[i]):
        if score[m] + step[e] > score[n]:
            score[n], back[n] = score[m] + step[e], m
        e += ahead


@kernel
def chosen_steps(lattice: Lattice, chosen: Longs) -> Longs:
    """[words] the step into each in the sequences of chosen nodes; NONE where there is none."""
    taken = np.full(len(chosen), NONE)
    for i in range(1, len(chosen)):
        if lattice.step[i + 1] > lattice.step[i] and chosen[i] != NONE:
            ahead = lattice.word[i + 1] - lattice.word[i]
            taken[i] = lattice.step[i] + (chosen[i - 1] - lattice.word[i - 1]) * ahead + chosen[i] - lattice.word[i]
    return taken


def only(lattice: Lattice, chosen: Longs) -> Lattice:
    """The lattice of one sequence a sentence, less the sentences that have none."""
    keep = np.zeros(len(lattice.tag), np.bool_)
    keep[chosen[chosen != NONE]] = True
    return restricted(lattice, keep, lattice.is_open)


# -- several opinions as one


class Pooled(NamedTuple):
    """The normalised geometric mean of several distributions over the sequences of a lattice, as `pooled` has it."""

    sums: Sums
    start: Floats  # [nodes] logs of the shares that sequences begin with
    step: Floats  # [steps] logs of the shares of a node's steps
    known: Floats  # [sentences] mean of the members' log Z, to which shares are added

    def log_weights(self, lattice: Lattice, chosen: Longs) -> Floats:
        """[sentences] log P(T, w) of the sequences of chosen nodes; -inf where a sentence has none."""
        taken = chosen_steps(lattice, chosen)
        logs = np.where(
            chosen == NONE, -np.inf, np.where(taken == NONE, self.start[chosen], np.append(self.step, 0.0)[taken])
        )
        return self.known + np.add.reduceat(logs, lattice.sentence[:-1])


def pool(lattice: Lattice, members: Sequence[Sums]) -> Pooled:
    """Take each member by the Markov chain over the lattice that is nearest to it."""
    source = _step_sources(lattice)
    with np.errstate(divide="ignore"):
        start = np.mean([np.log(one.node) for one in members], axis=0)
        step = np.mean([np.log(_shares(one.step, one.node[source])) for one in members], axis=0)
    known = np.mean([one.log_z for one in members], axis=0)
    sums = _sum_shares(lattice, np.exp(start), np.exp(step))
    return Pooled(sums._replace(log_z=known + sums.log_z), start, step, known)


def _shares(part: Floats, whole: Floats) -> Floats:
    share: Floats = np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
    return share


@kernel
def _step_sources(lattice: Lattice) -> Longs:
    """[steps] the node that each leads away from."""
    source, e = np.empty(len(lattice.is_open), np.int64), 0
    for i in range(1, len(lattice.word) - 1):
        if lattice.step[i + 1] > lattice.step[i]:
            for m in range(lattice.word[i - 1], lattice.word[i]):
                for _ in range(lattice.word[i], lattice.word[i + 1]):
                    source[e] = m
                    e += 1
    return source


@kernel
def _sum_shares(lattice: Lattice, start: Floats, step: Floats) -> Sums:
    """Sum over all sequences whose weights are products of shares."""
    forward, backward, scale = np.zeros(len(start)), np.zeros(len(start)), np.ones(len(lattice.word) - 1)
    log_z, posterior = np.zeros(len(lattice.sentence) - 1), np.zeros(len(step))
    for k in range(len(log_z)):
        first, last = lattice.sentence[k], lattice.sentence[k + 1]
        for i in range(first, last):
            here, end, before = lattice.word[i], lattice.word[i + 1], lattice.word[max(i - 1, first)]
            if i == first:
                forward[here:end] = start[here:end]
            for e in range(lattice.step[i], lattice.step[i + 1]):
                m, n = divmod(e - lattice.step[i], end - here)
                forward[here + n] += forward[before + m] * step[e]
            scale[i] = forward[here:end].sum()
            forward[here:end] /= scale[i]
            log_z[k] += np.log(scale[i])
        if not np.isfinite(log_z[k]):
            log_z[k] = -np.inf
            continue
        backward[lattice.word[last - 1] : lattice.word[last]] = 1.0
        for back in range(last - first):
            i = last - 1 - back
            here, end, before = lattice.word[i], lattice.word[i + 1], lattice.word[max(i - 1, first)]
            for e in range(lattice.step[i], lattice.step[i + 1]):
                m, n = divmod(e - lattice.step[i], end - here)
                part = step[e] * backward[here + n] / scale[i]
                backward[before + m] += part
                posterior[e] = forward[before + m] * part
    return Sums(log_z, forward * backward, posterior)
