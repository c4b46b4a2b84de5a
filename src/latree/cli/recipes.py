"""A kind of model with its options as one word of the command line, as `--recipe "lvg --rounds 3"`."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any, cast

import typer

from latree.cli import STYLE, kind_options
from latree.errors import LatreeError
from latree.experiments.recipes import Recipe
from latree.kinds.options import TagOptions
from latree.kinds.registry import Kind, trained_kinds
from latree.text.formats import Column

RECIPE_HELP = (
    'What is trained: a kind and its options as for `latree train`, in one pair of quotes, as "lvg --rounds 3".'
)


_UsageError = cast(type[typer.BadParameter], typer.BadParameter.__base__)  # of which typer shows no more than this


def read_recipe(text: str, column: Column | None = None) -> Recipe:
    """Read what a user asks for; `column` tells which tags a tagger is to learn, None that it is a parser."""
    name, *words = _words(text) or [""]
    kind = next((kind for kind in trained_kinds() if kind.name == name), None)
    if kind is None:
        names = ", ".join(kind.name for kind in trained_kinds())
        raise typer.BadParameter(f"a recipe begins with a kind of model, one of {names}: {text!r} does not")
    tags = column is not None
    if (kind.tagger if tags else kind.parser) is None:
        raise LatreeError(f"a {name} {'parses' if tags else 'tags'}, which these files have nothing to learn for")
    try:
        options = kind_options.options_from(kind, _values(kind, words), tags=tags)
    except _UsageError as error:
        raise typer.BadParameter(f"in the recipe {text!r}: {error.format_message()}") from None
    if isinstance(options, TagOptions) and column is not None:
        options = replace(options, column=column)
    return Recipe(text, name, options, tags)


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} cannot be split into words: {error}") from None


def _values(kind: Kind, words: list[str]) -> dict[str, Any]:
    """What the words say of the kind's options; typer tells of options that there are not."""
    values: dict[str, Any] = {}

    def keep(**said: Any) -> None:
        values.update(said)

    reader = typer.Typer(**STYLE)
    reader.command(add_help_option=False)(kind_options.with_parameters(keep, kind_options.parameters_for(kind)))
    typer.main.get_command(reader).main(list(words), f"latree train {kind.name}", standalone_mode=False)
    return values
