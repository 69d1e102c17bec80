"""The host's side of the connection, against guests that misbehave."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.errors import (
    EpisodeError,
    ProtocolError,
    SandboxLostError,
    SandboxTimeoutError,
    SandboxTransportError,
    UsageError,
)
from agentgym.sandbox import wire
from agentgym.sandbox.base import SandboxBackend, SandboxInfo
from agentgym.sandbox.channel import GuestChannel
from agentgym.sandbox.guest_sandbox import GuestSandbox
from agentgym.sandbox.spec import SandboxSpec
from agentgym.sandbox.wire import Kind

HELLO = wire.frame(Kind.HELLO, 0, struct.pack("<II", wire.VERSION, 1000))
ENDED = "It was seen to fall."


class NoBackend(SandboxBackend):
    name = "none"

    async def check_available(self) -> None: ...

    async def start(self, spec: SandboxSpec) -> "Scripted":
        raise NotImplementedError

    async def list(self) -> Sequence[SandboxInfo]:
        return []

    async def reap(self) -> Sequence[SandboxInfo]:
        return []

    async def close(self) -> None: ...


class Scripted(GuestSandbox):
    """A sandbox whose guest is the test."""

    removed = 0

    async def _remove(self) -> None:
        self.removed += 1

    async def _post_mortem(self) -> str:
        return ENDED


class Guest:
    """The guest's end, driven by hand."""

    def __init__(self, end: socket.socket) -> None:
        self.end = end

    async def request(self) -> tuple[Kind, int, bytes]:
        loop = asyncio.get_running_loop()
        header = await self._exactly(loop, wire.HEADER.size)
        size, identity, kind = wire.HEADER.unpack(header)
        return Kind(kind), identity, await self._exactly(loop, size)

    async def _exactly(self, loop: asyncio.AbstractEventLoop, size: int) -> bytes:
        data = b""
        while len(data) < size:
            chunk = await loop.sock_recv(self.end, size - len(data))
            assert chunk, "the host hung up"
            data += chunk
        return data

    async def say(self, *frames: bytes) -> None:
        await asyncio.get_running_loop().sock_sendall(self.end, b"".join(frames))


@asynccontextmanager
async def connected() -> AsyncIterator[tuple[Scripted, Guest]]:
    host, end = socket.socketpair()
    end.setblocking(False)
    with end:
        guest = Guest(end)
        await guest.say(HELLO)
        channel = await GuestChannel.over(host)
        sandbox = Scripted(SandboxSpec(), "s-1", channel, backend=NoBackend(), folders=("/work",))
        try:
            yield sandbox, guest
        finally:
            await sandbox.close()


def exit_frame(identity: int, code: int = 0, flags: int = 0) -> bytes:
    return wire.frame(Kind.EXIT, identity, wire.EXIT_FIELDS.pack(code, flags, 1500))


async def test_answers_find_their_command_in_any_order() -> None:
    async with connected() as (sandbox, guest):
        calls = [asyncio.create_task(sandbox.exec(["echo", str(n)])) for n in range(8)]
        asked = [await guest.request() for _ in calls]
        for n, (kind, identity, payload) in reversed(list(enumerate(asked))):
            assert kind is Kind.EXEC
            assert str(n).encode() in payload
            await guest.say(
                wire.frame(Kind.STDOUT, identity, b"out %d" % n), exit_frame(identity, n)
            )
        results = await asyncio.gather(*calls)
    assert [(r.stdout, r.exit_code) for r in results] == [(b"out %d" % n, n) for n in range(8)]
    assert results[0].duration == 0.0015


@pytest.mark.parametrize(
    "frames",
    [
        [struct.pack("<IIB", 0xFFFFFFFF, 1, Kind.STDOUT)],
        [wire.frame(Kind.OK, 77)],
        [struct.pack("<IIB", 0, 1, 200)],
        [struct.pack("<IIB", 0, 1, Kind.EXEC)],
        [wire.frame(Kind.STDOUT, 1, b"x" * 11)],
        [wire.frame(Kind.STDOUT, 1, b"x" * 6), wire.frame(Kind.STDOUT, 1, b"x" * 6)],
        [wire.frame(Kind.EXIT, 1, b"short")],
        [exit_frame(1, 256)],
        [exit_frame(1, -1)],
        [wire.frame(Kind.OK, 1, wire.U64.pack(1))],
        [wire.frame(Kind.ACCEPT, 1, wire.U32.pack(0x80000001))],
        [wire.frame(Kind.WINDOW, 1, b"")],
        [exit_frame(1), exit_frame(1)],
    ],
    ids=lambda frames: frames[0][:16].hex(),
)
async def test_a_guest_that_breaks_the_protocol_is_lost(frames: list[bytes]) -> None:
    async with connected() as (sandbox, guest):
        call = asyncio.create_task(sandbox.exec(["x"], output_limit=10))
        await guest.request()
        await guest.say(*frames)
        answered = frames[0] == exit_frame(1)
        outcome = (await asyncio.gather(call, return_exceptions=True))[0]
        assert answered or isinstance(outcome, SandboxTransportError)
        with pytest.raises(SandboxTransportError):
            await sandbox.exec(["y"])


