"""Games whose declaration or first turns are broken."""

from collections.abc import Sequence

from agentgym import (
    Message,
    Tool,
    ToolSpec,
    tool,
)
from tests.evaluation.games.sound import Sound


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
