"""A toy that a micro model learns in seconds: press the button of the colour that is shown."""

import asyncio
from typing import Any, Literal

import torch
from pydantic import BaseModel

from agentgym import EnvSpec, Reward, Task, TaskSet, ToolEnvironment, ToolError, tool
from agentgym.env import Environment
from agentgym.errors import EnvironmentLostError
from agentgym.tasks import TaskSetInfo
from agentgym.training.config import ModelConfig
from agentgym.training.micro import make_model
from agentgym.training.recipes.base import Wrapper
from agentgym.training.vocabulary import make_tokenizer
from agentgym.types import Action, Json, Observation, Transition

COLOURS = ("red", "green", "blue")
Colour = Literal["red", "green", "blue"]

CALLS = (
    '<tool_call>{"name": "look", "arguments": {}}</tool_call>',
    *(
        f'<tool_call>{{"name": "press", "arguments": {{"colour": "{colour}"}}}}</tool_call>'
        for colour in COLOURS
    ),
)
BRACKETS = ("look[]", *(f"press[{colour}]" for colour in COLOURS))
PATTERN = r"<tool_call>.*?</tool_call>|\w+\[\w*\]|\w+|[^\w\s]|\s"


class NoPublic(BaseModel):
    """The agent is told nothing of a task but what it sees."""


class ButtonPrivate(BaseModel):
    colours: tuple[Colour, ...]


class ButtonEnvironment(ToolEnvironment[NoPublic, ButtonPrivate]):
    """Press the button of the colour that is shown, some times in a row."""

    async def setup(self) -> str:
        self.pressed: list[str] = []
        return self.shown()

    def shown(self) -> str:
        return self.task.private.colours[len(self.pressed)]

    @tool
    async def look(self) -> str:
        """Look which button is meant."""
        return self.shown()

    @tool
    async def press(self, colour: Colour) -> str:
        """Press a button.

        Args:
            colour: The button's.
        """
        self.pressed.append(colour)
        if len(self.pressed) == len(self.task.private.colours):
            self.finish()
            return "done"
        return self.shown()

    async def reply(self, text: str) -> str:
        raise ToolError("what")

    async def grade(self) -> Reward:
        pairs = zip(self.pressed, self.task.private.colours, strict=False)
        right = sum(pressed == colour for pressed, colour in pairs)
        return Reward(
            value=right / len(self.task.private.colours),
            components={"pressed": float(len(self.pressed))},
        )

    async def save(self) -> Json:
        return self.pressed


class Waiting(Wrapper):
    """Waits in every step, and counts how many wait at once.

    Args:
        inner: The environment that is played.
        seen: The counts: `now`, `most` so far, and the `rounds` of waiting.
    """

    def __init__(self, inner: Environment, seen: dict[str, int]) -> None:
        super().__init__(inner)
        self.seen = seen

    async def step(self, action: Action) -> Transition:
        self.seen["rounds"] += self.seen["now"] == 0
        self.seen["now"] += 1
        self.seen["most"] = max(self.seen["most"], self.seen["now"])
        await asyncio.sleep(0.1)
        self.seen["now"] -= 1
        return await super().step(action)


class Failing(Wrapper):
    """Is lost in the first step, in some tasks, so many times.

    Args:
        inner: The environment that is played.
        times: How often it is still lost, by task.
    """

    def __init__(self, inner: Environment, times: dict[str, int]) -> None:
        super().__init__(inner)
        self.times = times

    async def reset(self, task: Task[Any, Any], *, seed: int) -> Observation:
        self.task_id = task.id
        return await super().reset(task, seed=seed)

    async def step(self, action: Action) -> Transition:
        if self.times.get(self.task_id, 0):
            self.times[self.task_id] -= 1
            raise EnvironmentLostError("The buttons burnt.")
        return await super().step(action)


BUTTONS = EnvSpec(
    name="buttons",
    entry_point="tests.training.buttons:ButtonEnvironment",
    description="Press the right button.",
    capabilities=frozenset({"fingerprint"}),
    max_turns=3,
)


def button_tasks(count: int = 3, presses: int = 2) -> TaskSet:
    """Return tasks of so many presses, the colours in turn."""
    tasks = [
        Task[NoPublic, ButtonPrivate](
            id=f"button-{number}",
            public=NoPublic(),
            private=ButtonPrivate(
                colours=tuple(COLOURS[(number + turn) % 3] for turn in range(presses))
            ),
        )
        for number in range(count)
    ]
    info = TaskSetInfo(name="buttons", environment=BUTTONS.name, licence="MIT")
    return TaskSet(info, tasks, "buttons")


def button_tokenizer(calls: tuple[str, ...] = BRACKETS) -> Any:
    """Return a tokenizer with one token for each call."""
    words = (*calls, *COLOURS, "done", "what", "Error", ":", " ")
    return make_tokenizer(words, pattern=PATTERN)


def button_model(tokenizer: Any, seed: int = 0) -> Any:
    """Return a model of some 133 thousand parameters with random weights."""
    torch.set_num_threads(1)
    return make_model(ModelConfig(hidden_size=64, layers=2, context=256), tokenizer, seed=seed)