@settings(max_examples=200, deadline=None)
@given(noise=st.binary(min_size=1, max_size=300))
def test_noise_never_becomes_a_result(noise: bytes) -> None:
    async def run() -> None:
        async with connected() as (sandbox, guest):
            call = asyncio.create_task(sandbox.read_file("/x", limit=100))
            await guest.request()
            await guest.say(noise)
            guest.end.shutdown(socket.SHUT_WR)
            try:
                content = await call
            except (EpisodeError, OSError):
                return
            assert wire.frame(Kind.OK, 1)[:9] == noise[:9] or content in noise

    asyncio.run(run())


async def test_a_guest_that_dies_is_lost_with_the_reason() -> None:
    async with connected() as (sandbox, guest):
        calls = [
            asyncio.create_task(sandbox.exec(["x"])),
            asyncio.create_task(sandbox.exec(["y"], stdin=b"z" * 5_000_000)),
        ]
        reading = asyncio.create_task(sandbox.read_file("/x"))
        await guest.request()
        guest.end.close()
        for call in [*calls, reading]:
            with pytest.raises(SandboxLostError, match=ENDED):
                await call
        for late in (sandbox.kill_all(), sandbox.exec(["x"]), sandbox.shell().run("x")):
            with pytest.raises(SandboxLostError, match=ENDED):
                await late


async def test_closing_ends_what_is_open_and_every_later_call() -> None:
    async with connected() as (sandbox, guest):
        call = asyncio.create_task(sandbox.exec(["x"]))
        await guest.request()
        await sandbox.close()
        await sandbox.close()
        assert sandbox.removed == 1
        with pytest.raises(SandboxLostError):
            await call
        with pytest.raises(ProtocolError, match="closed"):
            await sandbox.exec(["x"])
        with pytest.raises(ProtocolError, match="closed"):
            await sandbox.read_file("/x")


async def test_a_command_nobody_waits_for_is_killed() -> None:
    async with connected() as (sandbox, guest):
        call = asyncio.create_task(sandbox.exec(["sleep", "100"]))
        _, identity, _ = await guest.request()
        call.cancel()
        kind, order, payload = await guest.request()
        assert (kind, payload) == (Kind.SIGNAL, struct.pack("<II", identity, 0))
        with pytest.raises(asyncio.CancelledError):
            await call
        await guest.say(exit_frame(identity, 137), wire.frame(Kind.OK, order, wire.U64.pack(0)))
        again = asyncio.create_task(sandbox.exec(["true"]))
        _, identity, _ = await guest.request()
        await guest.say(exit_frame(identity))
        assert (await again).exit_code == 0


async def test_input_waits_for_the_window() -> None:
    async with connected() as (sandbox, guest):
        call = asyncio.create_task(sandbox.exec(["cat"], stdin=b"i" * 600_000))
        _, identity, _ = await guest.request()
        received = 0
        while received < 600_000:
            kind, its, payload = await guest.request()
            assert (kind, its) == (Kind.INPUT, identity)
            received += len(payload)
            assert received <= 3 * wire.WINDOW_BYTES
            await guest.say(wire.frame(Kind.WINDOW, identity, wire.U32.pack(len(payload))))
        assert await guest.request() == (Kind.INPUT, identity, b"")
        await guest.say(exit_frame(identity))
        assert (await call).exit_code == 0


async def test_failures_are_python_s_own() -> None:
    async with connected() as (sandbox, guest):
        call = asyncio.create_task(sandbox.read_file("/missing"))
        _, identity, _ = await guest.request()
        await guest.say(wire.frame(Kind.FAIL, identity, struct.pack("<II", 1, 2)))
        with pytest.raises(FileNotFoundError, match="/missing"):
            await call


async def test_a_greeting_is_required() -> None:
    host, end = socket.socketpair()
    with end:
        end.sendall(wire.frame(Kind.OK, 0, struct.pack("<II", 1, 0)))
        with pytest.raises((SandboxTransportError, SandboxLostError)):
            await GuestChannel.over(host)
    host, end = socket.socketpair()
    with end, pytest.raises(SandboxTimeoutError):
        await GuestChannel.over(host, timeout=0.05)


@pytest.mark.parametrize(
    ("argv", "options"),
    [
        ([], {}),
        (["a\0b"], {}),
        (["a"], {"env": {"A=B": "c"}}),
        (["a"], {"env": {"A": "c\0"}}),
        (["a"], {"cwd": "relative"}),
        (["a"], {"timeout": 0}),
        (["a"], {"timeout": -1}),
        (["a"], {"output_limit": -1}),
        (["a"], {"user": "root"}),
        (["\ud800"], {}),
    ],
)
async def test_calls_that_cannot_be_are_refused(
    argv: list[str], options: dict[str, object]
) -> None:
    async with connected() as (sandbox, _):
        with pytest.raises(UsageError):
            await sandbox.exec(argv, **options)  # type: ignore[arg-type]
