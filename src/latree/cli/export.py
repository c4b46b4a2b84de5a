"""latree export: the rules and words of a grammar as text."""

from __future__ import annotations

from pathlib import Path

import typer

from latree.cli import common
from latree.cli.status import note
from latree.exporters import Form, export_grammar


def export(
    model: Path = common.MODEL,
    output: Path = typer.Option(..., "-o", "--output", metavar="PREFIX", help="What the files' names begin with."),
    form: Form = typer.Option(
        "tsv",
        "--format",
        help="tsv: tables of rules and of words (PREFIX.rules.tsv, PREFIX.words.tsv); nltk: a grammar for NLTK "
        "(PREFIX.pcfg); berkeley: the text format of the Berkeley parser (PREFIX.grammar, .lexicon, .words, .splits), "
        "which `latree import` reads too.",
    ),
    quiet: bool = typer.Option(False, "--quiet", help="Say nothing but errors."),
) -> None:
    """Write the rules and words of a grammar as text, with their probabilities; for pcfg and lvg."""
    common.check_folder(output)
    files = export_grammar(common.load_model(model), output, form)
    if not quiet:
        note(f"written to {', '.join(map(str, files))}")
