"""What models are given: running text, words, or words with what is known of their tree; looked at, and in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from latree.errors import LatreeError
from latree.inference.constituents import Listed
from latree.text.partial_trees import PartialTree

BATCH = 32  # sentences whose forests are laid end to end
_SHOWN = 60  # characters of what a user gave

Item = TypeVar("Item")
# Running text, or the words, or these with trees that list constituents, or with brackets that are known.
Sentence = str | Sequence[str] | Listed | PartialTree


def batches(items: Iterable[Item], more: Callable[[], bool] = lambda: True) -> Iterator[list[Item]]:
    """Items in lists of up to BATCH, shorter where no `more` are at hand.

    When the source fails, what it gave before comes first, then its error.
    """
    batch: list[Item] = []
    try:
        for item in items:
            batch.append(item)
            if len(batch) == BATCH or not more():
                yield batch
                batch = []
    except LatreeError:
        if batch:
            yield batch
        raise
    if batch:
        yield batch


def checked_words(sentence: Any) -> tuple[str, ...]:
    """Check that a sentence is a sequence of words, none of them empty."""
    if not isinstance(sentence, Iterable):
        raise LatreeError(f"a sentence is a string or a list of words, not {sentence!r}")
    words = tuple(sentence)
    for number, word in enumerate(words, start=1):
        if not isinstance(word, str):
            raise LatreeError(f"word {number} of a sentence is no string: {clipped(word)}")
        if not word:
            raise LatreeError(f"word {number} of a sentence is empty; leave it out")
    return words


def clipped(value: object) -> str:
    """Show a value in a message, where it is long only how it begins."""
    shown = repr(value)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."
