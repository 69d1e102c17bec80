"""Every conversation of the wheel: the gold earns 1, idleness 0, and upstream's checker agrees."""

import random
import sys
from collections import Counter
from importlib import import_module
from importlib.metadata import PackageNotFoundError
from typing import Any

import pytest

from agentgym import Action, Environment, Task, ToolCall, load_tasks
from agentgym.errors import UsageError
from agentgym.tasks import TaskSet
from agentgym_tools.bfcl import SPEC, wheel
from agentgym_tools.bfcl.env import BfclEnvironment
from agentgym_tools.bfcl.oracle import oracle
from agentgym_tools.bfcl.schemas import parameters
from agentgym_tools.bfcl.syntax import parse_gold
from agentgym_tools.bfcl.wheel import CATEGORIES, api_class, entries

Turns = list[list[str]]

of_every_task = pytest.mark.parametrize(
    "step", [pytest.param(1, marks=pytest.mark.slow, id="all"), pytest.param(7, id="a-seventh")]
)
"""Every task is the slow tests'; the others take each seventh."""


@pytest.fixture(scope="module")
def tasks() -> TaskSet:
    return load_tasks(SPEC)


async def play(env: Environment, task: Task[Any, Any]) -> tuple[float, int]:
    plan = oracle(task, await env.reset(task, seed=0))
    action, faults = next(plan), 0
    while True:
        transition = await env.step(action)
        faults += len(transition.observation.faults)
        if transition.over:
            return transition.reward.value, faults
        action = plan.send(transition.observation)


async def play_turns(env: Environment, task: Task[Any, Any], turns: Turns) -> float:
    """Play calls, given as source, turn by turn."""
    await env.reset(task, seed=0)
    for calls in turns:
        made = [parse_gold(source, parameters()) for source in calls]
        if made:
            given = tuple(ToolCall(name=name, arguments=given) for name, given in made)
            await env.step(Action(tool_calls=given))
        transition = await env.step(Action(text="Done."))
    return transition.reward.value


def test_there_are_four_categories_of_200(tasks: TaskSet) -> None:
    assert Counter(task.tags["category"] for task in tasks) == dict.fromkeys(CATEGORIES, 200)
    assert tasks.hash == load_tasks(SPEC, "multi_turn").hash
    assert not any(task.flags for task in tasks)


@of_every_task
async def test_the_gold_earns_1(tasks: TaskSet, step: int) -> None:
    env = BfclEnvironment()
    results = {task.id: await play(env, task) for task in list(tasks)[::step]}
    assert {task_id: found for task_id, found in results.items() if found != (1.0, 0)} == {}


@of_every_task
async def test_doing_nothing_earns_0(tasks: TaskSet, step: int) -> None:
    env = BfclEnvironment()
    chosen = list(tasks)[::step]
    scores = [await play_turns(env, task, [[] for _ in task.private.gold]) for task in chosen]
    assert set(scores) == {0.0}


def spoiled(gold: tuple[tuple[str, ...], ...], rng: random.Random) -> Turns:
    """Return the gold's calls with one left out, doubled, moved or taken from another turn."""
    turns = [list(calls) for calls in gold]
    full = [turn for turn in turns if turn]
    turn = rng.choice(full)
    place = rng.randrange(len(turn))
    match rng.randrange(4):
        case 0:
            del turn[place]
        case 1:
            turn.insert(place, turn[place])
        case 2:
            rng.choice(turns).append(turn.pop(place))
        case 3:
            rng.shuffle(turn)
    return turns


async def test_grades_agree_with_upstreams_checker(tasks: TaskSet) -> None:
    checker: Any = import_module("bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker")
    rng = random.Random(0)
    env = BfclEnvironment()
    grades: Counter[float] = Counter()
    for number, task in enumerate(rng.sample(list(tasks), 160)):
        turns = spoiled(task.private.gold, rng)
        entry = entries()[task.public.entry]
        grade = await play_turns(env, task, turns)
        theirs = checker.multi_turn_checker(
            [[calls] if calls else [] for calls in turns],
            [list(calls) for calls in task.private.gold],
            {
                "id": entry.id,
                "initial_config": entry.config,
                "involved_classes": list(entry.classes),
            },
            entry.category,
            f"model{number}",
        )
        assert grade == float(theirs["valid"]), (task.id, turns)
        grades[grade] += 1
    assert min(grades[0.0], grades[1.0]) > 20


def test_a_missing_wheel_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(wheel, "version", absent)
    with pytest.raises(UsageError, match="pip install --no-deps bfcl-eval"):
        load_tasks(SPEC)


def test_a_missing_dependency_of_the_wheel_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    module = "bfcl_eval.eval_checker.multi_turn_eval.func_source_code.math_api"
    monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, "mpmath", None)
    with pytest.raises(UsageError, match="the package mpmath, which is not installed"):
        api_class("MathAPI")
