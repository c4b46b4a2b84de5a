"""latree show: what a model holds."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import typer

from latree.cli import common

TOP, TOP_ON_PAGE = 5, 8


def show(
    model: Path = common.MODEL,
    symbol: str = typer.Option(None, "--symbol", help="All about the categories of this name, such as NP."),
    top: int = typer.Option(None, "--top", min=1, help=f"Rules and words to show: {TOP}, on a page {TOP_ON_PAGE}."),
    summed: bool = typer.Option(False, "--summed", help="Rules whatever the subtypes of the children."),
    html: Path = typer.Option(None, "--html", help="Write all of it to this file, a page for a browser."),
    json_output: bool = typer.Option(
        False, "--json", help="The header of the model file as JSON; with --symbol, all about that category."
    ),
) -> None:
    """Show what the model was made of, its categories with their subtypes, and what each is likely to be.

    Of latent vectors instead of subtypes: where the rules and words of a category lie. Of weights that were trained to
    tell right trees from wrong ones: which of them training moved most, and how finely rules are divided. Of concepts
    that all categories share: how common each is, and its likeliest headwords. Of a product: all that of each member.
    """
    from latree.kinds.registry import report_on
    from latree.kinds.report import Ask
    from latree.report.value import to_json

    if html is not None and (symbol is not None or json_output):
        raise typer.BadParameter("--html excludes --symbol and --json: the page holds all")
    loaded = common.load_model(model)
    if json_output and symbol is None:
        header, _ = loaded.state()
        typer.echo(json.dumps({"kind": loaded.kind, **header}, ensure_ascii=False, indent=1))
        return
    report = report_on(loaded, Ask(top or (TOP if html is None else TOP_ON_PAGE), symbol, html is not None, summed))
    if html is not None:
        common.write_page(replace(report, title="English" if model is None else model.name), html)
    elif json_output:
        typer.echo(json.dumps(to_json(report), ensure_ascii=False, indent=1))
    else:
        from latree.report.text import print_report

        print_report(report)
