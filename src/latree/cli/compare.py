"""latree compare: how grammars differ in accuracy, size, errors, and in the trees that they find."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from latree.cli import common
from latree.errors import LatreeError

if TYPE_CHECKING:
    from latree.compare.comparison import GrammarComparison
    from latree.compare.runs import Contender
    from latree.text.labels import LabelRules
    from latree.text.tree import Tree


def compare(
    gold: str = typer.Argument(..., help="The right trees."),
    model: list[Path] = typer.Option(..., "-m", "--model", help="A model file that parses; give two or more."),
    kbest: int = typer.Option(50, "--kbest", min=1, help="Trees of each list that is compared."),
    json_output: bool = typer.Option(False, "--json", help="Everything as one JSON object."),
    html: Path = typer.Option(None, "--html", help="Also write this file, a page for a browser with two plots."),
    max_length: int = typer.Option(None, "--max-length", min=1, help="Only sentences of up to so many words."),
    jobs: int = typer.Option(1, "--jobs", min=1, help="Processes; each takes a model at a time."),
    quiet: bool = typer.Option(False, "--quiet", help="No progress and no notes."),
) -> None:
    """Compare parsers on the same sentences: accuracy, size, overlap of their trees, errors by label, complexity.

    The product of all models is one more row, where they can be multiplied.
    """
    if len(model) < 2:
        raise typer.BadParameter("a comparison takes two models or more: -m FIRST -m SECOND")
    if html is not None and not html.parent.is_dir():
        raise LatreeError(f"{html}: the folder {html.parent} does not exist")
    found = _compare(model, gold, kbest, max_length, jobs, quiet)
    if found.no_product and not quiet:
        common.note(f"no product of all: {found.no_product}")
    _tell(found, gold, html, json_output, quiet)


def _tell(found: GrammarComparison, gold: str, html: Path | None, as_json: bool, quiet: bool) -> None:
    from latree.compare.report import comparison_report

    report = comparison_report(found, gold)
    if html is not None:
        common.write_page(report, html, quiet)
    if as_json:
        typer.echo(json.dumps({"gold": gold, **found.to_json()}, ensure_ascii=False))
    else:
        from latree.report.text import print_report

        print_report(report)


def _compare(paths: list[Path], gold: str, k: int, max_length: int | None, jobs: int, quiet: bool) -> GrammarComparison:
    from latree.compare.comparison import compare_grammars
    from latree.compare.runs import common_labels

    contenders = _contenders(paths)
    trees = _gold(gold, common_labels(contenders), max_length)
    with common.telling_of_compilation(quiet):
        return compare_grammars(
            contenders, trees, k, jobs, lambda runs, total: common.with_progress(runs, "parsing", quiet, total)
        )


def _contenders(paths: list[Path]) -> list[Contender]:
    from latree.compare.runs import Contender
    from latree.kinds.parser import Parser

    found = []
    for name, path in zip(_names(paths), paths, strict=True):
        model = common.load_model(path)
        if not isinstance(model, Parser):
            raise LatreeError(f"{path}: a {model.kind} model tags but does not parse; only parsers are compared")
        found.append(Contender(name, model))
    return found


def _names(paths: list[Path]) -> list[str]:
    """The shortest names that tell the files apart; a file that is given twice is numbered."""
    for names in ([path.stem for path in paths], [str(path) for path in paths]):
        if len(set(names)) == len(names):
            return names
    return [f"{path.stem}#{number}" for number, path in enumerate(paths, start=1)]


def _gold(path: str, rules: LabelRules, max_length: int | None) -> list[Tree]:
    from latree.scoring.evalb import COLLINS
    from latree.text.formats import detect_format, read_trees

    if path != "-" and detect_format(path) != "ptb":
        raise LatreeError(f"{path}: CoNLL-U has no trees to compare parsers on")
    trees = list(read_trees(path, rules))
    kept = [tree for tree in trees if max_length is None or COLLINS.length(tree) <= max_length]
    if not kept:
        raise LatreeError(f"{path}: none of {len(trees)} sentences has up to {max_length} words")
    return kept
