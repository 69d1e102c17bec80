"""The game that keeps every promise; its neighbours each break one or a few.

The game: push a counter, write notes, and submit a word that only the private part holds.
"""

from collections.abc import Generator, Sequence
from typing import Any

from agentgym import (
    Action,
    Message,
    Observation,
    Reward,
    Task,
    ToolEnvironment,
    ToolError,
    call,
    tool,
)
from agentgym.types import Frozen


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
