"""One sound environment, and many that each break one promise of the protocol.

The game: push a counter, write notes, and submit a word that only the private part holds.
"""

import os
import random
import time
from collections.abc import Generator, Sequence
from typing import Any, ClassVar

import anyio

from agentgym import (
    Action,
    Message,
    Observation,
    Reward,
    Snapshot,
    Task,
    Tool,
    ToolEnvironment,
    ToolError,
    ToolSpec,
    Transition,
    call,
    tool,
)
from agentgym.types import Frozen

COLOURS = frozenset({"red", "green", "blue", "amber", "violet", "teal", "ochre", "pink"})


class Public(Frozen):
    riddle: str
    hints: list[str]


class Private(Frozen):
    answer: str
    numbers: dict[str, list[int]]


def oracle(
    task: Task[Public, Private], observation: Observation
) -> Generator[Action, Observation, None]:
    yield call("push", amount=3)
    yield call("note", text="almost there")
    yield call("submit", word=task.private.answer)


def raising_oracle(
    task: Task[Public, Private], observation: Observation
) -> Generator[Action, Observation, None]:
    raise LookupError("no plan")


class Sound(ToolEnvironment[Public, Private]):
    """Keeps every promise."""

    async def setup(self) -> str | Sequence[Message]:
        self.total = 0
        self.notes: list[str] = []
        self.word = ""
        return self.task.public.riddle

    @tool
    async def push(self, amount: int) -> str:
        """Push the counter by up to this amount."""
        self.total += amount + self.rng.randrange(3)
        return f"The counter is at {self.total}."

    @tool
    async def note(self, text: str) -> str:
        """Write a note."""
        self.notes.append(text[:20])
        return f"Note {len(self.notes)} is written."

    @tool
    async def submit(self, word: str) -> str:
        """Submit the word; this ends the game."""
        if not word:
            raise ToolError("A word has letters.")
        self.word = word
        self.finish()
        return "Thank you."

    async def grade(self) -> Reward:
        return Reward(value=float(self.word == self.task.private.answer))

    async def save(self) -> Any:
        return {"total": self.total, "notes": self.notes, "word": self.word}

    async def load(self, state: Any) -> None:
        self.total, self.notes, self.word = state["total"], state["notes"], state["word"]


# Declaration.


class Undescribed(Sound):
    def tools(self) -> Sequence[Tool]:
        async def mystery(size: int) -> str:
            return str(size)

        return [*super().tools(), Tool(mystery)]


class InvalidSchema(Sound):
    def tools(self) -> Sequence[Tool]:
        offered = list(super().tools())
        wrong = {"type": "object", "properties": {"amount": {"type": "integre"}}}
        offered[0].spec = ToolSpec(name="push", description="Push.", parameters=wrong)
        return offered


# Episodes.


class SilentOpening(Sound):
    async def setup(self) -> str | Sequence[Message]:
        await super().setup()
        return " "


class FavouriteSeed(Sound):
    async def setup(self) -> str | Sequence[Message]:
        if self.seed != 0:
            raise ValueError("only seed 0")
        return await super().setup()


class BreaksOnSilence(Sound):
    async def reply(self, text: str) -> str | Sequence[Message]:
        if not text:
            raise ValueError("no words")
        return await super().reply(text)


class BreaksOnOddNumbers(Sound):
    @tool
    async def push(self, amount: int) -> str:
        """Push the counter by up to this amount."""
        if amount > 3:
            raise ZeroDivisionError
        return await super().push(amount)


# Determinism.


class WallClock(Sound):
    @tool
    async def note(self, text: str) -> str:
        """Write a note."""
        return f"Written at {time.time_ns()}."


class LocalTime(Sound):
    async def setup(self) -> str | Sequence[Message]:
        await super().setup()
        return f"Your clock is {time.localtime().tm_gmtoff} seconds off."


class GlobalRandom(Sound):
    @tool
    async def note(self, text: str) -> str:
        """Write a note."""
        return f"Written on page {random.random()}."


class HashOrder(Sound):
    async def setup(self) -> str | Sequence[Message]:
        await super().setup()
        return f"The colours are {' '.join(COLOURS)}."


class ProcessNumber(Sound):
    @tool
    async def note(self, text: str) -> str:
        """Write a note."""
        return f"Written by {os.getpid()}."


# State.


class Remembers(Sound):
    games = 0

    async def setup(self) -> str | Sequence[Message]:
        self.games += 1
        await super().setup()
        return f"This is your game number {self.games}."


class ClearsAtTheEndOnly(Sound):
    total = 0

    async def setup(self) -> str | Sequence[Message]:
        kept = self.total
        opening = await super().setup()
        self.total = kept
        return opening

    @tool
    async def submit(self, word: str) -> str:
        """Submit the word; this ends the game."""
        answer = await super().submit(word)
        self.total = 0
        return answer


class MarksTheTask(Sound):
    async def setup(self) -> str | Sequence[Message]:
        self.task.public.hints.append("seen")
        return await super().setup()


class ClosesOnce(Sound):
    closed = False

    async def close(self) -> None:
        if self.closed:
            raise RuntimeError("already closed")
        self.closed = True


class ClosesAfterResetOnly(Sound):
    async def close(self) -> None:
        self.notes.clear()


class HangsWhenUnused(Sound):
    async def close(self) -> None:
        if not hasattr(self, "notes"):
            await anyio.sleep_forever()


