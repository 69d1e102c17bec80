"""Baselines that need no model: null, random and oracle."""

import random
from collections.abc import Generator
from typing import Any

from agentgym.agents.base import Agent, Brief, Decision, Player
from agentgym.errors import ProtocolError
from agentgym.registry import EnvSpec, oracle_of
from agentgym.types import Action, Json, Observation, Task, ToolCall


class NullAgent(Agent):
    """Does nothing, every turn: what it scores, a task gives away."""

    name = "null"

    async def begin(self, brief: Brief) -> Player:
        """Begin an episode of empty turns."""
        return _NullPlayer()


class _NullPlayer(Player):
    async def act(self, observation: Observation) -> Decision:
        return Decision(action=Action())


class RandomAgent(Agent):
    """Calls random tools with random arguments that fit their schemas, seeded by the episode."""

    name = "random"

    async def begin(self, brief: Brief) -> Player:
        """Begin an episode of random calls."""
        return _RandomPlayer(random.Random(f"{brief.task_id}:{brief.seed}"))


class _RandomPlayer(Player):
    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    async def act(self, observation: Observation) -> Decision:
        draw = _Draw(self._rng, observation.text.split())
        if not observation.tools:
            return Decision(action=Action(text=draw.word()))
        chosen = self._rng.choice(observation.tools)
        arguments = draw.value(chosen.parameters, chosen.parameters.get("$defs", {}))
        call = ToolCall(name=chosen.name, arguments=arguments)
        return Decision(action=Action(tool_calls=(call,)))


class _Draw:
    """Draws values of JSON schemas; strings come from the words that were seen."""

    def __init__(self, rng: random.Random, words: list[str]) -> None:
        self._rng = rng
        self._words = words

    def word(self) -> str:
        return self._rng.choice(self._words) if self._words else ""

    def value(self, schema: Json, defs: Json) -> Any:
        if "$ref" in schema:
            schema = defs[schema["$ref"].rpartition("/")[2]]
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self._rng.choice(schema["enum"])
        options = schema.get("anyOf") or schema.get("oneOf")
        return self.value(self._rng.choice(options), defs) if options else self._plain(schema, defs)

    def _plain(self, schema: Json, defs: Json) -> Any:
        low, high = schema.get("minimum", 0), schema.get("maximum", 100)
        match schema.get("type"):
            case "object":
                return self._object(schema, defs)
            case "array":
                item = schema.get("items", {"type": "string"})
                return [self.value(item, defs) for _ in range(self._rng.randrange(3))]
            case "integer":
                return self._rng.randint(low, high)
            case "number":
                return self._rng.uniform(low, high)
            case "boolean":
                return self._rng.random() < 0.5
            case "null":
                return None
            case _:
                return self.word()

    def _object(self, schema: Json, defs: Json) -> dict[str, Any]:
        required = schema.get("required", [])
        return {
            name: self.value(part, defs)
            for name, part in schema.get("properties", {}).items()
            if name in required or self._rng.random() < 0.5
        }


class OracleAgent(Agent):
    """Plays each task to full reward by the environment's own oracle.

    Args:
        env_spec: The environment; it must declare an oracle.

    Raises:
        UsageError: It declares none.
    """

    name = "oracle"
    privileged = True

    def __init__(self, env_spec: EnvSpec) -> None:
        self._oracle = oracle_of(env_spec)

    async def begin(self, brief: Brief) -> Player:
        """Begin an episode the oracle knows the answer to."""
        if brief.task is None:
            raise ProtocolError("The oracle needs the task's private part in its brief.")
        return _OraclePlayer(self._oracle, brief.task)


class _OraclePlayer(Player):
    def __init__(self, oracle: Any, task: Task[Any, Any]) -> None:
        self._oracle = oracle
        self._task = task
        self._plan: Generator[Action, Observation, None] | None = None

    async def act(self, observation: Observation) -> Decision:
        try:
            if self._plan is None:
                self._plan = self._oracle(self._task, observation)
                return Decision(action=next(self._plan))
            return Decision(action=self._plan.send(observation))
        except StopIteration:
            return Decision(action=Action())
