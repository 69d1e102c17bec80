"""What a hostile program in a sandbox sends to its proxy."""

import asyncio
import resource
import socket
from collections.abc import AsyncIterator

import pytest

from agentgym.sandbox.egress.proxy import Limits
from tests.sandbox.egress_rig import Rig, listener, proxy

FLOOD = 500


class Recorder:
    """A server that keeps what it is sent and answers every request alike."""

    def __init__(self) -> None:
        self.port = 0
        self.heard: list[bytes] = []

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        self.heard.append(await reader.read())


@pytest.fixture
async def host() -> AsyncIterator[Recorder]:
    recorder = Recorder()
    async with listener(recorder.talk) as recorder.port:
        yield recorder


async def refused(rig: Rig, request: bytes, status: int, reason: str = "") -> None:
    answer = await rig.say(request)
    assert answer.startswith(b"HTTP/1.1 %d " % status), answer
    attempt = await rig.attempt()
    assert attempt.verdict == "refused"
    assert reason in attempt.reason
    assert attempt.bytes_up == attempt.bytes_down == 0


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ("Content-Length: 5\r\nContent-Length: 6", "12345GET /evil HTTP/1.1"),
        ("Content-Length: 5, 6", "12345GET"),
        ("Content-Length: +5", "12345"),
        ("Content-Length: 0x5", "12345"),
        ("Content-Length: 5\r\nTransfer-Encoding: chunked", "0\r\n\r\nGET /evil HTTP/1.1\r\n\r\n"),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", "0\r\n\r\n"),
        ("Transfer-Encoding: chunked, identity", "0\r\n\r\n"),
        ("Transfer-Encoding: \x0bchunked", "0\r\n\r\n"),
        ("Transfer-Encoding : chunked", "0\r\n\r\n"),
        ("Host: evil.example", ""),
        ("X: a\rGET /evil HTTP/1.1", ""),
        ("X: a\0b", ""),
        ("X\r\n y: 1", ""),
        (": nameless", ""),
    ],
)
async def test_what_can_be_read_in_two_ways_is_refused(
    host: Recorder, headers: str, body: str
) -> None:
    target = f"127.0.0.1:{host.port}"
    request = f"POST http://{target}/ HTTP/1.1\r\nHost: {target}\r\n{headers}\r\n\r\n{body}"
    async with proxy(target) as rig:
        answer = await rig.say(request.encode())
        assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 501 ")), answer
        assert (await rig.attempt()).verdict == "refused"
    assert host.heard == []


@pytest.mark.parametrize(
    "body",
    [
        "5\r\n12345\r\n0\r\n\r\nGET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        '5;a="x"\r\n12345\r\n0\r\nTrailer: 1\r\n\r\nGET /evil HTTP/1.1\r\n\r\n',
    ],
)
async def test_one_request_goes_out_a_connection(host: Recorder, body: str) -> None:
    target = f"127.0.0.1:{host.port}"
    headers = f"Host: {target}\r\nTransfer-Encoding: chunked"
    async with proxy(target) as rig:
        request = f"POST http://{target}/ HTTP/1.1\r\n{headers}\r\n\r\n{body}"
        assert (await rig.say(request.encode())).endswith(b"\r\n\r\nok")
        await rig.attempt()
    (heard,) = host.heard
    assert heard.count(b"HTTP/1.1") == 1
    assert b"evil" not in heard


@pytest.mark.parametrize("body", ["5\r\n12345X\r\n0\r\n\r\n", "-1\r\n", "5\n12345\n0\n\n", "g\r\n"])
async def test_a_body_that_breaks_its_framing_ends_the_request(body: str) -> None:
    async with listener(_silent) as port, proxy(f"127.0.0.1:{port}") as rig:
        target = f"127.0.0.1:{port}"
        headers = f"Host: {target}\r\nTransfer-Encoding: chunked"
        request = f"POST http://{target}/ HTTP/1.1\r\n{headers}\r\n\r\n{body}"
        assert (await rig.say(request.encode(), end=True)).startswith(b"HTTP/1.1 400 ")


