"""The SQL environment on PostgreSQL and MariaDB, where their servers are installed."""

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
import sqlalchemy as sa

from agentgym.errors import AgentgymError
from agentgym.types import call
from agentgym_sql.env import SqlEnvironment
from tests.bench import orders
from tests.bench.figures import Effort, Figure, Findings, Skipped
from tests.bench.mariadb import mariadb_server
from tests.bench.playing import scratch
from tests.bench.sql import Run, percentile, timed_by_turns
from tests.servers import postgres_server

ROUNDS = 200
RESETS = 5
SIZE_BYTES = 1_000_000
STATEMENT = "SELECT 1"

_SERVERS: dict[str, tuple[Callable[[], AbstractContextManager[str]], str, str]] = {
    "PostgreSQL": (postgres_server, "postgresql+psycopg", "postgres"),
    "MariaDB": (mariadb_server, "mysql+pymysql", "mysql"),
}


def measure(effort: Effort) -> Findings:
    """Wall time of a statement and of a reset, on each server that can be started."""
    for name, (server, driver, database) in _SERVERS.items():
        try:
            with scratch() as folder, server() as given:
                url = sa.make_url(given).set(drivername=driver, database=database)
                path = orders.build(folder / "orders.sqlite", SIZE_BYTES)
                yield from asyncio.run(_server(name, url, path, effort))
        except (pytest.skip.Exception, pytest.fail.Exception) as missing:
            yield Skipped(name, str(missing.msg))
        except AgentgymError as error:
            yield Skipped(name, f"broke off: {error}")


async def _server(name: str, url: sa.URL, path: Path, effort: Effort) -> list[Figure]:
    environment = SqlEnvironment(url=url.render_as_string(hide_password=False))
    try:
        resets = [await _resets(name, kind, environment, path, effort) for kind in orders.KINDS]
        return [*resets, *await _statements(name, environment, url, effort)]
    finally:
        await environment.close()


async def _resets(
    name: str, kind: orders.Kind, environment: SqlEnvironment, path: Path, effort: Effort
) -> Figure:
    task = orders.task(path, kind)
    await environment.reset(task, seed=0)
    times = []
    for _ in range(min(effort.of(RESETS), RESETS)):
        started = time.perf_counter()
        await environment.reset(task, seed=0)
        times.append((time.perf_counter() - started) * 1e3)
    return Figure(f"{name}, 1 MB: reset, {orders.KINDS[kind]}", "ms", times)


async def _statements(
    name: str, environment: SqlEnvironment, url: sa.URL, effort: Effort
) -> list[Figure]:
    engine = sa.create_engine(url)
    action = call("execute", sql=STATEMENT)
    with engine.connect() as connection:
        cursor = connection.connection.cursor()

        async def raw() -> None:
            cursor.execute(STATEMENT)
            cursor.fetchall()

        ways: dict[str, Run] = {"the driver": raw, "env.step": lambda: environment.step(action)}
        repetitions = [
            await timed_by_turns(ways, effort.of(ROUNDS)) for _ in range(effort.repetitions)
        ]
    engine.dispose()
    return [
        Figure(
            f"{name}, {STATEMENT}: {way}, p{percent}",
            "us",
            [percentile(times[way], percent) * 1e6 for times in repetitions],
            kind="floor" if way == "the driver" else "figure",
        )
        for way in ways
        for percent in (50, 95)
    ]
