"""A connection that a program in a sandbox has opened to a port its guest listens on."""

import asyncio
from collections import deque

from agentgym.errors import EpisodeError
from agentgym.sandbox import wire
from agentgym.sandbox.channel import GuestChannel
from agentgym.sandbox.wire import Kind, WireError


class GuestStream:
    """One connection's bytes, both ways; each side sends what the other has allowed.

    Args:
        channel: The guest's connection.
        identity: The stream's id.
    """

    def __init__(self, channel: GuestChannel, identity: int) -> None:
        self._channel = channel
        self._id = identity
        self._received: deque[bytes] = deque()
        self._unread = 0
        self._window = wire.WINDOW_BYTES
        self._ended_reading = False
        self._ended_writing = False
        self._broken = False
        self._changed = asyncio.Event()

    async def read(self) -> bytes:
        """Return some bytes, or none where the program has ended its side.

        Raises:
            ConnectionResetError: The connection broke.
        """
        while not self._received:
            if self._broken:
                raise ConnectionResetError("the sandbox dropped the connection")
            if self._ended_reading:
                return b""
            await self._change()
        data = self._received.popleft()
        self._unread -= len(data)
        self._channel.send(Kind.WINDOW, self._id, wire.U32.pack(len(data)))
        return data

    async def write(self, data: bytes) -> None:
        """Send bytes, as fast as the program takes them.

        Raises:
            ConnectionResetError: The connection broke.
        """
        view = memoryview(data)
        while view:
            if self._broken:
                raise ConnectionResetError("the sandbox dropped the connection")
            if not self._window:
                await self._change()
                continue
            part, view = view[: self._window], view[self._window :]
            self._window -= len(part)
            self._channel.send(Kind.STREAM, self._id, bytes(part))
            await self._channel.drained()

    async def write_eof(self) -> None:
        """End this side."""
        if not (self._ended_writing or self._broken):
            self._ended_writing = True
            self._channel.send(Kind.STREAM, self._id)
            self._forget_if_over()

    def abort(self) -> None:
        """Drop the connection; nothing happens where it is over."""
        if not self._broken:
            self._break()
            self._channel.forget(self._id)
            self._channel.send(Kind.RESET, self._id)

    def receive(self, kind: Kind, payload: memoryview) -> bool:
        """See `Exchange`."""
        if kind is Kind.STREAM and not self._ended_reading:
            self._received.append(bytes(payload))
            self._unread += len(payload)
            if self._unread > wire.WINDOW_BYTES:
                raise WireError("more of a stream than was allowed")
            if not payload:
                self._received.pop()
                self._ended_reading = True
        elif kind is Kind.WINDOW:
            self._window = min(self._window + wire.U32.unpack(payload)[0], wire.WINDOW_BYTES)
        elif kind is Kind.RESET:
            self._break()
        else:
            raise WireError(f"{kind.name} on a stream")
        self._changed.set()
        return self._broken or (self._ended_reading and self._ended_writing)

    def lose(self, error: EpisodeError) -> None:
        """See `Exchange`."""
        self._break()

    def _break(self) -> None:
        self._broken = True
        self._changed.set()

    def _forget_if_over(self) -> None:
        if self._ended_reading:
            self._channel.forget(self._id)

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()
