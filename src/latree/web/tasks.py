"""What models are asked to do with sentences; sentences of equal tasks are done together, whosever they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Protocol

from latree.errors import LatreeError
from latree.experiments.doubts import doubts_of
from latree.inference.results import Objective, Parse
from latree.kinds.lvg.typical import Likeliest, Typical
from latree.kinds.model import Model
from latree.kinds.parser import Parser
from latree.kinds.sentences import BATCH, Sentence
from latree.kinds.tagger import Tagger
from latree.text.tree import Tree

Json = dict[str, Any]


class Task(Protocol):
    """Hashable, so that equal tasks are found."""

    name: ClassVar[str]
    at_once: ClassVar[int]  # sentences that are done together, at most; one where that saves nothing

    def __call__(self, model: Model, sentences: Sequence[Any]) -> list[Json]:
        """What is answered for every sentence, or whatever else the task is about."""


@dataclass(frozen=True)
class ParseTask:
    """The best tree, as `latree parse --json` writes it."""

    name: ClassVar[str] = "parse"
    at_once: ClassVar[int] = BATCH
    objective: Objective

    def __call__(self, model: Model, sentences: Sequence[Sentence]) -> list[Json]:
        return [model.facts(one) for one in parser(model).analyse(sentences, self.objective)]


@dataclass(frozen=True)
class TagTask:
    """The tags, as `latree tag --json` writes them."""

    name: ClassVar[str] = "tag"
    at_once: ClassVar[int] = BATCH
    objective: Objective

    def __call__(self, model: Model, sentences: Sequence[Sentence]) -> list[Json]:
        analyses = model.analyse(sentences, self.objective)
        return [model.facts(one.tagging() if isinstance(one, Parse) else one) for one in analyses]


@dataclass(frozen=True)
class KBestTask:
    """The best trees, the best first."""

    name: ClassVar[str] = "kbest"
    at_once: ClassVar[int] = 1
    k: int
    objective: Objective

    def __call__(self, model: Model, sentences: Sequence[Sentence]) -> list[Json]:
        return [self._listed(parser(model), sentence) for sentence in sentences]

    def _listed(self, model: Parser, sentence: Sentence) -> Json:
        best = model.kbest(sentence, self.k, self.objective)
        parses = [model.facts(one) | {"rank": rank} for rank, one in enumerate(best, start=1)]
        return {"tokens": list(best[0].tokens), "parses": parses}


@dataclass(frozen=True)
class PosteriorsTask:
    """Every phrase that is likely enough, of a tagger every tag, summed over all analyses."""

    name: ClassVar[str] = "posteriors"
    at_once: ClassVar[int] = 1
    least: float

    def __call__(self, model: Model, sentences: Sequence[Sentence]) -> list[Json]:
        key = "tags" if isinstance(model, Tagger) else "constituents"
        told = ((model.words_of(one), model.posteriors(one, self.least)) for one in sentences)
        return [{"tokens": list(tokens), key: [*map(_plain, likely)]} for tokens, likely in told]


@dataclass(frozen=True)
class SurprisalTask:
    """How surprising every word is, as `latree surprisal --json` writes it."""

    name: ClassVar[str] = "surprisal"
    at_once: ClassVar[int] = 1

    def __call__(self, model: Model, sentences: Sequence[Sentence]) -> list[Json]:
        return [parser(model).surprisal(sentence).to_json() for sentence in sentences]


@dataclass(frozen=True)
class DoubtsTask:
    """The errors that the model expects in its own analyses; what `latree rank` goes by."""

    name: ClassVar[str] = "doubts"
    at_once: ClassVar[int] = BATCH

    def __call__(self, model: Model, sentences: Sequence[Sentence]) -> list[Json]:
        return [doubts_of(one)._asdict() for one in model.analyse(sentences)]


@dataclass(frozen=True)
class SubtypesTask:
    """Of trees in place of sentences, the likeliest subtype of every node; none of a model that has no subtypes."""

    name: ClassVar[str] = "subtypes"
    at_once: ClassVar[int] = 1
    typical: Typical | None

    def __call__(self, model: Model, sentences: Sequence[Any]) -> list[Json]:
        return [{"nodes": [one and asdict(one) for one in self._of(tree)]} for tree in sentences]

    def _of(self, tree: Tree) -> Sequence[Likeliest | None]:
        return [None] * len(tree.subtrees()) if self.typical is None else self.typical.of(tree)


def parser(model: Model) -> Parser:
    """The model, which must be one that parses."""
    if not isinstance(model, Parser):
        raise LatreeError(f"this {model.kind} tags but does not parse; ask /tag or /posteriors")
    return model


def _plain(likely: Any) -> Any:
    """A constituent as a list; tags with their probabilities stay as they are."""
    return list(likely) if isinstance(likely, tuple) else likely
