"""latree show: what a model holds."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import typer

from latree.cli import common
from latree.kinds.registry import report_on
from latree.kinds.report import Ask
from latree.report.text import print_report
from latree.report.value import to_json

TOP, TOP_ON_PAGE = 5, 8


def show(
    model: Path = common.MODEL,
    symbol: str = typer.Option(
        None, "--symbol", metavar="NAME", help="Show all about the categories of this name, such as NP."
    ),
    top: int = typer.Option(
        None,
        "--top",
        min=1,
        metavar="N",
        help=f"How many rules and words to show of each.  [default: {TOP}, on a page {TOP_ON_PAGE}]",
    ),
    summed: bool = typer.Option(
        False, "--summed", help="Show rules with the children's subtypes added up, instead of each by itself."
    ),
    html: Path = typer.Option(
        None, "--html", metavar="FILE", help="Write everything to this file, as a page for a browser."
    ),
    json_output: bool = typer.Option(
        False, "--json", help="Write the header of the model file as JSON; with --symbol, all about that category."
    ),
) -> None:
    """Show what a model was made from, its categories with their subtypes, and what each is likely to be.

    What there is to show depends on the kind. lvg: subtypes with their words, rules and split trees. gm-lveg: where the
    rules and words of a category lie in its space. lvg-d: which weights training moved most, and how finely rules are
    divided. cvg: which categories the network has most to say of together, and which words are alike. svs: how common
    each concept is, and its likeliest headwords. A product shows all that of each member.
    """
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
        print_report(report)
