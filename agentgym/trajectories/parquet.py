"""Rows to a Parquet file; imported only where pyarrow is wanted."""

import json
from collections.abc import Iterable
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from agentgym.types import Json

_AS_TEXT = ("labels", "messages", "tools")
_GROUP_ROWS = 256
_GROUP_BYTES = 8 << 20

_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("run_id", "env", "agent", "task_id")),
        *((name, pa.int64()) for name in ("epoch", "seed")),
        ("task_hash", pa.string()),
        ("started_at", pa.timestamp("us", tz="UTC")),
        *((name, pa.string()) for name in ("status", "detail")),
        ("score", pa.float64()),
        ("success", pa.bool_()),
        ("labels", pa.string()),
        *((name, pa.int64()) for name in ("turns", "attempts", "agent_faults", "faults")),
        *((name, pa.int64()) for name in ("prompt_tokens", "completion_tokens")),
        *((name, pa.float64()) for name in ("cost", "model_s", "env_s")),
        *((name, pa.string()) for name in ("messages", "tools")),
        ("rewards", pa.list_(pa.float64())),
    ]
)


def write_rows(rows: Iterable[dict[str, Json]], file: BinaryIO) -> int:
    """Write rows a row group at a time; returns how many.

    Args:
        rows: With the fields that `agentgym.trajectories.export` documents.
        file: Open for writing.
    """
    count = 0
    with pq.ParquetWriter(file, _SCHEMA, compression="zstd") as writer:
        group: list[dict[str, Json]] = []
        size = 0
        for row in rows:
            group.append(row | {name: json.dumps(row[name]) for name in _AS_TEXT})
            size += len(group[-1]["messages"])
            if len(group) >= _GROUP_ROWS or size >= _GROUP_BYTES:
                count += _flush(writer, group)
                group, size = [], 0
        return count + _flush(writer, group)


def _flush(writer: pq.ParquetWriter, group: list[dict[str, Json]]) -> int:
    if group:
        writer.write_table(pa.Table.from_pylist(group, schema=_SCHEMA))
    return len(group)
