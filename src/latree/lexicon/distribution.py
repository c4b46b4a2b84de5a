"""P(word | tag) as a distribution: over the words of training and the classes of all others it sums to one.

What the lexicon tells a parser need not: there an unknown word weighs as much as one token, however many such words
there are, and a guesser says P(tag | letters).  Here the outcomes are every word w of training, and every class S of
words that it never saw, as one outcome, however many words that has.  For a tag t, or a subtype of one:

    P(w | t) = (c_tw + a_w p_u(t)) / N_t      c_tw tokens, a_w and p_u as the lexicon smooths
    P(S | t) = u_t / N_t * (c_tS + a p(S)) / (c_t. + a)
    u_t = p_u(t) + sum of c_tw + a_w p_u(t) over words w that occur once
    N_t = u_t + sum over words of c_tw + a_w p_u(t)

so that new words are as frequent as those that were seen once (Good 1953), and of the classes that rare words show.
One more class, of p(S) = 1 / (rare tokens + 1), stands for all of which training shows none.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from latree.arrays import Floats, Longs
from latree.jit import kernel
from latree.lexicon.words import Lexicon

_ONCE = 1.5  # tokens; sums over subtypes are rounded


class WordDistribution:
    """The words and classes of a lexicon, as outcomes of its tags.

    `mixing` [columns, columns] says how much of each column's distribution goes into another's, rows into columns; what
    goes into one is brought to a sum of one.
    """

    def __init__(self, lexicon: Lexicon, mixing: Floats) -> None:
        self.lexicon, self.mixing = lexicon, mixing / mixing.sum(0)
        options, prior = lexicon.options, lexicon.unseen
        smoothing = np.where(lexicon.word_count > options.often, options.frequent, options.known)  # a_w
        once = lexicon.word_count < _ONCE
        once_count = lexicon.pair_count * np.repeat(once, np.diff(lexicon.word_ptr))
        seen_once = np.bincount(lexicon.pair_tag, once_count, minlength=lexicon.tags)
        self._new = seen_once + (1.0 + smoothing[once].sum()) * prior  # u_t
        total = lexicon.tag_count + smoothing.sum() * prior + self._new
        self._smoothing = smoothing
        self._unit = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)  # 1 / N_t
        self._new[total <= 0] = self._unit[total <= 0] = 1.0  # a subtype without words has the classes alone

    def emissions(self, word: str, first: bool) -> Floats:
        """P(word or its class | tag), [columns]; `first` says that it opens its sentence."""
        lexicon, number = self.lexicon, self.lexicon.number(word)
        if number is None:
            return self.class_emissions(lexicon.class_row(word, first))
        weight = self._smoothing[number] * lexicon.unseen
        pairs = slice(lexicon.word_ptr[number], lexicon.word_ptr[number + 1])
        weight[lexicon.pair_tag[pairs]] += lexicon.pair_count[pairs]
        return np.asarray((weight * self._unit) @ self.mixing, np.float64)

    def class_emissions(self, row: int) -> Floats:
        """P(class | tag), [columns], of a class of words never seen, by its row; the last is that of others."""
        return np.asarray((self._new * self._class_share[row] * self._unit) @ self.mixing, np.float64)

    def seen_with(self, word: str, first: bool) -> NDArray[np.bool_]:
        """[columns] those that training saw with a word, or with its class; all where it saw neither."""
        lexicon, number = self.lexicon, self.lexicon.number(word)
        seen = np.zeros(lexicon.tags, bool)
        if number is not None:
            seen[lexicon.pair_tag[lexicon.word_ptr[number] : lexicon.word_ptr[number + 1]]] = True
        elif (row := lexicon.class_row(word, first)) < len(lexicon.signatures):
            seen = lexicon.signature_count[row] > 0
        return seen if seen.any() else ~seen

    def outcomes(self, tags: Floats) -> Floats:
        """P of every word, then of every class, the last for those never seen; given P of the next word's tag."""
        weight = (self.mixing @ tags) * self._unit
        words = self._smoothing * (self.lexicon.unseen @ weight)
        _add_pairs(self.lexicon.word_ptr, self.lexicon.pair_tag, self.lexicon.pair_count, weight, words)
        return np.concatenate([words, self._class_share @ (self._new * weight)])

    @cached_property
    def _class_share(self) -> Floats:
        """P(S | t, new) [classes + 1, columns]."""
        counts = np.vstack([self.lexicon.signature_count, np.zeros(self.lexicon.tags)])
        prior = counts.sum(1)
        prior[-1] = 1.0
        weight = self.lexicon.options.unknown
        return np.asarray((counts + weight * (prior / prior.sum())[:, None]) / (counts.sum(0) + weight), np.float64)


@kernel
def _add_pairs(first: Longs, tag: Longs, count: Floats, weight: Floats, words: Floats) -> None:
    """Add what each word's tags give it."""
    for w in range(len(words)):
        total = 0.0
        for k in range(first[w], first[w + 1]):
            total += count[k] * weight[tag[k]]
        words[w] += total
