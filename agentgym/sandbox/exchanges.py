"""Requests to a guest that are under way: plain ones, and commands that run."""

import asyncio
import os
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

from agentgym.errors import (
    EpisodeError,
    SandboxTimeoutError,
    SandboxTransportError,
    UsageError,
)
from agentgym.sandbox import wire
from agentgym.sandbox.base import Process
from agentgym.sandbox.channel import GuestChannel
from agentgym.sandbox.spec import ExecResult
from agentgym.sandbox.wire import Fault, Kind, WireError

IDLE_S = 60.0
"""Seconds in which a guest has to give some sign of a request that is under way."""
GRACE_S = 30.0
"""Seconds beyond a command's timeout until the sandbox counts as unresponsive."""

Sink = Callable[[str, memoryview], None]
"""Takes "stdout" or "stderr" and some bytes of it, which are valid during the call only."""

_MAX_CONTROL = 64
_CONTROL_BYTES = 1 << 16
_STREAMS = {Kind.STDOUT: "stdout", Kind.STDERR: "stderr"}
_ERRNO = {Fault.NOT_REGULAR: 22, Fault.TOO_LARGE: 27, Fault.NO_USER: 22}  # EINVAL, EFBIG


class Request:
    """A request answered by OK or FAIL, with data before it.

    Args:
        channel: Where it goes.
        kind: What is asked.
        payload: Its fields.
        path: Named in errors.
        limit: Bytes of data accepted at most.
        sink: Takes the data as it comes; without one it is collected in `data`.

    Attributes:
        data: What came, where there is no sink.
        stays_open: Whether its id has a use after the answer.
    """

    def __init__(
        self,
        channel: GuestChannel,
        kind: Kind,
        payload: bytes,
        *,
        path: str = "",
        limit: int = 0,
        sink: Callable[[memoryview], object] | None = None,
    ) -> None:
        self._channel = channel
        self._path = path
        self._room = limit
        self._answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._signs = 0
        self.stays_open = False
        self.data = bytearray()
        self._sink = sink or self.data.extend
        self._id = channel.request(self, kind, payload)

    async def feed(self, content: bytes) -> None:
        """Send some of the request's input; what the guest has refused already is not sent."""
        view = memoryview(content)
        for start in range(0, len(view), wire.WINDOW_BYTES):
            if self._answer.done():
                return
            part = bytes(view[start : start + wire.WINDOW_BYTES])
            self._channel.send(Kind.INPUT, self._id, part)
            self._signs += 1
            await self._channel.drained()

    def end_input(self) -> None:
        """Say that the input is whole."""
        if not self._answer.done():
            self._channel.send(Kind.INPUT, self._id)

    async def result(self) -> int:
        """Return the number the guest answers with; `data` is whole then.

        Raises:
            OSError: The operation failed.
            EpisodeError: The sandbox is lost.
        """
        try:
            while not self._answer.done():
                signs = self._signs
                await asyncio.wait((self._answer,), timeout=IDLE_S)
                if signs == self._signs and not self._answer.done():
                    error = SandboxTimeoutError(f"The sandbox gave no sign for {IDLE_S:g} s.")
                    self._channel.abort(error)
            return self._answer.result()
        except EpisodeError as error:
            raise await self._channel.explained(error) from error
        except asyncio.CancelledError:
            if not self._answer.done():
                cancel(self._channel, self._id)
            raise

    def receive(self, kind: Kind, payload: memoryview) -> bool:
        """See `Exchange`."""
        self._signs += 1
        if kind is Kind.DATA:
            self._room -= len(payload)
            if self._room >= 0:
                self._sink(payload)
            elif not self._answer.done():  # a folder may hold any amount; the rest is not kept
                self._fail(OSError(27, os.strerror(27), self._path))
                cancel(self._channel, self._id)
            return False
        if kind is Kind.OK:
            if not self._answer.done():
                self._answer.set_result(int(wire.U64.unpack(payload)[0]))
            return not self.stays_open
        if kind is Kind.FAIL:
            self._fail(self._error(*wire.FAIL_FIELDS.unpack(payload)))
        else:
            raise WireError(f"{kind.name} in answer to a plain request")
        return True

    def lose(self, error: EpisodeError) -> None:
        """See `Exchange`."""
        self._fail(error)

    def _fail(self, error: Exception) -> None:
        if not self._answer.done():
            self._answer.set_exception(error)
            self._answer.exception()  # the request may have been let go of

    def _error(self, code: int, number: int) -> Exception:
        fault = Fault(code)
        if fault is Fault.SYSTEM:
            return OSError(number, os.strerror(number), self._path)
        if fault in _ERRNO:
            words = fault.name.lower().replace("_", " ")
            return OSError(_ERRNO[fault], f"{os.strerror(_ERRNO[fault])} ({words})", self._path)
        return SandboxTransportError(f"The guest refused a request: {fault.name}.")


def cancel(channel: GuestChannel, identity: int, *, command: bool = False) -> None:
    """Ask the guest to stop a request nobody waits for; its answer is thrown away.

    Args:
        channel: Where the request went.
        identity: Its id.
        command: Whether it is a command, which is killed with all it started.
    """
    if not channel.alive:
        return
    target = wire.U32.pack(identity)
    if command:
        Request(channel, Kind.SIGNAL, target + wire.U32.pack(0))
    else:
        Request(channel, Kind.CANCEL, target)


