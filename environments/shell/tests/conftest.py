"""Tasks made on the spot, and environments to play them in."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from agentgym import Observation, Task, call
from agentgym.types import Reward
from agentgym_shell.env import ShellEnvironment
from agentgym_shell.tasks import ShellPrivate, ShellPublic

ShellTask = Task[ShellPublic, ShellPrivate]


@pytest.fixture
def task() -> Callable[..., ShellTask]:
    """Make a task whose oracle does and submits what is said; the rest is its private part."""

    def make_task(
        *commands: str, submits: str | None = None, task_id: str = "t", **private: Any
    ) -> ShellTask:
        if submits is not None:
            private.setdefault("answer", {})
        oracle = {"commands": commands or (":",), "answer": submits}
        return ShellTask.model_validate(
            {
                "id": task_id,
                "public": {"instruction": "Do it.", "answer": submits is not None},
                "private": {"oracle": oracle, **private},
            }
        )

    return make_task


@pytest.fixture
async def env() -> AsyncIterator[ShellEnvironment]:
    made = ShellEnvironment(timeout=20)
    yield made
    await made.close()


@pytest.fixture(params=["bubblewrap", "docker"])
async def any_env(request: pytest.FixtureRequest) -> AsyncIterator[ShellEnvironment]:
    made = ShellEnvironment(sandbox=request.param, timeout=20)
    yield made
    await made.close()


@pytest.fixture
def run() -> Callable[..., Awaitable[str]]:
    """Run a command and return what the agent sees of it."""

    async def command(env: ShellEnvironment, line: str, **arguments: float) -> str:
        transition = await env.step(call("run", command=line, **arguments))
        return transition.observation.text

    return command


@pytest.fixture
def play() -> Callable[..., Awaitable[Reward]]:
    """Play a task to the end by commands and an answer, and return its grade."""

    async def episode(
        env: ShellEnvironment, asked: ShellTask, *commands: str, answer: str | None = None
    ) -> Reward:
        await env.reset(asked, seed=0)
        for command in commands:
            observation: Observation = (await env.step(call("run", command=command))).observation
            assert not observation.faults, observation.text
        transition = await env.step(call("submit", answer=answer))
        assert transition.terminated, transition.observation.text
        return transition.reward

    return episode
