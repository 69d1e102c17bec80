"""Baselines that need no model: null, random, oracle and an environment's own."""

import random
from collections.abc import Callable, Generator
from functools import partial
from typing import Any, TypeAlias

from agentgym.agents.base import Agent, Brief, Decision, Player
from agentgym.errors import ProtocolError
from agentgym.registry import EnvSpec, oracle_of
from agentgym.types import Action, Json, Observation, ToolCall

Plan: TypeAlias = Generator[Action, Observation, None]
"""Yields actions and is sent observations; empty turns follow its end."""

DEEP = 12
"""Levels of a schema below which the random agent leaves out what it can."""


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
        self._depth = 0

    def word(self) -> str:
        return self._rng.choice(self._words) if self._words else ""

    def value(self, schema: Json, defs: Json) -> Any:
        self._depth += 1
        try:
            return self._value(schema, defs)
        finally:
            self._depth -= 1

    def _value(self, schema: Json, defs: Json) -> Any:
        if "$ref" in schema:
            schema = defs[schema["$ref"].rpartition("/")[2]]
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self._rng.choice(schema["enum"])
        options = schema.get("anyOf") or schema.get("oneOf")
        if options and self._deep and {"type": "null"} in options:
            return None
        return self.value(self._rng.choice(options), defs) if options else self._plain(schema, defs)

    @property
    def _deep(self) -> bool:
        """Whether it is time to come to an end, in a schema that contains itself."""
        return self._depth > DEEP

    def _plain(self, schema: Json, defs: Json) -> Any:
        match schema.get("type"):
            case "object":
                return self._object(schema, defs)
            case "array":
                return self._array(schema, defs)
            case "integer":
                return self._rng.randint(*_bounds(schema, margin=1))
            case "number":
                return self._rng.uniform(*_bounds(schema, margin=1e-9))
            case "boolean":
                return self._rng.random() < 0.5
            case "null":
                return None
            case _:
                return self.word()

    def _array(self, schema: Json, defs: Json) -> list[Any]:
        first = [self.value(part, defs) for part in schema.get("prefixItems", [])]
        if "prefixItems" in schema:
            return first
        few = schema.get("minItems", 0)
        many = few if self._deep else max(few, min(schema.get("maxItems", few + 2), few + 2))
        item = schema.get("items", {"type": "string"})
        return [self.value(item, defs) for _ in range(self._rng.randint(few, many))]

    def _object(self, schema: Json, defs: Json) -> dict[str, Any]:
        required = schema.get("required", [])
        return {
            name: self.value(part, defs)
            for name, part in schema.get("properties", {}).items()
            if name in required or (not self._deep and self._rng.random() < 0.5)
        }


def _bounds(schema: Json, *, margin: float) -> tuple[Any, Any]:
    """Return the lowest and highest number a schema allows, 0 to 100 where it does not say.

    Args:
        schema: Of a number.
        margin: What keeps clear of an exclusive bound.
    """
    low, high = schema.get("minimum"), schema.get("maximum")
    if "exclusiveMinimum" in schema:
        low = schema["exclusiveMinimum"] + margin
    if "exclusiveMaximum" in schema:
        high = schema["exclusiveMaximum"] - margin
    if low is None:
        low = 0 if high is None or high >= 0 else high - 100
    return low, max(low, 100) if high is None else high


class OwnBaseline(Agent):
    """Plays by a generator that an environment brings.

    Args:
        name: What results are listed under.
        play: The generator, as `Baseline.play` or `EnvSpec.oracle` describe it.
        privileged: Whether it is given the whole task.
    """

    def __init__(self, name: str, play: Callable[..., Plan], *, privileged: bool) -> None:
        self.name = name
        self.privileged = privileged
        self._play = play

    async def begin(self, brief: Brief) -> Player:
        """Begin an episode; a privileged agent knows the answer to it."""
        if not self.privileged:
            return _PlanPlayer(self._play)
        if brief.task is None:
            raise ProtocolError(f"The {self.name} needs the task's private part in its brief.")
        return _PlanPlayer(partial(self._play, brief.task))


class OracleAgent(OwnBaseline):
    """Plays each task to full reward by the environment's own oracle.

    Args:
        env_spec: The environment; it must declare an oracle.

    Raises:
        UsageError: It declares none.
    """

    def __init__(self, env_spec: EnvSpec) -> None:
        super().__init__("oracle", oracle_of(env_spec), privileged=True)


class _PlanPlayer(Player):
    def __init__(self, begin: Callable[[Observation], Plan]) -> None:
        self._begin = begin
        self._plan: Plan | None = None

    async def act(self, observation: Observation) -> Decision:
        try:
            if self._plan is None:
                self._plan = self._begin(observation)
                return Decision(action=next(self._plan))
            return Decision(action=self._plan.send(observation))
        except StopIteration:
            return Decision(action=Action())
