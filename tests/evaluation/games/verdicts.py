"""Games that tell secrets, grade wrongly or disturb each other."""

import random
from collections.abc import Sequence
from typing import Any, ClassVar

from agentgym import (
    Message,
    Reward,
    ToolError,
    tool,
)
from tests.evaluation.games.sound import Sound


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
