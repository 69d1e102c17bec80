"""A connection to somebody's MCP server: every way it can fail is one of our errors."""

import asyncio
import logging
from collections.abc import Awaitable, Iterator, Mapping
from contextlib import AsyncExitStack, suppress
from typing import TypeVar

from anyio import BrokenResourceError, ClosedResourceError
from jsonschema import Draft202012Validator, SchemaError
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.session import IncomingMessage
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    PARSE_ERROR,
    REQUEST_TIMEOUT,
    CallToolResult,
    Tool,
)
from pydantic import ValidationError

from agentgym.errors import (
    EnvironmentLostError,
    EnvironmentMalformedError,
    EnvironmentTimeoutError,
    EpisodeError,
    ToolError,
)
from agentgym.interop.mcp.stderr import Tail, piped
from agentgym.types import Json, ToolSpec

ResultT = TypeVar("ResultT")

MOST_TOOLS = 1000
CLOSE_S = 15.0
_SOON_S = 1.0
_LOST = {CONNECTION_CLOSED, REQUEST_TIMEOUT}
_BROKEN = {PARSE_ERROR, INVALID_REQUEST, INTERNAL_ERROR}
"""Error codes that no call of a tool can be to blame for."""

# What the SDK logs there, tracebacks included, is in the message of one of our errors.
for _name in ("client", "mcp.client"):
    logging.getLogger(_name).addHandler(logging.NullHandler())


class ServerConnection:
    """A session with a server, in a process of its own or at a URL.

    It lives in a task of its own, so that it can be opened, used and closed by different tasks,
    and goes down in one piece.

    Args:
        server: How to start it, or its URL.
        timeout_s: Seconds for the start, and for each request.
    """

    def __init__(self, server: StdioServerParameters | str, *, timeout_s: float) -> None:
        self._server = server
        self._timeout_s = timeout_s
        self._tail = Tail()
        self._noise = ""
        self._closing = asyncio.Event()
        self._opened: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._living = asyncio.create_task(self._live())

    async def open(self) -> str:
        """Wait for the handshake and return the server's instructions, empty without any.

        Raises:
            EpisodeError: There was none.
        """
        client = await self._ask("the handshake", self._opened)
        return client.instructions or ""

    @property
    def changes_tools(self) -> bool:
        """Whether the server says that its tools may change."""
        capability = self._opened.result().server_capabilities.tools
        return capability is not None and bool(capability.list_changed)

    async def tools(self) -> list[ToolSpec]:
        """Return every tool, however many pages they come in.

        Raises:
            EpisodeError: The server does not answer, or not with tools that can be offered.
        """
        found: dict[str, ToolSpec] = {}
        cursor: str | None = None
        cursors: set[str | None] = set()
        while cursor not in cursors and len(found) <= MOST_TOOLS:
            cursors.add(cursor)
            page = await self._ask(
                "listing its tools", self._opened.result().list_tools(cursor=cursor)
            )
            for tool in page.tools:
                if tool.name in found:
                    raise self._malformed(f"offers two tools named {tool.name!r}")
                found[tool.name] = self._spec(tool)
            cursor = page.next_cursor
            if cursor is None:
                return list(found.values())
        raise self._malformed("does not come to the end of its tools")

    async def call(self, name: str, arguments: Mapping[str, Json]) -> CallToolResult:
        """Call a tool.

        Raises:
            ToolError: The server refused the call.
            EpisodeError: It did not answer it.
        """
        asking = self._opened.result().call_tool(name, dict(arguments))
        try:
            return await self._ask(f"tool {name}", asking)
        except MCPError as error:
            raise ToolError(error.message) from None

    async def close(self) -> None:
        """End the session and the server's process; may be called twice."""
        self._closing.set()
        if not self._opened.done() or self._opened.cancelled():  # the handshake waits for nothing
            self._living.cancel()
        await asyncio.wait({self._living}, timeout=CLOSE_S)
        if self._living.done() and not self._living.cancelled():
            self._living.exception()  # whoever needed the connection has been told

    async def _live(self) -> None:
        async with AsyncExitStack() as stack:
            if isinstance(self._server, str):
                client = Client(self._server, mode="legacy", cache=None, message_handler=self._hear)
                await stack.enter_async_context(client)
            else:
                file = await stack.enter_async_context(piped(self._tail))
                transport = stdio_client(self._server, errlog=file)
                client = Client(transport, mode="legacy", cache=None, message_handler=self._hear)
                await stack.enter_async_context(client)
                file.close()
            if not self._opened.done():
                self._opened.set_result(client)
            await self._closing.wait()

    async def _hear(self, message: IncomingMessage) -> None:
        if isinstance(message, Exception) and not self._noise:
            self._noise = " ".join(str(message).split())[:200]

    async def _ask(self, what: str, asking: Awaitable[ResultT]) -> ResultT:
        asked = asyncio.ensure_future(asking)
        broken_off = False
        try:
            await asyncio.wait(
                {asked, self._living},
                timeout=self._timeout_s,
                return_when=asyncio.FIRST_COMPLETED,
            )
            broken_off = asked.cancelled()
            if asked.done() and not broken_off:
                return asked.result()
        except (ValidationError, RuntimeError) as error:
            problem = " ".join(str(error).split())[:300]
            raise self._malformed(f"answered {what} with what it may not: {problem}") from error
        except (BrokenResourceError, ClosedResourceError) as error:
            raise await self._lost(what) from error
        except MCPError as error:
            if error.code in _LOST:
                raise await self._lost(what) from error
            if error.code in _BROKEN or not what.startswith("tool "):
                raise self._malformed(f"answered {what} by: {error.message}") from error
            raise
        finally:
            asked.cancel()
        if self._living.done() or broken_off:
            raise await self._lost(what)
        kind = EnvironmentMalformedError if self._noise else EnvironmentTimeoutError
        raise kind(
            f"The MCP server did not answer {what} within {self._timeout_s:g} s.{self._said()}"
        )

    async def _lost(self, what: str) -> EpisodeError:
        if not isinstance(self._server, str):
            # What it said last may still be on its way.
            with suppress(TimeoutError):
                async with asyncio.timeout(_SOON_S):
                    await self._tail.ended.wait()
        why = ""
        died = self._living.done() and not self._living.cancelled()
        if died and (error := self._living.exception()) is not None:
            why = f" {'; '.join(_leaves(error))[:300]}."
        return EnvironmentLostError(f"The MCP server was lost at {what}.{why}{self._said()}")

    def _malformed(self, problem: str) -> EpisodeError:
        return EnvironmentMalformedError(f"The MCP server {problem}.{self._said()}")

    def _said(self) -> str:
        noise = f" It wrote what is not the protocol: {self._noise}." if self._noise else ""
        return f"{noise} Its standard error ends: {self._tail.text}" if self._tail.text else noise

    def _spec(self, tool: Tool) -> ToolSpec:
        if not tool.name:
            raise self._malformed("offers a tool without a name")
        try:
            Draft202012Validator.check_schema(tool.input_schema)
        except SchemaError as error:
            raise self._malformed(
                f"offers tool {tool.name!r} with no valid schema: {error.message[:200]}"
            ) from error
        if tool.input_schema.get("type") != "object":
            raise self._malformed(f"offers tool {tool.name!r} with a schema that is no object's")
        return ToolSpec(
            name=tool.name, description=tool.description or "", parameters=tool.input_schema
        )


def _leaves(error: BaseException) -> Iterator[str]:
    if isinstance(error, BaseExceptionGroup):
        for part in error.exceptions:
            yield from _leaves(part)
    else:
        yield f"{type(error).__name__}: {' '.join(str(error).split())}"
