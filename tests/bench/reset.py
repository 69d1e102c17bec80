"""Reset of the SQL environment by the database's size, and of the floor: copying it."""

import asyncio
import shutil
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from agentgym.types import call
from agentgym_sql.env import SqlEnvironment
from tests.bench import orders
from tests.bench.figures import Effort, Figure, Findings
from tests.bench.playing import scratch

SIZES_MB = (0.05, 1, 8, 40)
RESETS = 10
_HASHED_MB = 8  # hashing more takes seconds and shows nothing new


def measure(effort: Effort) -> Findings:
    """Wall time from reset to the first observation, the worker process already there."""
    with scratch() as folder:
        sizes = SIZES_MB[:2] if effort.quick else SIZES_MB
        for size in sizes:
            path = orders.build(folder / f"{size}.sqlite", int(size * orders.MILLION))
            yield from asyncio.run(_resets(path, f"{size:g} MB", effort))
            yield from _floors(path, f"{size:g} MB", effort)
            if size <= _HASHED_MB:
                yield asyncio.run(_fingerprint(path, f"{size:g} MB", effort))
        yield asyncio.run(_first(folder / f"{sizes[0]}.sqlite", effort))


async def _resets(path: Path, size: str, effort: Effort) -> list[Figure]:
    environment = SqlEnvironment()
    figures = []
    for kind, name in orders.KINDS.items():
        task = orders.task(path, kind)
        await environment.reset(task, seed=0)
        times = []
        for _ in range(effort.of(RESETS)):
            started = time.perf_counter()
            await environment.reset(task, seed=0)
            times.append(_ms_since(started))
        figures.append(Figure(f"{size}: reset, {name}", "ms", times))
    await environment.close()
    return figures


async def _first(path: Path, effort: Effort) -> Figure:
    times = []
    for _ in range(effort.repetitions):
        environment = SqlEnvironment()
        started = time.perf_counter()
        await environment.reset(orders.task(path), seed=0)
        times.append(_ms_since(started))
        await environment.close()
    return Figure("first reset of an environment, its worker process included", "ms", times)


async def _fingerprint(path: Path, size: str, effort: Effort) -> Figure:
    environment = SqlEnvironment()
    await environment.reset(orders.task(path, "mutation"), seed=0)
    times = []
    for _ in range(min(effort.repetitions, 3)):
        await environment.step(call("execute", sql=orders.WRITE))
        started = time.perf_counter()
        await environment.fingerprint()
        times.append(_ms_since(started))
    await environment.close()
    return Figure(f"{size}: fingerprint after a write", "ms", times)


def _floors(path: Path, size: str, effort: Effort) -> list[Figure]:
    floors: dict[str, Callable[[Path], None]] = {"file copy": _copy, "sqlite3 backup": _backup}
    figures = []
    for name, run in floors.items():
        times = []
        for _ in range(effort.of(RESETS)):
            started = time.perf_counter()
            run(path)
            times.append(_ms_since(started))
        figures.append(Figure(f"{size}: {name}", "ms", times, kind="floor"))
    return figures


def _copy(path: Path) -> None:
    shutil.copyfile(path, path.with_suffix(".copy"))


def _backup(path: Path) -> None:
    source, target = sqlite3.connect(path), sqlite3.connect(":memory:")
    source.backup(target)
    target.close()
    source.close()


def _ms_since(started: float) -> float:
    return (time.perf_counter() - started) * 1e3
