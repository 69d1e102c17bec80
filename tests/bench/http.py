"""The same episodes through a chat model's HTTP endpoint, by each client.

The endpoint is the tests' fake server, in a process of its own whose CPU does not count.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp

from agentgym.agents.base import Agent
from agentgym.agents.llm import LlmAgent
from agentgym.agents.settings import LlmSettings
from agentgym.clients import ChatClient, ChatRequest, Completion, open_client
from agentgym.errors import MissingExtraError
from agentgym.trajectories.store import TrajectoryStore
from tests.bench import ledger
from tests.bench.figures import Effort, Figure, Findings, Skipped
from tests.bench.playing import CONCURRENCY, Spent, ledger_plan, play, scratch

EPISODES = 100
AIMS = {"lean": 1.5, "openai": 4.0, "litellm": None}
_SERVER = Path(__file__).parents[1] / "fake_openai.py"
_MODEL = "openai/fake"


def measure(effort: Effort) -> Findings:
    """CPU a turn by each client, and of posting the same bodies by bare aiohttp."""
    episodes = effort.of(EPISODES)
    with _server() as url:
        bodies = _bodies(url)
        floor = [asyncio.run(_post(url, bodies * episodes)) for _ in range(effort.repetitions)]
        yield Figure("bare aiohttp, CPU a turn", "ms", floor, kind="floor")
        for client, aim in AIMS.items():
            heavy = client == "litellm"
            try:
                _played(url, client, 5)
            except MissingExtraError as error:
                yield Skipped(f"{client} client", str(error))
                continue
            repetitions = 1 if heavy else effort.repetitions
            played = [_played(url, client, episodes) for _ in range(repetitions)]
            name = f"{client} client, CPU a turn"
            yield Figure(name, "ms", [spent.cpu_ms for spent in played], aim=aim)
            rates = [spent.episodes_per_s for spent in played]
            yield Figure(f"{client} client, episodes of 5 turns", "1/s", rates)


def _played(url: str, client: str, episodes: int) -> Spent:
    agent = _agent(open_client(client, base_url=url, api_key="bench"))
    return _through_store(agent, episodes)


def _through_store(agent: Agent, episodes: int) -> Spent:
    with scratch() as folder, TrajectoryStore.open(folder / "runs.db") as store:
        return play(ledger_plan(agent, episodes), store)


def _agent(client: ChatClient) -> Agent:
    settings = LlmSettings(model=_MODEL)
    return LlmAgent(settings, client, client_name="bench", model=_MODEL)


class _Recorder(ChatClient):
    """Keeps the bodies that another client sends."""

    def __init__(self, client: ChatClient) -> None:
        self.bodies: list[bytes] = []
        self._client = client

    async def complete(self, request: ChatRequest) -> Completion:
        self.bodies.append(json.dumps(request.body()).encode())
        return await self._client.complete(request)

    async def close(self) -> None:
        await self._client.close()


def _bodies(url: str) -> list[bytes]:
    """Return the requests of one episode."""
    recorder = _Recorder(open_client("lean", base_url=url, api_key="bench"))
    _through_store(_agent(recorder), 1)
    return recorder.bodies


async def _post(url: str, bodies: list[bytes]) -> float:
    queue = iter(bodies)
    headers = {"Content-Type": "application/json"}

    async def work(session: aiohttp.ClientSession) -> None:
        for body in queue:
            async with session.post(f"{url}/chat/completions", data=body) as response:
                json.loads(await response.read())

    async with aiohttp.ClientSession(headers=headers) as session:
        cpu = time.process_time()
        async with asyncio.TaskGroup() as workers:
            for _ in range(CONCURRENCY):
                workers.create_task(work(session))
        return (time.process_time() - cpu) * 1e3 / len(bodies)


@contextmanager
def _server() -> Iterator[str]:
    """Run the fake server with the ledger's moves for every conversation; gives its base URL."""
    script = [{"calls": [move]} for move in ledger.MOVES]
    with scratch() as folder:
        path = folder / "script.json"
        path.write_text(json.dumps(script))
        command = [sys.executable, str(_SERVER), "--script", str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout is not None
                yield server.stdout.readline().strip()
            finally:
                server.terminate()
