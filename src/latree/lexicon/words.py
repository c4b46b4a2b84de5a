"""The lexicon: how likely each tag is to produce a word, P(w|t), for words seen in training and for all others.

Two tables of counts say everything: c_TW, how often a tag stood over a word, and c_TS, how often a tag stood over a
*rare* word of signature S.  Rare words stand in for the unseen ones: their tag distribution p_u is what is believed of
a word about which nothing else is known.  Where there is a guesser, it says more than p_u and the class do: which tags
a rare or unknown word has by its looks.  Among the subtypes of a tag it is still the class that decides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from latree.arrays import NONE, Floats
from latree.checks import boundaries, integers, numbers, whole_number
from latree.errors import LatreeError
from latree.files import Arrays, Header, pack_sparse, pack_strings, part_of, unpack_sparse, unpack_strings
from latree.lexicon.guesser import Guesser
from latree.lexicon.kept_rows import KeptRows
from latree.lexicon.options import LexiconOptions
from latree.lexicon.signatures import Scheme, Token, make_scheme, read_scheme
from latree.text.tokenize import Style

Integers = NDArray[np.int64]
Sentences = Sequence[Sequence[tuple[str, int]]]

_LEAST, _MOST_ODDS = 1e-9, 5.0  # a probability, and a log of odds: letters alone rule no tag out
# How a file keeps them: counts have seven digits, which whole numbers need and expected ones are cut to.
_ARRAYS: dict[str, Any] = {
    "word_ptr": np.int32,
    "pair_tag": np.int32,
    "pair_count": np.float32,
}
_STRINGS = ("vocabulary", "signatures")
MOST_TAGS = 1 << 24  # with their subtypes


# --- formulas, for tables [items, tags]


def smooth(counts: Floats, prior: Floats, weight: float) -> Floats:
    """P(t|x) = (c_tx + a p(t)) / (c_x + a) for every item x.

    An item without any mass gets the prior itself, so that no word is impossible under all tags.
    """
    total = counts.sum(1, keepdims=True)
    empty = total <= 0
    return np.where(empty, prior, counts + weight * prior) / np.where(empty, 1.0, total + weight)


def likelihood(posterior: Floats, count: float, tag_count: Floats) -> Floats:
    """P(x|t) = P(t|x) c_x / c_t, Bayes with P(x) = c_x / n and P(t) = c_t / n; zero for a tag never seen."""
    quotient: Floats = np.divide(posterior * count, tag_count, out=np.zeros_like(posterior), where=tag_count > 0)
    return quotient


# --- the lexicon


@dataclass(frozen=True, eq=False)
class Lexicon:
    """Counts of words and signatures under tags; the words stand in the order of their first appearance.

    The pairs of word `w` are `pair_tag[word_ptr[w]:word_ptr[w + 1]]` with their counts c_TW in `pair_count`;
    `signature_count` is c_TS, [signatures, tags].  With subtypes each is a column like a tag; the columns of tag t are
    `tag_columns[t]` to `tag_columns[t + 1]`.
    """

    vocabulary: tuple[str, ...]
    signatures: tuple[str, ...]
    word_ptr: Integers
    pair_tag: Integers
    pair_count: Floats
    signature_count: Floats
    scheme: Scheme
    options: LexiconOptions = LexiconOptions()
    guesser: Guesser | None = None
    tag_columns: Integers = field(default_factory=lambda: np.zeros(1, np.int64))  # for the guesser alone

    @classmethod
    def count(
        cls,
        sentences: Iterable[Sequence[tuple[str, int]]],
        tags: int,
        scheme: str | Scheme = "neutral",
        options: LexiconOptions | None = None,
    ) -> Lexicon:
        """The lexicon of (word, tag index) sentences; a scheme that learns does so from their rare words."""
        options = options or LexiconOptions()
        kept = list(sentences)
        frequency = Counter(word for sentence in kept for word, _ in sentence)
        _check(frequency)
        rare = _rare_tokens(kept, frequency, options.rare)
        chosen = make_scheme(scheme) if isinstance(scheme, str) else scheme
        chosen = chosen.learn(rare, tags, frequency.__contains__)
        classes = {place: chosen.signature(*place, frequency.__contains__) for place in {one[:2] for one in rare}}
        names = [classes[word, first] for word, first, _ in rare]
        signatures, signature_count = _signature_counts(names, [tag for *_, tag in rare], tags)
        pairs = _pair_counts(kept, {word: index for index, word in enumerate(frequency)}, tags)
        guesser = Guesser.learn(rare, tags, frequency.__contains__) if chosen.guesses and rare else None
        columns = np.arange(tags + 1)
        return cls(tuple(frequency), signatures, *pairs, signature_count, chosen, options, guesser, columns)

    def trimmed(self, least: float) -> Lexicon:
        """A lexicon without the pairs of smaller counts; each word keeps its most frequent pair."""
        words = np.repeat(np.arange(len(self.vocabulary)), np.diff(self.word_ptr))
        best = np.maximum.reduceat(self.pair_count, self.word_ptr[:-1])[words]
        kept = self.pair_count >= np.minimum(least, best)
        ptr = np.concatenate([[0], np.cumsum(np.bincount(words[kept], minlength=len(self.vocabulary)))])
        classes = np.where(self.signature_count < least, 0.0, self.signature_count)
        return replace(
            self,
            word_ptr=ptr,
            pair_tag=self.pair_tag[kept],
            pair_count=self.pair_count[kept],
            signature_count=classes,
        )

    # --- totals

    @property
    def tags(self) -> int:
        return int(self.signature_count.shape[1])

    @cached_property
    def style(self) -> Style:
        """How the treebank splits text into words."""
        return Style.of(self.vocabulary)

    @cached_property
    def tag_count(self) -> Floats:
        """c_T, the tokens under each tag."""
        return np.bincount(self.pair_tag, self.pair_count, minlength=self.tags).astype(np.float64)

    @cached_property
    def word_count(self) -> Floats:
        """c_W, the tokens of each word."""
        return np.add.reduceat(self.pair_count, self.word_ptr[:-1])

    @cached_property
    def unseen(self) -> Floats:
        """p_u, the tags of rare tokens; of all tokens where no word is rare."""
        rare: Floats = self.signature_count.sum(axis=0)
        counts = rare if rare.any() else self.tag_count
        return counts / np.sum(counts)

    @cached_property
    def _index(self) -> dict[str, int]:
        return {word: index for index, word in enumerate(self.vocabulary)}

    @cached_property
    def _signature_index(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.signatures)}

    # --- probabilities

    def number(self, word: str) -> int | None:
        """The number of a word of the vocabulary; None of any other."""
        return self._index.get(word)

    def is_known(self, word: str) -> bool:
        """Whether training held the word, in this very spelling."""
        return word in self._index

    def is_rare(self, word: str) -> bool:
        """Whether training held the word seldom, or never."""
        index = self._index.get(word)
        return index is None or bool(self.word_count[index] < self.options.rare + 0.5)  # sums of subtypes are rounded

    def signature(self, word: str, first: bool = False) -> str:
        """The unknown-word class of a word; `first` says that it opens its sentence."""
        return self.scheme.signature(word, first, self.is_known)

    def entry(self, word: str, first: bool) -> tuple[int, int]:
        """The number of a word of the vocabulary, and where it is rare the number of its class, else NONE."""
        number = self._index[word]
        rare = self.word_count[number] <= self.options.rare
        return number, self._signature_index[self.signature(word, first)] if rare else NONE

    def emissions(self, words: Sequence[str]) -> Floats:
        """P(w|t) of every word of a sentence under every tag, [words, tags]."""
        return self.emissions_of_all([words])

    def emissions_of_all(self, sentences: Sequence[Sequence[str]]) -> Floats:
        """The same of some sentences laid end to end."""
        return self._rows.of(sentences)[0] if any(sentences) else np.empty((0, self.tags))

    def tag_given_word(self, word: str, first: bool = False) -> Floats:
        """P(t|w), [tags]: smoothed counts of a known word, or what its looks say of an unknown one."""
        index = self._index.get(word)
        return np.array(self.by_looks(word, first) if index is None else self._posterior(index, first))

    def sample_word(self, tag: int, rng: np.random.Generator) -> str:
        """A known word, drawn in proportion to c_TW."""
        words, cumulative, first = self._by_tag
        before = cumulative[first[tag] - 1] if first[tag] else 0.0
        total = cumulative[first[tag + 1] - 1] - before if first[tag + 1] > first[tag] else 0.0
        if total <= 0:
            raise ValueError(f"tag {tag} has no words to draw from")
        at = int(np.searchsorted(cumulative, before + rng.random() * total, side="right"))
        return self.vocabulary[int(words[min(at, first[tag + 1] - 1)])]

    @cached_property
    def _by_tag(self) -> tuple[Integers, Floats, Integers]:
        """The pairs sorted by tag: their words, counts summed up, and where each tag begins."""
        order = np.argsort(self.pair_tag, kind="stable")
        words = np.repeat(np.arange(len(self.vocabulary)), np.diff(self.word_ptr))[order]
        first = np.searchsorted(self.pair_tag[order], np.arange(self.tags + 1))
        return words, np.cumsum(self.pair_count[order]), first

    def unit_row(self, word: str | None, signature: str | None) -> Floats:
        """P(w|t), [tags], of a known word; without one, of an unknown word of this class (None: of no known class)."""
        if word is not None:
            return self._row(word, False)
        row: Floats = self._unknown[self._signature_index.get(signature or "", len(self.signatures))]
        return row

    def _row(self, word: str, first: bool) -> Floats:
        """P(w|t), [tags]."""
        return self._rows.row(word, first)[0]

    @cached_property
    def _rows(self) -> KeptRows:
        return KeptRows(self._made_row)

    def _made_row(self, word: str, first: bool) -> tuple[Floats]:
        return (self.likelihood_of(word, first),)

    def likelihood_of(self, word: str, first: bool) -> Floats:
        """P(w|t), [tags], made anew."""
        index = self._index.get(word)
        count = 1.0 if index is None else self.word_count[index]
        return likelihood(self.tag_given_word(word, first), count, self.tag_count)

    def _posterior(self, index: int, first: bool) -> Floats:
        """P(t|w) of one known word, [tags]; frequent words are hardly smoothed, rare ones are drawn to what their looks
        say."""
        options, count = self.options, self.word_count[index]
        if self.guesser is not None and count <= options.rare:
            prior, weight = self.by_looks(self.vocabulary[index], first), options.guessed
        else:
            prior, weight = self.unseen, options.frequent if count > options.often else options.known
        if count <= 0:
            return prior
        pairs = slice(self.word_ptr[index], self.word_ptr[index + 1])
        posterior: Floats = weight * prior
        posterior[self.pair_tag[pairs]] += self.pair_count[pairs]
        return posterior / float(count + weight)

    def by_looks(self, word: str, first: bool) -> Floats:
        """P(t|w), [tags], of a word of which nothing is known but its letters: by its class, or for a tag as a whole
        by the guesser and for its subtypes by the class."""
        by_class: Floats = self._signature_posterior[self.class_row(word, first)]
        if self.guesser is None:
            return by_class
        guess = self._guess(word, first)
        by_tag = np.add.reduceat(by_class, self.tag_columns[:-1])
        factor = np.divide(guess, by_tag, out=np.zeros_like(guess), where=by_tag > 0)
        scaled: Floats = by_class * np.repeat(factor, np.diff(self.tag_columns))
        return scaled / np.sum(scaled)

    def beyond_class(self, word: str, first: bool) -> Floats:
        """log P(t | letters) / P(t | class), [tags whole]: what a word's letters say of its tag that its class does
        not; without a guesser nothing, [1]."""
        if self.guesser is None:
            return np.zeros(1)
        by_class: Floats = self._signature_posterior[self.class_row(word, first)]
        by_tag = np.add.reduceat(by_class, self.tag_columns[:-1])
        odds = np.maximum(self._guess(word, first), _LEAST) / np.maximum(by_tag, _LEAST)
        return np.clip(np.log(odds), -_MOST_ODDS, _MOST_ODDS)

    def _guess(self, word: str, first: bool) -> Floats:
        """P(t | letters), [tags whole]."""
        return self._guesses.row(word, first)[0]

    @cached_property
    def _guesses(self) -> KeptRows:
        return KeptRows(self._made_guess)

    def _made_guess(self, word: str, first: bool) -> tuple[Floats]:
        assert self.guesser is not None
        return (self.guesser.guess(word, first, self.is_known),)

    def class_row(self, word: str, first: bool) -> int:
        """The row of a word's signature; the one after the last stands for signatures without counts."""
        return self._signature_index.get(self.signature(word, first), len(self.signatures))

    @cached_property
    def _signature_posterior(self) -> Floats:
        counts = np.vstack([self.signature_count, np.zeros(self.tags)])
        return smooth(counts, self.unseen, self.options.unknown)

    @cached_property
    def _unknown(self) -> Floats:
        """P(w|t) = P(t|s) / c_T of every signature: an unknown word counts as one token."""
        return likelihood(self._signature_posterior, 1.0, self.tag_count)

    # --- storage

    def header(self) -> Header:
        """What of the lexicon is not arrays, as JSON values."""
        return {"scheme": self.scheme.header(), "options": self.options.to_json(), "tags": self.tags}

    def to_arrays(self) -> Arrays:
        """The arrays of a model file; words are UTF-8 bytes, one a line."""
        arrays: Arrays = {name: getattr(self, name).astype(kind) for name, kind in _ARRAYS.items()}
        arrays["pair_tag"] = self.pair_tag.astype(np.min_scalar_type(self.tags))  # most of a file are these
        arrays |= pack_sparse("signature_count", self.signature_count.ravel())
        if self.guesser is not None:
            arrays["tag_columns"] = self.tag_columns.astype(np.int32)
            arrays |= {f"guesser.{name}": array for name, array in self.guesser.to_arrays().items()}
        return arrays | {name: pack_strings(getattr(self, name)) for name in _STRINGS}

    @classmethod
    def from_arrays(cls, arrays: Arrays, header: Header) -> Lexicon:
        """The lexicon that wrote these."""
        tags, pairs = whole_number("tags", header, 1, MOST_TAGS), len(arrays["pair_tag"])
        parts: dict[str, Any] = {name: unpack_strings(arrays[name]) for name in _STRINGS}
        words, signatures = (len(parts[name]) for name in _STRINGS)
        parts["word_ptr"] = boundaries("word_ptr", arrays, words, pairs)
        parts["pair_tag"] = integers("pair_tag", arrays, (pairs,), 0, tags)
        parts["pair_count"] = numbers("pair_count", arrays, (pairs,))
        if "signature_count" in arrays:  # as it was at first
            parts["signature_count"] = numbers("signature_count", arrays, (signatures, tags))
        else:
            parts["signature_count"] = unpack_sparse("signature_count", arrays, signatures * tags).reshape(-1, tags)
        if "tag_columns" in arrays:
            parts["tag_columns"] = boundaries("tag_columns", arrays, len(arrays["tag_columns"]) - 1, tags)
            parts["guesser"] = Guesser.from_arrays(part_of("guesser.", arrays), len(parts["tag_columns"]) - 1)
        return cls(**parts, scheme=read_scheme(header["scheme"]), options=LexiconOptions.from_json(header["options"]))


