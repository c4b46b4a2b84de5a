"""latree calibrate: learn how sure a parser may be, on trees that it did not learn from."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import typer

from latree.cli import common
from latree.cli.status import note, with_progress
from latree.diagnosis.calibration import checked_parser
from latree.diagnosis.calibration_report import learned_report
from latree.diagnosis.temperature import at_temperature, learn_temperature
from latree.errors import LatreeError
from latree.report.text import print_report
from latree.text.formats import format_by_name, read_trees


def calibrate(
    gold: str = typer.Argument(..., metavar="GOLD", help="A file of right trees that the model did not learn from."),
    model: Path = common.MODEL,
    output: Path = typer.Option(..., "-o", "--output", metavar="FILE", help="The model file to write."),
    json_output: bool = typer.Option(False, "--json", help="Write all figures as one JSON object."),
    jobs: int = common.JOBS,
    cluster: str = common.CLUSTER,
    quiet: bool = common.QUIET,
) -> None:
    """Learn a temperature that makes a parser's probabilities mean what they say, and keep it in the model.

    All probabilities change with it, those of trees, of constituents and of k-best lists; the best trees stay the same.
    Each half of GOLD is measured with the temperature that the other half asks for; the model gets that of all.
    """
    if not output.parent.is_dir():
        raise LatreeError(f"{output}: the folder {output.parent} does not exist")
    parser = checked_parser(common.load_model(model))
    if format_by_name(gold) == "conllu":
        raise LatreeError(f"{gold}: CoNLL-U has no trees to calibrate a parser on")
    trees = list(read_trees(gold, parser.labels))

    def watch(items: Iterable[Any], title: str) -> Iterable[Any]:
        return with_progress(items, title, quiet)

    with common.telling_of_compilation(quiet):
        learned = learn_temperature(parser, trees, common.workers(jobs, cluster), watch)
    calibrated = at_temperature(parser, learned.temperature)
    record = {"data": Path(gold).name, "sentences": len(trees), "temperature": learned.temperature}
    calibrated.training = {**parser.training, "calibration": record}
    calibrated.save(output)
    if json_output:
        typer.echo(json.dumps(learned.to_json(), ensure_ascii=False))
    else:
        print_report(learned_report(learned))
    if not quiet:
        note(f"written to {output}")
