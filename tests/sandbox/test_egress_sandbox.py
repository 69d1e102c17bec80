"""The way out as programs inside real sandboxes use it."""

import asyncio
import json
import logging
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentgym.errors import SandboxUnavailableError
from agentgym.sandbox.backends import make_backend
from agentgym.sandbox.base import Sandbox, SandboxBackend
from agentgym.sandbox.guest_sandbox import GuestSandbox
from agentgym.sandbox.spec import SandboxSpec
from tests.sandbox.egress_rig import CHUNK, certificate, drop, listener, needs_openssl, website
from tests.servers import require

BIG = 100 << 20
WITHIN = 24 << 20
FLOOD = 500

FETCH = """
import ssl, sys, urllib.request
context = ssl.create_default_context(cafile="/work/ca.pem")
for url in sys.argv[1:]:
    with urllib.request.urlopen(url, context=context) as answer:
        sys.stdout.buffer.write(answer.read())
"""

TUNNEL = """
import json, os, socket, sys
proxy = ("127.0.0.1", int(os.environ["https_proxy"].rpartition(":")[2]))
def tunnel(target):
    connection = socket.create_connection(proxy)
    connection.sendall(f"CONNECT {target} HTTP/1.1\\r\\nHost: {target}\\r\\n\\r\\n".encode())
    answer = b""
    while b"\\r\\n\\r\\n" not in answer:
        answer += connection.recv(1)
    return connection if answer.split()[1] == b"200" else answer.split()[1].decode()
"""


@pytest.fixture(params=["bubblewrap", "docker"])
async def backend(request: pytest.FixtureRequest) -> AsyncIterator[SandboxBackend]:
    if request.param == "docker":
        request.getfixturevalue("base_image")
    backend = make_backend(request.param)
    try:
        await backend.check_available()
    except SandboxUnavailableError as error:
        require(False, str(error))
    yield backend
    await backend.close()


async def boxed(backend: SandboxBackend, *ports: int, **fields: Any) -> GuestSandbox:
    """Start a sandbox that may reach these ports of the host."""
    egress = tuple(f"localhost:{port}" for port in ports)
    sandbox = await backend.start(SandboxSpec(egress=egress, **fields))
    assert isinstance(sandbox, GuestSandbox)
    return sandbox


async def tell(sandbox: Sandbox, program: str, *argv: object) -> Any:
    """Run a program that prints JSON, with `tunnel` to call."""
    done = await sandbox.exec(["python3", "-c", TUNNEL + program, *map(str, argv)])
    assert done.exit_code == 0, done.error_text
    return json.loads(done.stdout)


class Ends(logging.Handler):
    """Hears of attempts when they have ended."""

    def __init__(self) -> None:
        super().__init__()
        self.heard = asyncio.Queue[str]()

    def emit(self, record: logging.LogRecord) -> None:
        self.heard.put_nowait(record.getMessage())


@pytest.fixture
def ends(caplog: pytest.LogCaptureFixture) -> Iterator[Ends]:
    logger, handler = logging.getLogger("agentgym.sandbox.egress"), Ends()
    logger.addHandler(handler)
    with caplog.at_level(logging.INFO, logger.name):
        yield handler
    logger.removeHandler(handler)


@needs_openssl
async def test_programs_reach_what_is_listed(
    backend: SandboxBackend, tmp_path: Path, ends: Ends
) -> None:
    context, trusted = certificate(tmp_path)
    async with website() as plain, website(context) as secure:
        files = {"/work/ca.pem": trusted.read_bytes()}
        async with await boxed(backend, plain, secure, files=files) as sandbox:
            urls = [f"http://localhost:{plain}/hello", f"https://localhost:{secure}/hello"]
            done = await sandbox.exec(["python3", "-c", FETCH, *urls])
            assert done.text == "hellohello", done.error_text
            if (await sandbox.exec("command -v curl")).exit_code == 0:
                done = await sandbox.exec(["curl", "-sS", "--cacert", "ca.pem", *urls])
                assert done.text == "hellohello", done.error_text
            done = await sandbox.exec(["python3", "-c", FETCH, f"https://localhost:{plain + 1}/"])
            assert f"403 localhost:{plain + 1} is not on the allowlist" in done.error_text
            await ends.heard.get()
            await ends.heard.get()
            first, second, *_ = sandbox.egress_log
    assert (first.sandbox, first.method, first.port) == (sandbox.id, "GET", plain)
    assert (second.method, second.port, second.verdict) == ("CONNECT", secure, "allowed")