def _check(frequency: Mapping[str, int]) -> None:
    if not frequency:
        raise LatreeError("no tagged words to make a lexicon from")
    if fault := next((word for word in frequency if "\n" in word), None):
        raise LatreeError(f"the word {fault!r} holds a line break; remove it from the training data")


def _rare_tokens(sentences: Sentences, frequency: Mapping[str, int], limit: int) -> list[Token]:
    return [
        (word, position == 0, tag)
        for sentence in sentences
        for position, (word, tag) in enumerate(sentence)
        if frequency[word] <= limit
    ]


def _signature_counts(names: list[str], tokens: list[int], tags: int) -> tuple[tuple[str, ...], Floats]:
    """The signatures in sorted order and c_TS, from the signature and the tag of every rare token."""
    index = {name: row for row, name in enumerate(sorted(set(names)))}
    counts = np.zeros((len(index), tags))
    np.add.at(counts, ([index[name] for name in names], tokens), 1.0)
    return tuple(index), counts


def _pair_counts(sentences: Sentences, index: Mapping[str, int], tags: int) -> tuple[Integers, Integers, Floats]:
    """`word_ptr`, `pair_tag` and `pair_count`: the distinct (word, tag) pairs, sorted."""
    tokens = np.array([index[word] * tags + tag for sentence in sentences for word, tag in sentence])
    pairs, counts = np.unique(tokens, return_counts=True)
    words, tag = np.divmod(pairs, tags)
    return np.searchsorted(words, np.arange(len(index) + 1)), tag, counts.astype(np.float64)
