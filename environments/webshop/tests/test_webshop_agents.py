"""The oracle and the baselines, in every observation mode."""

from collections.abc import Callable
from typing import Any

import pytest

from agentgym.agents.base import Agent, Brief
from agentgym.agents.factory import make_agents
from agentgym.registry import spec
from agentgym.types import Action, Limits, Task, Transition
from agentgym_webshop.choice import best_options
from agentgym_webshop.env import WebShopEnvironment
from agentgym_webshop.products import Product
from agentgym_webshop.render import MODES

MakeTask = Callable[..., Task[Any, Any]]
ASKED = {"color": "red", "size": "large"}


async def played(
    agent: Agent, task: Task[Any, Any], **options: Any
) -> tuple[list[Action], Transition]:
    environment = WebShopEnvironment(**options)
    observation = await environment.reset(task, seed=0)
    told = task if agent.privileged else None
    player = await agent.begin(
        Brief(env="webshop-v1", task_id=task.id, seed=0, limits=Limits(), task=told)
    )
    actions: list[Action] = []
    for _ in range(15):
        actions.append((await player.act(observation)).action)
        transition = await environment.step(actions[-1])
        observation = transition.observation
        if transition.over:
            break
    return actions, transition


def agent(name: str) -> Agent:
    return make_agents(name, None, spec("webshop"))[0]


def arguments(actions: list[Action]) -> list[str]:
    return [str(*action.tool_calls[0].arguments.values()) for action in actions]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("changes", "turns"),
    [
        ({}, ["dress 1", "B000000001", "red", "large", "Buy Now"]),
        ({"oracle_query": None, "title": "dress 1"}, ["dress 1", "B000000001", "red", "large"]),
        ({"options": ("large",)}, ["dress 1", "B000000001", "large", "Buy Now"]),
        ({"options": ("large", "crimson red")}, ["dress 1", "B000000001", "red", "large"]),
        ({"options": ()}, ["dress 1", "B000000001", "Buy Now"]),
        (
            {"asin": "B000000002", "options": {"color": "red", "strap": "red"}},
            ["dress 1", "B000000002", "color: red", "strap: red", "Buy Now"],
        ),
        (
            {"asin": "B000000045", "oracle_query": "summer dress"},
            ["summer dress", *["Next >"] * 4, "B000000045", "red", "large", "Buy Now"],
        ),
    ],
)
async def test_the_oracle_buys_what_was_asked_for(
    make_task: MakeTask, changes: dict[str, Any], turns: list[str]
) -> None:
    actions, last = await played(agent("oracle"), make_task(**{"options": ASKED, **changes}))
    assert last.reward.value == 1.0
    assert arguments(actions)[: len(turns)] == turns


async def test_an_oracle_without_a_way_gives_up(make_task: MakeTask) -> None:
    task = make_task(asin="B0NOTTHERE")
    actions, last = await played(agent("oracle"), task)
    assert actions == [Action()] * 15
    assert last.reward.value == 0.0


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("history", [0, 2])
async def test_the_rule_buys_the_first_of_what_the_instruction_finds(
    make_task: MakeTask, mode: str, history: int
) -> None:
    task = make_task(ASKED)
    actions, last = await played(agent("rule"), task, observation=mode, history=history)
    query, asin, bought = arguments(actions)
    assert query == "i want a light <summer> dress"
    assert (asin, bought) == (last.reward.labels["bought"], "Buy Now")
    assert 0 < last.reward.value < 1


async def test_the_rule_is_told_nothing_private_and_gives_up_where_nothing_is_found(
    make_task: MakeTask,
) -> None:
    assert not agent("rule").privileged
    public = make_task().public.model_copy(update={"instruction": "xyzzy"})
    task = make_task().model_copy(update={"public": public})
    actions, _ = await played(agent("rule"), task)
    assert actions[1:] == [Action()] * 14


async def test_the_choice_oracle_takes_the_best_of_what_the_instruction_finds(
    make_task: MakeTask,
) -> None:
    assert agent("choice-oracle").privileged
    _, last = await played(agent("choice-oracle"), make_task(ASKED))
    assert last.reward.value == 1.0
    dear = make_task(ASKED, price_upper=15.0, nouns=("summer",))
    _, last = await played(agent("choice-oracle"), dear)
    assert last.reward.value == 3 / 4


@pytest.mark.parametrize(
    ("asked", "best"),
    [
        ((), ()),
        (("red",), (("color", "red"),)),
        (("small", "red"), (("color", "red"), ("size", "small"))),
        (("silk",), ()),
        ({"size": "small"}, (("size", "small"),)),
        ({"length": "small"}, (("size", "small"),)),
        (("red", "blue"), (("color", "navy blue"),)),
    ],
)
def test_the_best_options_meet_the_most(
    make_task: MakeTask, dress: Product, asked: Any, best: tuple[tuple[str, str], ...]
) -> None:
    assert best_options(dress, make_task(asked).private) == best
