"""Agents by name and LLM agents by their settings."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from agentgym.agents.base import Agent, Brief
from agentgym.agents.baselines import NullAgent, OracleAgent, RandomAgent
from agentgym.agents.factory import KEY, make_agent, make_agents, make_llm
from agentgym.agents.scripted import ScriptedAgent
from agentgym.agents.settings import LlmSettings
from agentgym.errors import ProtocolError, UnknownNameError, UsageError
from agentgym.registry import Baseline, EnvSpec, spec
from agentgym.types import Action, AnyFields, Limits, Observation, Task
from tests.fake_openai import FakeOpenAI

URL = "http://127.0.0.1:9/v1"
SECRET = "sk-0123456789-stays-secret"


@pytest.fixture
def sql() -> EnvSpec:
    return spec("sql")


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY, raising=False)


def client_of(agent: Agent) -> object:
    return agent.provenance()["client"]


def test_names_make_agents_in_order(sql: EnvSpec, tmp_path: Path) -> None:
    script = tmp_path / "moves.jsonl"
    script.write_text('{"actions": []}')
    agents = make_agents(f"oracle, null,random,scripted:{script}", None, sql)
    assert [type(a) for a in agents] == [OracleAgent, NullAgent, RandomAgent, ScriptedAgent]
    assert [a.name for a in agents] == ["oracle", "null", "random", "scripted:moves.jsonl"]
    assert [a.privileged for a in agents] == [True, False, False, False]


def test_an_llm_comes_after_the_named(sql: EnvSpec) -> None:
    agents = make_agents("null", LlmSettings(model="m", base_url=URL), sql)
    assert [agent.name for agent in agents] == ["null", "m"]


@pytest.mark.parametrize("names", [None, "", ","])
def test_no_agent_is_refused(sql: EnvSpec, names: str | None) -> None:
    with pytest.raises(UsageError, match="Add --agent oracle, or --model NAME"):
        make_agents(names, None, sql)


def test_one_agent_twice_is_refused(sql: EnvSpec) -> None:
    with pytest.raises(UsageError, match="named twice"):
        make_agents("null,oracle,null", None, sql)


@pytest.mark.parametrize("name", ["orcle", "null:", "null:x", "oracle:3", "scripted", "scripted:"])
def test_unknown_names_are_refused(sql: EnvSpec, name: str) -> None:
    with pytest.raises(UnknownNameError, match="Unknown agent"):
        make_agent(name, sql)


def test_an_environment_without_an_oracle_has_no_oracle(sql: EnvSpec) -> None:
    with pytest.raises(UsageError, match="has no oracle"):
        make_agent("oracle", sql.model_copy(update={"oracle": None}))


def test_the_client_is_chosen_by_model_and_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    assert client_of(make_llm(LlmSettings(model="m", base_url=URL))) == "lean"
    assert client_of(make_llm(LlmSettings(model="m", base_url=URL, client="openai"))) == "openai"
    assert client_of(make_llm(LlmSettings(model="anthropic/m"))) == "litellm"
    monkeypatch.setenv(KEY, SECRET)
    assert client_of(make_llm(LlmSettings(model="openai/m"))) == "lean"


def test_a_model_of_openai_needs_a_key() -> None:
    with pytest.raises(UsageError, match=f"{KEY} is not set"):
        make_llm(LlmSettings(model="openai/m"))


@pytest.mark.parametrize("key", ["a b", "a\nb", "schlüssel", "\x1b[31m"])
def test_what_is_no_key_is_refused_unseen(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv(KEY, key)
    with pytest.raises(UsageError, match="Set it to the key alone") as caught:
        make_llm(LlmSettings(model="m", base_url=URL))
    assert key not in str(caught.value)


@pytest.mark.parametrize("set_to", [SECRET, f" {SECRET}\n"])
async def test_the_key_is_sent_and_never_in_the_record(
    monkeypatch: pytest.MonkeyPatch, set_to: str
) -> None:
    monkeypatch.setenv(KEY, set_to)
    async with FakeOpenAI(key=SECRET) as server:
        agent = make_llm(LlmSettings(model="m", base_url=server.base_url))
        await agent.check()
        await agent.close()
    assert SECRET not in str(agent.config())


async def test_a_blank_key_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, " \n")
    async with FakeOpenAI(key=SECRET) as server:
        agent = make_llm(LlmSettings(model="m", base_url=server.base_url))
        with pytest.raises(UsageError, match=r"refuses the key \(HTTP 401\)"):
            await agent.check()


async def test_an_endpoint_needs_no_list_of_models_but_has_to_be_there() -> None:
    async with FakeOpenAI() as server:
        elsewhere = server.base_url.removesuffix("/v1")
        await make_llm(LlmSettings(model="m", base_url=elsewhere)).check()
        await make_llm(LlmSettings(model="m", base_url=f"{server.base_url}/?version=1")).check()
    with pytest.raises(UsageError, match="cannot be reached"):
        await make_llm(LlmSettings(model="m", base_url=server.base_url)).check()


@pytest.mark.parametrize(
    "settings",
    [{"client": "leen"}, {"format": "xml"}, {"history": "window:x"}, {"base_url": "host/v1"}],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        make_llm(LlmSettings.model_validate({"model": "m", "base_url": URL, **settings}))


def bystander(observation: Observation) -> Generator[Action, Observation, None]:
    """Say what is on offer, once."""
    yield Action(text=f"I see {len(observation.tools)} tools.")


def insider(task: Task[Any, Any], observation: Observation) -> Generator[Action, Observation, None]:
    """Say the id of the task."""
    yield Action(text=f"This is {task.id}.")


async def test_an_environments_own_baselines_are_agents(sql: EnvSpec) -> None:
    here = "tests.agents.test_factory"
    baselines = {
        "bystander": Baseline(play=f"{here}:bystander"),
        "insider": Baseline(play=f"{here}:insider", privileged=True),
    }
    known = sql.model_copy(update={"baselines": baselines})
    outside, inside = make_agents("bystander,insider", None, known)
    assert (outside.privileged, inside.privileged) == (False, True)
    observation = Observation(messages=())
    task = Task[AnyFields, AnyFields](id="t-1", public=AnyFields(), private=AnyFields())
    brief = Brief(env="sql-v1", task_id="t-1", seed=0, limits=Limits())
    player = await outside.begin(brief)
    words = [(await player.act(observation)).action.text for _ in range(2)]
    assert words == ["I see 0 tools.", ""]
    player = await inside.begin(brief.model_copy(update={"task": task}))
    assert (await player.act(observation)).action.text == "This is t-1."
    with pytest.raises(ProtocolError, match="private part"):
        await inside.begin(brief)
    with pytest.raises(UnknownNameError, match="Did you mean 'insider'"):
        make_agent("insder", known)