async def _silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        ("GET http://allowed.example@evil.example/", 400),
        ("GET http://evil.example@allowed.example/", 400),
        ("GET http://allowed.example:80@evil.example/", 400),
        ("GET http://evil.example\\@allowed.example/", 400),
        ("GET http://evil.example#@allowed.example/", 403),
        ("GET http://evil.example?.allowed.example/", 403),
        ("GET http://allowed.example%2eevil.example/", 400),
        ("GET http://allowed.example:80:443/", 400),
        ("GET http://allowed.example:/", 400),
        ("GET http://allowed.example:22/", 403),
        ("GET http:///", 400),
        ("GET http://[allowed.example]/", 400),
        ("GET http://[::ffff:127.0.0.1]/", 400),
        ("GET http://0x7f.1/", 400),
        ("GET http://2130706433/", 400),
        ("GET http://127.0.0.1/", 403),
        ("GET ftp://allowed.example/", 403),
        ("GET https://allowed.example/", 403),
        ("GET file:///etc/passwd", 403),
        ("GET gopher://allowed.example/", 403),
        ("GET /", 400),
        ("GET //allowed.example/", 400),
        ("GET allowed.example", 400),
        ("OPTIONS *", 400),
        ("CONNECT allowed.example", 400),
        ("CONNECT allowed.example:22", 403),
        ("CONNECT allowed.example:0", 400),
        ("CONNECT allowed.example:99999", 400),
        ("CONNECT allowed.example:4_3", 400),
        ("CONNECT user@allowed.example:443", 400),
        ("CONNECT http://allowed.example:443", 400),
        ("CONNECT evil.example:443", 403),
        ("CONNECT [::1]:443", 403),
        ("CONNECT 127.1:443", 400),
    ],
)
async def test_targets_that_are_refused(request_line: str, status: int) -> None:
    async with proxy("allowed.example", resolve=_nowhere) as rig:
        request = f"{request_line} HTTP/1.1\r\nHost: allowed.example\r\n\r\n"
        await refused(rig, request.encode(), status)


async def _nowhere(name: str, port: int) -> list[str]:
    raise AssertionError(f"{name} was looked up")


@pytest.mark.parametrize("host", ["evil.example", "allowed.example:81", "allowed.example, evil"])
async def test_a_host_header_that_differs_is_refused(host: str) -> None:
    async with proxy("allowed.example", resolve=_nowhere) as rig:
        answer = await rig.say(
            f"GET http://allowed.example/ HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
        )
        assert answer.startswith((b"HTTP/1.1 403 the Host header differs", b"HTTP/1.1 400 "))


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100) + b"\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
        b"\x05\x01\x00\r\n\r\n",
        b"GET http://allowed.example/ HTTP/2.0\r\nHost: allowed.example\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET http://allowed.example/\r\n\r\n",
        b"GET  http://allowed.example/ HTTP/1.1\r\nHost: allowed.example\r\n\r\n",
        b"GET http://allowed.example/\xff HTTP/1.1\r\nHost: allowed.example\r\n\r\n",
        b"GET http://allowed.example/ HTTP/1.1\r\n\r\n",
        b"CONNECT allowed.example:443 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
    ],
)
async def test_what_is_no_request_to_a_proxy(request_bytes: bytes) -> None:
    async with proxy("allowed.example", resolve=_nowhere) as rig:
        answer = await rig.say(request_bytes)
        assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 505 ")), answer
        assert (await rig.attempt()).verdict == "refused"


async def test_headers_without_end_are_refused() -> None:
    line = b"X: " + b"x" * 1000 + b"\r\n"
    for filler in (line * 1000, b"x" * 1_000_000):
        async with proxy("allowed.example") as rig:
            reader, writer = await rig.connect()
            writer.write(
                b"GET http://allowed.example/ HTTP/1.1\r\nHost: allowed.example\r\n" + filler
            )
            answer = await reader.read()
            assert answer.startswith((b"HTTP/1.1 431 ", b"HTTP/1.1 400 "))
            writer.close()


async def test_long_headers_that_come_at_once_are_refused() -> None:
    async with proxy("allowed.example", limits=Limits(header=4096)) as rig:
        head = b"GET http://allowed.example/ HTTP/1.1\r\nHost: allowed.example\r\nX: "
        await refused(rig, head + b"x" * 5000 + b"\r\n\r\n", 431, "too long")


@pytest.mark.parametrize("start", [b"", b"GET", b"GET http://allowed.example/ HTTP/1.1\r\nHost"])
async def test_a_request_that_never_comes_whole(start: bytes) -> None:
    async with proxy("allowed.example", limits=Limits(request_s=0.05)) as rig:
        await refused(rig, start, 408, "no request came")


