"""latree compare: how grammars differ in accuracy, size, errors, and in the trees that they find."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from latree.cli import common
from latree.cli.status import note, with_progress
from latree.compare.comparison import compare_grammars
from latree.compare.report import comparison_report
from latree.compare.runs import common_labels
from latree.errors import LatreeError
from latree.kinds.parser import Parser
from latree.report.text import print_report
from latree.scoring.evalb import COLLINS
from latree.text.formats import format_by_name, read_trees
from latree.text.labels import LabelRules
from latree.text.tree import Tree


def compare(
    gold: str = typer.Argument(..., metavar="GOLD", help="A file of right trees, which the models parse anew."),
    model: list[Path] = typer.Option(
        ..., "-m", "--model", metavar="FILE", help="A model file; give two or more, each with -m of its own."
    ),
    kbest: int = typer.Option(
        50, "--kbest", min=1, metavar="N", help="How many of each model's best trees for a sentence are compared."
    ),
    json_output: bool = typer.Option(False, "--json", help="Write all figures as one JSON object."),
    html: Path = typer.Option(None, "--html", metavar="FILE", help="Also write a page for a browser, with two plots."),
    max_length: int = typer.Option(
        None, "--max-length", min=1, metavar="N", help="Take only sentences of up to so many words.  [default: all]"
    ),
    jobs: int = typer.Option(1, "--jobs", min=1, metavar="N", help="Processes; each takes one model at a time."),
    cluster: str = common.CLUSTER,
    quiet: bool = common.QUIET,
) -> None:
    """Compare parsers on the same sentences: accuracy, size, overlap of their trees, errors by label, complexity.

    The product of all models is one more row, where they can be multiplied.
    """
    if len(model) < 2:
        raise typer.BadParameter("a comparison takes two models or more: -m FIRST -m SECOND")
    common.check_folder(html)
    contenders = _load(model)
    trees = _gold(gold, common_labels(contenders), max_length)
    with common.telling_of_compilation(quiet):
        comparison = compare_grammars(
            contenders,
            trees,
            kbest,
            common.workers(jobs, cluster),
            lambda runs, total: with_progress(runs, "parsing", quiet, total),
        )
    if comparison["no_product"] and not quiet:
        note(f"no product of all: {comparison['no_product']}")
    report = comparison_report(comparison, gold)
    if html is not None:
        common.write_page(report, html, quiet)
    if json_output:
        typer.echo(json.dumps({"gold": gold, **comparison}, ensure_ascii=False))
    else:
        print_report(report)


def _load(paths: list[Path]) -> dict[str, Parser]:
    """The models, by the names that they have in the comparison."""
    models = {}
    for name, path in zip(_names(paths), paths, strict=True):
        model = common.load_model(path)
        if not isinstance(model, Parser):
            raise LatreeError(f"{path}: a {model.kind} model tags but does not parse; only parsers are compared")
        models[name] = model
    return models


def _names(paths: list[Path]) -> list[str]:
    """The shortest names that tell the files apart; a file that is given twice is numbered."""
    for names in ([path.stem for path in paths], [str(path) for path in paths]):
        if len(set(names)) == len(names):
            return names
    return [f"{path.stem}#{number}" for number, path in enumerate(paths, start=1)]


def _gold(path: str, rules: LabelRules, max_length: int | None) -> list[Tree]:
    if format_by_name(path) == "conllu":
        raise LatreeError(f"{path}: CoNLL-U has no trees to compare parsers on")
    trees = list(read_trees(path, rules))
    kept = [tree for tree in trees if max_length is None or COLLINS.length(tree) <= max_length]
    if not kept:
        raise LatreeError(f"{path}: none of {len(trees)} sentences has up to {max_length} words")
    return kept
