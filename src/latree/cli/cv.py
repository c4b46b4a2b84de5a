"""latree cv: how well models of a treebank do on what they did not learn from, and whether they differ."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from latree.cli import common, experiments
from latree.experiments.cross_validation import cross_validate
from latree.experiments.cross_validation_report import cross_validation_report
from latree.report.text import print_report
from latree.text.formats import Column, Format


def cv(
    treebank: list[str] = experiments.TREEBANK,
    recipe: list[str] = experiments.RECIPES,
    folds: int = typer.Option(10, "--folds", min=2, metavar="N", help="Parts, each of which is held out once."),
    seeds: int = typer.Option(
        1, "--seeds", min=1, metavar="N", help="Trainings of each fold, for kinds that draw at random."
    ),
    json_output: bool = experiments.JSON,
    html: Path = experiments.HTML,
    form: Format = common.TREEBANK_FORMAT,
    column: Column = experiments.COLUMN,
    resume: Path = common.LEDGER,
    jobs: int = common.JOBS,
    cluster: str = common.CLUSTER,
    quiet: bool = common.QUIET,
) -> None:
    """Cross-validate: train on all parts of a treebank but one, score on that, and so on for every part.

    Parts are blocks of neighbouring sentences: those of one document are alike, and models that had learned from the
    sentences around one would look better than they are on new text.  With several recipes, their differences and how
    significant they are.
    """
    source = experiments.Source(treebank, form, column)
    recipes = source.recipes(recipe)
    experiments.check_seeds(recipes, seeds)
    experiments.check_folders(html, resume)
    with experiments.telling_how_to_go_on(resume, quiet):
        found = cross_validate(
            recipes,
            source.examples(treebank),
            folds,
            seeds=seeds,
            jobs=common.workers(jobs, cluster),
            resume=resume,
            watch=experiments.progress(quiet),
        )
    report = cross_validation_report(found, experiments.called(treebank))
    if html is not None:
        common.write_page(report, html, quiet)
    if json_output:
        typer.echo(json.dumps(found.to_json(), ensure_ascii=False))
    else:
        print_report(report)
