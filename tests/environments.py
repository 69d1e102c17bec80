"""Small environments for the tests of the core, and the tasks they play."""

import asyncio
import base64
import json
import threading
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel

from agentgym import (
    Action,
    EnvSpec,
    ImagePart,
    Message,
    Observation,
    Reward,
    Task,
    TextPart,
    Tool,
    ToolEnvironment,
    ToolError,
    Transition,
    call,
    tool,
)
from agentgym.types import Json

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)


class CounterPublic(BaseModel):
    target: int


class CounterPrivate(BaseModel):
    answer: str = ""


class CounterEnvironment(ToolEnvironment[CounterPublic, CounterPrivate]):
    """Bring a counter to the target and submit.

    Args:
        start: What the counter shows at first.
    """

    def __init__(self, start: int = 0) -> None:
        self.start = start
        self.count = start

    async def setup(self) -> str:
        self.count = self.start
        return f"Count to {self.task.public.target}."

    @tool
    async def add(self, amount: int) -> str:
        """Add to the counter.

        Args:
            amount: How much.
        """
        if amount < 0:
            raise ToolError("The counter only goes up.")
        self.count += amount
        return f"The counter shows {self.count}."

    @tool
    async def roll(self) -> str:
        """Add the throw of a die."""
        self.count += self.rng.randint(1, 6)
        return f"The counter shows {self.count}."

    @tool
    def submit(self) -> str:
        """Submit what the counter shows."""
        self.finish()
        return "Submitted."

    async def grade(self) -> Reward:
        return Reward(value=float(self.count == self.task.public.target))

    async def save(self) -> Json:
        return {"count": self.count}

    async def load(self, state: Json) -> None:
        self.count = state["count"]


def counter_oracle(
    task: Task[CounterPublic, CounterPrivate], observation: Observation
) -> Generator[Action, Observation, None]:
    """Solve a task of the counter."""
    yield call("add", amount=task.public.target)
    yield call("submit")


COUNTER = EnvSpec(
    name="test-counter",
    entry_point="tests.environments:CounterEnvironment",
    description="Count to a target.",
    oracle="tests.environments:counter_oracle",
    capabilities=frozenset({"fingerprint", "snapshot"}),
    max_turns=6,
)


def counter_task(number: int = 1, **changes: Json) -> Task[CounterPublic, CounterPrivate]:
    """Return a counter task; its target is its number."""
    private = CounterPrivate(answer=f"private-{number}")
    return Task[CounterPublic, CounterPrivate](
        id=f"count-{number}", public=CounterPublic(target=number), private=private, **changes
    )


def write_counter_tasks(folder: Path, count: int) -> Path:
    """Write `count` counter tasks as a lone `tasks.jsonl` and return its path."""
    path = folder / "tasks.jsonl"
    lines = [json.dumps(counter_task(number).model_dump()) for number in range(1, count + 1)]
    path.write_text("\n".join(lines) + "\n")
    return path


class PacedEnvironment(CounterEnvironment):
    """A counter whose every step takes a moment."""

    async def step(self, action: Action) -> Transition:
        await asyncio.sleep(0.005)
        return await super().step(action)


class BlockingEnvironment(CounterEnvironment):
    """A counter with a tool that blocks its thread.

    Args:
        gate: What the tool waits for.
        entered: Set when the tool has begun to wait.
    """

    def __init__(self, gate: threading.Event, entered: threading.Event | None = None) -> None:
        super().__init__()
        self.gate = gate
        self.entered = entered or threading.Event()

    @tool
    def block(self) -> str:
        """Wait for the gate, on the thread that called."""
        self.entered.set()
        self.gate.wait()
        return "The gate is open."


@dataclass
class Breakage:
    """Where and how often environments break.

    Attributes:
        times: How many of the next calls raise, by place: make, setup, tool, grade,
            fingerprint, close.
        error: Makes what is raised.
        made: Environments made so far.
        closed: Calls of close so far.
    """

    times: Counter[str]
    error: Callable[[], BaseException]
    made: int = 0
    closed: int = 0
    calls: list[str] = field(default_factory=list)

    def strike(self, place: str) -> None:
        self.calls.append(place)
        if self.times[place] > 0:
            self.times[place] -= 1
            raise self.error()


class BreakingEnvironment(CounterEnvironment):
    """A counter that breaks where it is told to.

    Args:
        breakage: Where; shared by every environment of a run.
    """

    def __init__(self, breakage: Breakage) -> None:
        super().__init__()
        breakage.made += 1
        self.breakage = breakage
        breakage.strike("make")

    async def setup(self) -> str:
        self.breakage.strike("setup")
        return await super().setup()

    def tools(self) -> Sequence[Tool]:
        return [Tool(self.add), Tool(self.submit), Tool(self.breaking)]

    @tool
    async def breaking(self) -> str:
        """Break, or not."""
        self.breakage.strike("tool")
        return "Nothing broke."

    async def grade(self) -> Reward:
        self.breakage.strike("grade")
        return await super().grade()

    async def fingerprint(self) -> str:
        self.breakage.strike("fingerprint")
        return await super().fingerprint()

    async def close(self) -> None:
        self.breakage.closed += 1
        self.breakage.strike("close")


class DenseEnvironment(CounterEnvironment):
    """A counter that rewards every step and grades by a formula.

    Args:
        grades: What `grade` gives, by the counter; the counter itself where it says nothing.
    """

    def __init__(self, grades: dict[int, float] | None = None) -> None:
        super().__init__()
        self.grades = grades or {}

    @tool
    async def earn(self, amount: float) -> str:
        """Earn a dense reward.

        Args:
            amount: Of so much.
        """
        self.reward(amount, earned=amount, calls=1)
        return "ok"

    async def grade(self) -> Reward:
        return Reward(value=self.grades.get(self.count, float(self.count)), labels={"by": "count"})


class RoomEnvironment(ToolEnvironment):
    """Tools come and go with the room the agent is in, and one of them shows a picture."""

    async def setup(self) -> Sequence[Message]:
        self.inside = False
        words = TextPart(text="You stand before a door.")
        return [
            Message(role="system", content="Doors can be opened."),
            Message(role="user", content=(words, ImagePart.from_bytes(PNG))),
        ]

    def tools(self) -> Sequence[Tool]:
        return [Tool(self.look), Tool(self.leave)] if self.inside else [Tool(self.enter)]

    def enter(self) -> None:
        """Go in."""
        self.inside = True

    def look(self) -> list[TextPart | ImagePart]:
        """Look around."""
        return [TextPart(text="A picture:"), ImagePart.from_bytes(PNG)]

    def leave(self) -> str:
        """Go out, which is the end."""
        self.inside = False
        self.finish()
        return "Outside."

    async def reply(self, text: str) -> str:
        if not text:
            raise ToolError("Say something.")
        return f"An echo: {text}"

    async def grade(self) -> Reward:
        return Reward(value=1.0)
