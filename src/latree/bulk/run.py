"""A bulk run: the sentences of many files, parsed by the pool, written shard by shard.

Sentences are read as they are needed and go out in small batches; results come back in order, so that memory is that of
one shard and of what the workers have before them, however long the files are.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, cast

from latree.bulk.manifest import Manifest, Shard
from latree.bulk.rows import Row, Writing, in_bytes, row_of
from latree.errors import LatreeError
from latree.files import write_atomically
from latree.inference.results import Objective, Parse
from latree.kinds.jobs import Parcel
from latree.kinds.sentences import Sentence
from latree.parallel import Jobs, Pool

BATCH = 32  # sentences that a worker gets at a time

Read = Callable[[str], Iterable[Sentence]]
Watch = Callable[[int], None]  # hears of sentences that are done


@dataclass(frozen=True)
class Bulk:
    """What is to be done, whatever the files."""

    model: Any  # a parser
    objective: Objective
    writing: Writing
    shard: int  # sentences in each
    jobs: Jobs

    def run(self, manifest: Manifest, sources: Sequence[str], read: Read, watch: Watch) -> None:
        """Parse what the manifest does not have yet."""
        for sentence in islice(read(sources[0]), 1):  # kernels are compiled once, not by every worker
            self._rows_of(self.model, (1, [sentence]))
        with Pool(self.jobs, Parcel.open, Parcel(self.model)) as pool:
            for source in sources:
                self._run_source(pool, manifest, source, read, watch)

    @property
    def _rows_of(self) -> Callable[[Any, tuple[int, list[Sentence]]], list[Row]]:
        """What a worker does, without the model, which it has."""
        return partial(_rows, objective=self.objective, writing=self.writing)

    def _run_source(self, pool: Pool, manifest: Manifest, source: str, read: Read, watch: Watch) -> None:
        done, number = manifest.done(source), manifest.count(source)
        sentences = _batches(islice(read(source), done, None), done)
        rows: list[Row] = []
        for batch in pool.stream(self._rows_of, sentences):
            rows += batch
            watch(len(batch))
            while len(rows) >= self.shard:
                number += 1
                self._write(manifest, source, number, rows[: self.shard])
                del rows[: self.shard]
        if rows:
            self._write(manifest, source, number + 1, rows)

    def _write(self, manifest: Manifest, source: str, number: int, rows: list[Row]) -> None:
        name, data = f"{file_stem(source)}-{number:05d}.{self.writing}", in_bytes(rows, self.writing)
        write_atomically(manifest.folder / name, data)
        failed = [row.sentence for row in rows if row.status == "failed"]
        recovered = sum(row.status == "recovered" for row in rows)
        digest = hashlib.sha256(data).hexdigest()
        manifest.add(Shard(source, rows[0].sentence, len(rows), name, digest, recovered, failed))


def file_stem(source: str) -> str:
    """What the shards of an input are called: its name without the endings."""
    return Path(source).name.split(".")[0] or "input"


def check_names(sources: Sequence[str]) -> None:
    """Two inputs must not write to the same shards."""
    seen: dict[str, str] = {}
    for source in sources:
        if (other := seen.setdefault(file_stem(source), source)) is not source:
            raise LatreeError(
                f"{other} and {source}: their shards would have the same names; give folders of their own"
            )


def _batches(sentences: Iterable[Sentence], done: int) -> Iterator[tuple[int, list[Sentence]]]:
    """Sentences some at a time, with the number of the first; counted from 1, so many being done."""
    source, first = iter(sentences), done + 1
    while batch := list(islice(source, BATCH)):
        yield first, batch
        first += len(batch)


def _rows(model: Any, numbered: tuple[int, list[Sentence]], objective: Objective, writing: Writing) -> list[Row]:
    """Parse a batch; a sentence that cannot be is told in its row, and the others are parsed all the same."""
    first, batch = numbered
    try:
        return [row_of(first + k, one, writing) for k, one in enumerate(model.analyse(batch, objective))]
    except Exception:
        return [_row_of_one(model, first + k, one, objective, writing) for k, one in enumerate(batch)]


def _row_of_one(model: Any, number: int, sentence: Sentence, objective: Objective, writing: Writing) -> Row:
    try:
        (one,) = model.analyse([sentence], objective)
        return row_of(number, one, writing)
    except Exception as error:
        tokens = (sentence,) if isinstance(sentence, str) else tuple(cast(Sequence[str], sentence))
        reason = f"{type(error).__name__}: {error}"
        return row_of(number, Parse(tokens, -math.inf, -math.inf, "failed", reason), writing)
