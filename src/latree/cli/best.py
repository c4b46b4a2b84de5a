"""latree train best: the best model that a treebank gives in a given time, for people who do not care about kinds."""

from __future__ import annotations

import shutil
from pathlib import Path

from latree.best.search import BestModelSearch
from latree.best.trials import Task
from latree.cli import common, training
from latree.cli.status import note, status_line
from latree.errors import LatreeError, interrupts_plain
from latree.parallel import Jobs
from latree.text.formats import Column, Format
from latree.text.labels import LabelRules


def train_best(
    treebank: list[str],
    output: Path,
    dev: str,
    minutes: float,
    seed: int,
    jobs: Jobs,
    form: Format | None,
    column: Column | None,
    labels: str,
    resume: bool,
    quiet: bool,
    tags: bool,
) -> None:
    """Search, and write what was found to one file."""
    if "-" in (*treebank, dev):
        raise LatreeError("best reads its files several times; name files, not -")
    folder = output.with_name(f"{output.name}.trials")
    if folder.exists() and not resume:
        shutil.rmtree(folder)
    learned = training.choose_column(treebank, form, column) if tags else None
    task = Task(tuple(treebank), dev, folder, form, learned, LabelRules.named(labels), seed)
    tell = (lambda message: None) if quiet else note
    with common.telling_of_compilation(quiet), interrupts_plain():
        search = BestModelSearch(task, jobs, 60 * minutes, tell)
        try:
            with status_line(search.line, quiet):
                model = search.run()
        except KeyboardInterrupt:
            raise KeyboardInterrupt(_interrupted(folder)) from None
    model.training |= {"command": training.command(), "data": [Path(path).name for path in treebank]}
    plan = training.Plan(output, {}, dev, form, quiet=quiet, jobs=jobs)
    try:
        model.training["dev"] = {"data": Path(dev).name, **training.score_dev(model, plan)}
    finally:
        model.save(output)
    search.forget()
    if not quiet:
        members = ", ".join(model.training["members"])
        note(f"{model.kind} of {members}; {search.elapsed / 60:.1f} minutes; written to {output}")


def _interrupted(folder: Path) -> str:
    return f"interrupted; {folder} has what was done; to go on: {common.resuming_command()}"
