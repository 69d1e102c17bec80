"""The agents that need no model: null, random and oracle."""

from collections.abc import Generator
from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from agentgym import Action, Limits, Message, Observation, Task, Tool, call
from agentgym.agents.base import Agent, Brief
from agentgym.agents.baselines import NullAgent, OracleAgent, RandomAgent
from agentgym.errors import ProtocolError, UsageError
from tests.environments import COUNTER, CounterEnvironment, counter_task


def brief(task_id: str = "t", seed: int = 0, task: Task[Any, Any] | None = None) -> Brief:
    return Brief(env="e-v1", task_id=task_id, seed=seed, limits=Limits(turns=3), task=task)


async def acted(
    agent: Agent, observation: Observation, told: Brief, turns: int = 1
) -> list[Action]:
    player = await agent.begin(told)
    return [(await player.act(observation)).action for _ in range(turns)]


def seen(*tools: Tool, text: str = "some words to pick") -> Observation:
    message = Message(role="user", content=text)
    return Observation(messages=(message,), tools=tuple(tool.spec for tool in tools))


async def test_null_does_nothing() -> None:
    assert await acted(NullAgent(), seen(), brief(), turns=2) == [Action(), Action()]
    assert not NullAgent().privileged


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Node(BaseModel):
    """A tree without end, where every choice goes on."""

    value: int
    first: "Node | None"
    children: "list[Node]"


def everything(
    text: str,
    flag: bool,
    nothing: None,
    small: Annotated[int, Field(ge=150, le=152)],
    negative: Annotated[int, Field(lt=-5)],
    above: Annotated[int, Field(gt=1000)],
    share: Annotated[float, Field(gt=0, lt=1)],
    below: Annotated[float, Field(le=-3.5)],
    anything: Any,
    words: Annotated[list[str], Field(min_length=2, max_length=3)],
    few: Annotated[list[int], Field(max_length=1)],
    pair: tuple[int, str],
    table: dict[str, int],
    colour: Colour,
    size: Literal["small", "large", 3],
    one: Literal["only"],
    choice: int | list[str] | None,
    tree: Node,
    extra: bool = False,
) -> None:
    """Take one of everything."""


@given(seed=st.integers(0, 10_000))
async def test_random_arguments_fit_their_schema(seed: int) -> None:
    tool = Tool(everything)
    (action,) = await acted(RandomAgent(), seen(tool), brief(seed=seed))
    (made,) = action.tool_calls
    assert made.name == "everything"
    assert isinstance(made.arguments, dict)
    tool.check(made.arguments)
    assert made.arguments["text"] in ("some", "words", "to", "pick")


async def test_random_play_follows_task_and_seed() -> None:
    tools = seen(Tool(everything), *CounterEnvironment().tools())

    async def play(told: Brief) -> list[Action]:
        return await acted(RandomAgent(), tools, told, turns=8)

    first = await play(brief("a", 1))
    assert await play(brief("a", 1)) == first
    assert await play(brief("a", 2)) != first
    assert await play(brief("b", 1)) != first
    assert len({action.tool_calls[0].name for action in first}) > 1


async def test_random_without_tools_says_a_word() -> None:
    assert await acted(RandomAgent(), seen(text="hello"), brief()) == [Action(text="hello")]
    assert await acted(RandomAgent(), seen(text=""), brief()) == [Action()]


async def test_the_oracle_plays_its_script_and_then_nothing() -> None:
    oracle = OracleAgent(COUNTER)
    assert oracle.privileged
    told = brief(task=counter_task(7))
    played = await acted(oracle, seen(), told, turns=4)
    assert played == [call("add", amount=7), call("submit"), Action(), Action()]


def echo_oracle(task: object, observation: Observation) -> Generator[Action, Observation, None]:
    """Say what was seen."""
    while True:
        observation = yield Action(text=observation.text)


async def test_an_oracle_sees_every_observation() -> None:
    spec = COUNTER.model_copy(update={"oracle": "tests.agents.test_baselines:echo_oracle"})
    player = await OracleAgent(spec).begin(brief(task=counter_task()))
    said = [(await player.act(seen(text=text))).action.text for text in ("a", "b", "c")]
    assert said == ["a", "b", "c"]


async def test_an_oracle_needs_an_oracle_and_the_task() -> None:
    with pytest.raises(UsageError, match="has no oracle"):
        OracleAgent(COUNTER.model_copy(update={"oracle": None}))
    with pytest.raises(ProtocolError, match="private part"):
        await OracleAgent(COUNTER).begin(brief())
