"""latree tokenize: ordinary text in, a sentence a line out, its tokens separated by spaces."""

from __future__ import annotations

import json
from itertools import chain

import typer

from latree.cli import common
from latree.text.formats import open_text
from latree.text.sentences import paragraphs_in
from latree.text.tokenize import offsets


def tokenize(
    inputs: list[str] = common.INPUTS,
    json_lines: bool = typer.Option(
        False, "--json", help="Write one JSON object a line: the tokens, and where each begins and ends in the input."
    ),
    wrapped: bool = common.WRAPPED,
) -> None:
    """Split text into sentences, one a line, and these into tokens, with a space between.

    As in the English Web Treebank: clitics and hyphens are split off, addresses and smileys stay whole.  Each line of
    the input ends a sentence, unless --wrapped.  `latree parse --tokenize` splits as the model's treebank does.
    """
    for path in common.paths_to_read(inputs):
        with open_text(path) as lines:
            for sentence in chain.from_iterable(paragraphs_in(lines, wrapped=wrapped)):
                if json_lines:
                    line = json.dumps({"tokens": sentence, "offsets": offsets(sentence)}, ensure_ascii=False)
                else:
                    line = " ".join(sentence)
                common.emit(line)
