"""The broadband tasks: sound, diverse, decided by the policy, and won by nobody for nothing."""

import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentgym.types import Action, Reward, call
from agentgym_tools.broadband import domain
from agentgym_tools.broadband.scenarios import deeds, tasks
from agentgym_tools.broadband.scenarios.callers import Caller
from agentgym_tools.broadband.scenarios.conversation import Conversation
from agentgym_tools.case import Case
from agentgym_tools.checking import check_task
from agentgym_tools.env import ToolsEnvironment
from agentgym_tools.oracle import play
from agentgym_tools.replay import replay
from agentgym_tools.script import Expect
from agentgym_tools.tasks import ToolsTask

TASKS = list(tasks())
ROOT = next(p for p in Path(__file__).parents if (p / "agentgym" / "types.py").is_file())
Agent = Callable[[ToolsTask], Iterator[Action]]


def named(task: ToolsTask) -> str:
    return task.id


def repeat(text: str) -> Agent:
    def agent(_: ToolsTask) -> Iterator[Action]:
        while True:
            yield Action(text=text)

    return agent


def hand_over(department: str) -> Agent:
    def agent(_: ToolsTask) -> Iterator[Action]:
        yield call("hand_over", department=department, summary="Please take over.")

    return agent


def instruct_at_random(task: ToolsTask) -> Iterator[Action]:
    """Ask for every step at home, without having looked at the line."""
    for _ in range(3):
        for deed in task.private.script.deeds:
            yield Action(text=f"Please {deed.asked[0]}.")


async def episode(task: ToolsTask, agent: Agent, seed: int = 0) -> Reward:
    env = ToolsEnvironment()
    await env.reset(task, seed=seed)
    for _, action in zip(range(30), agent(task), strict=False):
        turn = await env.step(action)
        if turn.over:
            return turn.reward
    return await env.grade()


async def oracle(task: ToolsTask, seed: int) -> Reward:
    env = ToolsEnvironment()
    turns = play(task, await env.reset(task, seed=seed))
    action = next(turns)
    while True:
        turn = await env.step(action)
        if turn.over:
            return turn.reward
        action = turns.send(turn.observation)


def test_the_file_holds_what_the_scenarios_yield() -> None:
    lines = (ROOT / "tasks/tools/core/tasks.jsonl").read_text("utf-8").splitlines()
    stored = [ToolsTask.model_validate(_without_canary(line)) for line in lines]
    assert [task for task in stored if task.public.domain == "broadband"] == TASKS


def _without_canary(line: str) -> object:
    data = json.loads(line)
    del data["canary"]
    return data


def test_there_are_enough_of_each_kind_in_each_split() -> None:
    counts = Counter((task.tags["kind"], task.split) for task in TASKS)
    assert len(TASKS) >= 70
    assert len({task.id for task in TASKS}) == len(TASKS)
    assert counts["dual", "train"] + counts["dual", "test"] >= 35
    assert counts["refusal", "train"] + counts["refusal", "test"] >= 20
    assert all(counts[kind, split] >= 10 for kind, split in counts)


def test_the_splits_share_no_customer_and_no_words() -> None:
    owners, words = defaultdict(set), defaultdict(set)
    for task in TASKS:
        owners[task.private.rules.subjects].add(task.split)
        words[task.private.script.opening].add(task.split)
    assert not [key for key, splits in owners.items() if len(splits) > 1]
    assert not [key for key, splits in words.items() if len(splits) > 1]


def test_people_differ_in_how_they_behave() -> None:
    scripts = [task.private.script for task in TASKS]
    assert sum(len(script.wishes) > 1 for script in scripts) >= 6
    assert sum(any(wish.instead for wish in script.wishes) for script in scripts) >= 3
    assert sum(any(deed.first for deed in script.deeds) for script in scripts) >= 5
    assert sum(any(fact.name == "second pin" for fact in script.facts) for script in scripts) >= 5
    refused = [wish for script in scripts for wish in script.wishes if wish.refused]
    assert all(wish.told for wish in refused)


@pytest.mark.parametrize("task", TASKS, ids=named)
async def test_a_task_is_sound(task: ToolsTask) -> None:
    check_task(domain(), task)
    end = replay(domain(), task.private.gold)
    assert not [answer.text for answer in end.answers if answer.error]
    rewards = [await oracle(task, seed) for seed in (0, 1)]
    assert [reward.value for reward in rewards] == [1.0, 1.0], rewards[0].feedback


@pytest.mark.parametrize("task", TASKS, ids=named)
async def test_whoever_does_nothing_wins_nothing(task: ToolsTask) -> None:
    assert (await episode(task, repeat("I am sorry, that is not possible."))).value == 0
    assert (await episode(task, repeat("Done. Shall I go ahead?"))).value == 0
    assert (await episode(task, instruct_at_random)).value == 0


@pytest.mark.parametrize("department", ["security", "billing", "complaints", "moving"])
def test_handing_over_at_once_wins_nothing(department: str) -> None:
    async def rewards() -> list[float]:
        return [(await episode(task, hand_over(department))).value for task in TASKS]

    assert not any(asyncio.run(rewards()))


def test_refusals_change_nothing_in_the_state() -> None:
    for task in TASKS:
        if task.tags["kind"] == "refusal":
            assert not replay(domain(), task.private.gold).desk.state.changes(), task.id


def test_another_way_to_the_same_end_is_as_good() -> None:
    """A device let in by switching the filter off, not by putting it on the list."""
    task = next(task for task in TASKS if task.id == "broadband-let-in-phone")
    case = Case(domain(), task.private)
    assert case.desk.user is not None
    case.desk.user.call("set_wifi", {"home": "H1002", "device_filter": False})
    assert not case.differences()
    assert all(case.holds(part) for part in task.private.rules.required)


def test_a_change_of_the_line_that_was_not_needed_is_found() -> None:
    task = next(task for task in TASKS if task.id == "broadband-let-in-phone")
    case = Case(domain(), task.private)
    case.desk.agent.call("reset_login", {"customer_id": "C1002"})
    assert case.differences()


def test_a_scenario_that_the_records_do_not_bear_out_is_refused() -> None:
    c = Conversation("broken", "train", "C1067")
    with pytest.raises(ValueError, match="ends in the wrong way"):
        c.repair(("It is off.",), deeds.plug(c.home, "network"))
    good = Conversation("good", "train", "C1136")
    with pytest.raises(ValueError, match="settled before it is said"):
        good.repair(("It is off.",))
    with pytest.raises(ValueError, match="not locked"):
        c.repair(("It is off.",), c.agent("unlock_port"))
    with pytest.raises(ValueError, match="no V-1 in visits"):
        c.record("visits", "V-1")
    with pytest.raises(ValueError, match="not on the account"):
        Conversation("wrong", "train", "C1067", caller=Caller(name="Eve Stone"))


def test_a_wish_to_be_refused_cannot_be_granted_by_its_gold() -> None:
    c = Conversation("granted", "train", "C1105")
    stable = Expect(collection="lines", key="L1105", fields={"profile": "stable"})
    change = c.agent("set_profile", profile="stable")
    with pytest.raises(ValueError, match="ends in the wrong way"):
        c.refuse(("Please.",), change, told=(c.tell("no", "no"),), gives_in=(stable,))
