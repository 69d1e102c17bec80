"""The sandbox's end of a connection to the proxy, and its HTTP."""

import asyncio
from contextlib import suppress
from typing import Protocol

import h11

from agentgym.errors import EpisodeError
from agentgym.sandbox.egress.attempt import ProxyError

MAX_REASON = 200


class Stream(Protocol):
    """A connection that a program in the sandbox has opened to the proxy's port."""

    async def read(self) -> bytes:
        """Return what has come, or nothing at the end.

        Raises:
            ConnectionError: The program dropped the connection.
            EpisodeError: The sandbox is gone.
        """

    async def write(self, data: bytes) -> None:
        """Send bytes, and wait while the program does not take them.

        Raises:
            ConnectionError: The program dropped the connection.
            EpisodeError: The sandbox is gone.
        """

    async def write_eof(self) -> None:
        """Let the program read the end.

        Raises:
            ConnectionError: The program dropped the connection.
            EpisodeError: The sandbox is gone.
        """

    def abort(self) -> None:
        """Drop the connection; it is not called where both directions have ended."""


class DroppedError(Exception):
    """The program in the sandbox dropped the connection, or the sandbox is gone."""


class Caller:
    """What asks the proxy for something: one connection, on which one request is answered.

    Args:
        stream: The connection.
        max_header: Bytes of a request's line and headers at most.
    """

    def __init__(self, stream: Stream, max_header: int) -> None:
        self._stream = stream
        self._max_header = max_header
        self._heard_end = False
        self._said_end = False
        self._wants_body = True
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=max_header)

    async def read(self) -> bytes:
        """Return what has come, or nothing at the end.

        Raises:
            DroppedError: Nothing more will come.
        """
        if self._heard_end:
            return b""
        try:
            data = await self._stream.read()
        except (ConnectionError, EpisodeError) as error:
            raise DroppedError from error
        self._heard_end = not data
        return data

    async def write(self, data: bytes) -> None:
        """Send bytes, and wait while they are not taken.

        Raises:
            DroppedError: Nobody will take them.
        """
        try:
            await self._stream.write(data)
        except (ConnectionError, EpisodeError) as error:
            raise DroppedError from error

    async def write_eof(self) -> None:
        """Let the program read the end; doing so twice is allowed.

        Raises:
            DroppedError: It will not.
        """
        if self._said_end:
            return
        self._said_end = True
        try:
            await self._stream.write_eof()
        except (ConnectionError, EpisodeError) as error:
            raise DroppedError from error

    async def request(self) -> h11.Request:
        """Return the request's line and headers.

        Raises:
            ProxyError: They are not HTTP, or too long.
            DroppedError: The connection ended before.
        """
        size = 0
        while (event := self._next_event()) is h11.NEED_DATA:
            data = await self.read()
            size += len(data)
            self._http.receive_data(data)
        if not isinstance(event, h11.Request):
            raise DroppedError
        if size - len(self._http.trailing_data[0]) > self._max_header:
            raise ProxyError(431, "the request's headers are too long")
        self._wants_body = event.method != b"HEAD"
        return event

    async def body_part(self) -> bytes:
        """Return the next part of the request's body, or nothing at its end.

        Raises:
            ProxyError: It is not HTTP.
            DroppedError: The connection is gone.
        """
        while (event := self._next_event()) is h11.NEED_DATA:
            self._http.receive_data(await self.read())
        return bytes(event.data) if isinstance(event, h11.Data) else b""

    def early_data(self) -> bytes:
        """Return what came after a CONNECT request without waiting for its answer."""
        return bytes(self._http.trailing_data[0])

    async def send(self, event: h11.Event) -> None:
        """Send a part of the answer.

        Raises:
            DroppedError: Nobody will take it.
        """
        data = self._http.send(event)
        if data:
            await self.write(data)

    async def inform(self, event: h11.InformationalResponse) -> None:
        """Send an answer that is not the last, unless the program would not know it as such.

        Raises:
            DroppedError: Nobody will take it.
        """
        if self._http.their_http_version == b"1.1":
            await self.send(event)

    async def tell(self, status: int, reason: str) -> bool:
        """Answer with one line, in the status line too, where tunnelling clients show it.

        Returns:
            False where it cannot be told, since another answer has begun.

        Raises:
            DroppedError: Nobody will take it.
        """
        if self._http.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            return False
        line = reason.encode("ascii", "replace")[:MAX_REASON]
        body = b"agentgym: " + line + b"\n"
        headers = [
            ("Content-Type", "text/plain"),
            ("Content-Length", str(len(body))),
            ("Connection", "close"),
        ]
        await self.send(h11.Response(status_code=status, headers=headers, reason=line))
        await self.send(h11.Data(data=body if self._wants_body else b""))
        await self.send(h11.EndOfMessage())
        return True

    async def finish(self, timeout: float) -> None:
        """End the connection, giving the program some seconds to read the answer and hang up.

        What it still sends meanwhile is read and dropped: a connection that is closed with
        unread bytes in it is reset, and the answer with it.
        """
        with suppress(TimeoutError, DroppedError):
            async with asyncio.timeout(timeout):
                await self.write_eof()
                while await self.read():
                    pass
        self.abort()

    def abort(self) -> None:
        """Drop the connection, unless it has ended: its last bytes may still be under way."""
        if not (self._heard_end and self._said_end):
            self._stream.abort()

    def _next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        try:
            return self._http.next_event()
        except h11.RemoteProtocolError as error:
            reason = f"this is no HTTP request: {error}"
            raise ProxyError(error.error_status_hint or 400, reason) from error
