"""Partial trees: what is known of a sentence's tree before it is parsed.

    (NP the old man) saw (!PP (IN with) it) ( today )

The words are the sentence.  A bracket with a label is in the tree, one without a label is there with some label, and a
bracket that begins with an exclamation mark is not: `(!PP ...)` no PP, `(! ...)` no phrase at all.  `(^ man)` says that
the word is the head of the bracket around it: `(NP the old (^ man))`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

from latree.errors import InputError, LatreeError
from latree.text.tree import TEXT, unescape

_SYMBOLS = re.compile(rf"\(({TEXT}*+)|\)|{TEXT}++")
_FORBIDDEN, _HEAD = "!", "^"


class Bracket(NamedTuple):
    """A node over words start..end-1 that a tree has, or has not."""

    label: str | None  # None: any
    start: int
    end: int
    forbidden: bool = False
    head: int | None = None  # the place of its head word, where that is known

    def crosses(self, other: Bracket) -> bool:
        return self.start < other.start < self.end < other.end or other.start < self.start < other.end < self.end


@dataclass(frozen=True)
class PartialTree:
    """A sentence and brackets that its tree is to agree with; to be parsed in place of the words alone."""

    words: tuple[str, ...]
    brackets: tuple[Bracket, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", tuple(self.words))
        object.__setattr__(self, "brackets", tuple(Bracket(*one) for one in self.brackets))
        for one in self.brackets:
            if not 0 <= one.start < one.end <= len(self.words):
                raise LatreeError(
                    f"there are no words {one.start} to {one.end - 1} in {len(self.words)}, from 0: {one}"
                )
            if one.head is not None and (one.forbidden or not one.start <= one.head < one.end):
                raise LatreeError(f"a head is one of the words of a bracket that is given: {one}")
        given = [one for one in self.brackets if not one.forbidden]
        for one, other in combinations(given, 2):
            if one.crosses(other):
                raise LatreeError(f"{self.told(one)} crosses {self.told(other)}: no tree has both; drop one of them")
        for one in given:
            if one._replace(forbidden=True, head=None) in self.brackets:
                raise LatreeError(f"{self.told(one)} is both given and forbidden; drop one of the two")

    def told(self, bracket: Bracket) -> str:
        """Tell of a bracket by its words."""
        what = bracket.label if bracket.label is not None else "phrase" if bracket.forbidden else "a bracket"
        words = " ".join(self.words[bracket.start : bracket.end])
        head = "" if bracket.head is None else f" with the head {self.words[bracket.head]!r}"
        return f"{'no ' if bracket.forbidden else ''}{what} over {words!r}{head}"

    @classmethod
    def read(cls, text: str, file: str = "<text>", line: int = 1) -> PartialTree:
        """Read one partial tree; faults raise InputError with line and column."""
        words: list[str] = []
        brackets: list[Bracket] = []
        waiting: list[_Open] = []
        for match in _SYMBOLS.finditer(text):
            column = match.start() + 1
            if match[1] is not None:
                waiting.append(_Open(match[1], len(words), column))
            elif match[0] != ")":
                words.append(unescape(match[0]))
            elif not waiting:
                raise InputError(file, line, "')' without an open bracket; expected '('", column)
            else:
                done = waiting.pop()
                if fault := done.fault(len(words), waiting):
                    raise InputError(file, line, fault, done.column)
                if done.label == _HEAD:
                    waiting[-1].head = done.start
                else:
                    brackets.append(done.bracket(len(words)))
        if waiting:
            raise InputError(file, line, "a bracket never closed; expected ')' in the same line", waiting[0].column)
        try:
            return cls(tuple(words), tuple(brackets))
        except LatreeError as error:
            raise InputError(file, line, str(error)) from None


@dataclass
class _Open:
    """A bracket that is being read."""

    label: str
    start: int  # how many words are before it
    column: int
    head: int | None = None

    def fault(self, end: int, around: list[_Open]) -> str:
        """Say why it cannot end here; nothing where it can."""
        if self.start == end:
            return f"bracket '({self.label})' without words; put them after a label"
        if self.label != _HEAD:
            return ""
        if end - self.start > 1:
            return f"'({_HEAD} ...)' has more than one word; a head is one"
        if not around:
            return f"'({_HEAD} ...)' is the head of nothing; put a bracket around it"
        return f"'{around[-1].label}' has two heads; keep one" if around[-1].head is not None else ""

    def bracket(self, end: int) -> Bracket:
        name = self.label.removeprefix(_FORBIDDEN)
        return Bracket(name or None, self.start, end, name != self.label, self.head)
