"""The way out of a sandbox, as real programs use it: over real sockets, to real servers."""

import asyncio
import json
import logging
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from agentgym.sandbox.egress.proxy import Limits, proxy_environment
from tests.sandbox.egress_rig import (
    certificate,
    listener,
    needs_curl,
    needs_openssl,
    proxy,
    python,
    run,
    website,
)

URLLIB = """
import ssl, sys, urllib.request
context = ssl.create_default_context(cafile=sys.argv[2]) if len(sys.argv) > 2 else None
with urllib.request.urlopen(sys.argv[1], context=context) as answer:
    sys.stdout.buffer.write(answer.read())
"""
BIG = 100 << 20


@pytest.fixture
async def site() -> AsyncIterator[int]:
    async with website() as port:
        yield port


async def test_urllib_fetches_plain_http(site: int) -> None:
    async with proxy(f"localhost:{site}") as rig:
        url = f"http://localhost:{site}/hello"
        code, output, errors = await python(URLLIB, url, env=rig.environment)
        assert (code, output) == (0, b"hello"), errors
        attempt = await rig.attempt()
    assert attempt[1:5] == ("box", "GET", "localhost", site)
    assert (attempt.verdict, attempt.reason) == ("allowed", "")
    assert attempt.address in ("127.0.0.1", "::1")
    assert attempt.bytes_up > 0
    assert attempt.bytes_down > len("hello")


@needs_openssl
async def test_urllib_fetches_over_tls(tmp_path: Path) -> None:
    context, trusted = certificate(tmp_path)
    async with website(context) as port, proxy(f"localhost:{port}") as rig:
        url = f"https://localhost:{port}/hello"
        code, output, errors = await python(URLLIB, url, str(trusted), env=rig.environment)
        assert (code, output) == (0, b"hello"), errors
        attempt = await rig.attempt()
    assert attempt.method == "CONNECT"
    assert attempt.verdict == "allowed"


@needs_curl
@needs_openssl
async def test_curl_fetches_both_ways(tmp_path: Path, site: int) -> None:
    context, trusted = certificate(tmp_path)
    body = tmp_path / "body"
    body.write_bytes(bytes(range(256)) * 8192)
    upload = ("curl", "-sS", "--fail", "--cacert", str(trusted), "--data-binary", f"@{body}")
    async with (
        website(context) as secure,
        proxy(f"127.0.0.1:{site}", f"localhost:{secure}") as rig,
        proxy("localhost:1", "127.0.0.1:1") as refusing,
    ):
        for url in (f"http://127.0.0.1:{site}/echo", f"https://localhost:{secure}/echo"):
            code, output, errors = await run(*upload, url, env=rig.environment)
            assert code == 0, errors
            assert output == body.read_bytes()
            code, output, errors = await run(*upload, url, env=refusing.environment)
            assert code != 0
            assert b"403" in errors


async def test_aiohttp_keeps_a_session_over_many_requests(site: int) -> None:
    async with proxy(f"127.0.0.1:{site}") as rig, aiohttp.ClientSession() as session:
        for _ in range(5):
            url = f"http://127.0.0.1:{site}/echo"
            async with session.post(url, data=b"x" * 70_000, proxy=rig.url) as answer:
                assert await answer.read() == b"x" * 70_000

        async def chunks() -> AsyncIterator[bytes]:
            for number in range(20):
                yield bytes([number]) * 10_000

        async with session.post(url, data=chunks(), proxy=rig.url) as answer:
            assert len(await answer.read()) == 200_000


async def test_a_refusal_names_the_rule_where_the_client_shows_it(site: int) -> None:
    async with proxy("*.allowed.example") as rig:
        answer = await rig.say(b"GET http://evil.example/x HTTP/1.1\r\nHost: evil.example\r\n\r\n")
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 403 evil.example:80 is not on the allowlist\r\n")
        assert body == b"agentgym: evil.example:80 is not on the allowlist\n"
        url = "https://evil.example/"
        _, _, errors = await python(URLLIB, url, env=rig.environment)
        assert b"403 evil.example:443 is not on the allowlist" in errors
        attempt = await rig.attempt(1)
    assert attempt[2:8] == (
        "CONNECT",
        "evil.example",
        443,
        "",
        "refused",
        "evil.example:443 is not on the allowlist",
    )


async def test_attempts_go_to_the_logger(site: int, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "agentgym.sandbox.egress"):
        async with proxy() as rig:
            await rig.say(b"CONNECT evil.example:22 HTTP/1.1\r\nHost: evil.example:22\r\n\r\n")
            attempt = await rig.attempt()
    (record,) = caplog.records
    assert record.args == (attempt,)
    assert "evil.example" in record.getMessage()


async def test_headers_about_the_connection_stay_behind(site: int) -> None:
    host = f"127.0.0.1:{site}".encode()
    request = (
        b"GET http://%s/headers HTTP/1.1\r\nHost: %s\r\nX-Kept: 1\r\nProxy-Authorization: secret"
        b"\r\nConnection: X-Dropped, Content-Length, Host\r\nX-Dropped: 1\r\nTE: trailers\r\n"
        b"Proxy-Connection: keep-alive\r\nUpgrade: websocket\r\nContent-Length: 2\r\n\r\n{}"
    )
    async with proxy(host.decode()) as rig:
        answer = await rig.say(request % (host, host))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"\r\nConnection: close" in head
    kept = dict(json.loads(body))
    assert kept == {
        "host": host.decode(),
        "x-kept": "1",
        "content-length": "2",
        "connection": "close",
    }


