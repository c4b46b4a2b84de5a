"""How the analyses of a bulk run are written: trees in brackets, lines of JSON, or Parquet."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any, Literal

from latree.errors import LatreeError

Writing = Literal["mrg", "jsonl", "parquet"]
Row = dict[str, Any]


def in_bytes(rows: Sequence[Row], writing: Writing) -> bytes:
    """A shard's file."""
    if writing == "parquet":
        return _parquet(rows)
    lines = (json.dumps(row, ensure_ascii=False) if writing == "jsonl" else row["tree"] for row in rows)
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass")


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


def _parquet(rows: Sequence[Row]) -> bytes:
    arrow, buffer = _pyarrow(), io.BytesIO()
    strings, number = arrow.list_(arrow.string()), arrow.float64()
    types = {"sentence": arrow.int64(), "tokens": strings, "tree": arrow.string(), "status": arrow.string()}
    types |= {"reason": arrow.string(), "log_joint": number, "log_marginal": number, "probability": number}
    columns = {name: [row[name] for row in rows] for name in types}
    arrow.parquet.write_table(arrow.table(columns, schema=arrow.schema(types.items())), buffer)
    return buffer.getvalue()
