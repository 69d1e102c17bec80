"""A proxy to try out: an `Egress` behind a port of the host, and servers for it to reach."""

import asyncio
import shutil
import socket
import ssl
import struct
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from agentgym.sandbox.egress.attempt import Attempt
from agentgym.sandbox.egress.proxy import Egress, Limits, proxy_environment
from agentgym.sandbox.egress.upstream import Resolver

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
CHUNK = 1 << 16

needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")


class SocketStream:
    """A stream as `Egress` serves them, over a connection of the host itself."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read(self) -> bytes:
        return await self._reader.read(CHUNK)

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def write_eof(self) -> None:
        self._writer.write_eof()

    def abort(self) -> None:
        drop(self._writer)


def drop(writer: asyncio.StreamWriter) -> None:
    """Reset a connection that is still open."""
    if not writer.is_closing():
        connection = writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


class Rig:
    """A proxy that listens on a port of the host.

    Attributes:
        port: That port.
        attempts: What it has logged.
        serving: The connections under way.
    """

    def __init__(self, egress: Egress, allowed: Sequence[str]) -> None:
        self._egress = egress
        self._allowed = allowed
        self._news = asyncio.Condition()
        self.port = 0
        self.attempts: list[Attempt] = []
        self.serving: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        return proxy_environment(self.port, self._allowed)

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def say(self, request: bytes, *, end: bool = False) -> bytes:
        """Send bytes on a connection of their own and return all that is answered."""
        reader, writer = await self.connect()
        writer.write(request)
        if end:
            writer.write_eof()
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()
        return answer

    async def attempt(self, number: int = 0) -> Attempt:
        """Return a logged attempt, waiting for it."""
        async with self._news:
            await self._news.wait_for(lambda: len(self.attempts) > number)
        return self.attempts[number]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.serving.add(task)
        try:
            with suppress(asyncio.CancelledError):
                await self._egress.serve(SocketStream(reader, writer))
        finally:
            self.serving.discard(task)
            writer.close()
            async with self._news:
                self._news.notify_all()


@asynccontextmanager
async def proxy(
    *allowed: str, limits: Limits | None = None, resolve: Resolver | None = None
) -> AsyncIterator[Rig]:
    """Run a proxy that lets these hosts through."""
    attempts: list[Attempt] = []
    egress = Egress(allowed, attempts.append, sandbox="box", limits=limits, resolve=resolve)
    rig = Rig(egress, allowed)
    rig.attempts = attempts
    server = await asyncio.start_server(rig.serve, "127.0.0.1", 0, backlog=1024)
    rig.port = server.sockets[0].getsockname()[1]
    async with server:
        yield rig
        for task in rig.serving:
            task.cancel()
        await asyncio.gather(*rig.serving, return_exceptions=True)


@asynccontextmanager
async def listener(talk: Talk) -> AsyncIterator[int]:
    """Run a server that treats each connection so; gives its port."""
    tasks: set[asyncio.Task[Any]] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            with suppress(asyncio.CancelledError, ConnectionError):
                await talk(reader, writer)
        finally:
            tasks.discard(task)
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def website(tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Run an HTTP server with `/hello`, `/headers`, `/echo` and `/bytes/N`; gives its port."""
    app = web.Application(client_max_size=1 << 30)
    app.router.add_get("/hello", _hello)
    app.router.add_route("*", "/headers", _headers)
    app.router.add_post("/echo", _echo)
    app.router.add_get("/bytes/{size}", _bytes)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
        await site.start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


def certificate(folder: Path) -> tuple[ssl.SSLContext, Path]:
    """Make a certificate for `localhost`; returns the server's context and the file to trust."""
    key, cert = folder / "key.pem", folder / "cert.pem"
    names = "subjectAltName=DNS:localhost,IP:127.0.0.1"
    asked = ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2")
    made = ("-subj", "/CN=localhost", "-addext", names, "-keyout", str(key), "-out", str(cert))
    subprocess.run([*asked, *made], check=True, capture_output=True)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(cert, key)
    return context, cert


async def run(*argv: str, env: dict[str, str] | None = None) -> tuple[int, bytes, bytes]:
    """Run a program to its end; returns exit code, output and errors."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*argv, env=env or {}, stdout=pipe, stderr=pipe)
    output, errors = await process.communicate()
    return process.returncode or 0, output, errors


async def python(program: str, *argv: str, env: dict[str, str]) -> tuple[int, bytes, bytes]:
    """Run a Python program in an environment of its own."""
    return await run(sys.executable, "-I", "-c", program, *argv, env=env)


async def _hello(request: web.Request) -> web.Response:
    return web.Response(text="hello")


async def _headers(request: web.Request) -> web.Response:
    return web.json_response([[name.lower(), value] for name, value in request.headers.items()])


async def _echo(request: web.Request) -> web.Response:
    return web.Response(body=await request.read())


async def _bytes(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    left = int(request.match_info["size"])
    while left:
        part = bytes(min(left, CHUNK))
        await response.write(part)
        left -= len(part)
    return response
