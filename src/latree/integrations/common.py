"""What the integrations share: the model that a user names, and what is said where a library is missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from latree.errors import LatreeError
from latree.inference.results import Analysis, Parse, Tagging
from latree.kinds.model import ForestModel, Model
from latree.kinds.parser import Parser
from latree.kinds.registry import load
from latree.kinds.sentences import Sentence

Named = Model | str | Path | None  # a model; or a file, or one that ships, by its name; None: the English grammar
_Item = TypeVar("_Item")


def missing(library: str, extra: str) -> LatreeError:
    """Say how a library that is not installed comes to be."""
    return LatreeError(f"this needs {library}; install it with: pip install 'latree[{extra}]'")


def the_model(model: Named) -> Model:
    """The model that is meant."""
    if isinstance(model, ForestModel):
        return model
    if model is None or isinstance(model, str | Path):
        return load(model)
    raise LatreeError(f"expected a model, a model file or the name of one that ships, not {model!r}")


def the_parser(model: Named) -> Parser:
    """The model that is meant, which must parse."""
    loaded = the_model(model)
    if not isinstance(loaded, Parser):
        raise LatreeError(f"a {loaded.kind} tags but does not parse; name a parser")
    return loaded


def analyses(model: Model, sentences: Sequence[Sentence]) -> Iterator[Analysis]:
    """The parse of every sentence, or its tagging where the model is a tagger; in order."""
    return model.parse_all(sentences) if isinstance(model, Parser) else model.tag_all(sentences)


def tags_of(analysis: Analysis) -> list[str]:
    """The tags of a tagging, or of the leaves of a parse."""
    if isinstance(analysis, Tagging):
        return list(analysis.tags)
    return analysis.tree.tags() if isinstance(analysis, Parse) and analysis.tree is not None else []


def regrouped(items: Iterator[_Item], sizes: Sequence[int]) -> Iterator[list[_Item]]:
    """Put items that were laid end to end back into groups of these sizes."""
    for size in sizes:
        yield [next(items) for _ in range(size)]
