"""Count tag bigrams, and make a right-linear grammar of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from latree.arrays import NONE, Floats
from latree.inference.grammar import Grammar
from latree.text.binary import Symbol


def code_tags(
    sentences: Sequence[tuple[Sequence[str], Sequence[str]]],
) -> tuple[list[str], list[list[tuple[str, int]]]]:
    """The names of the tags, and the sentences with numbers for tags."""
    names = sorted({tag for _, tags in sentences for tag in tags})
    number = {name: i for i, name in enumerate(names)}
    return names, [[(word, number[tag]) for word, tag in zip(words, tags, strict=True)] for words, tags in sentences]


def count_bigrams(sentences: Iterable[Sequence[tuple[str, int]]], tags: int) -> Floats:
    """counts[s, t] of tag t after tag s; the last row is the start of a sentence, the last column its end."""
    counts = np.zeros((tags + 1, tags + 1))
    for sentence in sentences:
        sequence = [tags, *(tag for _, tag in sentence), tags]
        np.add.at(counts, (sequence[:-1], sequence[1:]), 1)
    counts[tags, tags] = 0  # of sentences without a word
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
    table = witten_bell(counts)
    table[tags, tags] = 0
    table[tags] /= table[tags].sum()
    rows = [(0, t + 1, NONE) for t in range(tags)]
    rows += [(s + 1, t + 1, NONE) for s in range(tags) for t in range(tags)]
    rows += [(s + 1, NONE, NONE) for s in range(tags)]
    symbols = (Symbol("root", "ROOT"), *(Symbol("tag", name) for name in names))
    return Grammar(symbols, np.array(rows, np.int32), 0), by_rule(table)


def by_rule(table: Floats) -> Floats:
    """The numbers of all bigrams in the order of the grammar's rules."""
    return np.concatenate([table[-1, :-1], table[:-1, :-1].ravel(), table[:-1, -1]])
