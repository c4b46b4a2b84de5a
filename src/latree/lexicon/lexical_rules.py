"""Lexical rules t -> w with parameters of their own, for models that are trained by gradient.

A frequent word has a rule for every tag that it was seen with.  Rare words share the rules of their class of unknown
words, and so do words that training does not have.  Between the two, words may have rules of their own that are joined
with those of their class.  For tags that a word or class was not seen with there is one rule a tag, of little weight:
training does without, since there it could only be wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from latree.arrays import NONE, Floats, Longs
from latree.checks import integers, numbers
from latree.files import Arrays, Header, pack_strings, unpack_strings
from latree.lexicon.signatures import Scheme, read_scheme

_ANY = ""  # the unit of what was not seen with a tag; no word is empty
UNSEEN = 0.05  # an unseen tag of a known word is so much less likely than that of a word about which nothing is known
_MOST_CLASSES = 1 << 16  # of words that are kept
OFTEN = 100  # words with more tokens have the tags that they were seen with


@dataclass(frozen=True, eq=False)
class LexicalRules:
    """A unit is a frequent word or, behind a space, a class; rule k is (tag[k], units[unit[k]])."""

    units: tuple[str, ...]
    tag: Longs  # [rules]
    unit: Longs  # [rules]
    count: Floats  # [rules] tokens in training
    tags: int
    rare: Mapping[str, tuple[int, ...]]  # the rare words of training, with the tags that each was seen with
    scheme: Scheme
    joined: int = 0  # words with at most this many tokens have their class's rules beside their own

    @classmethod
    def of(
        cls, sentences: Iterable[Sequence[tuple[str, int]]], scheme: Scheme, tags: int, rare: int, joined: int = 0
    ) -> LexicalRules:
        """The rules that (word, tag number) sentences need; words with at most `rare` tokens go by their class alone,
        those with at most `joined` by both."""
        kept = list(sentences)
        frequency = Counter(word for sentence in kept for word, _ in sentence)
        pairs: Counter[tuple[str, int]] = Counter()
        seen: dict[str, set[int]] = {}
        for sentence in kept:
            for position, (word, tag) in enumerate(sentence):
                if frequency[word] > rare:
                    pairs[word, tag] += 1
                else:
                    seen.setdefault(word, set()).add(tag)
                if frequency[word] <= max(rare, joined):
                    pairs[" " + scheme.signature(word, position == 0, frequency.__contains__), tag] += 1
        often = max(2 * rare, joined)
        pairs.update((_ANY, tag) for sentence in kept for word, tag in sentence if frequency[word] <= often)
        if not any(unit == _ANY for unit, _ in pairs):  # no word is rare: unknown ones may have any tag
            pairs.update((_ANY, tag) for sentence in kept for _, tag in sentence)
        units = tuple(dict.fromkeys(unit for unit, _ in pairs))
        number = {unit: k for k, unit in enumerate(units)}
        rules = np.array([(tag, number[unit]) for unit, tag in pairs], np.int64).reshape(-1, 2)
        count = np.array(list(pairs.values()), np.float64)
        rare_tags = {word: tuple(sorted(tags)) for word, tags in seen.items()}
        return cls(units, rules[:, 0].copy(), rules[:, 1].copy(), count, tags, rare_tags, scheme, joined)

    def is_known(self, word: str) -> bool:
        """Whether training held the word."""
        return word in self.rare or word in self._rows

    def by_class_alone(self, word: str) -> bool:
        """Whether a word has no rules of its own."""
        return word not in self._rows

    @cached_property
    def _rows(self) -> dict[str, Longs]:
        """The rules of every unit, one under each tag, NONE where there is none."""
        table = np.full((len(self.units), self.tags), NONE, np.int64)
        table[self.unit, self.tag] = np.arange(len(self.tag))
        return dict(zip(self.units, table, strict=True))

    @cached_property
    def _tokens(self) -> dict[str, float]:
        """How many tokens of training every unit stands for."""
        tokens = np.bincount(self.unit, weights=self.count, minlength=len(self.units))
        return dict(zip(self.units, tokens.tolist(), strict=True))

    @cached_property
    def is_unseen(self) -> NDArray[np.bool_]:
        """[rules] those of tags that a word or class was not seen with."""
        unseen: NDArray[np.bool_] = np.array([unit == _ANY for unit in self.units])[self.unit]
        return unseen

    @cached_property
    def _open_rows(self) -> dict[str, Longs]:
        """`_rows` with the rules of what was not seen, for words and classes that are not too frequent."""
        seldom = {unit for unit, n in self._tokens.items() if n <= OFTEN or unit.startswith(" ")}
        unseen = self._rows[_ANY]
        return {unit: np.where(row == NONE, unseen, row) if unit in seldom else row for unit, row in self._rows.items()}

    def rules_of(self, tokens: Sequence[str], *, seen: bool = False) -> Longs:
        """The lexical rule of every word under every tag [words, tags], or only under those it was `seen` with; NONE
        where there is none."""
        return np.stack([self.rules_of_word(word, i == 0, seen=seen) for i, word in enumerate(tokens)])

    def rules_of_word(self, word: str, first: bool, *, seen: bool = False) -> Longs:
        """The lexical rule of a word under every tag [tags]; `first` says that it opens its sentence."""
        row = self._row(self._rows if seen else self._open_rows, word, first)
        if seen or word not in self.rare:
            return row
        seen_with = np.zeros(self.tags, bool)
        seen_with[list(self.rare[word])] = True
        return np.where(seen_with, row, self._rows[_ANY])  # of its class's rules, those of its own tags

    def rules_of_outcome(self, word: str, first: bool) -> Longs:
        """The same [tags] for a word as an outcome, of which there is one a unit: rare words are as their class."""
        return self._row(self._open_rows, word, first)

    @cached_property
    def outcomes(self) -> Floats:
        """[rules] how many units each rule stands for: one, but for those of what was not seen with a tag."""
        rows = np.stack(list(self._open_rows.values()))
        return np.bincount(rows[rows != NONE], minlength=len(self.tag)).astype(np.float64)

    def spell(self, rule: int, first: bool, rng: np.random.Generator) -> str:
        """A word that a rule stands for: of a class, one of training's that was seen with the tag."""
        unit, tag = self.units[int(self.unit[rule])], int(self.tag[rule])
        if unit == _ANY:
            names = [name for name, row in self._open_rows.items() if row[tag] == rule and name[:1] not in ("", " ")]
            words = names or list(self.rare) or [name for name in self.units if name[:1] not in ("", " ")]
        elif unit.startswith(" "):
            words = self._class_members.get((unit, tag, first)) or self._class_members[unit, tag, not first]
        else:
            return unit
        return words[int(rng.integers(len(words)))]

    @cached_property
    def _class_members(self) -> dict[tuple[str, int, bool], list[str]]:
        """The rare words of every class under every tag, at the start of a sentence and elsewhere."""
        members: dict[tuple[str, int, bool], list[str]] = {}
        for word, tags in self.rare.items():
            for tag in tags:
                for first in (False, True):
                    members.setdefault((self.class_of(word, first), tag, first), []).append(word)
        return members

    def units_of(self, tokens: Sequence[str]) -> Longs:
        """The unit that stands for each word: a frequent one for itself, another for its class or for all others."""
        return np.array([self.unit_of_word(word, i == 0) for i, word in enumerate(tokens)], np.int64)

    def unit_of_word(self, word: str, first: bool) -> int:
        """The unit that stands for a word; `first` says that it opens its sentence."""
        number = self._unit_number
        if word not in number or self._tokens[word] <= self.joined:
            word = self.class_of(word, first)
        return number.get(word, number[_ANY])

    def class_of(self, word: str, first: bool) -> str:
        """The unit of a word's class, whether there is such a unit or not; kept for words that recur."""
        name = self._classes.get((word, first))
        if name is None:
            if len(self._classes) >= _MOST_CLASSES:
                self._classes.clear()
            name = self._classes[word, first] = " " + self.scheme.signature(word, first, self.is_known)
        return name

    @cached_property
    def _classes(self) -> dict[tuple[str, bool], str]:
        return {}

    @cached_property
    def _unit_number(self) -> dict[str, int]:
        return {unit: k for k, unit in enumerate(self.units)}

    def joined_rules_of(self, tokens: Sequence[str]) -> Longs:
        """The class's rule that stands beside a word's own under the tags it was seen with [words, tags]; else NONE."""
        return np.stack([self.joined_rules_of_word(word, i == 0) for i, word in enumerate(tokens)])

    def joined_rules_of_word(self, word: str, first: bool) -> Longs:
        """The same of one word, [tags]."""
        none = np.full(self.tags, NONE, np.int64)
        if word not in self._rows or word[:1] in ("", " ") or self._tokens[word] > self.joined:
            return none
        name = self.class_of(word, first)
        return np.where(self._rows[word] == NONE, NONE, self._rows.get(name, none))

    @cached_property
    def joined_rule(self) -> Longs:
        """[rules] that which stands beside each within a sentence."""
        return np.stack([self.joined_rules_of_word(unit, False) for unit in self.units])[self.unit, self.tag]

    def _row(self, rows: Mapping[str, Longs], word: str, first: bool) -> Longs:
        if word in rows:
            return rows[word]
        return rows.get(self.class_of(word, first), rows[_ANY])

    def named_units(self) -> list[tuple[str | None, str | None]]:
        """Name the word of every unit, or its class (None for the one that stands for all others)."""
        return [(None, unit[1:] or None) if unit[:1] in ("", " ") else (unit, None) for unit in self.units]

    # --- storage

    def to_arrays(self) -> Arrays:
        """The arrays of a model file."""
        return {
            "units": pack_strings(self.units),
            "rare": pack_strings(tuple(self.rare)),
            "rare_tags": np.array([len(tags) for tags in self.rare.values()], np.int32),
            "rare_tag": np.array([tag for tags in self.rare.values() for tag in tags], np.int32),
            "tag": self.tag.astype(np.int32),
            "unit": self.unit.astype(np.int32),
            "count": self.count.astype(np.float32),
            "joined": np.array([self.joined], np.int32),
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays, tags: int, scheme: Header) -> LexicalRules:
        """The rules that wrote these."""
        units, words = unpack_strings(arrays["units"]), unpack_strings(arrays["rare"])
        if _ANY not in units:
            raise ValueError("there is no rule for words that were not seen with a tag")
        rules, count = len(arrays["tag"]), integers("rare_tags", arrays, (len(words),))
        rare_tag = integers("rare_tag", arrays, (int(count.sum()),), 0, tags)
        parts = np.split(rare_tag, np.cumsum(count)[:-1])
        rare = {word: tuple(part.tolist()) for word, part in zip(words, parts, strict=False)}
        tag, unit = integers("tag", arrays, (rules,), 0, tags), integers("unit", arrays, (rules,), 0, len(units))
        joined = int(integers("joined", arrays, (1,))[0]) if "joined" in arrays else 0  # older files have none
        return cls(units, tag, unit, numbers("count", arrays, (rules,)), tags, rare, read_scheme(scheme), joined)