async def test_a_connection_on_which_nothing_moves_is_ended() -> None:
    async with listener(_silent) as port:
        target = f"127.0.0.1:{port}"
        async with proxy(target, limits=Limits(idle_s=0.05)) as rig:
            request = f"GET http://{target}/ HTTP/1.1\r\nHost: {target}\r\n\r\n".encode()
            assert (await rig.say(request)).startswith(b"HTTP/1.1 504 nothing moved")
            connect = f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode()
            reader, writer = await rig.connect()
            writer.write(connect)
            await reader.readuntil(b"\r\n\r\n")
            with pytest.raises(ConnectionError):
                await reader.readexactly(1)
            writer.close()
            assert (await rig.attempt(1)).reason == "nothing moved for 0.05 s"


async def test_a_program_that_does_not_read_holds_little() -> None:
    sent = 0

    async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        while True:
            writer.write(bytes(1 << 16))
            await writer.drain()
            sent += 1 << 16

    async with listener(pour) as port:
        target = f"127.0.0.1:{port}"
        async with proxy(target, limits=Limits(idle_s=0.2)) as rig:
            _reader, writer = await rig.connect()
            writer.write(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
            attempt = await rig.attempt()
            writer.close()
    assert attempt.reason == "nothing moved for 0.2 s"
    assert attempt.bytes_down < 32 << 20


async def test_a_flood_of_connections_is_bounded(host: Recorder) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 8 * FLOOD)), hard))
    target = f"127.0.0.1:{host.port}"
    request = f"GET http://{target}/ HTTP/1.1\r\nHost: {target}\r\n\r\n".encode()
    async with proxy(target, limits=Limits(connections=64)) as rig:
        held = [await rig.connect() for _ in range(64)]
        for _, writer in held:
            writer.write(b"GET ")
        # Each of these is answered, so by then the held ones are known to be open.
        answers = await asyncio.gather(*(rig.say(request) for _ in range(FLOOD)))
        assert {answer.split()[1] for answer in answers} <= {b"200", b"503"}
        refusals = sum(answer.split()[1] == b"503" for answer in answers)
        assert refusals >= FLOOD - 64
        for _, writer in held:
            writer.close()
        await rig.attempt(FLOOD + 63)
        assert (await rig.say(request)).startswith(b"HTTP/1.1 200 ")
        await rig.attempt(FLOOD + 64)
        assert len(rig.attempts) == FLOOD + 65
    assert rig.serving == set()


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["93.184.216.34", "127.0.0.1"],
        ["::1"],
        ["::ffff:127.0.0.1"],
        ["169.254.169.254"],
        ["fe80::1%eth0"],
        ["10.0.0.1"],
        ["0.0.0.0"],
    ],
)
async def test_a_name_that_leads_inside_is_refused(host: Recorder, addresses: list[str]) -> None:
    async def rebound(name: str, port: int) -> list[str]:
        return addresses

    async with proxy(f"a.example:{host.port}", resolve=rebound) as rig:
        request = f"CONNECT a.example:{host.port} HTTP/1.1\r\nHost: a.example\r\n\r\n"
        answer = await rig.say(request.encode())
        assert answer.startswith(b"HTTP/1.1 403 a.example has a ")
        attempt = await rig.attempt()
    assert attempt.verdict == "refused"
    assert attempt.address
    assert not any(address.encode() in answer for address in addresses)
    assert host.heard == []


async def test_the_connection_goes_to_the_address_that_was_checked(host: Recorder) -> None:
    lookups = 0

    async def rebinding(name: str, port: int) -> list[str]:
        nonlocal lookups
        lookups += 1
        return ["127.0.0.1"] if lookups == 1 else ["127.0.0.2"]

    async with proxy(f"a.example:{host.port}", f"127.0.0.1:{host.port}", resolve=rebinding) as rig:
        target = f"a.example:{host.port}"
        request = f"GET http://{target}/ HTTP/1.1\r\nHost: {target}\r\n\r\n".encode()
        assert (await rig.say(request)).endswith(b"ok")
        assert (await rig.attempt()).address == "127.0.0.1"
        assert (await rig.say(request)).startswith(b"HTTP/1.1 403 ")
        assert (await rig.attempt(1)).address == "127.0.0.2"
    assert lookups == 2
    assert len(host.heard) == 1


async def test_the_hosts_own_names_lead_nowhere() -> None:
    name = socket.gethostname().lower()
    async with proxy(name, f"*.{name}") as rig:
        answer = await rig.say(f"CONNECT {name}:80 HTTP/1.1\r\nHost: {name}\r\n\r\n".encode())
        assert answer.split()[1] in (b"400", b"403", b"502"), answer