async def test_big_transfers_take_little_memory(backend: SandboxBackend) -> None:
    async def download(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(BIG // CHUNK):
            writer.write(bytes(CHUNK))
            await writer.drain()

    async def upload(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        size = 0
        while part := await reader.read(CHUNK):
            size += len(part)
        writer.write(str(size).encode())

    program = f"""
down, up, size = tunnel(sys.argv[1]), tunnel(sys.argv[2]), 0
while part := down.recv({CHUNK}):
    size += len(part)
for _ in range({BIG // CHUNK}):
    up.sendall(bytes({CHUNK}))
up.shutdown(socket.SHUT_WR)
print(json.dumps([size, int(up.recv(100))]))
"""
    async with (
        listener(download) as down,
        listener(upload) as up,
        await boxed(backend, down, up) as sandbox,
    ):
        tracemalloc.start()
        try:
            sizes = await tell(sandbox, program, f"localhost:{down}", f"localhost:{up}")
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert sizes == [BIG, BIG]
    assert peak < WITHIN


async def test_a_flood_of_connections_is_answered(backend: SandboxBackend) -> None:
    program = f"""
held, answers = [], set()
for _ in range({FLOOD}):
    held.append(socket.create_connection(proxy))
    held[-1].sendall(f"GET http://{{sys.argv[1]}}/hello HTTP/1.1\\r\\n".encode())
for connection in held:
    connection.sendall(f"Host: {{sys.argv[1]}}\\r\\n\\r\\n".encode())
for connection in held:
    answers.add(connection.recv(12).decode())
print(json.dumps(sorted(answers)))
"""
    async with website() as port, await boxed(backend, port) as sandbox:
        answers = await tell(sandbox, program, f"localhost:{port}")
        assert answers == ["HTTP/1.1 200", "HTTP/1.1 503"]
        program = "print(json.dumps(type(tunnel(sys.argv[1])) is not str))"
        assert await tell(sandbox, program, f"localhost:{port}")


async def test_either_side_may_end_first(backend: SandboxBackend) -> None:
    async def after_the_end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"heard " + await reader.read())

    program = """
connection = tunnel(sys.argv[1])
connection.sendall(b"x" * 500_000)
connection.shutdown(socket.SHUT_WR)
answer = b""
while part := connection.recv(65536):
    answer += part
print(json.dumps([answer[:6].decode(), len(answer)]))
"""
    async with listener(after_the_end) as port, await boxed(backend, port) as sandbox:
        assert await tell(sandbox, program, f"localhost:{port}") == ["heard ", 500_006]


async def test_a_sandbox_that_ends_takes_its_connections_with_it(
    backend: SandboxBackend, ends: Ends
) -> None:
    begun, gone = asyncio.Event(), asyncio.Event()

    async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        sent = 0
        try:
            while True:
                writer.write(bytes(CHUNK))
                await writer.drain()
                sent += CHUNK
                if sent > BIG:
                    begun.set()
        except ConnectionError:
            gone.set()

    program = f"\nconnection = tunnel(sys.argv[1])\nwhile connection.recv({CHUNK}): pass"
    async with listener(pour) as port:
        sandbox = await boxed(backend, port)
        argv = ["python3", "-c", TUNNEL + program, f"localhost:{port}"]
        await sandbox.start(argv, stdin=b"")
        await begun.wait()
        await sandbox.close()
        await gone.wait()
        await ends.heard.get()
        (attempt,) = sandbox.egress_log
    assert attempt.verdict == "allowed"
    assert attempt.reason in ("the sandbox was closed", "the sandbox dropped the connection")
    assert attempt.bytes_down > 0


async def test_a_transfer_that_breaks_off_is_not_taken_for_whole(backend: SandboxBackend) -> None:
    async def break_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"half")
        await writer.drain()
        await reader.readexactly(1)
        drop(writer)

    program = """
connection = tunnel(sys.argv[1])
seen = connection.recv(4).decode()
connection.sendall(b"x")
try:
    connection.recv(1)
    seen += " and an end"
except ConnectionResetError:
    seen += " and a reset"
print(json.dumps(seen))
"""
    async with listener(break_off) as port, await boxed(backend, port) as sandbox:
        assert await tell(sandbox, program, f"localhost:{port}") == "half and a reset"
