"""The shipped tasks: sound on both backends, and what the conformance suite says of them."""

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from agentgym import Task, call, load_tasks, make, spec
from agentgym.agents.base import Brief
from agentgym.agents.baselines import OracleAgent
from agentgym.evaluation.conformance import Report
from agentgym.types import Limits, Reward
from agentgym_shell.tasks import ShellPrivate, ShellPublic

BACKENDS = ("bubblewrap", pytest.param("docker", marks=pytest.mark.slow))
AT_ONCE = 4

ShellTask = Task[ShellPublic, ShellPrivate]
TASKS: tuple[ShellTask, ...] = load_tasks(spec("shell")).tasks

# As a command each of these shows something else every time; the random agent of the conformance
# suite runs the words it reads.
VOLATILE = {"date", "df", "free", "last", "ps", "time", "top", "uptime", "w", "who", "yes"}


async def play_all(
    sandbox: str, play: "Callable[[Any, ShellTask], Any]", tasks: Iterable[ShellTask] = TASKS
) -> dict[str, Any]:
    """Play tasks, some at once, and return what each came to by its id."""
    waiting = list(tasks)
    found: dict[str, Any] = {}

    async def work() -> None:
        env = make("shell", sandbox=sandbox)
        try:
            while waiting:
                task = waiting.pop()
                found[task.id] = await play(env, task)
        finally:
            await env.close()

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(work())
    return found


async def by_the_oracle(env: Any, task: ShellTask) -> tuple[Reward, str]:
    """Play by the oracle; return the grade and everything that was seen."""
    player = await OracleAgent(spec("shell")).begin(
        Brief(env="shell", task_id=task.id, seed=0, limits=Limits(), task=task)
    )
    observation, seen = await env.reset(task, seed=0), ""
    while True:
        transition = await env.step((await player.act(observation)).action)
        assert not transition.observation.faults, transition.observation.text
        observation = transition.observation
        if transition.terminated:
            return transition.reward, seen
        seen += f"{observation.text}\n"


async def by_nobody(env: Any, task: ShellTask) -> Reward:
    """Submit at once."""
    await env.reset(task, seed=0)
    answer = "0" if task.public.answer else None
    reward: Reward = (await env.step(call("submit", answer=answer))).reward
    return reward


@pytest.mark.parametrize("sandbox", BACKENDS)
async def test_the_oracle_solves_every_task(sandbox: str) -> None:
    found = await play_all(sandbox, by_the_oracle)
    failed = {name: reward.feedback for name, (reward, _) in found.items() if reward.value != 1}
    assert not failed
    assert len(found) >= 60


@pytest.mark.parametrize("sandbox", BACKENDS)
async def test_submitting_at_once_solves_no_task(sandbox: str) -> None:
    found = await play_all(sandbox, by_nobody)
    assert not [name for name, reward in found.items() if reward.value > 0]


async def test_the_oracles_commands_show_its_answer() -> None:
    found = await play_all("bubblewrap", by_the_oracle, [t for t in TASKS if t.public.answer])
    answers = {task.id: task.private.oracle.answer for task in TASKS}
    assert not [name for name, (_, seen) in found.items() if (answers[name] or "") not in seen]


@pytest.mark.slow
@pytest.mark.parametrize("sandbox", ["bubblewrap", "docker"])
def test_the_environment_keeps_the_protocol(
    sandbox: str, conformance: Callable[..., Report]
) -> None:
    report = conformance("shell", sandbox=sandbox)
    assert not [result for result in report.results if result.status == "skipped"]


def test_no_instruction_holds_a_command_that_is_another_every_time() -> None:
    for task in TASKS:
        assert not VOLATILE.intersection(task.public.instruction.split()), task.id


def test_tasks_are_of_every_kind() -> None:
    splits = Counter(task.split for task in TASKS)
    assert set(splits) == {"train", "validation", "test"}
    assert min(splits.values()) >= 20
    assert all(re.fullmatch(r"[a-z0-9-]+", task.id) for task in TASKS)
    for tag in ("category", "difficulty", "skill"):
        assert len({task.tags[tag] for task in TASKS}) >= 3, tag
