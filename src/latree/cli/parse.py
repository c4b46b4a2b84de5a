"""latree parse: one tokenised sentence a line in, one tree a line out."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from latree.cli import common
from latree.errors import LatreeError

if TYPE_CHECKING:
    from latree.models.parser import Parser
    from latree.results import Parse


def parse(
    inputs: list[str] = common.INPUTS,
    model: Path = common.MODEL,
    kbest: int = typer.Option(0, "--kbest", min=0, help="List the N best trees of each sentence, then a blank line."),
    scores: bool = typer.Option(
        False, "--scores", help="Tab-separated before each tree: log P(T,w), log P(w), P(T|w), status."
    ),
    json_lines: bool = common.JSON,
    draw: bool = typer.Option(False, "--draw", help="Draw the trees for the terminal."),
    tokenize: bool = common.TOKENIZE,
    form: common.InputFormat = common.FORMAT,
    jobs: int = common.JOBS,
    max_length: int = common.MAX_LENGTH,
    objective: common.Objective = common.OBJECTIVE,
) -> None:
    """Parse tokenised sentences, one a line; trees come out one a line.

    A sentence that the grammar cannot derive gets a flat stand-in tree and a message; an empty line stays empty.
    """
    parser = _parser(model, max_length)
    sentences = common.read_sentences(inputs, form, tokenize=tokenize, labels=parser.labels)
    tally = common.Tally()
    if kbest:
        for tokens in sentences:
            found = parser.kbest(tokens, kbest, objective)
            tally.see(found[0])
            for one in found:
                _show(one, scores, json_lines, draw)
            common.emit("")
    else:
        for one in tally.watch(parser.parse_all(sentences, jobs, objective)):
            _show(one, scores, json_lines, draw)
    tally.close()


def _parser(path: Path | None, max_length: int | None) -> Parser:
    from latree.models.parser import Parser

    model = common.load_model(path, max_length)
    if not isinstance(model, Parser):
        raise LatreeError(f"{path}: a {model.kind} model tags but does not parse; use `latree tag`")
    return model


def _show(one: Parse, scores: bool, json_lines: bool, draw: bool) -> None:
    if json_lines:
        common.emit(json.dumps(one.to_json(), ensure_ascii=False))
    elif draw and one.tree is not None:
        from shutil import get_terminal_size

        from latree.draw import draw as drawing

        common.emit(drawing(one.tree, get_terminal_size().columns if sys.stdout.isatty() else None) + "\n")
    elif scores:
        numbers = f"{one.log_joint:.6f}\t{one.log_marginal:.6f}\t{one.probability:.6g}\t{one.status}"
        common.emit(f"{numbers}\t{one}")
    else:
        common.emit(str(one))
