"""Bytes both ways between a sandbox and a host, uninterpreted; and what ends when idle."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from agentgym.sandbox.egress.attempt import ProxyError
from agentgym.sandbox.egress.caller import Caller
from agentgym.sandbox.egress.upstream import Upstream

Beat = Callable[[], None]


@asynccontextmanager
async def idle_limit(seconds: float) -> AsyncIterator[Beat]:
    """End what runs inside when nothing has moved for some seconds.

    Yields:
        What is called whenever something has moved.

    Raises:
        ProxyError: Nothing has.
    """
    loop = asyncio.get_running_loop()
    limit = asyncio.timeout(seconds)

    def beat() -> None:
        if not limit.expired():
            limit.reschedule(loop.time() + seconds)

    try:
        async with limit:
            yield beat
    except TimeoutError:
        raise ProxyError(504, f"nothing moved for {seconds:g} s", "allowed") from None


async def together(first: Coroutine[Any, Any, None], second: Coroutine[Any, Any, None]) -> None:
    """Run both to their ends; where one fails the other is stopped and the failure raised."""
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(first)
            group.create_task(second)
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None


async def tunnel(caller: Caller, upstream: Upstream, *, idle: float) -> None:
    """Pass bytes both ways until both directions have ended.

    Args:
        caller: The sandbox's end; its request has been answered.
        upstream: The host's end.
        idle: Seconds in which something has to move, in either direction.

    Raises:
        ProxyError: The host broke off, or nothing moved.
        DroppedError: The sandbox dropped the connection.
    """
    async with idle_limit(idle) as beat:
        await together(_up(caller, upstream, beat), _down(caller, upstream, beat))


async def _up(caller: Caller, upstream: Upstream, beat: Beat) -> None:
    data = caller.early_data() or await caller.read()
    while data:
        beat()
        await upstream.write(data)
        beat()
        data = await caller.read()
    upstream.write_eof()


async def _down(caller: Caller, upstream: Upstream, beat: Beat) -> None:
    while data := await upstream.read():
        beat()
        await caller.write(data)
        beat()
    await caller.write_eof()
