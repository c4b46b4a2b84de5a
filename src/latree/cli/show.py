"""latree show: what a model holds."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from latree.cli import common
from latree.cli.status import with_progress
from latree.errors import LatreeError
from latree.kinds.registry import report_on
from latree.kinds.report import Ask
from latree.report.text import print_report
from latree.report.value import Report, to_json
from latree.text.formats import read_trees

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
    functions: str = typer.Option(
        None,
        "--functions",
        metavar="TREES",
        help="Show, over a file of trees with function labels (NP-SBJ), which subtypes of lvg have which functions.",
    ),
    html: Path = typer.Option(
        None, "--html", metavar="FILE", help="Write everything to this file, as a page for a browser."
    ),
    json_output: bool = typer.Option(
        False,
        "--json",
        help="Write all as JSON, with the header of the model file; with --symbol, all about that category.",
    ),
) -> None:
    """Show what a model was made from, its categories with their subtypes, and what each is likely to be.

    What there is to show depends on the kind. lvg: subtypes with their words, rules and split trees. gm-lveg: where the
    rules and words of a category lie in its space. lvg-d: which weights training moved most, and how finely rules are
    divided. cvg: which categories the network has most to say of together, and which words are alike. svs: how common
    each concept is, and its likeliest headwords. neural: where words of the treebank lie in the spaces of their tags. A
    product shows all that of each member.
    """
    if html is not None and (symbol is not None or json_output):
        raise typer.BadParameter("--html excludes --symbol and --json: the page holds all")
    if functions is not None and (top is not None or summed):
        raise typer.BadParameter("--top and --summed are for rules, and --functions shows none")
    loaded = common.load_model(model)
    whole = symbol is None and (html is not None or json_output)
    report = (
        report_on(loaded, Ask(top or (TOP_ON_PAGE if whole else TOP), symbol, whole, summed))
        if functions is None
        else _functions(loaded, functions, symbol)
    )
    if html is not None:
        common.write_page(replace(report, title=_title(report, model)), html)
    elif json_output:
        header = {"kind": loaded.kind, **loaded.state().header} if symbol is None else {}
        typer.echo(json.dumps(header | to_json(report), ensure_ascii=False, indent=1))
    else:
        print_report(report)


def _title(report: Report, model: Path | None) -> str:
    """The name of the model, and what is told of it where that is not everything."""
    name = "English" if model is None else model.name
    return f"{name}: {report.title}" if report.title else name


def _functions(model: Any, path: str, symbol: str | None) -> Report:
    """Build the report on subtypes and functions; of one category, where it is named."""
    from latree.compare.functions import functions_report, study_functions
    from latree.kinds.lvg.model import Lvg

    if not isinstance(model, Lvg):
        raise LatreeError(f"--functions is for the subtypes of an lvg; this is a {model.kind}")
    trees = list(read_trees(path))
    study = study_functions(model, with_progress(trees, "reading subtypes off trees", total=len(trees)))
    if symbol is not None:
        named = {one.label: one for one in study.uses}
        if symbol not in named:
            told = ", ".join(named) or "none"
            raise LatreeError(f"{path}: no {symbol} with functions; categories that have some: {told}")
        study = study._replace(uses=[named[symbol]])
    return functions_report(study, path)
