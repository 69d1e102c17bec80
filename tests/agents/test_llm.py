"""The LLM agent in whole episodes of the SQL environment, its model a real server's."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agentgym import make
from agentgym.agents.base import Agent, Brief
from agentgym.agents.factory import make_llm
from agentgym.agents.settings import LlmSettings
from agentgym.errors import ModelRejectedError
from agentgym.registry import spec
from agentgym.rollout.episode import Episode, Rules, play
from agentgym.tasks import load_tasks
from agentgym.trajectories.record import Outcome
from agentgym.types import Limits, Task, ToolCall
from tests.fake_openai import FakeOpenAI, Fault, Reply, Script

QUESTION: Task[Any, Any] = load_tasks(spec("sql")).tasks[0]
SUBMIT = Reply(calls=[("submit", {"query": QUESTION.private.gold})])
LOOK = Reply("I look.", calls=[("list_tables", {})], usage=(100, 50))
NO_LIMITS = Limits()


@asynccontextmanager
async def agent_at(server: FakeOpenAI, **settings: Any) -> AsyncIterator[Agent]:
    agent = make_llm(LlmSettings(model="fake", base_url=server.base_url, **settings))
    try:
        yield agent
    finally:
        await agent.close()


async def played(
    script: Script,
    limits: Limits = NO_LIMITS,
    first: list[Fault] | None = None,
    episode: Episode | None = None,
    **settings: Any,
) -> tuple[Episode, FakeOpenAI]:
    """Play one episode and return it with the server, which keeps the requests."""
    episode = episode or Episode()
    async with FakeOpenAI(script, first=first or ()) as server:
        environment = make("sql")
        brief = Brief(env="sql-v1", task_id=QUESTION.id, seed=0, limits=limits)
        try:
            async with agent_at(server, **settings) as agent:
                await play(episode, environment, agent, brief, QUESTION, Rules(limits=limits))
        finally:
            await environment.close()
    return episode, server


def grade(episode: Episode) -> float:
    assert episode.grade is not None
    return episode.grade.value


async def test_native_tool_calls_reach_the_environment_and_its_answers_the_model() -> None:
    episode, server = await played([LOOK, SUBMIT])
    assert (episode.outcome, grade(episode)) == (Outcome(status="completed"), 1.0)
    first, second = (body["messages"] for body in server.requests)
    assert [message["role"] for message in first] == ["user"]
    assert QUESTION.public.question in first[0]["content"]
    assert second[:1] == first
    assert [message["role"] for message in second] == ["user", "assistant", "tool"]
    assert second[1]["content"] == "I look."
    assert second[2]["tool_call_id"] == second[1]["tool_calls"][0]["id"]
    assert "products" in second[2]["content"]
    offered = [tool["function"]["name"] for tool in server.requests[0]["tools"]]
    assert offered == ["list_tables", "describe", "execute", "submit"]


async def test_the_private_part_never_reaches_the_model() -> None:
    _, server = await played([LOOK, Reply(calls=[("submit", {"query": "SELECT 1"})])])
    assert QUESTION.private.gold not in str(server.requests)


async def test_react_plays_without_tools() -> None:
    query = QUESTION.private.gold.replace('"', '\\"')
    replies = [
        Reply("Thought: first I look.\nAction: list_tables\nAction Input: {}"),
        Reply(f'Thought: now.\nAction: submit\nAction Input: {{"query": "{query}"}}'),
    ]
    episode, server = await played(replies, Limits(turns=5), format="react")
    assert (episode.outcome, grade(episode)) == (Outcome(status="completed"), 1.0)
    assert episode.turns[0].action.tool_calls == (ToolCall(name="list_tables", id="call_0"),)
    body = server.requests[1]
    assert "tools" not in body
    assert body["stop"] == ["\nObservation:"]
    assert [message["role"] for message in body["messages"]] == [
        "system", "user", "assistant", "user",
    ]  # fmt: skip
    assert body["messages"][0]["content"].startswith("You have at most 5 turns.\n\nYou act by")
    assert body["messages"][3]["content"].startswith("Observation: ")


async def test_words_where_a_call_is_wanted_are_answered() -> None:
    episode, server = await played([Reply("It is 42."), SUBMIT])
    assert episode.turns[0].observation.faults == ("no_call",)
    assert server.requests[1]["messages"][1] == {"role": "assistant", "content": "It is 42."}
    assert grade(episode) == 1.0


async def test_a_window_forgets_what_is_older() -> None:
    def look(number: int) -> Reply:
        return Reply(calls=[("execute", {"sql": f"SELECT {number}"})])

    def answer(body: dict[str, Any]) -> Reply:
        asked.append(body)
        return look(len(asked)) if len(asked) < 4 else SUBMIT

    asked: list[dict[str, Any]] = []
    episode, _ = await played(answer, history="window:1")
    assert len(episode.turns) == 4
    assert grade(episode) == 1.0
    said = [str(body["messages"]) for body in asked]
    assert [len(body["messages"]) for body in asked] == [1, 3, 3, 3]
    assert all(QUESTION.public.question in text for text in said)
    assert "SELECT 3" in said[3]
    assert "SELECT 2" not in said[3]


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        (Limits(turns=3), "You have at most 3 turns."),
        (Limits(tokens=1_500_000), "You have at most 1,500,000 tokens."),
        (
            Limits(turns=4, cost=0.25, time=90),
            "You have at most 4 turns and 0.25 US dollars and 90 seconds in the environment.",
        ),
    ],
)
async def test_the_agent_is_told_its_limits(limits: Limits, told: str) -> None:
    _, server = await played([SUBMIT], limits)
    assert server.requests[0]["messages"][0] == {"role": "system", "content": told}


async def test_standing_words_come_first() -> None:
    _, server = await played([SUBMIT], Limits(turns=2), system="You write SQL.")
    words = server.requests[0]["messages"][0]["content"]
    assert words == "You write SQL.\n\nYou have at most 2 turns."


async def test_a_full_context_is_a_limit_with_a_grade() -> None:
    def answer(body: dict[str, Any]) -> Reply:
        return LOOK

    episode, _ = await played(answer, first=[Fault.CONTEXT])
    assert (episode.outcome, grade(episode)) == (Outcome(status="limit", detail="context"), 0.0)
    assert episode.turns == []


async def test_a_refused_request_is_an_error_without_a_grade() -> None:
    with pytest.raises(ModelRejectedError, match="Unsupported value"):
        await played([SUBMIT], first=[Fault.BAD_REQUEST])


async def test_reasoning_and_usage_are_kept() -> None:
    reply = Reply(calls=SUBMIT.calls, usage=(100, 20), message={"reasoning_content": "because"})
    episode, server = await played([LOOK, reply], price=(2.0, 10.0))
    assert [turn.reasoning for turn in episode.turns] == [None, "because"]
    assert "because" not in str(server.requests)
    usage = episode.usage
    assert (usage.prompt_tokens, usage.completion_tokens) == (200, 70)
    assert usage.cost == pytest.approx((200 * 2 + 70 * 10) / 1e6)


async def test_prices_make_the_cost_limit_strike() -> None:
    dollars_a_turn = (100 * 10 + 50 * 20) / 1e6
    limits = Limits(cost=2.5 * dollars_a_turn)
    episode, _ = await played([LOOK] * 9, limits, price=(10.0, 20.0))
    assert (episode.outcome, len(episode.turns)) == (Outcome(status="limit", detail="cost"), 3)
    assert grade(episode) == 0.0


async def test_the_token_limit_strikes() -> None:
    episode, _ = await played([LOOK] * 9, Limits(tokens=300))
    assert (episode.outcome, len(episode.turns)) == (Outcome(status="limit", detail="tokens"), 2)


async def test_faults_on_the_way_are_on_the_record() -> None:
    episode, _ = await played([SUBMIT], first=[Fault.SERVER_ERROR, Fault.MALFORMED])
    assert [fault.kind for fault in episode.faults] == ["model_server", "model_malformed"]
    assert grade(episode) == 1.0


async def test_faults_on_the_way_to_a_fatal_one_are_on_the_record() -> None:
    episode = Episode()
    with pytest.raises(ModelRejectedError):
        await played([SUBMIT], first=[Fault.SERVER_ERROR, Fault.BAD_REQUEST], episode=episode)
    assert [fault.kind for fault in episode.faults] == ["model_server"]


async def test_the_record_holds_every_setting() -> None:
    async with FakeOpenAI() as server, agent_at(server, temperature=0.0, history="full") as agent:
        config, reached = agent.config(), agent.provenance()
    assert (config["model"], config["temperature"]) == ("fake", 0.0)
    assert "base_url" not in config
    assert (reached["base_url"], reached["client"]) == (server.base_url, "lean")
