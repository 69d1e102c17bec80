"""Checks of the allowlist: one host is reached through the proxy, others are not, all is logged."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agentgym.sandbox.base import Sandbox
from agentgym.sandbox.check.context import Context, still_works
from agentgym.sandbox.check.inside import ATTEMPT, DONE, answer, python
from agentgym.sandbox.check.registry import check, holds, same

_FETCH = """
import json, sys, urllib.error, urllib.request
found = []
for url in sys.argv[1:]:
    try:
        with urllib.request.urlopen(url, timeout=10) as reply:
            found.append([reply.status, reply.read().decode("latin-1")])
    except urllib.error.HTTPError as error:
        found.append([error.code, ""])
    except OSError as error:
        found.append([0, str(error)])
print(json.dumps(found))
"""

_TUNNEL = """
import json, os, socket, sys
host, port = os.environ["https_proxy"].rpartition("/")[2].split(":")
found = []
for target in sys.argv[1:]:
    with socket.create_connection((host, int(port)), 10) as proxy:
        proxy.sendall(f"CONNECT {target} HTTP/1.1\\r\\nHost: {target}\\r\\n\\r\\n".encode())
        reply = proxy.recv(4096)
        status = int(reply.split()[1]) if reply else 0
        body = b""
        if status == 200:
            proxy.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
            while part := proxy.recv(4096): body += part
        found.append([status, body.rpartition(b"\\r\\n")[2].decode("latin-1")])
print(json.dumps(found))
"""


_MISUSE = """
import os, socket
host, port = os.environ["http_proxy"].rpartition("/")[2].split(":")
proxy = host, int(port)
for words in (
    b"",
    b"\\0" * 100,
    b"GET " + b"x" * 1_000_000,
    b"CONNECT x:y HTTP/1.1\\r\\n\\r\\n",
    b"GET http://localhost/ HTTP/1.1\\r\\nHost: a\\r\\nHost: b\\r\\n\\r\\n",
):
    try:
        with socket.create_connection(proxy, 5) as s:
            s.settimeout(3)
            s.sendall(words)
            s.shutdown(1)
            s.recv(100)
    except OSError:
        pass
held = []
try:
    for _ in range(900):
        held.append(socket.create_connection(proxy, 5))
except OSError:
    pass
"""

_SPELLINGS = (
    "127.0.0.1",
    "localhost",
    "localhost.",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "0.0.0.0",
    "127.1",
    "2130706433",
    "0x7f000001",
    "example.com@127.0.0.1",
)


@asynccontextmanager
async def _server(words: str) -> AsyncIterator[int]:
    """Serve a page to whoever asks, on the host's loopback; the value is the port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(words)}\r\nConnection: close\r\n\r\n"
        writer.write((head + words).encode())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


def _log(sandbox: Sandbox) -> list[tuple[str, int, str]]:
    return [(item.host, item.port, item.verdict) for item in sandbox.egress_log]


@check("egress", isolated=True)
async def allowed(ctx: Context) -> None:
    """A host on the list is reached, by HTTP and by a tunnel; others are not; all is logged."""
    async with _server("the page") as port, _server("not this one") as other:
        box = await ctx.fresh(egress=(f"localhost:{port}",))
        urls = [f"http://localhost:{number}/" for number in (port, other)]
        found = await answer(box, _FETCH, *urls, "http://example.com/")
        same("the host on the list", found[0], [200, "the page"])
        same("those that are not", [item[0] for item in found[1:]], [403, 403])
        found = await answer(box, _TUNNEL, *(f"localhost:{number}" for number in (port, other)))
        same("by a tunnel", (found[0], found[1][0]), ([200, "the page"], 403))
        wanted = [
            ("localhost", port, "allowed"),
            ("localhost", other, "refused"),
            ("example.com", 80, "refused"),
            ("localhost", port, "allowed"),
            ("localhost", other, "refused"),
        ]
        # An attempt is logged when its connection has ended: after the probe saw its answer, and
        # after that of a later one at times.
        for _ in range(200):
            if len(_log(box)) == len(wanted):
                break
            await asyncio.sleep(0.01)
        same("the log", sorted(_log(box)), sorted(wanted))
        await still_works(box)


@check("egress", isolated=True)
async def inner_addresses(ctx: Context) -> None:
    """The proxy is no way to the metadata address or the host's other ports, by any spelling."""
    async with _server("the host's own") as port:
        box = await ctx.fresh(egress=("example.com", f"*.example.com:{port}"))
        urls = [f"http://{host}:{port}/" for host in _SPELLINGS]
        urls += ["http://169.254.169.254/latest/meta-data/", "http://[fd00:ec2::254]/"]
        found = await answer(box, _FETCH, *urls, env={"no_proxy": "", "NO_PROXY": ""}, timeout=50)
        reached = [url for url, (status, _) in zip(urls, found, strict=True) if status == 200]
        same("what was reached", reached, [])
        holds("allowed" not in {item[2] for item in _log(box)}, "nothing allowed", _log(box))


@check("egress", isolated=True)
async def no_other_way(ctx: Context) -> None:
    """With an allowlist there is still no network but the proxy."""
    async with _server("the page") as port:
        box = await ctx.fresh(egress=(f"localhost:{port}",))
        program = (
            ATTEMPT
            + "for host in ('127.0.0.1', '1.1.1.1', '169.254.169.254'):\n"
            + "    attempt(host, socket.create_connection, (host, int(sys.argv[1])), 2)\n"
            + "attempt('name', socket.getaddrinfo, 'example.com', 80)"
            + DONE
        )
        same("what was reached", await answer(box, program, str(port)), [])
        found = await python(box, "import socket; print([n for _, n in socket.if_nameindex()])")
        same("the interfaces", found.text, "['lo']\n")


@check("egress", isolated=True)
async def misuse(ctx: Context) -> None:
    """Rubbish, floods and thousands of connections to the proxy harm neither host nor sandbox."""
    async with _server("the page") as port:
        box = await ctx.fresh(egress=(f"localhost:{port}",))
        same("the exit code", (await python(box, _MISUSE, timeout=50)).exit_code, 0)
        await still_works(box)
        found = await answer(box, _FETCH, f"http://localhost:{port}/")
        same("the host on the list afterwards", found, [[200, "the page"]])


@check("egress", isolated=True)
async def after_reset(ctx: Context) -> None:
    """The allowlist holds after `reset`, and in a fork."""
    async with _server("the page") as port:
        box = await ctx.fresh(egress=(f"localhost:{port}",))
        await box.reset()
        twin = ctx.keep(await box.fork())
        for one in (box, twin):
            found = await answer(one, _FETCH, f"http://localhost:{port}/", "http://example.com/")
            same("what is reached", [item[0] for item in found], [200, 403])
