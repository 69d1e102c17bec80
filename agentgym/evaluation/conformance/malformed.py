"""Malformed turns: what a confused or hostile model may say, tool by tool."""

import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from jsonschema import Draft202012Validator
from jsonschema.exceptions import UnknownType

from agentgym.agents.base import Agent, Brief, Decision, Player
from agentgym.agents.baselines import RandomAgent
from agentgym.types import Action, Json, Limits, Observation, ToolCall, ToolSpec

MEGABYTE = "x" * 1_000_000
ODD = "\x00\x07\x1b[31m\u202e\ud800\udfff\ufffe\r\x85"
CALLS_AT_ONCE = 50

_WRONG: tuple[Json, ...] = ({"not": ["this"]}, [["not this"]], 7.5, "not this", True, None)


class Offer(NamedTuple):
    """A tool on offer, and arguments that fit it."""

    tool: ToolSpec
    arguments: dict[str, Json]

    def accepts(self, arguments: Json) -> bool:
        """Whether arguments fit the tool's schema; an invalid schema rules nothing out."""
        try:
            return bool(Draft202012Validator(self.tool.parameters).is_valid(arguments))
        except UnknownType:
            return True


class BadTurn(NamedTuple):
    """A turn to try; `faulty` where each call in it is certainly a mistake."""

    action: Action
    faulty: bool = True


async def offers(observation: Observation) -> list[Offer]:
    """Return the tools on offer, each with arguments drawn from its schema."""
    found = []
    for tool in observation.tools:
        brief = Brief(env="any", task_id=tool.name, seed=0, limits=Limits())
        player = await RandomAgent().begin(brief)
        only = observation.model_copy(update={"tools": (tool,)})
        arguments = (await player.act(only)).action.tool_calls[0].arguments
        found.append(Offer(tool, arguments if isinstance(arguments, dict) else {}))
    return found


def unknown_tool(known: Sequence[Offer]) -> list[BadTurn]:
    """A call of a tool that is not on offer is answered with a fault."""
    return [_bad("no_such_tool", {}), _bad("", {}), _bad("__init__", {"task": {}})]


def wrong_types(known: Sequence[Offer]) -> list[BadTurn]:
    """An argument of a type that the schema rules out is answered with a fault."""
    turns = []
    for offer in known:
        for name in offer.tool.parameters.get("properties", {}):
            tries = ({**offer.arguments, name: value} for value in _WRONG)
            wrong = next((arguments for arguments in tries if not offer.accepts(arguments)), None)
            if wrong is not None:
                turns.append(_bad(offer.tool.name, wrong))
    return turns


def missing_arguments(known: Sequence[Offer]) -> list[BadTurn]:
    """A call without its required arguments is answered with a fault."""
    return [_bad(offer.tool.name, {}) for offer in known if not offer.accepts({})]


def extra_arguments(known: Sequence[Offer]) -> list[BadTurn]:
    """An argument the schema does not allow is answered with a fault."""
    tries = [(offer, {**offer.arguments, "no_such_argument": 1}) for offer in known]
    return [_bad(offer.tool.name, given) for offer, given in tries if not offer.accepts(given)]


def raw_arguments(known: Sequence[Offer]) -> list[BadTurn]:
    """Arguments that were not a JSON object are answered with a fault."""
    return [
        _bad(offer.tool.name, text) for offer in known for text in ('{"a": ', "", "[1, 2]", "null")
    ]


def long_text(known: Sequence[Offer]) -> list[BadTurn]:
    """A megabyte of words, name or argument is answered, a mistake without repeating it."""
    turns = [BadTurn(Action(text=MEGABYTE), faulty=False), _bad(MEGABYTE, {})]
    for offer in known:
        turns.append(_bad(offer.tool.name, MEGABYTE))
        extra = {**offer.arguments, MEGABYTE: 1}
        turns.append(_bad(offer.tool.name, extra, faulty=not offer.accepts(extra)))
        turns += [_bad(offer.tool.name, long, faulty=False) for long in _with_text(offer, MEGABYTE)]
    return turns


def odd_characters(known: Sequence[Offer]) -> list[BadTurn]:
    """NUL, control characters and lone surrogates are answered like any other text."""
    turns = [BadTurn(Action(text=ODD), faulty=False), _bad(ODD, {})]
    for offer in known:
        turns.append(_bad(offer.tool.name, ODD))
        turns += [_bad(offer.tool.name, odd, faulty=False) for odd in _with_text(offer, ODD)]
    return turns


def many_calls(known: Sequence[Offer]) -> list[BadTurn]:
    """Fifty calls in one turn are answered one by one, in order."""
    names = [offer.tool.name for offer in known] or ["no_such_tool"]
    calls = tuple(
        ToolCall(name=names[i % len(names)], arguments="not JSON", id=f"many_{i}")
        for i in range(CALLS_AT_ONCE)
    )
    return [BadTurn(Action(tool_calls=calls))]


def repeated_ids(known: Sequence[Offer]) -> list[BadTurn]:
    """Calls that share an id are answered one by one, in order."""
    twice = tuple(ToolCall(name=name, id="same") for name in ("no_such_tool", "nor_this"))
    return [BadTurn(Action(tool_calls=twice))]


BUILDERS: tuple[Callable[[Sequence[Offer]], list[BadTurn]], ...] = (
    unknown_tool,
    wrong_types,
    missing_arguments,
    extra_arguments,
    raw_arguments,
    long_text,
    odd_characters,
    many_calls,
    repeated_ids,
)


class MalformedAgent(Agent):
    """Makes every kind of mistake between random calls, seeded by the episode."""

    name = "malformed"

    async def begin(self, brief: Brief) -> Player:
        """Begin an episode of mistakes."""
        return _MalformedPlayer(await RandomAgent().begin(brief), f"{brief.task_id}:{brief.seed}")


class _MalformedPlayer(Player):
    def __init__(self, sensible: Player, seed: str) -> None:
        self._sensible = sensible
        self._rng = random.Random(seed)

    async def act(self, observation: Observation) -> Decision:
        if self._rng.random() < 0.3:
            return await self._sensible.act(observation)
        known = await offers(observation)
        tried = self._rng.choice([build for build in BUILDERS if build is not long_text])
        turns = tried(known) or [BadTurn(Action())]
        return Decision(action=self._rng.choice(turns).action)


def _bad(name: str, arguments: dict[str, Json] | str, *, faulty: bool = True) -> BadTurn:
    call = ToolCall(name=name, arguments=arguments)
    return BadTurn(Action(tool_calls=(call,)), faulty)


def _with_text(offer: Offer, text: str) -> list[dict[str, Any]]:
    """Return the tool's arguments with each one that is words replaced by a text."""
    return [
        {**offer.arguments, name: text}
        for name, value in offer.arguments.items()
        if isinstance(value, str)
    ]
