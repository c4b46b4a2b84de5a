"""Surprisal: -log P(word | words before it), by a grammar that generates sentences (Hale 2001; Levy 2008).

Everything is in nats, and exact: sums over all trees, all subtypes and all ways in which a sentence may go on
(`inference/prefixes.py`), with words as outcomes of their tags (`lexicon/distribution.py`).  A word that training never
saw is as surprising as it is to meet any new word of its class.

lexical, syntactic   the two parts of a word's surprisal (Roark, Bachrach, Cardenas & Pallier 2009): syntactic, that the
                     derivation goes on to a tag that the word may have; lexical, that this tag is then the word.  It
                     may have the tags that training saw it with, or its class; where only others fit, which smoothing
                     allows, it may have any.
entropy              of the next word, before it is read: over all words, classes of unknown ones, and the end of the
                     sentence (theirs too is one step ahead).
reduction            by how much a word lowers the entropy of whole derivations (`kinds/derivation_entropy.py`), where
                     that is asked for; less than zero where it leaves more open, which Hale (2006) takes for zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from latree.arrays import Floats
from latree.errors import LatreeError
from latree.inference.prefixes import Prefixes, prefix_grammar
from latree.inference.results import Status, finite
from latree.inference.subtypes import Cells, Layout
from latree.kinds.derivation_entropy import DerivationEntropy
from latree.lexicon.distribution import WordDistribution
from latree.text.tokenize import Token, offsets


class WordSurprisal(NamedTuple):
    """What is known of a word before and when it is read, in nats."""

    word: str
    surprisal: float  # -log P(word | words before it) = lexical + syntactic
    lexical: float
    syntactic: float
    entropy: float  # of the outcome that this word is
    unknown: bool  # training never saw it: it stands for its class
    reduction: float | None = None  # of the entropy of derivations


@dataclass(frozen=True)
class Surprisal:
    """The words of a sentence, one after the other.

    A word that no sentence of the grammar goes on with has an infinite surprisal; of those after it nothing is known
    (NaN), and `status` is "failed".
    """

    words: tuple[WordSurprisal, ...]
    end: float  # surprisal of the end of the sentence
    status: Status = "ok"
    reason: str = ""

    def __iter__(self) -> Iterator[WordSurprisal]:
        return iter(self.words)

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, place: int) -> WordSurprisal:
        return self.words[place]

    @property
    def tokens(self) -> tuple[str, ...]:
        return tuple(one.word for one in self.words)

    @property
    def log_prob(self) -> float:
        """log P(words): that the sentence is this one and then ends."""
        return -math.fsum(one.surprisal for one in self.words) - self.end

    def joined(self) -> Surprisal:
        """By the words that stand between white space in running text: a word's surprisal is the sum of its tokens'."""
        if len(offsets(self.tokens)) < len(self.words):
            raise LatreeError("words are joined where they stand in running text; these were split already")
        groups: list[list[WordSurprisal]] = []
        for one in self.words:
            if groups and _end(groups[-1][-1]) == _start(one):
                groups[-1].append(one)
            else:
                groups.append([one])
        return Surprisal(tuple(map(_sum, groups)), self.end, self.status, self.reason)

    def to_json(self) -> dict[str, Any]:
        """Plain values; what is not a finite number becomes null."""
        places = offsets(self.tokens)
        columns = ("surprisal", "lexical", "syntactic", "entropy")
        reductions = [one.reduction for one in self.words if one.reduction is not None]
        return {
            "tokens": list(self.tokens),
            **({"offsets": places} if places else {}),
            "status": self.status,
            "reason": self.reason,
            **{name: [finite(getattr(one, name)) for one in self.words] for name in columns},
            **({"reduction": [finite(value) for value in reductions]} if reductions else {}),
            "unknown": [place for place, one in enumerate(self.words) if one.unknown],
            "end": finite(self.end),
        }


def _start(one: WordSurprisal) -> int:
    assert isinstance(one.word, Token)
    return one.word.start


def _end(one: WordSurprisal) -> int:
    assert isinstance(one.word, Token)
    return one.word.end


def _sum(group: Sequence[WordSurprisal]) -> WordSurprisal:
    """The word that some tokens make; what was expected before it was expected before its first."""
    word = Token("".join(one.word for one in group), _start(group[0]), _end(group[-1]))
    return WordSurprisal(
        word,
        math.fsum(one.surprisal for one in group),
        math.fsum(one.lexical for one in group),
        math.fsum(one.syntactic for one in group),
        group[0].entropy,
        any(one.unknown for one in group),
        _sum_known([one.reduction for one in group]),
    )


def _sum_known(values: Sequence[float | None]) -> float | None:
    """The sum, or None where nothing was asked for."""
    known = [value for value in values if value is not None]
    return math.fsum(known) if known else None


def unknowable(tokens: Sequence[str], reason: str) -> Surprisal:
    """What is given for a sentence that was not tried."""
    nothing = (math.nan,) * 4
    return Surprisal(tuple(WordSurprisal(token, *nothing, False) for token in tokens), math.nan, "failed", reason)


class Predictor:
    """Tells of a grammar what comes next."""

    def __init__(self, layout: Layout, rules: Cells, words: WordDistribution) -> None:
        self.grammar, self.words = prefix_grammar(layout, rules), words
        self.layout, self.rules = layout, rules

    @cached_property
    def derivations(self) -> DerivationEntropy:
        """What tells how much is open; made when it is first asked for."""
        return DerivationEntropy(self.layout, self.rules, self.words)

    def with_reduction(self, told: Surprisal) -> Surprisal:
        """Add by how much each word reduces the entropy of derivations."""
        drops = -np.diff(self.derivations.after(told.tokens))
        words = (one._replace(reduction=float(drop)) for one, drop in zip(told, drops, strict=True))
        return replace(told, words=tuple(words))

    def surprisal(self, tokens: Sequence[str]) -> Surprisal:
        """Of every word of a sentence, and of its end."""
        prefixes, told = Prefixes(self.grammar, len(tokens)), list[WordSurprisal]()
        for place, token in enumerate(tokens):
            told.append(self._read(prefixes, token, place == 0))
            if math.isinf(told[-1].surprisal):
                reason = f"no sentence of the grammar begins with its first {place + 1} words"
                return Surprisal((*told, *unknowable(tokens[place + 1 :], "")), math.nan, "failed", reason)
        return Surprisal(tuple(told), _surprisal(prefixes.end), "ok" if told else "empty", "" if told else "no words")

    def following(self, tokens: Sequence[str]) -> Floats:
        """P of all that may follow some words: of every word of the lexicon, of every class of unknown ones, the last
        for those of which training shows none, and of the end of the sentence."""
        prefixes = Prefixes(self.grammar, len(tokens))
        for place, token in enumerate(tokens):
            if prefixes.read(self.words.emissions(token, place == 0)) == 0.0:
                raise LatreeError(f"no sentence of the grammar begins with the first {place + 1} of these words")
        return self._outcomes(prefixes)

    def _outcomes(self, prefixes: Prefixes) -> Floats:
        return np.append(self.words.outcomes(prefixes.tags), prefixes.end)

    def _read(self, prefixes: Prefixes, token: str, first: bool) -> WordSurprisal:
        outcomes, tags = self._outcomes(prefixes), prefixes.tags
        possible = outcomes[outcomes > 0.0]
        prob = prefixes.read(self.words.emissions(token, first))
        columns = self.layout.tag_columns
        seen = np.logical_or.reduceat(self.words.seen_with(token, first), columns[:-1])
        fitting = float(tags[np.repeat(seen, np.diff(columns))].sum())
        surprisal, syntactic = _surprisal(prob), _surprisal(fitting if fitting >= prob else float(tags.sum()))
        entropy = -float(possible @ np.log(possible))
        unknown = self.words.lexicon.number(token) is None
        return WordSurprisal(token, surprisal, surprisal - syntactic, syntactic, entropy, unknown)


def _surprisal(prob: float) -> float:
    return max(-math.log(prob), 0.0) if prob > 0.0 else math.inf
