"""The SQL environment on PostgreSQL and MariaDB, where their servers are installed."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
import sqlalchemy as sa

from agentgym.types import call
from agentgym_sql.env import SqlEnvironment
from tests import servers
from tests.bench import orders
from tests.bench.figures import Effort, Figure, Findings, Skipped
from tests.bench.playing import scratch
from tests.bench.sql import percentile

ROUNDS = 200
RESETS = 5
SIZE_BYTES = 1_000_000
STATEMENT = "SELECT 1"

_SERVERS: dict[str, tuple[str, Callable[[], AbstractContextManager[str]]]] = {
    "PostgreSQL": ("postgresql+psycopg", servers.postgres_server),
    "MariaDB": ("mysql+pymysql", servers.mariadb_server),
}


def measure(effort: Effort) -> Findings:
    """Wall time of a statement and of a reset, on each server that can be started."""
    for name, (driver, server) in _SERVERS.items():
        try:
            with scratch() as folder, server() as url:
                path = orders.build(folder / "orders.sqlite", SIZE_BYTES)
                yield from asyncio.run(_environment(name, url, path, effort))
                yield _raw(name, sa.make_url(url).set(drivername=driver), effort)
        except (pytest.skip.Exception, pytest.fail.Exception) as missing:
            yield Skipped(name, str(missing.msg))


async def _environment(name: str, url: str, path: Path, effort: Effort) -> list[Figure]:
    environment = SqlEnvironment(url=url)
    figures = []
    try:
        for kind in ("query", "mutation"):
            task = orders.task(path, kind)
            await environment.reset(task, seed=0)
            resets = []
            for _ in range(effort.of(RESETS)):
                started = time.perf_counter()
                await environment.reset(task, seed=0)
                resets.append((time.perf_counter() - started) * 1e3)
            figures.append(Figure(f"{name}: reset for a {kind}, 1 MB", "ms", resets))
        figures.append(await _steps(name, environment, effort))
    finally:
        await environment.close()
    return figures


async def _steps(name: str, environment: SqlEnvironment, effort: Effort) -> Figure:
    values = []
    for _ in range(effort.repetitions):
        times = []
        for _ in range(effort.of(ROUNDS)):
            started = time.perf_counter()
            await environment.step(call("execute", sql=STATEMENT))
            times.append(time.perf_counter() - started)
        values.append(percentile(times, 50) * 1e6)
    return Figure(f"{name}: {STATEMENT} by env.step, p50", "us", values)


def _raw(name: str, url: sa.URL, effort: Effort) -> Figure:
    values = []
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        cursor = connection.connection.cursor()
        for _ in range(effort.repetitions):
            times = list(_timed(lambda: cursor.execute(STATEMENT), effort.of(ROUNDS)))
            values.append(percentile(times, 50) * 1e6)
    engine.dispose()
    return Figure(f"{name}: {STATEMENT} by the driver, p50", "us", values, kind="floor")


def _timed(run: Callable[[], object], rounds: int) -> Iterator[float]:
    for _ in range(rounds):
        started = time.perf_counter()
        run()
        yield time.perf_counter() - started