async def test_an_old_client_is_answered_as_such(site: int) -> None:
    target = f"http://127.0.0.1:{site}"
    async with proxy(f"127.0.0.1:{site}") as rig:
        answer = await rig.say(f"GET {target}/bytes/100000 HTTP/1.0\r\n\r\n".encode())
        head, _, body = answer.partition(b"\r\n\r\n")
        assert b"chunked" not in head
        assert body == bytes(100_000)
        answer = await rig.say(f"HEAD {target}/hello HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert answer.startswith(b"HTTP/1.1 403")
        host = f"127.0.0.1:{site}"
        answer = await rig.say(f"HEAD {target}/hello HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        assert answer.startswith(b"HTTP/1.1 200")
        assert answer.endswith(b"\r\n\r\n")


async def test_a_client_may_wait_for_leave_to_send(site: int) -> None:
    url = f"http://127.0.0.1:{site}/echo"
    async with (
        proxy(f"127.0.0.1:{site}") as rig,
        aiohttp.ClientSession() as session,
        session.post(url, data=b"x" * 10, expect100=True, proxy=rig.url) as answer,
    ):
        assert await answer.read() == b"x" * 10


async def test_an_early_answer_ends_an_upload() -> None:
    async def full(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 4\r\n\r\nfull")
        await writer.drain()
        await reader.read()

    async with listener(full) as port, proxy(f"127.0.0.1:{port}") as rig:
        reader, writer = await rig.connect()
        target = f"127.0.0.1:{port}"
        head = f"POST http://{target}/ HTTP/1.1\r\nHost: {target}\r\nContent-Length: {BIG}\r\n\r\n"
        writer.write(head.encode() + bytes(1000))
        answer = await reader.readuntil(b"full")
        assert answer.startswith(b"HTTP/1.1 413 Too Large\r\n")
        writer.close()
        assert (await rig.attempt()).verdict == "allowed"


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (b"", b"502"),
        (b"garbage\r\n\r\n", b"502"),
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", b"502"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000 + b"\r\n\r\n", b"502"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", b"502"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b"204"),
        (b"HTTP/1.0 200 OK\r\n\r\nto the end", b"200"),
        (b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", b"103"),
    ],
)
async def test_what_a_host_answers(answer: bytes, status: bytes) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.write_eof()
        await reader.read()

    async with listener(talk) as port, proxy(f"127.0.0.1:{port}") as rig:
        target = f"127.0.0.1:{port}"
        said = await rig.say(f"GET http://{target}/ HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
        attempt = await rig.attempt()
    assert said.startswith(b"HTTP/1.1 " + status)
    assert attempt.verdict == ("failed" if status == b"502" else "allowed")


async def test_an_answer_that_is_cut_off_is_not_taken_for_whole() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
        writer.write_eof()
        await reader.read()

    async with (
        listener(talk) as port,
        proxy(f"127.0.0.1:{port}") as rig,
        aiohttp.ClientSession() as session,
    ):
        async with session.get(f"http://127.0.0.1:{port}/", proxy=rig.url) as answer:
            with pytest.raises(aiohttp.ClientError):
                await answer.read()
        attempt = await rig.attempt()
    assert attempt.verdict == "failed"
    assert "cut off" in attempt.reason


async def test_a_host_that_cannot_be_reached(unused_port: int) -> None:
    async def never(name: str, port: int) -> list[str]:
        await asyncio.Event().wait()
        return []

    async def nowhere(name: str, port: int) -> list[str]:
        return []

    connect = b"CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n"
    async with proxy("a.example", limits=Limits(connect_s=0.05), resolve=never) as rig:
        assert (await rig.say(connect)).startswith(b"HTTP/1.1 504 a.example:443 did not answer")
    async with proxy("a.example", resolve=nowhere) as rig:
        assert (await rig.say(connect)).startswith(b"HTTP/1.1 502 a.example has no address")
    async with proxy(f"127.0.0.1:{unused_port}") as rig:
        target = f"127.0.0.1:{unused_port}"
        request = f"GET http://{target}/ HTTP/1.1\r\nHost: {target}\r\n\r\n".encode()
        said = await rig.say(request)
        assert said.startswith(f"HTTP/1.1 502 {target}: connection refused".encode())
        assert (await rig.attempt()).verdict == "failed"


@pytest.fixture
def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_programs_find_the_proxy_through_their_environment() -> None:
    variables = proxy_environment(3128)
    assert variables["https_proxy"] == variables["HTTPS_PROXY"] == "http://127.0.0.1:3128"
    assert variables["NO_PROXY"] == "localhost,127.0.0.1,::1"
    assert proxy_environment(3128, ["LOCALHOST:8000", "[::1]:1"])["no_proxy"] == "127.0.0.1"
