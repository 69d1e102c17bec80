"""What a statement costs by way of the environment, its session, and SQLite alone."""

import asyncio
import sqlite3
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from agentgym.types import call
from agentgym_sql.backend import open_backend
from agentgym_sql.env import SqlEnvironment
from agentgym_sql.session import Session
from tests.bench import orders
from tests.bench.figures import Effort, Figure, Findings
from tests.bench.playing import scratch

ROUNDS = 400
TURN = 50  # calls; a worker that is asked less often wakes more slowly
SIZE_BYTES = 33_000
STATEMENTS = {"SELECT 1": "SELECT 1", "GROUP BY of 350 rows": orders.SELECT}

Run = Callable[[], Awaitable[object]]


def measure(effort: Effort) -> Findings:
    """Wall time of one statement, the three ways by turns in the same run."""
    with scratch() as folder:
        path = orders.build(folder / "orders.sqlite", SIZE_BYTES)
        for name, sql in STATEMENTS.items():
            yield from asyncio.run(_statement(path, name, sql, effort))


async def _statement(path: Path, name: str, sql: str, effort: Effort) -> list[Figure]:
    environment = SqlEnvironment()
    await environment.reset(orders.task(path), seed=0)
    backend, _ = open_backend(None)
    session = await backend.open(path)
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)
    action = call("execute", sql=sql)
    ways: dict[str, Run] = {
        "raw sqlite3": lambda: _raw(connection, sql),
        "Session.execute": lambda: _in_session(session, sql),
        "env.step": lambda: environment.step(action),
    }
    rounds = effort.of(ROUNDS)
    repetitions = [await timed_by_turns(ways, rounds) for _ in range(effort.repetitions)]
    connection.close()
    await session.close()
    await backend.close()
    await environment.close()
    return [
        Figure(
            f"{name}: {way}, p{percent}",
            "us",
            [percentile(times[way], percent) * 1e6 for times in repetitions],
            aim=200 if way == "env.step" and percent == 50 else None,
            kind="floor" if way.startswith("raw") else "figure",
        )
        for way in ways
        for percent in (50, 95)
    ]


async def timed_by_turns(ways: dict[str, Run], rounds: int) -> dict[str, list[float]]:
    """Return seconds of each way; the ways take short turns, so that all meet the same noise."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(-(-rounds // TURN)):
        for name, run in ways.items():
            for _ in range(TURN):
                started = time.perf_counter()
                await run()
                times[name].append(time.perf_counter() - started)
    return times


def percentile(values: list[float], percent: int) -> float:
    """Return the value that so many percent of the values do not pass."""
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


async def _raw(connection: sqlite3.Connection, sql: str) -> list[Any]:
    return connection.execute(sql).fetchall()


async def _in_session(session: Session, sql: str) -> object:
    return await session.execute(sql, timeout_s=10, max_rows=50, max_bytes=100_000)
