"""An environment that can go back: a ladder whose rungs are climbed in order."""

import re
from typing import Any

from agentgym import EnvSpec, Reward, Task, TaskSet, ToolEnvironment, tool
from agentgym.tasks import TaskSetInfo
from agentgym.training.vocabulary import make_tokenizer
from agentgym.types import Json


class Ladder(ToolEnvironment):
    """Climb three rungs in order; a wrong one ends the episode."""

    async def setup(self) -> str:
        self.height = 0
        return "Climb."

    @tool
    async def climb(self, rung: int) -> str:
        """Climb to a rung.

        Args:
            rung: Which.
        """
        if rung == self.height + 1:
            self.height += 1
            self.reward(0.1)
        if rung != self.height or self.height == 3:
            self.finish()
        return f"You are on rung {self.height}."

    async def grade(self) -> Reward:
        return Reward(value=float(self.height == 3), feedback="Take one rung after the other.")

    async def save(self) -> Json:
        return self.height

    async def load(self, state: Json) -> None:
        self.height = state


RUNGS: Task[Any, Any] = Task(id="ladder", public={}, private={})

LADDER = EnvSpec(
    name="ladder",
    entry_point="tests.training.ladder:Ladder",
    description="Climb a ladder.",
    capabilities=frozenset({"fingerprint", "snapshot"}),
    max_turns=8,
)


def ladder_tokenizer() -> Any:
    """Return a tokenizer with one token for each call, and the words of the ladder."""
    pattern = r"climb\[\d\]|\w+|[^\w\s]|\s"
    met = "Climb.You are on rung 0123.This attempt failed.climb[1]climb[2]climb[3]"
    return make_tokenizer(sorted({*re.findall(pattern, met), *"0123"}), pattern=pattern)


def ladders(count: int = 1) -> TaskSet:
    """Return tasks that are all alike."""
    info = TaskSetInfo(name="ladders", environment=LADDER.name, licence="MIT")
    tasks = [RUNGS.model_copy(update={"id": f"ladder-{number}"}) for number in range(count)]
    return TaskSet(info, tasks, "ladders")
