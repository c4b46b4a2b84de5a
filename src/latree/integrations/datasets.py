"""Hugging Face data sets: a function for `Dataset.map(..., batched=True)` that parses or tags a column.

Nothing of the library is imported: `map` hands over plain lists, and takes plain lists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from latree.errors import LatreeError
from latree.inference.results import Analysis, finite
from latree.integrations.common import Named, analyses, regrouped, tags_of, the_model
from latree.kinds.jobs import Parcel
from latree.kinds.model import Model
from latree.kinds.parser import Parser
from latree.kinds.sentences import Sentence

Batch = dict[str, list[Any]]
Values = dict[str, Callable[[Any], Any]]  # what a column has of an analysis, by its name


class ParseColumn:
    """Gives every row the analyses of its text: columns that are lists, with an entry for every sentence.

    It can be sent to other processes (`num_proc`), and is told apart by its model: `map` finds again what it made.
    """

    def __init__(self, model: Model, column: str, prefix: str) -> None:
        self.parcel, self.column, self.prefix = Parcel(model), column, prefix

    def __call__(self, batch: Batch) -> Batch:
        """Analyse a batch of rows, all of their sentences together."""
        model: Model = self.parcel.open()
        texts = [self._sentences(model, text) for text in self._texts(batch)]
        told = analyses(model, [sentence for sentences in texts for sentence in sentences])
        groups = list(regrouped(told, [len(sentences) for sentences in texts]))
        values = _OF_PARSES if isinstance(model, Parser) else _OF_TAGGINGS
        added = {f"{self.prefix}{name}": [[*map(of, group)] for group in groups] for name, of in values.items()}
        if taken := sorted(added.keys() & batch.keys()):
            raise LatreeError(f"the data set has a column {taken[0]!r} already; parse_column takes a prefix for others")
        return added

    def _texts(self, batch: Batch) -> list[Any]:
        if self.column not in batch:
            raise LatreeError(f"the data set has no column {self.column!r}; it has {', '.join(sorted(batch))}")
        return batch[self.column]

    def _sentences(self, model: Model, text: Any) -> Sequence[Sentence]:
        """The sentences of a text; a list of words is one, and an absent text has none."""
        if text is None:
            return []
        return model.tokenize(text) if isinstance(text, str) else [model.words_of(text)]


def parse_column(model: Named, column: str, *, prefix: str = "") -> ParseColumn:
    """What `dataset.map(parse_column(model, "text"), batched=True)` takes.

    A row's text may have several sentences, so that the columns that it gets are lists: `tokens`, `trees` (`tags` of a
    tagger), `probabilities`, None for stand-ins, and `statuses`; their names begin with the prefix.
    """
    return ParseColumn(the_model(model), column, prefix)


def _tokens(analysis: Analysis) -> list[str]:
    return [str(token) for token in analysis.tokens]


_OF_ALL: Values = {
    "probabilities": lambda one: finite(one.probability),
    "statuses": lambda one: one.status,
}
_OF_PARSES: Values = {"tokens": _tokens, "trees": str, **_OF_ALL}
_OF_TAGGINGS: Values = {"tokens": _tokens, "tags": tags_of, **_OF_ALL}
