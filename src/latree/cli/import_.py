"""latree import: a grammar of another program in, a model file out."""

from __future__ import annotations

from pathlib import Path

import typer

from latree.cli.status import note
from latree.importers import import_grammar


def import_(
    grammar: Path = typer.Argument(
        ..., help="A Berkeley grammar: a .gr file, or what the names of its text files begin with.", show_default=False
    ),
    output: Path = typer.Option(..., "-o", "--output", help="The model file to write."),
    quiet: bool = typer.Option(False, "--quiet", help="Say nothing but errors."),
) -> None:
    """Make a model of a Berkeley grammar.

    A .gr file needs the package javaobj-py3: pip install latree[import].  Text grammars (X.grammar, X.lexicon, X.words,
    X.splits) hold less, and parse a little differently.
    """
    model = import_grammar(grammar)
    model.save(output)
    if not quiet:
        rules, words = len(model.grammar.rules), len(model.lexicon.vocabulary)
        subtypes = f"{int(model.size.sum())} subtypes of {len(model.grammar.symbols)} symbols"
        note(f"{rules} rules, {subtypes}, {words} words; written to {output}")
