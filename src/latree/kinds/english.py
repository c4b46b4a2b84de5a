"""The English grammar that comes with latree, for those who name no model: loaded when it is first asked, and kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from latree.inference.results import Parse
from latree.kinds.model import Model
from latree.kinds.registry import load
from latree.kinds.sentences import Sentence

if TYPE_CHECKING:
    from latree.parallel import Jobs


@cache
def _english() -> Model:
    return load()


def parse(sentence: Sentence) -> Parse:
    """The best tree of an English sentence: running text, or a list of words."""
    return _english().parse(sentence)


def parse_all(sentences: str | Iterable[Sentence], jobs: Jobs = 1) -> Iterator[Parse]:
    """The best tree of every sentence of an English text, or of a list of sentences, in order."""
    return _english().parse_all(sentences, jobs)


def tag(sentence: Sentence) -> list[str]:
    """The tags of an English sentence: running text, or a list of words."""
    return _english().tag(sentence)
