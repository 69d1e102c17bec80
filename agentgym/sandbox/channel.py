"""The connection to a sandbox's guest: many requests at once over one socket.

Nothing that comes from a sandbox is believed: sizes are bounded, kinds and codes come from
closed tables, and whatever breaks the protocol is the loss of the sandbox.
"""

import asyncio
import mmap
import socket
import struct
from collections.abc import Awaitable, Callable
from typing import Protocol, Self

from agentgym.errors import (
    EpisodeError,
    SandboxLostError,
    SandboxTimeoutError,
    SandboxTransportError,
    UsageError,
)
from agentgym.sandbox import wire
from agentgym.sandbox.wire import Kind, WireError

_FRAME = wire.HEADER.size + wire.MAX_PAYLOAD
_BUFFER = 2 * _FRAME
_STREAM_IDS = 0x80000000


class Exchange(Protocol):
    """What waits for the frames of one request or stream."""

    def receive(self, kind: Kind, payload: memoryview) -> bool:
        """Take a frame and return whether it was the last.

        Raises:
            WireError: It is none that could come here.
        """

    def lose(self, error: EpisodeError) -> None:
        """Learn that nothing will come any more."""


class GuestChannel(asyncio.BufferedProtocol):
    """One guest's connection, bound to the event loop it was made in.

    Attributes:
        explain: Asked for the reason when the connection ends unexpectedly.
        accept: Called with the stream id of each connection to a port the guest listens on.
    """

    explain: Callable[[], Awaitable[str]]
    accept: Callable[[int], Exchange] | None = None

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._hello: asyncio.Future[None] = self._loop.create_future()
        self._ended = self._loop.create_future()
        self._buffer = mmap.mmap(-1, _BUFFER)  # takes memory where it is written to only
        self._view = memoryview(self._buffer)
        self._start = 0
        self._end = 0
        self._exchanges: dict[int, Exchange] = {}
        self._last_id = 0
        self._writable = asyncio.Event()
        self._writable.set()
        self._lost: EpisodeError | None = None
        self._explained: SandboxLostError | None = None
        self._transport: asyncio.Transport | None = None
        self.explain = _no_reason

    @classmethod
    async def over(cls, connection: socket.socket, *, timeout: float = 30.0) -> Self:
        """Take over a connected socket and wait for the guest's greeting.

        Raises:
            SandboxLostError: The guest hung up.
            SandboxTransportError: It speaks another protocol.
            SandboxTimeoutError: It did not speak in time.
        """
        loop = asyncio.get_running_loop()
        connection.setblocking(False)
        _, channel = await loop.create_unix_connection(cls, sock=connection)
        try:
            async with asyncio.timeout(timeout):
                await channel._hello
        except TimeoutError:
            channel.abort(SandboxTimeoutError(f"The guest said nothing for {timeout:g} s."))
            raise SandboxTimeoutError(f"The guest said nothing for {timeout:g} s.") from None
        except BaseException:
            channel.close()
            raise
        return channel

    @property
    def alive(self) -> bool:
        """Whether requests can be made."""
        return self._lost is None

    def request(self, exchange: Exchange, kind: Kind, payload: bytes) -> int:
        """Send a request and return its id; the frames that belong to it go to `exchange`.

        Where the connection is gone it is told so at once.

        Raises:
            UsageError: It is too long; nothing is sent, and nothing will come.
        """
        _check_size(payload)
        if self._lost is not None:
            exchange.lose(self._lost)
            return 0
        self._last_id = (self._last_id % (_STREAM_IDS - 1)) + 1
        while self._last_id in self._exchanges:
            self._last_id = (self._last_id % (_STREAM_IDS - 1)) + 1
        self._exchanges[self._last_id] = exchange
        self.send(kind, self._last_id, payload)
        return self._last_id

    def forget(self, identity: int) -> None:
        """Let go of a stream; frames of it that are still on their way mean nothing."""
        self._exchanges.pop(identity, None)

    def send(self, kind: Kind, identity: int, payload: bytes = b"") -> None:
        """Send a frame; where the connection is gone the exchange has been told already."""
        _check_size(payload)
        if self._lost is None and self._transport is not None:
            self._transport.write(wire.frame(kind, identity, payload))

    async def drained(self) -> None:
        """Wait until the socket takes more."""
        await self._writable.wait()

    def abort(self, error: EpisodeError) -> None:
        """Give the sandbox up: every open request ends with the error."""
        if self._lost is None:
            self._lost = error
            exchanges, self._exchanges = self._exchanges, {}
            for exchange in exchanges.values():
                exchange.lose(error)
        self.close()

    def close(self) -> None:
        """Hang up, at which the guest ends; closing twice is allowed."""
        if self._lost is None:
            self.abort(SandboxLostError("The sandbox is closed."))
        elif self._transport is not None:
            self._transport.abort()
            self._transport = None
        self._writable.set()

    async def ended(self) -> None:
        """Wait until the socket is closed."""
        await asyncio.shield(self._ended)

    async def check(self) -> None:
        """Return where requests can be made.

        Raises:
            EpisodeError: The connection is gone.
        """
        if self._lost is not None:
            raise await self.explained(self._lost)

    async def explained(self, error: EpisodeError) -> EpisodeError:
        """Return a loss with the reason the backend finds for it."""
        if not isinstance(error, SandboxLostError) or error is not self._lost:
            return error
        if self._explained is None:
            reason = await self.explain()
            self._explained = SandboxLostError(f"{error.message} {reason}".strip())
        return self._explained

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.BaseProtocol`."""
        if isinstance(transport, asyncio.Transport):
            self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.BaseProtocol`."""
        self._transport = None
        if not self._ended.done():
            self._ended.set_result(None)
        error = SandboxLostError("The sandbox ended.")
        if not self._hello.done():
            self._hello.set_exception(error)
            self._hello.exception()  # whoever waits has it; nobody may be waiting
        self.abort(error)

    def pause_writing(self) -> None:
        """See `asyncio.BaseProtocol`."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """See `asyncio.BaseProtocol`."""
        self._writable.set()

    def get_buffer(self, sizehint: int) -> memoryview:
        """See `asyncio.BufferedProtocol`."""
        if _BUFFER - self._end < _FRAME and self._start:
            rest = self._end - self._start
            self._view[:rest] = bytes(self._view[self._start : self._end])
            self._start, self._end = 0, rest
        return self._view[self._end :]

    def buffer_updated(self, nbytes: int) -> None:
        """See `asyncio.BufferedProtocol`."""
        self._end += nbytes
        header = wire.HEADER
        try:
            while self._end - self._start >= header.size:
                size, identity, kind = header.unpack_from(self._buffer, self._start)
                if size > wire.MAX_PAYLOAD:
                    raise WireError(f"a frame of {size} bytes")
                end = self._start + header.size + size
                if end > self._end:
                    break
                payload = self._view[self._start + header.size : end]
                self._start = end
                self._dispatch(Kind(kind), identity, payload)
                if self._lost is not None:
                    return
        except (WireError, ValueError, struct.error) as error:
            self.abort(SandboxTransportError(f"The sandbox broke the protocol: {error}."))
        if self._start == self._end:
            self._start = self._end = 0

    def _dispatch(self, kind: Kind, identity: int, payload: memoryview) -> None:
        if not self._hello.done():
            self._greet(kind, payload)
            return
        exchange = self._exchanges.get(identity)
        if exchange is None:
            if identity < _STREAM_IDS:  # a stream's last frames may cross our own end of it
                raise WireError(f"an answer to request {identity}, which is not open")
            return
        if kind is Kind.ACCEPT:
            self._accept(payload)
        elif exchange.receive(kind, payload):
            self.forget(identity)

    def _greet(self, kind: Kind, payload: memoryview) -> None:
        version, _user = struct.unpack("<II", payload)
        if kind is not Kind.HELLO or version != wire.VERSION:
            raise WireError("it did not greet")
        self._hello.set_result(None)

    def _accept(self, payload: memoryview) -> None:
        identity = int(wire.U32.unpack(payload)[0])
        if self.accept is None or identity < _STREAM_IDS or identity in self._exchanges:
            raise WireError("a connection nobody asked for")
        self._exchanges[identity] = self.accept(identity)


async def _no_reason() -> str:
    return ""


def _check_size(payload: bytes) -> None:
    if len(payload) > wire.MAX_PAYLOAD:
        raise UsageError(f"A request of {len(payload)} bytes is over the limit of 1 MiB.")
