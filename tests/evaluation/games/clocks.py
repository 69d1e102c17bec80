"""Games that are another one each time they are played."""

import os
import random
import time
from collections.abc import Sequence

from agentgym import (
    Message,
    tool,
)
from tests.evaluation.games.sound import Sound

COLOURS = frozenset({"red", "green", "blue", "amber", "violet", "teal", "ochre", "pink"})


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
