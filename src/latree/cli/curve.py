"""latree curve: accuracy by the number of examples, and what more of them would bring."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import typer

from latree.cli import common, experiments
from latree.cli.status import note
from latree.experiments.learning_curves import HELD_OUT, learning_curve
from latree.experiments.learning_curves_report import learning_curve_plot, learning_curves_report
from latree.files import write_atomically
from latree.report.html import picture
from latree.report.text import print_report
from latree.text.formats import Column, Format


def curve(
    treebank: list[str] = experiments.TREEBANK,
    dev: str = typer.Option(
        None, "--dev", metavar="FILE", help="What models are scored on.  [default: the last tenth of the examples]"
    ),
    recipe: list[str] = experiments.RECIPES,
    sizes: str = typer.Option(
        None,
        "--sizes",
        metavar="LIST",
        help="Numbers of examples to learn from, with commas: 100,200,400; or shares: 1/4,1/2,1.  [default: 1/16,1/8,"
        "1/4,1/2,1]",
    ),
    seeds: int = typer.Option(3, "--seeds", min=1, metavar="N", help="Random parts of each size."),
    plot: Path = typer.Option(None, "--plot", metavar="FILE.svg", help="Also draw the curves."),
    json_output: bool = experiments.JSON,
    html: Path = experiments.HTML,
    form: Format = common.TREEBANK_FORMAT,
    column: Column = experiments.COLUMN,
    resume: Path = common.LEDGER,
    jobs: int = common.JOBS,
    cluster: str = common.CLUSTER,
    quiet: bool = common.QUIET,
) -> None:
    """Train on more and more of a treebank: how accuracy grows, and how many more examples a point would take.

    Parts are drawn at random; beyond what there is, a power law is fitted, whose uncertainty is told.
    """
    source = experiments.Source([*treebank, *([dev] if dev is not None else [])], form, column)
    recipes, examples = source.recipes(recipe), source.examples(treebank)
    held_out = None if dev is None else source.examples([dev])
    experiments.check_folders(html, plot, resume)
    learned_from = len(examples) - (len(examples) // HELD_OUT if dev is None else 0)
    with experiments.telling_how_to_go_on(resume, quiet):
        found = learning_curve(
            recipes,
            examples,
            held_out,
            sizes=None if sizes is None else read_sizes(sizes, learned_from),
            seeds=seeds,
            jobs=common.workers(jobs, cluster),
            resume=resume,
            watch=experiments.progress(quiet),
        )
    scored_on = "its last tenth" if dev is None else Path(dev).name
    report = learning_curves_report(found, experiments.called(treebank), scored_on)
    if html is not None:
        common.write_page(report, html, quiet)
    if plot is not None:
        write_atomically(plot, picture(learning_curve_plot(found)).encode())
        if not quiet:
            note(f"written to {plot}")
    if json_output:
        typer.echo(json.dumps(found.to_json(), ensure_ascii=False))
    else:
        print_report(report)


def read_sizes(text: str, count: int) -> list[int]:
    """Numbers of examples as a user lists them; 1 and less are shares of all."""
    try:
        numbers = [Fraction(part.strip()) for part in text.split(",")]
        if any(number > 1 and number.denominator > 1 for number in numbers):
            raise ValueError
    except (ValueError, ZeroDivisionError):
        raise typer.BadParameter(f"--sizes takes numbers or shares with commas between them, not {text!r}") from None
    return [max(1, round(number * count)) if 0 < number <= 1 else int(number) for number in numbers]
