"""Playing environments by real MCP clients, in memory and against the command in a process."""

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.session import IncomingMessage
from mcp_types import CallToolResult, ImageContent, TextContent

from agentgym.env import Environment
from agentgym.interop.mcp.host import EpisodeHost
from agentgym.interop.mcp.server import make_server
from agentgym.interop.mcp.session import OVER, ClientAgent
from agentgym.registry import EnvSpec, oracle_of, spec
from agentgym.tasks import TaskSet, TaskSetInfo
from agentgym.trajectories.record import Trajectory
from agentgym.trajectories.store import TrajectoryStore
from agentgym.types import Action, Message, Observation, Task
from tests.rollout.playing import LocalPlan

AGENTGYM = str(Path(sys.executable).with_name("agentgym"))
SMALL_SERVER = str(Path(__file__).with_name("small_server.py"))


def text_of(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


def images_of(result: CallToolResult) -> list[ImageContent]:
    return [block for block in result.content if isinstance(block, ImageContent)]


@dataclass
class Table:
    """A host in this process, and the server its clients reach in memory."""

    host: EpisodeHost
    server: Any
    ended: list[Trajectory] = field(default_factory=list)
    heard: list[IncomingMessage] = field(default_factory=list)

    def client(self) -> Client:
        return Client(self.server, mode="legacy", message_handler=self._hear)

    async def _hear(self, message: IncomingMessage) -> None:
        self.heard.append(message)


@asynccontextmanager
async def hosting(
    env_spec: EnvSpec,
    task: Task[Any, Any],
    store: TrajectoryStore,
    *,
    idle_s: float | None = None,
    factory: Callable[[], Environment] | None = None,
    **settings: Any,
) -> AsyncIterator[Table]:
    """Host the episodes of one task, in the run `served`."""
    agent = ClientAgent()
    info = TaskSetInfo(name="given", environment=env_spec.name, licence="MIT")
    plan = LocalPlan(
        factory=factory or env_spec.environment_type(),
        env_spec=env_spec,
        tasks=TaskSet(info, [task], "given"),
        agent=agent,
        attempts=1,
        run_id="served",
        **settings,
    )
    ended: list[Trajectory] = []
    async with EpisodeHost(plan, agent, store, idle_s=idle_s, on_episode=ended.append) as host:
        yield Table(host, make_server(host, env_spec.environment_type()), ended)


@contextmanager
def serving_http(folder: Path, *arguments: str) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """Run `agentgym mcp serve --transport http`; gives the URL and the process."""
    process = subprocess.Popen(
        [AGENTGYM, "mcp", "serve", *arguments, "--transport", "http", "--port", "0"],
        env=environ(folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line.startswith("Serving at http://127.0.0.1:"), line + process.stderr.read()
        yield line.split()[-1], process
    finally:
        process.kill()
        process.communicate()


@asynccontextmanager
async def served_stdio(folder: Path, *arguments: str) -> AsyncIterator[tuple[Client, Path]]:
    """Connect to `agentgym mcp serve`; gives the client and the file of standard error."""
    said = folder / "stderr.txt"
    parameters = StdioServerParameters(
        command=AGENTGYM, args=["mcp", "serve", *arguments], env=environ(folder)
    )
    with said.open("w") as errlog:
        async with Client(stdio_client(parameters, errlog=errlog)) as client:
            yield client, said


def environ(folder: Path) -> dict[str, str]:
    return {**os.environ, "AGENTGYM_STORE": str(folder / "runs.db")}


def stored(folder: Path, run_id: str) -> list[Trajectory]:
    with TrajectoryStore.open(folder / "runs.db", create=False) as store:
        return list(store.trajectories(run_id))


async def play_oracle(client: Client, name: str, task: Task[Any, Any]) -> list[CallToolResult]:
    """Let an SDK client make an oracle's moves until the episode is over; words go by `say`."""
    seen = Observation(messages=(Message(role="user", content=client.instructions or ""),))
    moves = oracle_of(spec(name))(task, seen)
    results: list[CallToolResult] = []
    action: Action | None = next(moves)
    while action is not None:
        made = await _make(client, action)
        if text_of(made[0]) == OVER:
            break
        results += made
        answer = tuple(Message(role="user", content=text_of(result)) for result in made)
        try:
            action = moves.send(Observation(messages=answer))
        except StopIteration:
            action = None
    return results


async def _make(client: Client, action: Action) -> Sequence[CallToolResult]:
    if not action.tool_calls:
        return [await client.call_tool("say", {"text": action.text})]
    made = []
    for call in action.tool_calls:
        assert isinstance(call.arguments, dict)
        made.append(await client.call_tool(call.name, call.arguments))
    return made
