"""The manifest of a bulk run: a line of JSON for the run, and one for every shard that is done.

A shard's line is written after its file is whole on the disk.  Whatever ends a run, what the manifest names is there,
and what it does not name is done again.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from latree.errors import LatreeError
from latree.files import write_atomically

NAME = "manifest.jsonl"


@dataclass(frozen=True)
class Shard:
    """Some sentences of an input file, and the file that their analyses are in."""

    input: str
    first: int  # sentence, from 1
    sentences: int
    output: str  # the file's name
    sha256: str
    recovered: int  # sentences with a stand-in
    failed: list[int]  # sentences without any tree, by their numbers in the input


class Manifest:
    """What of a run is done."""

    def __init__(self, folder: Path, run: dict[str, Any], *, resume: bool) -> None:
        """`run` describes the model, the settings and the inputs; a run that is gone on with must have the same."""
        self.folder, self.path = folder, folder / NAME
        self.shards: list[Shard] = []
        if self.path.exists():
            self._go_on(run, resume=resume)
        else:
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise LatreeError(f"{folder}: cannot be made a folder: {error.strerror or error}") from None
            self._rewrite(run)

    def _go_on(self, run: dict[str, Any], *, resume: bool) -> None:
        if not resume:
            raise LatreeError(
                f"{self.folder}: there is a run already; give --resume to go on with it, or another folder"
            )
        before, *lines = self._lines()
        if before != run:
            changed = sorted(name for name in {*before, *run} if before.get(name) != run.get(name))
            raise LatreeError(f"{self.path}: this was another run ({', '.join(changed)}); give another folder")
        try:
            self.shards = list(takewhile(self._is_whole, (Shard(**line) for line in lines)))
        except TypeError as error:
            raise LatreeError(f"{self.path}: no manifest of this version ({error}); give another folder") from None
        self._rewrite(run)

    def _lines(self) -> list[dict[str, Any]]:
        """All whole lines: the last may have been cut off."""
        found = []
        for line in self.path.read_bytes().split(b"\n")[:-1]:
            try:
                found.append(dict(json.loads(line)))
            except (ValueError, TypeError):
                where = f"{self.path}: line {len(found) + 1}"
                raise LatreeError(f"{where} is no JSON object; give another folder") from None
        if not found:
            raise LatreeError(f"{self.path}: empty; remove it, or give another folder")
        return found

    def _is_whole(self, shard: Shard) -> bool:
        path = self.folder / shard.output
        return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == shard.sha256

    def _rewrite(self, run: dict[str, Any]) -> None:
        lines = [run, *map(asdict, self.shards)]
        write_atomically(self.path, "".join(json.dumps(line) + "\n" for line in lines).encode())

    def done(self, source: str) -> int:
        """How many sentences of an input are done."""
        return sum(shard.sentences for shard in self.shards if shard.input == source)

    def count(self, source: str) -> int:
        """How many shards of an input there are."""
        return sum(shard.input == source for shard in self.shards)

    def add(self, shard: Shard) -> None:
        """Note a shard whose file is written."""
        try:
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(shard)) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise LatreeError(f"{self.path}: cannot be written: {error.strerror or error}; --resume goes on") from None
        self.shards.append(shard)