class StepsWithoutReset(Sound):
    async def step(self, action: Action) -> Transition:
        if not hasattr(self, "task"):
            return Transition(observation=Observation(messages=()))
        return await super().step(action)


class StepsAfterTheEnd(Sound):
    last: Transition | None = None

    async def reset(self, task: Task[Any, Any], *, seed: int) -> Observation:
        self.last = None
        return await super().reset(task, seed=seed)

    async def step(self, action: Action) -> Transition:
        if self.last is not None and self.last.over:
            return self.last
        self.last = await super().step(action)
        return self.last

    async def restore(self, snapshot: Snapshot) -> Observation:
        self.last = None
        return await super().restore(snapshot)


# Bad actions.


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


# Fingerprints.


class CountsFingerprints(Sound):
    async def setup(self) -> str | Sequence[Message]:
        self.asked = 0
        return await super().setup()

    async def fingerprint(self) -> str:
        self.asked += 1
        return f"{await super().fingerprint()}{self.asked}"


class FingerprintsItself(Sound):
    async def fingerprint(self) -> str:
        return f"{await super().fingerprint()}{id(self)}"


class ConstantFingerprint(Sound):
    async def fingerprint(self) -> str:
        return "the same"


class SavesNothing(ToolEnvironment[Public, Private]):
    """Declares fingerprint and snapshot, and has neither."""

    async def setup(self) -> str:
        return self.task.public.riddle

    @tool
    async def push(self, amount: int) -> str:
        """Push."""
        return "Pushed."

    @tool
    async def note(self, text: str) -> str:
        """Write a note."""
        return "Noted."

    @tool
    async def submit(self, word: str) -> str:
        """Submit the word."""
        self.right = word == self.task.private.answer
        self.finish()
        return "Thank you."

    async def grade(self) -> Reward:
        return Reward(value=float(getattr(self, "right", False)))


# Snapshots.


class LoadsHalf(Sound):
    async def load(self, state: Any) -> None:
        await super().load({**state, "total": -1})


class SnapshotCosts(Sound):
    async def snapshot(self) -> Snapshot:
        self.total += 1000
        return await super().snapshot()


class SharesItsNotes(Sound):
    """Its snapshots hold the very list that later steps append to."""

    async def snapshot(self) -> Snapshot:
        taken = await super().snapshot()
        return taken.model_copy(update={"state": (taken.state, self.notes)})

    async def restore(self, snapshot: Snapshot) -> Observation:
        state, notes = snapshot.state
        observation = await super().restore(snapshot.model_copy(update={"state": state}))
        self.notes = notes
        return observation


class CannotBePickled(Sound):
    async def snapshot(self) -> Snapshot:
        taken = await super().snapshot()
        return taken.model_copy(update={"state": (taken.state, lambda: None)})

    async def restore(self, snapshot: Snapshot) -> Observation:
        return await super().restore(snapshot.model_copy(update={"state": snapshot.state[0]}))


# Privacy.


class TellsTheAnswer(Sound):
    async def setup(self) -> str | Sequence[Message]:
        await super().setup()
        return f"Do not say {self.task.private.answer}."


class TellsTheNumbers(Sound):
    async def reply(self, text: str) -> str | Sequence[Message]:
        raise ToolError(f"Think of {self.task.private.numbers}.")


class TellsTheCanary(Sound):
    async def reply(self, text: str) -> str | Sequence[Message]:
        raise ToolError("The canary is canary-5d1f0c.")


# Rewards.


class GradesSeven(Sound):
    async def grade(self) -> Reward:
        return Reward(value=7 * (await super().grade()).value)


class GradesNothing(Sound):
    async def grade(self) -> Reward:
        return Reward.model_construct(value=float("nan"))


class GradeMoves(Sound):
    async def grade(self) -> Reward:
        self.total += 1
        return await super().grade()


class NeverPleased(Sound):
    async def grade(self) -> Reward:
        return Reward(value=0.0)


class AlwaysPleased(Sound):
    async def grade(self) -> Reward:
        return Reward(value=1.0)


class PleasedByAnyWord(Sound):
    async def grade(self) -> Reward:
        return Reward(value=float(self.total > 0))


# Isolation.


class SharedTotal(Sound):
    shared: ClassVar[dict[str, int]] = {"total": 0}

    async def setup(self) -> str | Sequence[Message]:
        self.shared["total"] = 0
        return await super().setup()

    @tool
    async def push(self, amount: int) -> str:
        """Push the counter by up to this amount."""
        self.shared["total"] += amount
        return f"The counter is at {self.shared['total']}."

    async def save(self) -> Any:
        return {**await super().save(), "total": self.shared["total"]}

    async def load(self, state: Any) -> None:
        await super().load(state)
        self.shared["total"] = state["total"]


class SeedsGlobalRandom(Sound):
    async def setup(self) -> str | Sequence[Message]:
        random.seed(f"{self.task.id}:{self.seed}")
        return await super().setup()

    @tool
    async def push(self, amount: int) -> str:
        """Push the counter by up to this amount."""
        return f"The counter was pushed by {random.random()}."

    async def save(self) -> Any:
        return {**await super().save(), "random": random.getstate()}

    async def load(self, state: Any) -> None:
        await super().load(state)
        random.setstate(state["random"])
