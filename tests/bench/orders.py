"""Databases of any size for the SQL topics, and the tasks that open them."""

import random
import sqlite3
from pathlib import Path
from typing import Any, Literal, TypeAlias

from agentgym.types import Task
from agentgym_sql.env import SqlEnvironment

Kind: TypeAlias = Literal["query", "mutation"]
KINDS: dict[Kind, str] = {"query": "read-only", "mutation": "writable"}
"""How a task of each kind opens its database."""

MILLION = 1_000_000
SELECT = "SELECT status, COUNT(*), SUM(amount) FROM orders GROUP BY status"
WRITE = "UPDATE orders SET amount = amount + 1 WHERE id = 7"

_STATES = ("new", "paid", "sent", "returned")
_ROW_BYTES = 95


def build(path: Path, size_bytes: int) -> Path:
    """Write a database of about this size; the same rows for the same size."""
    draw = random.Random(size_bytes)
    rows = (
        (
            number,
            draw.randrange(1000),
            f"2024-{draw.randrange(1, 13):02}-{draw.randrange(1, 29):02}",
            draw.choice(_STATES),
            draw.randrange(100, 100_000),
            None if draw.random() < 0.1 else f"note {draw.getrandbits(200):050x}",
        )
        for number in range(max(1, size_bytes // _ROW_BYTES))
    )
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER NOT NULL, "
            "placed DATE NOT NULL, status TEXT NOT NULL, amount INTEGER NOT NULL, note TEXT)"
        )
        connection.executemany("INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?)", rows)
    connection.close()
    return path


def task(path: Path, kind: Kind = "query") -> Task[Any, Any]:
    """Return a task on a database file; a mutation's is opened writable."""
    gold = SELECT if kind == "query" else WRITE
    return SqlEnvironment.task_type.model_validate(
        {
            "id": f"orders-{kind}",
            "public": {"db": "orders", "kind": kind, "question": "How many orders, by status?"},
            "private": {"gold": gold, "file": path},
        }
    )
