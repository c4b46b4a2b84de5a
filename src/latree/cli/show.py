"""latree show: what a model holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from latree.cli import common
from latree.errors import LatreeError

if TYPE_CHECKING:
    from rich.table import Table

    from latree.models.base import ForestModel


def show(
    model: Path = common.MODEL,
    symbol: str = typer.Option(None, "--symbol", help="Only categories of this name."),
    top: int = typer.Option(5, "--top", min=1, help="How many rules and words of each category."),
    json_output: bool = typer.Option(False, "--json", help="The header of the model file as JSON."),
) -> None:
    """What the model was made of, and the likeliest rules and words of its categories."""
    loaded = common.load_model(model)
    if json_output:
        header, _ = loaded.state()
        typer.echo(json.dumps({"kind": loaded.kind, **header}, ensure_ascii=False, indent=1))
        return
    from rich.console import Console

    if symbol is not None and all(known.label != symbol for known in loaded.grammar.symbols):
        names = sorted({known.label for known in loaded.grammar.symbols})
        raise LatreeError(f"the model has no category {symbol!r}; it has {', '.join(names)}")
    console = Console(emoji=False)
    console.print(f"{loaded.kind} model, {_facts(loaded)}", markup=False)
    for name, value in loaded.training.items():
        console.print(f"  {name}: {value}", markup=False)
    console.print(_table(loaded, symbol, top))


def _facts(model: ForestModel[Any]) -> str:
    grammar, lexicon = model.grammar, model.lexicon
    return (
        f"{grammar.first_tag} phrases and parts, {len(grammar.tags)} tags, {len(grammar.rules)} rules, "
        f"{len(lexicon.vocabulary)} words, {len(lexicon.signatures)} classes of unknown words"
    )


def _table(model: ForestModel[Any], wanted: str | None, top: int) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table("category", "likeliest rules or words", box=SIMPLE_HEAD, pad_edge=False)
    for index, symbol in enumerate(model.grammar.symbols):
        if wanted is None or symbol.label == wanted:
            table.add_row(Text(str(symbol)), Text(_likeliest(model, index, top)))
    return table


def _likeliest(model: ForestModel[Any], symbol: int, top: int) -> str:
    import numpy as np

    grammar = model.grammar
    rules = np.flatnonzero(grammar.rules[:, 0] == symbol)
    best = rules[np.argsort(-model.theta[rules], kind="stable")][:top]
    parts = [f"{grammar.describe(rule).split(' -> ')[1] or '(end)'} {model.theta[rule]:.3f}" for rule in best]
    if symbol >= grammar.first_tag:
        words = model.lexicon.top_words(symbol - grammar.first_tag, top)
        parts = [f"{word} {share:.3f}" for word, share in words] + ([f"| {', '.join(parts)}"] if parts else [])
    return ", ".join(parts)
