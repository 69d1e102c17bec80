"""Agents by name, and LLM agents by their settings."""

import os
from pathlib import Path

from agentgym.agents.base import Agent
from agentgym.agents.baselines import NullAgent, OracleAgent, OwnBaseline, RandomAgent
from agentgym.agents.scripted import ScriptedAgent
from agentgym.agents.settings import LlmSettings
from agentgym.clients.base import Prices
from agentgym.errors import UnknownNameError, UsageError
from agentgym.registry import EnvSpec, resolve

NAMES = ("null", "oracle", "random", "scripted:FILE")
OPENAI_URL = "https://api.openai.com/v1"
KEY = "OPENAI_API_KEY"


def make_agents(names: str | None, settings: LlmSettings | None, env_spec: EnvSpec) -> list[Agent]:
    """Make agents from names with commas between, an LLM's settings, or both.

    Raises:
        UsageError: Neither is given, or an agent cannot be made.
        UnknownNameError: There is no such agent.
    """
    agents = [make_agent(name.strip(), env_spec) for name in (names or "").split(",") if name]
    if settings is not None:
        agents.append(make_llm(settings))
    if not agents:
        raise UsageError("No agent is named.", remedy="Add --agent oracle, or --model NAME.")
    if len({agent.name for agent in agents}) < len(agents):
        raise UsageError("An agent is named twice.", remedy="Use --epochs for repetitions.")
    return agents


def make_agent(name: str, env_spec: EnvSpec) -> Agent:
    """Make an agent that needs no model.

    Raises:
        UnknownNameError: There is no such agent.
        UsageError: The oracle of an environment that has none, an unreadable script, or an
            environment's own baseline that cannot be imported.
    """
    match name.partition(":"):
        case "null", "", _:
            return NullAgent()
        case "random", "", _:
            return RandomAgent()
        case "oracle", "", _:
            return OracleAgent(env_spec)
        case "scripted", _, path if path:
            return ScriptedAgent(Path(path))
        case own, "", _ if own in env_spec.baselines:
            baseline = env_spec.baselines[own]
            return OwnBaseline(own, resolve(baseline.play), privileged=baseline.privileged)
        case _:
            raise UnknownNameError("agent", name, (*NAMES, *env_spec.baselines))


def make_llm(settings: LlmSettings) -> Agent:
    """Make an LLM agent.

    Raises:
        UsageError: A key is missing, or the settings contradict each other.
        MissingExtraError: The client's package is not installed.
    """
    if settings.model.startswith("local:"):
        from agentgym.agents.local import open_local

        return open_local(settings)
    from agentgym.agents.llm import LlmAgent
    from agentgym.clients import open_client

    openai_model = settings.base_url is not None or settings.model.startswith("openai/")
    name = settings.client or ("lean" if openai_model else "litellm")
    url, key, model = settings.base_url, None, settings.model
    if name != "litellm":
        url, key, model = _endpoint(settings)
    prices = Prices(input=settings.price[0], output=settings.price[1]) if settings.price else None
    client = open_client(name, base_url=url, api_key=key, timeout=settings.timeout, prices=prices)
    return LlmAgent(settings, client, client_name=name, model=model)


def _endpoint(settings: LlmSettings) -> tuple[str, str | None, str]:
    """Return the URL, the key and the model's name at an OpenAI-compatible endpoint."""
    key = os.environ.get(KEY, "").strip() or None  # files that hold keys end in a newline
    if key is not None and not (key.isascii() and key.isprintable() and " " not in key):
        raise UsageError(f"{KEY} holds what no key does.", remedy="Set it to the key alone.")
    if settings.base_url is not None:
        return settings.base_url, key, settings.model
    if key is None:
        raise UsageError(
            f"{KEY} is not set.", remedy="Set it, or name another endpoint with --base-url."
        )
    return OPENAI_URL, key, settings.model.removeprefix("openai/")
