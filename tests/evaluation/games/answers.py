"""Games that answer the model's mistakes wrongly."""

from collections.abc import Sequence
from typing import Any

from agentgym import (
    Action,
    Message,
    Transition,
    tool,
)
from tests.evaluation.games.sound import Sound


def _edited(action: Action, arguments: Any) -> Action:
    calls = tuple(c.model_copy(update={"arguments": arguments(c)}) for c in action.tool_calls)
    return action.model_copy(update={"tool_calls": calls})


class TrustsNames(Sound):
    async def step(self, action: Action) -> Transition:
        for made in action.tool_calls:
            getattr(self, made.name)
        return await super().step(action)


class GuessesTypes(Sound):
    async def step(self, action: Action) -> Transition:
        def arguments(made: Any) -> Any:
            given = made.arguments
            if made.name == "push" and isinstance(given, dict) and "amount" in given:
                return {**given, "amount": 1}
            return given

        return await super().step(_edited(action, arguments))


class FillsIn(Sound):
    async def step(self, action: Action) -> Transition:
        def arguments(made: Any) -> Any:
            empty = made.name == "push" and made.arguments == {}
            return {"amount": 1} if empty else made.arguments

        return await super().step(_edited(action, arguments))


class DropsExtras(Sound):
    async def step(self, action: Action) -> Transition:
        def arguments(made: Any) -> Any:
            if isinstance(made.arguments, str):
                return made.arguments
            return {k: v for k, v in made.arguments.items() if k in ("amount", "text", "word")}

        return await super().step(_edited(action, arguments))


class TakesRawText(Sound):
    async def step(self, action: Action) -> Transition:
        def arguments(made: Any) -> Any:
            raw = made.name == "push" and isinstance(made.arguments, str)
            return {"amount": 1} if raw else made.arguments

        return await super().step(_edited(action, arguments))


class RepeatsEverything(Sound):
    async def step(self, action: Action) -> Transition:
        found = await super().step(action)
        echo = f"What is {action.tool_calls}?"
        if not found.observation.faults or len(echo) < 10_000:
            return found
        told = found.observation.messages[0].model_copy(update={"content": echo})
        observation = found.observation.model_copy(update={"messages": (told,)})
        return found.model_copy(update={"observation": observation})


class BreaksOnNul(Sound):
    @tool
    async def note(self, text: str) -> str:
        """Write a note."""
        if "\0" in text:
            raise ValueError("embedded null byte")
        return await super().note(text)


class AnswersTenCalls(Sound):
    async def step(self, action: Action) -> Transition:
        few = action.model_copy(update={"tool_calls": action.tool_calls[:10]})
        return await super().step(few)


class MergesEqualIds(Sound):
    async def step(self, action: Action) -> Transition:
        merged = tuple({made.id: made for made in action.tool_calls}.values())
        return await super().step(action.model_copy(update={"tool_calls": merged}))


class AnswersSilence(Sound):
    async def reply(self, text: str) -> str | Sequence[Message]:
        if not text:
            return "Go on."
        return await super().reply(text)


class AnswersLateCalls(Sound):
    async def step(self, action: Action) -> Transition:
        found = await super().step(action)
        messages = tuple(
            message.model_copy(update={"fault": None}) if message.fault == "over" else message
            for message in found.observation.messages
        )
        observation = found.observation.model_copy(update={"messages": messages})
        return found.model_copy(update={"observation": observation})
