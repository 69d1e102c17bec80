"""Agents that do not do the work score nothing, on every task that is not listed as unsound."""

import itertools
import re
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import agentgym
from agentgym.tasks import TaskSet, load_tasks
from agentgym.types import Action, Observation, Task, ToolCall
from agentgym_tools.domains import open_domain
from agentgym_tools.oracle import play

TURNS = 60
HOSTILE_TURNS = 16  # more than any user's patience lasts

of_every_task = pytest.mark.parametrize(
    "step", [pytest.param(1, marks=pytest.mark.slow, id="all"), pytest.param(7, id="a-seventh")]
)
"""Every task is the slow tests'; the others take each seventh."""


def null(_task: Task[Any, Any], _seen: Observation) -> Iterator[Action]:
    while True:
        yield Action()


def words_spam(_task: Task[Any, Any], _seen: Observation) -> Iterator[Action]:
    """Every number, every date, every usual answer, and requests for a yes."""
    numbers = " ".join(str(number) for number in range(300))
    amounts = " ".join(f"{number}.{part}" for number in range(60) for part in ("00", "50", "99"))
    days = " ".join(f"{day} {month}" for month in ("March", "April") for day in range(1, 31))
    phrases = (
        "Yes, that is done, confirmed. Shall I go ahead? Is that correct?",
        "I am sorry, I cannot do that, it is not allowed by our policy.",
        "No. It is too late, there is a fee, you are not eligible, it was declined.",
    )
    for text in itertools.cycle((*phrases, numbers, amounts, days)):
        yield Action(text=text)


def policy_spam(_task: Task[Any, Any], seen: Observation) -> Iterator[Action]:
    """The whole policy, piece by piece."""
    policy = seen.messages[0].text.split()
    pieces = [" ".join(policy[at : at + 350]) for at in range(0, len(policy), 350)]
    for piece in itertools.cycle(pieces):
        yield Action(text=f"I cannot do that. {piece}")


def stop_at_once(_task: Task[Any, Any], _seen: Observation) -> Iterator[Action]:
    yield Action(text="###STOP###")
    yield Action(text="Your request has been completed. Have a nice day, goodbye!")
    while True:
        yield Action(text="Goodbye.")


def refuse_at_once(_task: Task[Any, Any], _seen: Observation) -> Iterator[Action]:
    while True:
        yield Action(text="I am sorry, our policy does not allow this, so I cannot help you.")


def transfer_at_once(task: Task[Any, Any], seen: Observation) -> Iterator[Action]:
    handover = open_domain(task.public.domain, task.private.folder).handover
    tool = next(part for part in seen.tools if part.name == handover)
    arguments = dict.fromkeys(tool.parameters["properties"], "The customer needs help.")
    while True:
        yield Action(tool_calls=(ToolCall(name=tool.name, arguments=arguments),))


def calls_spam(_task: Task[Any, Any], seen: Observation) -> Iterator[Action]:
    """Every tool of one text argument with every word of the user's first words."""
    words = re.findall(r"[#\w][\w-]*", seen.messages[-1].text)
    singles = [part for part in seen.tools if len(part.parameters["properties"]) == 1]
    for tool in singles:
        name = next(iter(tool.parameters["properties"]))
        calls = tuple(ToolCall(name=tool.name, arguments={name: word}) for word in words[:40])
        if calls:
            yield Action(tool_calls=calls)
    yield from refuse_at_once(_task, seen)


def echo(_task: Task[Any, Any], seen: Observation) -> Generator[Action, Observation, None]:
    """The person's own words, and a request for a yes to them."""
    while True:
        seen = yield Action(text=f"{seen.messages[-1].text} Shall I go ahead with exactly that?")


ADVERSARIES = (
    *(null, words_spam, policy_spam, stop_at_once),
    *(refuse_at_once, transfer_at_once, calls_spam, echo),
)


async def score(task: Task[Any, Any], player: Any) -> float:
    environment = agentgym.make("tools")
    seen = await environment.reset(task, seed=1)
    moves = player(task, seen)
    action = next(moves)
    for _ in range(HOSTILE_TURNS):
        transition = await environment.step(action)
        if transition.over:
            break
        action = moves.send(transition.observation)
    grade = await environment.grade()
    await environment.close()
    return grade.value


async def oracle_score(task: Task[Any, Any], seed: int) -> float:
    environment = agentgym.make("tools")
    seen = await environment.reset(task, seed=seed)
    moves = play(task, seen)
    action = next(moves)
    for _ in range(TURNS):
        transition = await environment.step(action)
        if transition.over:
            break
        action = moves.send(transition.observation)
    return (await environment.grade()).value


async def winners(tasks: Iterable[Task[Any, Any]], player: Any) -> list[str]:
    return [task.id for task in tasks if await score(task, player) > 0]


def own_tasks(step: int) -> list[Task[Any, Any]]:
    return list(load_tasks(agentgym.spec("tools")))[::step]


@of_every_task
@pytest.mark.parametrize("player", ADVERSARIES, ids=lambda player: player.__name__)
async def test_no_own_task_is_won_without_its_work(player: Any, step: int) -> None:
    assert await winners(own_tasks(step), player) == []


@of_every_task
@pytest.mark.parametrize("seed", [0, 1, 2])
async def test_the_oracle_wins_every_own_task_whatever_the_wording(seed: int, step: int) -> None:
    lost = [task.id for task in own_tasks(step) if await oracle_score(task, seed) < 1]
    assert lost == []


def tau2(folder: Path, name: str) -> TaskSet:
    return load_tasks(agentgym.spec("tools"), str(folder / name))


@pytest.mark.real_data
@of_every_task
@pytest.mark.parametrize("name", ["retail", "airline"])
@pytest.mark.parametrize("player", ADVERSARIES, ids=lambda player: player.__name__)
async def test_tau2s_tasks_are_won_so_only_where_they_are_listed(
    real_tau2: Path, name: str, player: Any, step: int
) -> None:
    tasks = tau2(real_tau2, name)
    assert set(await winners(list(tasks)[::step], player)) <= set(tasks.unsound)


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["retail", "airline"])
async def test_the_oracle_wins_every_task_of_tau2s(real_tau2: Path, name: str) -> None:
    lost = [task.id for task in tau2(real_tau2, name) if await oracle_score(task, 0) < 1]
    assert lost == []
