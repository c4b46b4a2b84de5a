"""What the user is told of the sentences that a command goes through: stand-ins, unknown words, how many there were."""

from __future__ import annotations

import sys
from collections.abc import Generator, Sequence
from contextlib import closing
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeVar

from latree.cli import common
from latree.cli.status import Count, note, status_line

if TYPE_CHECKING:
    from latree.kinds.model import Model

T = TypeVar("T")

FEW_WORDS = 3  # of fewer nothing is said
MOSTLY = 0.5  # share of unknown words above which the user is told
TOLD_ONE_BY_ONE = 5  # sentences


class Tally:
    """Reports what was not plainly done, sentence by sentence, and sums it up at the end."""

    def __init__(self, model: Model, inputs: Sequence[str] | None, instead: str = "a stand-in") -> None:
        """`instead` is what a sentence gets that has no analysis."""
        self.model, self.instead = model, instead
        # How far it is would stand between what is typed, or between the results.
        self.quiet = sys.stdout.isatty() or ("-" in (inputs or ["-"]) and sys.stdin.isatty())
        self.count = Count("sentences")
        self.troubled = 0
        self.words = 0
        self.unknown = 0  # words
        self.guessed = 0  # sentences that consist of these for the most part

    def watch(self, analyses: Generator[T, None, None]) -> Generator[T, None, None]:
        """Hand analyses on, or lists of which the first tells; where kernels must be compiled first, that is told.

        To be closed, after an exception too: else the workers of several jobs go on with what they have.
        """
        with closing(analyses), status_line(self.count.line, self.quiet):
            with common.telling_of_compilation():
                first = list(islice(analyses, 1))
            for analysis in chain(first, analyses):
                self.see(analysis[0] if isinstance(analysis, list) else analysis)
                yield analysis

    def see(self, analysis: Any) -> None:
        self.count.add()
        if analysis.status in ("recovered", "failed"):
            self.troubled += 1
            note(f"sentence {self.count.done}: {analysis.status}: {analysis.reason}; {self.instead} is given")
        words = [token for token in analysis.tokens if any(map(str.isalpha, token))]
        self._count_unknown(len(words), len(self.model.unknown(words)))

    def _count_unknown(self, words: int, unknown: int) -> None:
        self.words += words
        self.unknown += unknown
        if words >= FEW_WORDS and unknown > MOSTLY * words:
            self.guessed += 1
            if self.guessed <= TOLD_ONE_BY_ONE:
                note(f"sentence {self.count.done}: training never saw {unknown} of its {words} words; expect a guess")

    def close(self) -> None:
        if self.troubled:
            note(f"{self.troubled} of {self.count.done} sentences have {self.instead}")
        if self.guessed > TOLD_ONE_BY_ONE:
            note(f"{self.guessed} of {self.count.done} sentences are mostly of words that training never saw")
        if self.count.done > 1 and self.unknown > MOSTLY * self.words:
            note(f"training never saw {self.unknown} of {self.words} words: is this the model for this text?")
