"""Tunnels through the proxy: both directions, big ones, and the ways in which they break."""

import asyncio
import tracemalloc

import pytest

from agentgym.errors import SandboxLostError
from agentgym.sandbox.egress.attempt import Attempt
from agentgym.sandbox.egress.proxy import Egress
from tests.sandbox.egress_rig import CHUNK, Rig, drop, listener, proxy

BIG = 100 << 20
WITHIN = 24 << 20
"""Bytes of memory that a big transfer takes at most, both ends included."""


async def tunnelled(rig: Rig, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await rig.connect()
    writer.write(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
    return reader, writer


async def test_either_side_may_end_first() -> None:
    async def after_the_end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"heard " + await reader.read())

    heard = asyncio.Queue[bytes]()

    async def end_at_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write_eof()
        heard.put_nowait(await reader.read())

    async with (
        listener(after_the_end) as polite,
        listener(end_at_once) as brief,
        proxy(f"127.0.0.1:{polite}", f"127.0.0.1:{brief}") as rig,
    ):
        reader, writer = await tunnelled(rig, polite)
        writer.write(b"x" * 300_000)
        writer.write_eof()
        assert await reader.read() == b"heard " + b"x" * 300_000
        writer.close()
        reader, writer = await tunnelled(rig, brief)
        assert await reader.read() == b""
        writer.write(b"y" * 300_000)
        writer.close()
        assert await heard.get() == b"y" * 300_000
        assert [(await rig.attempt(n)).reason for n in (0, 1)] == ["", ""]


async def test_what_comes_with_a_connect_request_is_not_lost() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"heard " + await reader.read())

    async with listener(talk) as port, proxy(f"127.0.0.1:{port}") as rig:
        host = f"127.0.0.1:{port}"
        hello = f"CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\nhello at once".encode()
        assert (await rig.say(hello, end=True)).endswith(b"\r\n\r\nheard hello at once")


async def test_big_transfers_take_little_memory() -> None:
    async def download(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        block = bytes(CHUNK)
        for _ in range(BIG // CHUNK):
            writer.write(block)
            await writer.drain()

    async def upload(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        size = 0
        while part := await reader.read(CHUNK):
            size += len(part)
        writer.write(str(size).encode())

    async with (
        listener(download) as down,
        listener(upload) as up,
        proxy(f"127.0.0.1:{down}", f"127.0.0.1:{up}") as rig,
    ):
        tracemalloc.start()
        try:
            reader, writer = await tunnelled(rig, down)
            size = 0
            while part := await reader.read(CHUNK):
                size += len(part)
            writer.close()
            assert size == BIG
            reader, writer = await tunnelled(rig, up)
            await download(reader, writer)
            writer.write_eof()
            assert int(await reader.read()) == BIG
            writer.close()
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        attempts = [await rig.attempt(n) for n in (0, 1)]
    assert attempts[0].bytes_down == BIG
    assert attempts[1].bytes_up == BIG
    assert peak < WITHIN


async def test_a_sandbox_that_dies_leaves_no_connection() -> None:
    gone = asyncio.Queue[str]()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello")
        try:
            await reader.read()
        except ConnectionResetError:
            gone.put_nowait("reset")

    async with listener(talk) as port, proxy(f"127.0.0.1:{port}") as rig:
        reader, writer = await tunnelled(rig, port)
        assert await reader.readexactly(5) == b"hello"
        for task in rig.serving:
            task.cancel()
        await gone.get()
        attempt = await rig.attempt()
        assert attempt.reason == "the sandbox was closed"
        assert attempt.bytes_down == 5
        writer.close()
        reader, writer = await tunnelled(rig, port)
        assert await reader.readexactly(5) == b"hello"
        drop(writer)
        await gone.get()
        attempt = await rig.attempt(1)
        assert (attempt.verdict, attempt.reason) == (
            "allowed",
            "the sandbox dropped the connection",
        )


class LostStream:
    """A stream of a sandbox that is gone."""

    def __init__(self) -> None:
        self.aborted = False

    async def read(self) -> bytes:
        raise SandboxLostError("The sandbox ended.")

    async def write(self, data: bytes) -> None:
        raise SandboxLostError("The sandbox ended.")

    async def write_eof(self) -> None:
        raise SandboxLostError("The sandbox ended.")

    def abort(self) -> None:
        self.aborted = True


async def test_a_lost_sandbox_is_logged_and_raises_nothing() -> None:
    attempts: list[Attempt] = []
    stream = LostStream()
    await Egress(["a.example"], attempts.append).serve(stream)
    assert stream.aborted
    assert attempts[0].reason == "the sandbox dropped the connection"


async def test_a_host_that_breaks_off_breaks_the_tunnel() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(5)
        drop(writer)

    async with listener(talk) as port, proxy(f"127.0.0.1:{port}") as rig:
        reader, writer = await tunnelled(rig, port)
        writer.write(b"hello")
        with pytest.raises(ConnectionResetError):
            await reader.read()
        writer.close()
        attempt = await rig.attempt()
    assert attempt.verdict == "failed"
    assert attempt.reason == "the host broke off: connection reset by peer"


async def test_every_address_of_a_name_is_tried() -> None:
    async def several(name: str, port: int) -> list[str]:
        return ["127.0.0.2", "127.0.0.1"]

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello")

    async with listener(greet) as port:
        allowed = [f"{host}:{port}" for host in ("a.example", "127.0.0.1", "127.0.0.2")]
        async with proxy(*allowed, resolve=several) as rig:
            request = f"CONNECT a.example:{port} HTTP/1.1\r\nHost: a.example\r\n\r\n".encode()
            assert (await rig.say(request, end=True)).endswith(b"hello")
            assert (await rig.attempt()).address == "127.0.0.1"
