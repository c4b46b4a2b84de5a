"""latree surprisal: sentences in, a line a word out, with what the grammar expected."""

from __future__ import annotations

import json
import math
from collections.abc import Generator, Iterable
from contextlib import closing
from pathlib import Path

import typer

from latree.cli import common
from latree.cli.status import note
from latree.cli.tally import Tally
from latree.errors import LatreeError
from latree.files import write_atomically
from latree.kinds.model import ForestModel
from latree.kinds.parser import Parser
from latree.kinds.sentences import Sentence
from latree.kinds.surprisal import Surprisal, WordSurprisal
from latree.report.html import picture
from latree.report.value import Bars

*COLUMNS, REDUCTION = WordSurprisal._fields
_REDUCTION = typer.Option(
    False,
    "--reduction",
    help="Also tell by how much each word lowers the entropy of the sentence's derivations, in a last column; slower.",
)
_WORDS = typer.Option(
    False,
    "--words",
    help="With --tokenize: a line a word as it stands between spaces, punctuation and clitics with it, numbers of its "
    "tokens summed; what was expected is that of its first token.",
)
_PLOT = typer.Option(
    None,
    "--plot",
    metavar="FILE.svg",
    help="Also draw the surprisals of a sentence, in their two parts; the input must be one sentence.",
)


def surprisal(
    inputs: list[str] = common.INPUTS,
    model: Path = common.MODEL,
    json_lines: bool = typer.Option(False, "--json", help="Write one JSON object a sentence, with that of its end."),
    words: bool = _WORDS,
    reduction: bool = _REDUCTION,
    plot: Path = _PLOT,
    tokenize: bool = common.TOKENIZE,
    wrapped: bool = common.WRAPPED,
    form: common.InputFormat = common.FORMAT,
    max_length: int = typer.Option(
        None,
        "--max-length",
        min=1,
        metavar="N",
        help=f"Longer sentences, in words, have no numbers, and a message.  [default: {ForestModel.max_length}]",
    ),
) -> None:
    """Tell how surprising every word is after those before it: -log P(word | words before), in nats, exactly.

    Columns: sentence and token, from 1; word; surprisal, the sum of lexical (that a word of its part of speech is this
    one) and syntactic (that such a word comes); entropy of what may come, before the word; unknown, 1 for a word that
    training never saw, which is as surprising as any new word of its class.  Models are of the kinds pcfg and lvg.
    """
    if words and not tokenize:
        raise LatreeError("--words is for ordinary text; add --tokenize")
    parser = _parser(model, max_length)
    split = common.splitter(parser, tokenize, wrapped)
    sentences = common.read_sentences(inputs, form, split=split, labels=parser.labels)
    tally = Tally(parser, inputs, "no number")
    if not json_lines:
        common.emit("\t".join(["sentence", "token", *COLUMNS, *([REDUCTION] if reduction else [])]))
    drawn: Surprisal | None = None
    with closing(tally.watch(_told(parser, sentences, reduction))) as results:
        for one in results:
            told = one.joined() if words else one
            if plot is not None and len(told):
                drawn = _only(drawn, told, plot)
            _write(told, tally.count.done, json_lines)
    tally.close()
    if plot is not None:
        _draw(drawn, plot)


def _parser(path: Path | None, max_length: int | None) -> Parser:
    """The named model, which must be one that knows what comes next."""
    parser = common.load_model(path, max_length)
    if not isinstance(parser, Parser):
        raise LatreeError(f"{path}: a {parser.kind} tags; surprisal is for parsers ({common.names_of('generates')})")
    with common.telling_of_compilation():
        _ = parser.predictor
    return parser


def _told(parser: Parser, sentences: Iterable[Sentence], reduction: bool) -> Generator[Surprisal, None, None]:
    for sentence in sentences:
        yield parser.surprisal(sentence, reduction=reduction)


def _write(told: Surprisal, number: int, json_lines: bool) -> None:
    if json_lines:
        common.emit(json.dumps(told.to_json(), ensure_ascii=False))
    elif len(told):
        common.emit("\n".join(_line(number, place, one) for place, one in enumerate(told, start=1)))


def _line(sentence: int, place: int, one: WordSurprisal) -> str:
    """The columns of a word, as many as there are."""
    values = [_number(value) for value in (one.surprisal, one.lexical, one.syntactic, one.entropy)]
    reduction = [] if one.reduction is None else [_number(one.reduction)]
    return "\t".join([str(sentence), str(place), one.word, *values, str(int(one.unknown)), *reduction])


def _number(value: float) -> str:
    """What is not a number is written NA, as R reads it; an infinite one Inf."""
    return "NA" if math.isnan(value) else "Inf" if math.isinf(value) else f"{value:.6f}"


# -- pictures


def _only(before: Surprisal | None, told: Surprisal, path: Path) -> Surprisal:
    if before is not None:
        raise LatreeError(f"{path}: --plot draws one sentence, and the input has more")
    return told


def _draw(told: Surprisal | None, path: Path) -> None:
    if told is None:
        raise LatreeError(f"{path}: --plot draws a sentence, and the input has none")
    write_atomically(path, picture(_bars(told)).encode())
    note(f"written to {path}")


def _bars(told: Surprisal) -> Bars:
    """A bar a word, its two parts on top of each other; where nothing is known, none."""
    lexical, syntactic = (
        tuple(value if math.isfinite(value) else 0.0 for value in values)
        for values in ([one.lexical for one in told], [one.syntactic for one in told])
    )
    series = (0, "lexical", lexical), (1, "syntactic", syntactic)
    return Bars("Surprisal", "nats", told.tokens, series, stacked=True)
