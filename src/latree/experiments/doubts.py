"""How much a model doubts its own analyses: errors that it expects, word by word."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from latree.experiments.tasks import Ledger, key_of, run_tasks
from latree.inference.results import Analysis, Parse, Tagging
from latree.kinds.jobs import Parcel, pack
from latree.kinds.model import Model
from latree.kinds.sentences import batches
from latree.learning.checkpoint import fingerprint

if TYPE_CHECKING:
    from latree.parallel import Jobs

UNDERIVED = 1.0  # errors a word of which a model that derives nothing is taken to make


class Doubts(NamedTuple):
    """What a model expects to be wrong in its analysis of a sentence."""

    status: str  # of the analysis
    errors: list[float]  # of each word


def doubts_of(analysis: Analysis) -> Doubts:
    """Expected errors by word: that its tag is wrong, or its share of every phrase of the tree that may be wrong."""
    if analysis.status != "ok":
        return Doubts(analysis.status, [UNDERIVED] * len(analysis.tokens))
    if isinstance(analysis, Tagging):
        return Doubts("ok", [1.0 - confidence for confidence in analysis.confidences])
    errors = np.zeros(len(analysis.tokens))
    for phrase in analysis.constituents if isinstance(analysis, Parse) else ():
        errors[phrase.start : phrase.end] += (1.0 - phrase.probability) / (phrase.end - phrase.start)
    return Doubts("ok", errors.tolist())


def doubts_of_all(
    model: Model, sentences: Sequence[Sequence[str]], jobs: Jobs = 1, ledger: Ledger | None = None
) -> Iterator[Doubts]:
    """The doubts of every sentence, in order; what is done is kept in the ledger, batch by batch."""
    kept = ledger or Ledger(None)
    known = _fingerprint(model) if kept.path is not None else ""
    listed = [(key_of(known, batch), batch) for batch in batches(list(words) for words in sentences)]
    for found in run_tasks(_doubts, listed, jobs, kept, Parcel.open, Parcel(model)):
        yield from (Doubts(*one) for one in found)


def _doubts(model: Model, batch: Sequence[Sequence[str]]) -> list[Doubts]:
    return [doubts_of(one) for one in model.analyse(batch)]


def _fingerprint(model: Model) -> str:
    """What tells a model, and how it is used, from another."""
    kind, header, arrays, options = pack(model)
    told = json.dumps([kind, header, options], sort_keys=True, default=str).encode()
    parts = (part for name in sorted(arrays) for part in (name.encode(), np.ascontiguousarray(arrays[name]).tobytes()))
    return fingerprint([told, *parts])
