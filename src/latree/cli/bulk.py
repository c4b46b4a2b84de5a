"""latree parse --output-dir: a bulk run, and what the user is told of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from latree.bulk.manifest import Manifest
from latree.bulk.rows import require
from latree.bulk.run import Bulk, Read, check_names
from latree.cli import common
from latree.cli.status import Count, note, status_line
from latree.errors import LatreeError
from latree.learning.checkpoint import fingerprint


def run_bulk(task: Bulk, folder: Path, inputs: Sequence[str] | None, read: Read, *, resume: bool) -> None:
    """Parse files into a folder; told are shards, stand-ins and failures, not every sentence."""
    if not inputs or "-" in inputs:
        raise LatreeError("--output-dir reads files, so that it can go on where it was; name them")
    check_names(inputs)
    require(task.writing)
    manifest = Manifest(folder, _about(task, inputs), resume=resume)
    if manifest.shards:
        note(f"{folder}: {len(manifest.shards)} shards are done")
    count = Count("sentences")
    try:
        with status_line(count.line):
            task.run(manifest, inputs, read, count.add)
    except KeyboardInterrupt:
        goes_on = common.resuming_command()
        raise KeyboardInterrupt(f"interrupted; {folder} has what was done; to go on: {goes_on}") from None
    sentences = sum(shard.sentences for shard in manifest.shards)
    recovered = sum(shard.recovered for shard in manifest.shards)
    failed = sum(len(shard.failed) for shard in manifest.shards)
    stand_ins = f"; {recovered} have a stand-in, {failed} have no tree" if recovered or failed else ""
    note(f"{folder}: {sentences} sentences in {len(manifest.shards)} shards{stand_ins}")


def _about(task: Bulk, inputs: Sequence[str]) -> dict[str, Any]:
    """What must be the same where a run goes on."""
    header, arrays = task.model.state()
    learned = [json.dumps(header, sort_keys=True).encode(), *(array.tobytes() for array in arrays.values())]
    return {
        "model": fingerprint(learned),
        "options": {name: str(getattr(task.model, name)) for name in task.model.run_options},
        "objective": task.objective,
        "writing": task.writing,
        "shard": task.shard,
        "inputs": list(inputs),
    }
