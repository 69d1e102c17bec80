"""Games that leave something behind, or take calls out of order."""

from collections.abc import Sequence
from typing import Any

import anyio

from agentgym import (
    Action,
    Message,
    Observation,
    Snapshot,
    Task,
    Transition,
    tool,
)
from tests.evaluation.games.sound import Sound


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
