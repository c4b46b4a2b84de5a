"""latree check: likely annotation errors of a treebank, the worst first."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import typer

from latree.check.report import check_page, check_report
from latree.check.treebank import FOLDS, Annotated, Checked, check_treebank
from latree.cli import common
from latree.cli.recipes import RECIPE_HELP, read_recipe
from latree.cli.status import with_progress
from latree.errors import LatreeError
from latree.experiments.tasks import Ledger
from latree.kinds.parser import Parser
from latree.report.text import print_report
from latree.text.formats import format_by_name, read_trees

RECIPE, MOST = "lvg", 50


_TREES = typer.Argument(..., metavar="TREES...", help="Files of trees in brackets, which are checked.")
_RECIPE = typer.Option(None, "--recipe", metavar="RECIPE", help=f"{RECIPE_HELP}  [default: {RECIPE}]")
_FOLDS = typer.Option(
    None,
    "--folds",
    min=1,
    metavar="N",
    help="Cut the trees into so many parts; each is judged by a model that learned from the others.  With 1 and "
    f"--trust, by one that learned from the trusted trees alone.  [default: {FOLDS}; with --trust 1]",
)
_TRUST = typer.Option(
    None, "--trust", metavar="FILE", help="Trees that are right: all models learn from them, none is checked."
)
_MODEL = typer.Option(
    None,
    "-m",
    "--model",
    metavar="MODEL",
    help="A model that knows none of these trees, to judge them; nothing is trained then.",
)
_MOST = typer.Option(
    None, "--most", min=1, metavar="N", help=f"Tell of so many findings at most.  [default: {MOST} of a kind]"
)
_JSON = typer.Option(
    False, "--json", help="Write a list of objects, worst first, of all findings unless --most says how many."
)
_HTML = typer.Option(
    None, "--html", metavar="FILE", help="Also write a page for a browser, with what is annotated and expected drawn."
)


def check(
    trees: list[str] = _TREES,
    recipe: str = _RECIPE,
    folds: int = _FOLDS,
    trust: list[str] = _TRUST,
    model: Path = _MODEL,
    most: int = _MOST,
    json_output: bool = _JSON,
    html: Path = _HTML,
    jobs: int = common.JOBS,
    cluster: str = common.CLUSTER,
    resume: Path = common.LEDGER,
    quiet: bool = common.QUIET,
) -> None:
    """Find the places of a treebank that are likely to be annotated wrongly.

    Every tree is judged by a model that did not learn from it.  Three lists: nodes that the model doubts, with what it
    expects there and the log odds; phrases whose rule no other tree has; words that are annotated otherwise elsewhere.
    """
    common.check_folder(html)
    if model is not None and (recipe is not None or folds is not None or trust):
        raise typer.BadParameter("a model that is trained already takes no --recipe, --folds or --trust")
    if folds == 1 and not trust:
        raise typer.BadParameter("with --folds 1 there is nothing to learn from; add --trust FILE")
    judge = read_recipe(recipe or RECIPE) if model is None else _parser(model)
    annotated, trusted = list(_read(trees)), list(_read(trust or []))
    with common.telling_of_compilation(quiet):
        checked = check_treebank(
            annotated,
            judge,
            folds=folds,
            trusted=trusted,
            jobs=common.workers(jobs, cluster),
            ledger=Ledger(resume),
            watch=lambda done, total: with_progress(done, "parts of the treebank", quiet, total),
        )
    _show(checked, ", ".join(trees), most, json_output, html, quiet)


def _read(paths: Iterable[str]) -> Iterator[Annotated]:
    for path in paths:
        if format_by_name(path) == "conllu":
            raise LatreeError(f"{path}: CoNLL-U has no trees to check")
        for number, tree in enumerate(read_trees(path), start=1):
            yield Annotated(tree, path, number)


def _parser(path: Path) -> Parser:
    model = common.load_model(path)
    if not isinstance(model, Parser):
        raise LatreeError(f"{path}: a {model.kind} tags but does not parse; trees are judged by parsers")
    return model


def _show(checked: Checked, name: str, most: int | None, as_json: bool, html: Path | None, quiet: bool) -> None:
    if html is not None:
        common.write_page(check_page(checked, name, most or MOST), html, quiet)
    if as_json:
        typer.echo(json.dumps([one.to_json() for one in checked.findings[:most]], ensure_ascii=False))
    else:
        print_report(check_report(checked, name, most or MOST))
