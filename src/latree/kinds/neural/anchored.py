"""Where the numbers of a network stand in a forest: words at lexical entries, spans at the edges that make phrases.

A node of a tree is made by one edge with a rule.  So the weight of a symbol over a span stands on all edges that make
it, and counts once for every node.  A word under a tag is a lexical rule of its own, with one Gaussian (Zhao, Zhang &
Tu 2018, eqn 4 with K = 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from latree.arrays import NONE, Floats, Ints, Longs, starts
from latree.inference.forest import PASS, Forest, P
from latree.inference.gaussian.mixtures import Components, Mixtures, laid_out
from latree.inference.grammar import Grammar
from latree.inference.potentials import NO_POTENTIALS, Potentials


class SpanPlaces(NamedTuple):
    """Spans of sentences laid end to end, as places among all words; where one touches an end of its sentence, -1."""

    before: Longs  # [spans] the word before it
    first: Longs
    last: Longs
    after: Longs  # [spans] the word after it


class WordRules(NamedTuple):
    """The lexical rules of some words: those entries, word * tags + tag, that are used."""

    entry: Longs  # [used] ascending
    entries: int
    components: Components  # of the grammar's rules and of these

    @classmethod
    def of(cls, entry: Longs | Ints, entries: int, grammar: Grammar, components: int) -> WordRules:
        """The grammar's rules have so many components each, words one."""
        used, rules = np.unique(entry).astype(np.int64), grammar.rules
        vectors = np.zeros((len(rules) + len(used), 3), np.bool_)
        vectors[: len(rules)], vectors[len(rules) :, P] = rules > 0, True
        return cls(used, entries, laid_out(vectors, np.repeat([components, 1], [len(rules), len(used)])))

    @property
    def numbers(self) -> Longs:
        """[entries] the rule of each, numbered after the grammar's, or NONE."""
        rule = np.full(self.entries, NONE)
        rule[self.entry] = len(self.components.first) - 1 - len(self.entry) + np.arange(len(self.entry))
        return rule

    def join(self, rules: Mixtures, words: Floats) -> Mixtures:
        """The weights of all rules, given those of the words [entries, 1 + dim + 1]."""
        log_rho, mean, log_sd = np.split(words[self.entry], [1, words.shape[1] - 1], axis=1)
        return Mixtures(
            np.append(rules.log_rho, log_rho), np.append(rules.mean, mean, 0), np.append(rules.log_sd, log_sd, 0)
        )

    def part(self, slope: Mixtures) -> tuple[Mixtures, Floats]:
        """A gradient by all weights as those by the rules' and by the words'."""
        words = np.zeros((self.entries, 2 + slope.mean.shape[1]))
        used = len(self.entry)
        cuts = [len(part) - used for part in slope]
        log_rho, mean, log_sd = (part[cut:] for part, cut in zip(slope, cuts, strict=True))
        words[self.entry] = np.concatenate([log_rho[:, None], mean, log_sd], 1)
        return Mixtures(*(part[:cut] for part, cut in zip(slope, cuts, strict=True))), words


def with_prior(words: Floats, prior: Floats) -> Floats:
    """What words weigh, [words * tags, 1 + dim + 1], where a network adds `words` to a prior [words, tags]."""
    weighed = words.copy()
    weighed[..., 0] += prior
    return weighed.reshape(-1, words.shape[-1])


class SpanEdges(NamedTuple):
    """Which edges of a forest make a symbol over a span that has a weight."""

    edge: Longs  # [such edges]
    key: Longs  # [such edges] a number for the sentence and the span
    symbol: Ints  # [such edges]
    edges: int

    @classmethod
    def of(cls, forest: Forest, size: int) -> SpanEdges:
        """Those of phrases and parts of phrases, not of the root nor of words; `size` exceeds every position."""
        parent = forest.ends[:, P]
        is_inner = (forest.symbol[parent] > 0) & (forest.rule != PASS) & (forest.rule < forest.rules)
        edge = np.flatnonzero(is_inner)
        item = parent[edge]
        start, end = forest.span[item].astype(np.int64).T
        key = (forest.sentence[item].astype(np.int64) * size + start) * size + end
        return cls(edge, key, forest.symbol[item], len(forest.rule))

    def potentials(self, spans: Longs, weights: Floats) -> Potentials:
        """What edges weigh, given the weights [spans, symbols] of spans of these numbers, which are in order."""
        if not len(spans):
            return NO_POTENTIALS
        edge = np.zeros(self.edges)
        edge[self.edge] = weights[np.searchsorted(spans, self.key), self.symbol]
        return Potentials(edge=edge)

    def slope(self, spans: Longs, posterior: Floats, symbols: int) -> Floats:
        """[spans, symbols] how often each is expected, given the posteriors of edges."""
        place = np.searchsorted(spans, self.key) * symbols + self.symbol
        expected = np.bincount(place, posterior[self.edge], len(spans) * symbols)
        return expected.reshape(len(spans), symbols).astype(np.float64)


def span_places(spans: Longs, size: int, lengths: Sequence[int]) -> SpanPlaces:
    """Where spans of these numbers stand among the words of sentences of these lengths."""
    begin, (rest, end) = starts(lengths), np.divmod(spans, size)
    sentence, start = np.divmod(rest, size)
    first, after = begin[sentence] + start, begin[sentence] + end
    before = np.where(start == 0, NONE, first - 1)
    return SpanPlaces(before, first, after - 1, np.where(after == begin[sentence + 1], NONE, after))
