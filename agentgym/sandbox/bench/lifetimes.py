"""Sandboxes coming and going: started, lent from a warm pool, reset in place."""

import asyncio
import time

from agentgym.sandbox.base import Sandbox, SandboxBackend
from agentgym.sandbox.bench.figures import Effort, Figure, Findings, timed
from agentgym.sandbox.pool import SandboxPool
from agentgym.sandbox.spec import MIB, SandboxSpec

_STARTS = 10
_AT_ONCE = 16
_ACQUIRED = 200
_RESETS = 100
_TARGET_MS = 10.0
_SMALL = SandboxSpec(memory=32 * MIB, disk=4 * MIB)
A_THOUSAND_FILES = "for ((i = 0; i < 1000; i++)); do echo $i > $HOME/file-$i; done"


async def measure(backend: SandboxBackend, effort: Effort) -> Findings:
    """Measure what a sandbox costs from its start to its reset."""
    yield await _starts(backend, effort)
    yield await _starts_at_once(backend, effort)
    yield await _acquired(backend, effort)
    sandbox = await backend.start(SandboxSpec())
    try:
        for what, before in (("empty", ":"), ("with 1,000 files", A_THOUSAND_FILES)):
            times = await _resets(sandbox, before, effort)
            yield Figure(backend.name, f"reset in place, {what}", "ms", times, _TARGET_MS)
    finally:
        await sandbox.close()


async def _starts(backend: SandboxBackend, effort: Effort) -> Figure:
    made: list[Sandbox] = []

    async def start() -> None:
        made.append(await backend.start(SandboxSpec()))

    try:
        await start()  # the first one may still compile or build something
        times = [await timed(start) for _ in range(effort.of(_STARTS))]
    finally:
        await _close(made)
    return Figure(backend.name, "cold start", "ms", times)


async def _starts_at_once(backend: SandboxBackend, effort: Effort) -> Figure:
    rates = []
    count = effort.of(_AT_ONCE, least=4)
    for _ in range(2):
        async with SandboxPool(backend, max_sandboxes=count) as pool:
            started = time.perf_counter()
            await asyncio.gather(*(pool.acquire(_SMALL) for _ in range(count)))
            rates.append(count / (time.perf_counter() - started))
    return Figure(backend.name, f"cold starts a second, {count} asked for at once", "1/s", rates)


async def _acquired(backend: SandboxBackend, effort: Effort) -> Figure:
    times = []
    async with SandboxPool(backend, warm=1) as pool:
        for _ in range(effort.of(_ACQUIRED)):
            await pool.prepare(_SMALL)
            started = time.perf_counter()
            sandbox = await pool.acquire(_SMALL)
            times.append((time.perf_counter() - started) * 1e3)
            await sandbox.exec(["true"])
            pool.release(sandbox)
    return Figure(backend.name, "acquire from the warm pool", "ms", times, _TARGET_MS)


async def _resets(sandbox: Sandbox, before: str, effort: Effort) -> list[float]:
    times = []
    for _ in range(effort.of(_RESETS)):
        await sandbox.exec(before)
        times.append(await timed(sandbox.reset))
    return times


async def _close(made: list[Sandbox]) -> None:
    await asyncio.gather(*(sandbox.close() for sandbox in made))
