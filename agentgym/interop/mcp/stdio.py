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


async def serve_stdio(server: Server[Any]) -> signal.Signals | None:
    """Serve until the client closes standard input, or a signal asks to end.

    A read of standard input cannot be broken off: after a signal one is still under way, and
    only the end of the process ends it.

    Returns:
        The signal; None where the client has left.
    """
    asked = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(_serve(server))
    with _signals_to(asked):
        await asyncio.wait({serving, asked}, return_when=asyncio.FIRST_COMPLETED)
    if not asked.done():
        await serving
        return None
    asked_by: signal.Signals = asked.result()
    return asked_by


async def _serve(server: Server[Any]) -> None:
    async with (
        server.lifespan(server) as state,
        stdio_server() as (received, sent),
    ):
        await serve_loop(server, received, sent, lifespan_state=state)


@contextmanager
def _signals_to(asked: "asyncio.Future[signal.Signals]") -> Iterator[None]:
    loop = asyncio.get_running_loop()

    def ask(number: signal.Signals) -> None:
        if not asked.done():
            asked.set_result(number)

    for number in SIGNALS:
        loop.add_signal_handler(number, ask, number)
    try:
        yield
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)
