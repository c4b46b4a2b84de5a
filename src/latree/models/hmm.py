"""The hidden Markov tagger: tag bigrams and P(word | tag), as a right-linear grammar over a tag lattice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Self

import numpy as np

from latree.arrays import Floats
from latree.binary import Symbol
from latree.errors import LatreeError
from latree.grammar import NONE, Grammar
from latree.models.tagger import Tagger
from latree.words import Lexicon, LexiconOptions

# Chosen on the dev parts of seven tagging sets: a tagger gains from a sharper idea of what is rare.
TAGGER_LEXICON = LexiconOptions(rare=3)


class Hmm(Tagger):
    """`Hmm().fit(sentences).tag(tokens)`, with sentences as (words, tags)."""

    kind = "hmm"

    def __init__(
        self, *, column: str = "upos", unknown: str = "neutral", lexicon: LexiconOptions | None = None
    ) -> None:
        self.column = column
        self.unknown, self.lexicon_options = unknown, lexicon or TAGGER_LEXICON
        self.training = {}

    def fit(self, sentences: Iterable[tuple[Sequence[str], Sequence[str]]]) -> Self:
        """Count tag bigrams and words."""
        names, coded = code_tags(sentences)
        self.grammar, self.theta = bigram_grammar(names, count_bigrams(coded, len(names)))
        self.lexicon = Lexicon.count(coded, len(names), self.unknown, self.lexicon_options)
        self.prepare()
        return self


def code_tags(
    sentences: Iterable[tuple[Sequence[str], Sequence[str]]],
) -> tuple[list[str], list[list[tuple[str, int]]]]:
    """The names of the tags, and the sentences with numbers for tags; those without words are left out."""
    kept = [(words, tags) for words, tags in sentences if words]
    if not kept:
        raise LatreeError("there are no sentences with words to train on")
    names = sorted({tag for _, tags in kept for tag in tags})
    number = {name: i for i, name in enumerate(names)}
    return names, [[(word, number[tag]) for word, tag in zip(words, tags, strict=True)] for words, tags in kept]


def count_bigrams(sentences: Iterable[Sequence[tuple[str, int]]], tags: int) -> Floats:
    """counts[s, t] of tag t after tag s; the last row is the start of a sentence, the last column its end."""
    counts = np.zeros((tags + 1, tags + 1))
    for sentence in sentences:
        sequence = [tags, *(tag for _, tag in sentence), tags]
        np.add.at(counts, (sequence[:-1], sequence[1:]), 1)
    return counts


def witten_bell(counts: Floats) -> Floats:
    """P(t | s) = (c(s, t) + N(s) P(t)) / (c(s) + N(s)), N(s) being how many different tags follow s.

    A tag that was often followed by something new is trusted less; P(t) is the share of t in all bigrams.
    """
    overall = counts.sum(0) / counts.sum()
    kinds = (counts > 0).sum(1, keepdims=True)
    smoothed: Floats = (counts + kinds * overall) / (counts.sum(1, keepdims=True) + kinds)
    return smoothed


def bigram_grammar(names: Sequence[str], counts: Floats) -> tuple[Grammar, Floats]:
    """Rules root -> t, s -> t and s -> (end), with smoothed weights; a sentence has at least one word."""
    tags = len(names)
    counts[tags, tags] = 0
    table = witten_bell(counts)
    table[tags, tags] = 0
    table[tags] /= table[tags].sum()
    rows = [(0, t + 1, NONE) for t in range(tags)]
    rows += [(s + 1, t + 1, NONE) for s in range(tags) for t in range(tags)]
    rows += [(s + 1, NONE, NONE) for s in range(tags)]
    theta = np.concatenate([table[tags, :tags], table[:tags, :tags].ravel(), table[:tags, tags]])
    symbols = (Symbol("root", "ROOT"), *(Symbol("tag", name) for name in names))
    return Grammar(symbols, np.array(rows, np.int32), 0), theta
