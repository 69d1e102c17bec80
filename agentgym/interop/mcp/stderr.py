"""The end of what a process says on standard error, kept for the message of an error."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TextIO

KEPT = 2000
"""Bytes."""


class Tail(asyncio.Protocol):
    """Keeps the last bytes of a pipe.

    Attributes:
        ended: Set once nobody can write to the pipe any more.
    """

    def __init__(self) -> None:
        self.ended = asyncio.Event()
        self._kept = b""

    @property
    def text(self) -> str:
        """What is kept, on one line."""
        return " ".join(self._kept.decode("utf-8", "replace").split())

    def data_received(self, data: bytes) -> None:
        """Keep the end."""
        self._kept = (self._kept + data)[-KEPT:]

    def connection_lost(self, exc: Exception | None) -> None:
        """Take note of the end."""
        self.ended.set()


@asynccontextmanager
async def piped(tail: Tail) -> AsyncIterator[TextIO]:
    """Give the file that a process is to write to; close it once the process has it."""
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as file:
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_read_pipe(lambda: tail, os.fdopen(reading, "rb"))
        try:
            yield file
        finally:
            transport.close()
