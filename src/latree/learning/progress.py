"""A training that shows on standard error, or in a notebook, how far it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from latree.learning.loop import Progress, Training


@contextmanager
def shown(training: Training) -> Iterator[Training]:
    """Show a training while it lasts: a bar for the step that it is at, and a line for every step that is done."""
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("training", total=None)

        def watch(progress: Progress) -> None:
            training.watch(progress)
            told = f"{progress.place()}: {progress.stage}, {progress.reached()}"
            bars.update(task, description=told, completed=progress.done, total=progress.parts)
            if progress.model is not None:
                bars.console.print(told, highlight=False, markup=False)

        yield replace(training, watch=watch)
