"""A tool call through MCP, in memory, over stdio and over HTTP, beside a plain step."""

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgym.interop.mcp import require_mcp
from agentgym.registry import make, spec
from agentgym.rollout.plan import Plan
from agentgym.tasks import load_tasks
from agentgym.trajectories.store import TrajectoryStore
from agentgym.types import Limits, Task, call
from tests.bench.figures import Effort, Figure, Findings
from tests.bench.playing import scratch

if TYPE_CHECKING:
    from mcp import Client

CALLS = 300
_MOST = 1_000_000
_COMMAND = str(Path(sys.executable).with_name("agentgym"))
Calling = Callable[[], Awaitable[object]]


def measure(effort: Effort) -> Findings:
    """Wall time of looking at a SQL database's tables, which takes next to no time itself."""
    require_mcp()
    asyncio.run(_timed(_plain, 10))
    for name, opening in (
        ("plain step", _plain),
        ("call in memory", _in_memory),
        ("call over stdio", _stdio),
        ("call over HTTP", _http),
    ):
        values = [asyncio.run(_timed(opening, effort.of(CALLS))) for _ in range(effort.repetitions)]
        floor = opening is _plain
        yield Figure(f"MCP: {name}", "ms", values, kind="floor" if floor else "figure")


async def _timed(opening: Callable[[], AbstractAsyncContextManager[Calling]], calls: int) -> float:
    async with opening() as make_call:
        await make_call()
        started = time.perf_counter()
        for _ in range(calls):
            await make_call()
        return (time.perf_counter() - started) * 1e3 / calls


@asynccontextmanager
async def _plain() -> AsyncIterator[Calling]:
    environment = make("sql")
    await environment.reset(_task(), seed=0)
    yield lambda: environment.step(call("list_tables"))
    await environment.close()


@asynccontextmanager
async def _in_memory() -> AsyncIterator[Calling]:
    from mcp import Client

    from agentgym.interop.mcp.host import EpisodeHost
    from agentgym.interop.mcp.server import make_server
    from agentgym.interop.mcp.session import ClientAgent

    env_spec, agent = spec("sql"), ClientAgent()
    plan = Plan(
        env_spec=env_spec,
        tasks=load_tasks(env_spec).select(limit=1),
        agent=agent,
        limits=Limits(turns=_MOST),
    )
    with scratch() as folder, TrajectoryStore.open(folder / "runs.db") as store:
        async with EpisodeHost(plan, agent, store) as host:
            server = make_server(host, env_spec.environment_type())
            async with Client(server, mode="legacy") as client:
                yield _listing(client)


@asynccontextmanager
async def _stdio() -> AsyncIterator[Calling]:
    from mcp import Client, StdioServerParameters, stdio_client

    with scratch() as folder, (folder / "stderr.txt").open("w") as nowhere:
        words = _serve(folder)
        parameters = StdioServerParameters(command=words[0], args=words[1:])
        async with Client(stdio_client(parameters, errlog=nowhere)) as client:
            yield _listing(client)


@asynccontextmanager
async def _http() -> AsyncIterator[Calling]:
    from mcp import Client

    with scratch() as folder, _web(folder) as url:
        async with Client(url) as client:
            yield _listing(client)


@contextmanager
def _web(folder: Path) -> Iterator[str]:
    words = [*_serve(folder), "--transport", "http", "--port", "0"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            yield process.stderr.readline().split()[-1]
        finally:
            process.terminate()


def _task() -> Task[Any, Any]:
    return next(iter(load_tasks(spec("sql"))))


def _serve(folder: Path) -> list[str]:
    store = ["--store", str(folder / "runs.db"), "--max-turns", str(_MOST)]
    return [_COMMAND, "mcp", "serve", "sql", "--task", _task().id, *store]


def _listing(client: "Client") -> Calling:
    return lambda: client.call_tool("list_tables", {})
