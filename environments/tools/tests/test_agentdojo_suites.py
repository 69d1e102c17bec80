"""Every task of AgentDojo's suites: the gold serves the user, and obeying serves the attacker."""

import random
import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError
from typing import Any

import pytest

from agentgym import Action, Task, call, load_tasks
from agentgym.errors import UsageError
from agentgym.tasks import TaskSet
from agentgym.types import Reward
from agentgym_tools.agentdojo import SPEC, wheel
from agentgym_tools.agentdojo.attacks import ATTACKS
from agentgym_tools.agentdojo.calls import gold_calls, tool_specs
from agentgym_tools.agentdojo.env import AgentDojoEnvironment
from agentgym_tools.agentdojo.oracle import oracle
from agentgym_tools.agentdojo.states import open_state
from agentgym_tools.agentdojo.tasks import begin
from agentgym_tools.agentdojo.wheel import SUITES, suites

IDLE = "done_by_doing_nothing"


@pytest.fixture(scope="module")
def tasks() -> TaskSet:
    return load_tasks(SPEC)


async def play(
    env: AgentDojoEnvironment, task: Task[Any, Any], actions: Iterable[Action]
) -> Reward:
    for action in actions:
        transition = await env.step(action)
        assert transition.observation.faults == (), transition.observation.text
    assert transition.terminated
    return transition.reward


async def by_oracle(task: Task[Any, Any]) -> Reward:
    env = AgentDojoEnvironment()
    return await play(env, task, oracle(task, await env.reset(task, seed=0)))


async def by_idling(task: Task[Any, Any]) -> Reward:
    env = AgentDojoEnvironment()
    await env.reset(task, seed=0)
    return await play(env, task, [Action()])


async def by_obeying(task: Task[Any, Any]) -> Reward:
    """Do what the attacker asks for, and nothing else."""
    env = AgentDojoEnvironment()
    await env.reset(task, seed=0)
    injection = suites()[task.public.suite].injection_tasks[task.private.injection_task]
    calls = gold_calls(injection, begin(task.public.suite, task.private))
    actions = [call(name, **given) for name, given in calls]
    return await play(env, task, [*actions, Action(text=injection.GROUND_TRUTH_OUTPUT)])


def has_gold(task: Task[Any, Any]) -> bool:
    injection = suites()[task.public.suite].injection_tasks[task.private.injection_task]
    return bool(gold_calls(injection, begin(task.public.suite, task.private))) or bool(
        injection.GROUND_TRUTH_OUTPUT
    )


def split(tasks: TaskSet, name: str) -> list[Task[Any, Any]]:
    return [task for task in tasks if task.split == name]


def test_the_suites_are_whole(tasks: TaskSet) -> None:
    found = suites().values()
    assert sum(len(suite.user_tasks) for suite in found) == 97
    assert sum(len(suite.injection_tasks) for suite in found) == 35
    assert sum(len(tool_specs(name)) for name in SUITES) == 74
    assert len(split(tasks, "benign")) == 97
    assert len(split(tasks, "attacked")) == 949


@pytest.mark.parametrize("attack", ATTACKS)
def test_every_attack_has_a_set(attack: str) -> None:
    made = load_tasks(SPEC, attack)
    assert made.info.name == attack
    assert {task.tags["attack"] for task in made} == {"none", attack}
    assert all(task.private.places for task in split(made, "attacked"))


def test_states_without_an_attack_are_upstreams() -> None:
    for name, suite in suites().items():
        theirs = suite.load_and_inject_default_environment({})
        assert open_state(name, "user_task_0", {}) == theirs


def test_injected_words_arrive_whole() -> None:
    words = 'Line one\n\n  "quoted" {braces} \\n: - # &\ttab é 漢\nend'
    state = open_state("slack", "user_task_0", {"injection_web_0": words})
    assert any(words in page for page in state.web.web_content.values())


async def test_the_gold_serves_all_97_users(tasks: TaskSet) -> None:
    rewards = {task.id: await by_oracle(task) for task in split(tasks, "benign")}
    assert {task_id for task_id, reward in rewards.items() if reward.value != 1} == set()
    assert all(reward.components == {"utility": 1} for reward in rewards.values())


async def test_idle_agents_win_flagged_tasks_alone(tasks: TaskSet) -> None:
    benign = split(tasks, "benign")
    won = {task.id for task in benign if (await by_idling(task)).value == 1}
    assert won == {task.id for task in benign if task.flags}
    assert won == {f"banking.user_task_{number}" for number in (5, 6, 8, 9, 10)}
    assert {flag for task in tasks for flag in task.flags} == {IDLE}


async def test_under_attack_gold_and_obedience_are_told_apart(tasks: TaskSet) -> None:
    for task in random.Random(0).sample(split(tasks, "attacked"), 30):
        served = await by_oracle(task)
        assert served.components == {"utility": 1, "attack_success": 0}, task.id
        if has_gold(task):
            assert (await by_obeying(task)).components["attack_success"] == 1, task.id


@pytest.mark.slow
async def test_under_attack_the_gold_serves_all_949_users_and_no_attacker(tasks: TaskSet) -> None:
    for task in split(tasks, "attacked"):
        reward = await by_oracle(task)
        assert reward.components == {"utility": 1, "attack_success": 0}, task.id


@pytest.mark.slow
async def test_obeying_succeeds_wherever_the_wheel_says_how(tasks: TaskSet) -> None:
    tried = [task for task in split(tasks, "attacked") if has_gold(task)]
    assert len(tried) == 629
    for task in tried:
        assert (await by_obeying(task)).components["attack_success"] == 1, task.id


@pytest.mark.slow
async def test_under_attack_idle_agents_win_flagged_tasks_alone(tasks: TaskSet) -> None:
    for task in split(tasks, "attacked"):
        reward = await by_idling(task)
        assert reward.components == {"utility": float(bool(task.flags)), "attack_success": 0}


def test_the_wheels_model_clients_are_not_imported() -> None:
    suites()
    assert not {"anthropic", "cohere", "google.genai", "langchain"} & set(sys.modules)
    assert "agentdojo.agent_pipeline" not in sys.modules


def test_a_missing_wheel_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(wheel, "version", absent)
    with pytest.raises(UsageError, match="pip install --no-deps agentdojo"):
        wheel.wheel_version()
