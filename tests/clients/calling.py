"""What the tests of the chat clients share."""

import asyncio
from typing import Any

from agentgym.clients import ChatRequest


def ask(text: str = "hello", **options: Any) -> ChatRequest:
    return ChatRequest(model="openai/fake", messages=[{"role": "user", "content": text}], **options)


class Clock:
    """Time that passes only when someone sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)
