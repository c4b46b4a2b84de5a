"""Tasks that take long, over several processes; what is done is written down, and not done again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from latree.errors import LatreeError
from latree.files import write_atomically
from latree.learning.checkpoint import fingerprint
from latree.parallel import Jobs, Pool

Task = TypeVar("Task")
Result = Any  # what JSON can hold


class Ledger:
    """A file with a line for every task that is done: its key and what came of it."""

    def __init__(self, path: Path | None) -> None:
        """Read what earlier runs left; None keeps nothing."""
        self.path = path
        self.done: dict[str, Result] = {}
        if path is not None and path.exists():
            self._read(path)

    def _read(self, path: Path) -> None:
        """Take in the lines; the beginning of one, which a run that was killed left at the end, is taken away."""
        *lines, rest = path.read_text(encoding="utf-8", errors="replace").split("\n")
        for number, line in enumerate(lines, start=1):
            try:
                key, result = json.loads(line)
            except (TypeError, ValueError):
                told = f"{path}:{number}: no line that latree wrote; name another file for --resume"
                raise LatreeError(told) from None
            self.done[str(key)] = result
        if rest:
            write_atomically(path, "".join(f"{line}\n" for line in lines).encode())

    def write(self, key: str, result: Result) -> None:
        """Keep what came of a task, in one line at the end."""
        self.done[key] = result
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([key, result], ensure_ascii=False) + "\n")


def key_of(*parts: Any) -> str:
    """A key by all that decides what comes of a task."""
    return fingerprint([json.dumps(parts, sort_keys=True, default=str).encode()])


def run_tasks(
    work: Callable[[Any, Task], Result],
    tasks: Mapping[str, Task] | Sequence[tuple[str, Task]],
    jobs: Jobs,
    ledger: Ledger,
    make: Callable[..., Any],
    *arguments: Any,
) -> Iterator[Result]:
    """Give `work(what make(*arguments) gives, task)` of every task, by its key, in order.

    In a list several tasks may have the same key; these are done once.  Each process makes once what all tasks share,
    such as the treebank.
    """
    listed = list(tasks.items()) if isinstance(tasks, Mapping) else tasks
    missing = {key: task for key, task in listed if key not in ledger.done}
    with Pool(jobs, make, *arguments, most=len(missing)) as pool:
        fresh = pool.stream(work, missing.values())
        for key, _ in listed:
            if key not in ledger.done:
                ledger.write(key, next(fresh))
            yield ledger.done[key]
