"""What `latree train best` makes of several treebanks, beside its first trial.

    python -m bench.best DIRECTORY... [--minutes 10] [--seeds 0 1 2] [--labels SET=PRESET ...] [--jobs 1]
    python -m bench.best --rows FILE...

Directories, rows and tables are those of `bench.kinds`: strict F1 / exact match / tags of "first", the `lvg` with as
many rounds as help (`--rounds auto`), and of "best", what the search ends with.  A row also has the seconds until the
first trial was done, or all of it; the members of the product; and the sentences that are parsed and scored a CPU
second.  Time is what limits this search: nothing else should run.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.kinds import COLUMNS, Row, arguments_of, labelled, print_tables, read_rows, scored_parts, tell_row
from bench.parsing import part_paths
from latree.best.plans import ParserPlan
from latree.best.search import BestModelSearch
from latree.best.trials import Task
from latree.kinds.registry import load
from latree.text.labels import LabelRules


def rows(directory: Path, seed: int, labels: str, options: argparse.Namespace, folder: Path) -> Iterator[Row]:
    """Search in a folder for what is best for a treebank, and score it and the first trial."""
    train, dev = (next(str(path) for path in part_paths(directory, part) if path.exists()) for part in ("train", "dev"))
    task = Task((train,), dev, folder, labels=LabelRules.named(labels), seed=seed)
    search = BestModelSearch(task, options.jobs, 60 * options.minutes, tell)
    best = search.run()
    taken, first = search.elapsed, search.done[ParserPlan.first.name]
    names = ", ".join(best.training["members"])
    for name, model, seconds, of in (
        ("first", load(first.trial.file(folder)), first.seconds, f"{first.steps['kept']} rounds"),
        ("best", best, taken, names),
    ):
        for part, figures, rate in scored_parts(model, directory):
            yield tell_row((directory.name, seed, part, name, figures), seconds, of, rate)


def tell(message: str) -> None:
    """What the search says; it is no part of the table."""
    print(message, file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Print what the best models of several treebanks score.")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--jobs", type=int, default=1)
    options = arguments_of(parser, arguments)
    if options.rows:
        print_tables(row for path in options.rows for row in read_rows(path))
        return
    print(COLUMNS.replace("training CPU s", "seconds").replace("subtypes", "members"))
    found: list[Row] = []
    for directory, labels in labelled(options):
        for seed in options.seeds:
            with tempfile.TemporaryDirectory() as folder:
                found += rows(directory, seed, labels, options, Path(folder))
    print_tables(found)


if __name__ == "__main__":
    main()
