"""How the analyses of a bulk run are written: trees in brackets, lines of JSON, or Parquet."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from latree.errors import LatreeError
from latree.inference.results import Parse

Writing = Literal["mrg", "jsonl", "parquet"]


class Row(NamedTuple):
    """What is written of a sentence: made where it was parsed, so that whoever gathers rows has little to do."""

    sentence: int
    status: str
    content: Any  # a line, or for Parquet the values of the columns


def row_of(sentence: int, parse: Parse, writing: Writing) -> Row:
    """Only what is written is made: the probabilities of phrases take time to look up."""
    content: Any = str(parse)
    if writing != "mrg":
        content = {"sentence": sentence, **parse.to_json(constituents=writing == "jsonl")}
    return Row(sentence, parse.status, json.dumps(content, ensure_ascii=False) if writing == "jsonl" else content)


def in_bytes(rows: Sequence[Row], writing: Writing) -> bytes:
    """A shard's file."""
    if writing == "parquet":
        return _parquet([row.content for row in rows])
    return "".join(f"{row.content}\n" for row in rows).encode("utf-8", "surrogatepass")


def require(writing: Writing) -> None:
    """Say before the work what would be missing after it."""
    if writing == "parquet":
        _pyarrow()


def _pyarrow() -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise LatreeError("Parquet needs pyarrow; install it with: pip install 'latree[parquet]'") from None
    return pyarrow


def _parquet(rows: Sequence[dict[str, Any]]) -> bytes:
    arrow, buffer = _pyarrow(), io.BytesIO()
    strings, number = arrow.list_(arrow.string()), arrow.float64()
    types = {"sentence": arrow.int64(), "tokens": strings, "tree": arrow.string(), "status": arrow.string()}
    types |= {"reason": arrow.string(), "log_joint": number, "log_marginal": number, "probability": number}
    columns = {name: [row[name] for row in rows] for name in types}
    arrow.parquet.write_table(arrow.table(columns, schema=arrow.schema(types.items())), buffer)
    return buffer.getvalue()