class Execution(Process):
    """A command under way; see `Process`.

    Args:
        channel: Where it goes.
        payload: The EXEC request.
        timeout: Seconds it may take.
        limit: Bytes of each stream that the guest was asked for.
        sink: Takes the output as it comes, in place of the iterator and `wait`.
    """

    def __init__(
        self,
        channel: GuestChannel,
        payload: bytes,
        *,
        timeout: float,
        limit: int,
        sink: Sink | None = None,
    ) -> None:
        loop = asyncio.get_running_loop()
        self._channel = channel
        self._limit = limit
        self._chunks: deque[tuple[str, bytes]] = deque()
        self._sink = sink or self._keep
        self._feeder: asyncio.Task[None] | None = None
        self._received = {"stdout": 0, "stderr": 0}
        self._exit: asyncio.Future[tuple[int, int, int]] = loop.create_future()
        self._news: asyncio.Future[None] | None = None
        self._window = wire.WINDOW_BYTES
        self._allowed: asyncio.Future[None] | None = None
        self.control: asyncio.Queue[bytes] = asyncio.Queue()
        self._deadline = loop.call_later(timeout + GRACE_S, self._overdue)
        try:
            self._id = channel.request(self, Kind.EXEC, payload)
        except UsageError:
            self._deadline.cancel()
            raise

    async def __aiter__(self) -> AsyncIterator[tuple[str, bytes]]:
        """See `Process`."""
        while True:
            while self._chunks:
                yield self._chunks.popleft()
            if self._exit.done():
                break
            self._news = asyncio.get_running_loop().create_future()
            await self._news
        await self._ended()

    async def write(self, data: bytes) -> None:
        """See `Process`."""
        view = memoryview(data)
        while view and not self._exit.done():
            if not self._window:
                self._allowed = asyncio.get_running_loop().create_future()
                await self._allowed
                continue
            part, view = view[: self._window], view[self._window :]
            self._window -= len(part)
            self._channel.send(Kind.INPUT, self._id, bytes(part))
            await self._channel.drained()
        if self._exit.done():
            await self._ended()

    async def close_stdin(self) -> None:
        """See `Process`."""
        if not self._exit.done():
            self._channel.send(Kind.INPUT, self._id)

    def feed(self, content: bytes) -> None:
        """Write the whole standard input and close it, while the command runs."""
        if len(content) <= wire.WINDOW_BYTES:
            self._channel.send(Kind.INPUT, self._id, content)
            self._channel.send(Kind.INPUT, self._id)
        else:
            self._feeder = asyncio.create_task(self._feed(content))

    async def _feed(self, content: bytes) -> None:
        with suppress(EpisodeError):  # whoever waits for the command learns of it
            await self.write(content)
            await self.close_stdin()

    async def kill(self) -> None:
        """See `Process`."""
        self.abandon()
        await self._ended()

    @property
    def ended(self) -> bool:
        """Whether it runs no more."""
        return self._exit.done()

    def abandon(self) -> None:
        """End it and everything it has started, without waiting for that."""
        if not self._exit.done():
            cancel(self._channel, self._id, command=True)

    async def wait(self) -> ExecResult:
        """See `Process`."""
        code, flags, microseconds = await self._ended()
        output = {"stdout": bytearray(), "stderr": bytearray()}
        for name, chunk in self._chunks:
            output[name] += chunk
        self._chunks.clear()
        return ExecResult(
            bytes(output["stdout"]),
            bytes(output["stderr"]),
            code,
            bool(flags & wire.EXIT_TIMED_OUT),
            bool(flags & wire.EXIT_TRUNCATED),
            microseconds / 1e6,
        )

    def receive(self, kind: Kind, payload: memoryview) -> bool:
        """See `Exchange`."""
        if kind in _STREAMS:
            name = _STREAMS[kind]
            self._received[name] += len(payload)
            if self._received[name] > self._limit:
                raise WireError("more output than was asked for")
            self._sink(name, payload)
        elif kind is Kind.CONTROL:
            if self.control.qsize() < _MAX_CONTROL:  # the command itself can write there
                self.control.put_nowait(bytes(payload[:_CONTROL_BYTES]))
        elif kind is Kind.WINDOW:
            self._window = min(self._window + wire.U32.unpack(payload)[0], wire.WINDOW_BYTES)
            _wake(self._allowed)
        elif kind is Kind.EXIT:
            code, flags, duration = wire.EXIT_FIELDS.unpack(payload)
            if not 0 <= code <= 255:
                raise WireError(f"exit code {code}")
            self._end()
            if not self._exit.done():
                self._exit.set_result((code, flags, duration))
        else:
            raise WireError(f"{kind.name} in answer to a command")
        _wake(self._news)
        return kind is Kind.EXIT

    def lose(self, error: EpisodeError) -> None:
        """See `Exchange`."""
        self._end()
        if not self._exit.done():
            self._exit.set_exception(error)
            self._exit.exception()  # the command may have been let go of
        _wake(self._news)

    def _keep(self, name: str, payload: memoryview) -> None:
        self._chunks.append((name, bytes(payload)))

    def _end(self) -> None:
        self._deadline.cancel()
        self.control.put_nowait(b"")
        _wake(self._allowed)

    def _overdue(self) -> None:
        self._channel.abort(
            SandboxTimeoutError(f"The sandbox did not answer {GRACE_S:g} s after a command's end.")
        )

    async def _ended(self) -> tuple[int, int, int]:
        try:
            return await asyncio.shield(self._exit)
        except EpisodeError as error:
            raise await self._channel.explained(error) from error
        except asyncio.CancelledError:
            self.abandon()
            raise


def _wake(waiter: asyncio.Future[None] | None) -> None:
    if waiter is not None and not waiter.done():
        waiter.set_result(None)
