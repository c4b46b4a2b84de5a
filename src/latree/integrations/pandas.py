"""Analyses as pandas tables: a row a token."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from latree.errors import LatreeError
from latree.inference.results import Analysis, Tagging
from latree.integrations.common import Named, analyses, missing, tags_of, the_model
from latree.kinds.model import Model
from latree.kinds.parser import Parser
from latree.kinds.registry import kind_named
from latree.kinds.sentences import Sentence
from latree.text.tokenize import Token

try:
    import pandas
except ImportError:
    raise missing("pandas", "pandas") from None

_SURPRISALS = ("surprisal", "lexical", "syntactic", "entropy", "unknown")
Row = dict[str, Any]


def tokens_frame(
    model: Named, sentences: str | Iterable[Sentence], *, surprisal: bool | None = None
) -> pandas.DataFrame:
    """A row for every token of a text, or of a list of sentences.

    sentence, token     numbers from 1; sentences without words have no rows, but count.
    word, tag, status   of running text also `start` and `end`, its place there.
    parse_probability   of a parser: P(tree | words) of its sentence.
    tag_probability     of a tagger: of the tag, over all tag sequences.
    surprisal, lexical, syntactic, entropy, unknown   where the model tells what comes next, as `latree surprisal` does.

    `surprisal=False` leaves those of the last line out, which take longest; True insists on them.
    """
    used = the_model(model)
    told = _tells_surprisal(used, surprisal)
    given = used.tokenize(sentences) if isinstance(sentences, str) else [used.words_of(one) for one in sentences]
    rows = [
        {"sentence": number} | row
        for number, one in enumerate(analyses(used, given), start=1)
        for row in _rows(used, one, told)
    ]
    return pandas.DataFrame(rows, columns=_columns(used, given, told))


def _tells_surprisal(model: Model, asked: bool | None) -> bool:
    able = isinstance(model, Parser) and kind_named(model.kind).generates
    if asked and not able:
        raise LatreeError(f"a {model.kind} does not tell what word comes next; leave surprisal out")
    return able if asked is None else asked


def _columns(model: Model, sentences: Iterable[Iterable[str]], told: bool) -> list[str]:
    """The columns that a frame has, even where it has no rows."""
    placed = any(isinstance(word, Token) for words in sentences for word in words)
    probability = "parse_probability" if isinstance(model, Parser) else "tag_probability"
    places = ["start", "end"] if placed else []
    return ["sentence", "token", "word", *places, "tag", probability, "status", *(_SURPRISALS if told else ())]


def _rows(model: Model, analysis: Analysis, told: bool) -> Iterator[Row]:
    columns: dict[str, Any] = {"tag": tags_of(analysis), **_probabilities(analysis)}
    if told and isinstance(model, Parser):
        words = model.surprisal(analysis.tokens).words
        columns |= {name: [getattr(one, name) for one in words] for name in _SURPRISALS}
    for place, word in enumerate(analysis.tokens):
        where = {"start": word.start, "end": word.end} if isinstance(word, Token) else {}
        row = {"token": place + 1, "word": str(word), **where, "status": analysis.status}
        yield row | {name: values[place] for name, values in columns.items()}


def _probabilities(analysis: Analysis) -> dict[str, list[float]]:
    """A number a token, NaN where the analysis is a stand-in."""
    if isinstance(analysis, Tagging):
        return {"tag_probability": list(analysis.confidences) or [float("nan")] * len(analysis.tokens)}
    return {"parse_probability": [analysis.probability] * len(analysis.tokens)}
