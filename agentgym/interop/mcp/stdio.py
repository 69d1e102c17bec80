"""Serving one client over standard input and output."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mcp.server import Server
from mcp.server.runner import serve_loop
from mcp.server.stdio import stdio_server

SIGNALS = (signal.SIGINT, signal.SIGTERM)


async def serve_stdio(server: Server[Any], asked: "asyncio.Future[signal.Signals]") -> None:
    """Serve until the client closes standard input, or a signal asks to end.

    A read of standard input cannot be broken off: after a signal one is still under way, and
    only the end of the process ends it.

    Args:
        server: What the client talks to.
        asked: From `asked_to_end`.
    """
    serving = asyncio.create_task(_serve(server))
    either: set[asyncio.Future[Any]] = {serving, asked}
    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    if not asked.done():
        await serving


@contextmanager
def asked_to_end() -> "Iterator[asyncio.Future[signal.Signals]]":
    """Give a future that holds the first signal that asks to end; none ends the process."""
    loop = asyncio.get_running_loop()
    asked: asyncio.Future[signal.Signals] = loop.create_future()

    def ask(number: signal.Signals) -> None:
        if not asked.done():
            asked.set_result(number)

    for number in SIGNALS:
        loop.add_signal_handler(number, ask, number)
    try:
        yield asked
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)


async def _serve(server: Server[Any]) -> None:
    async with (
        server.lifespan(server) as state,
        stdio_server() as (received, sent),
    ):
        await serve_loop(server, received, sent, lifespan_state=state)
