"""One exchange of plain HTTP: the request is read, written anew, and answered.

What goes out is made from what was understood, never copied, so that the host cannot read it
as anything else. One exchange a connection: nothing is left over that could be a second.
"""

import asyncio
from urllib.parse import urlsplit

import h11

from agentgym.sandbox.egress.attempt import ProxyError, failed
from agentgym.sandbox.egress.caller import Caller
from agentgym.sandbox.egress.hosts import Endpoint, bracketed, parse_endpoint
from agentgym.sandbox.egress.tunnel import Beat, idle_limit
from agentgym.sandbox.egress.upstream import Upstream

Headers = list[tuple[bytes, bytes]]

_HTTP_PORT = 80
_FRAMING = frozenset({b"content-length", b"transfer-encoding", b"host"})
_HOP_BY_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"upgrade",
    }
)


def target_of(request: h11.Request) -> tuple[Endpoint, str]:
    """Return where a request goes, and the path to ask for there ("" for a tunnel).

    Raises:
        ProxyError: It is not one that a proxy answers, or can be read in two ways.
    """
    if request.http_version not in (b"1.0", b"1.1"):
        raise ProxyError(505, "only HTTP/1.0 and HTTP/1.1 are spoken here")
    names = [name for name, _ in request.headers]
    if b"transfer-encoding" in names and b"content-length" in names:
        raise ProxyError(400, "the request's body has two lengths")
    try:
        target = request.target.decode("ascii")
        if request.method == b"CONNECT":
            return parse_endpoint(target), ""
        endpoint, path = _split(target)
        _check_host(request, endpoint)
    except ValueError as error:
        raise ProxyError(400, f"bad request: {error}") from error
    return endpoint, path


def outgoing_request(request: h11.Request, endpoint: Endpoint, path: str) -> h11.Request:
    """Return the request that the host gets.

    Args:
        request: What the sandbox asks.
        endpoint: Where it goes.
        path: What is asked for there.
    """
    host = bracketed(endpoint.host) if endpoint.port == _HTTP_PORT else str(endpoint)
    kept = [(name, value) for name, value in _passed_on(request) if name.lower() != b"host"]
    return h11.Request(
        method=request.method, target=path, headers=[(b"Host", host.encode()), *kept]
    )


async def forward(
    caller: Caller, request: h11.Request, upstream: Upstream, *, idle: float, max_header: int
) -> None:
    """Pass a request on and its answer back.

    Args:
        caller: The sandbox's end.
        request: What the host gets.
        upstream: The host's end.
        idle: Seconds in which something has to move.
        max_header: Bytes of the answer's headers at most.

    Raises:
        ProxyError: The host broke off or answered no HTTP, or nothing moved.
        DroppedError: The sandbox dropped the connection.
    """
    http = h11.Connection(h11.CLIENT, max_incomplete_event_size=max_header)
    async with idle_limit(idle) as beat:
        await upstream.write(http.send(request))
        try:
            async with asyncio.TaskGroup() as group:
                upload = group.create_task(_upload(caller, http, upstream, beat))
                await _answer(caller, http, upstream, beat)
                upload.cancel()
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None


async def _upload(caller: Caller, http: h11.Connection, upstream: Upstream, beat: Beat) -> None:
    while part := await caller.body_part():
        beat()
        if not await _sent(upstream, http.send(h11.Data(data=part))):
            return
        beat()
    await _sent(upstream, http.send(h11.EndOfMessage()))


async def _sent(upstream: Upstream, data: bytes | None) -> bool:
    """Send, or return False where the host takes no more; it may have answered already."""
    try:
        await upstream.write(data or b"")
    except ProxyError:
        return False
    return True


async def _answer(caller: Caller, http: h11.Connection, upstream: Upstream, beat: Beat) -> None:
    while True:
        event = await _next_event(http, upstream)
        beat()
        if isinstance(event, h11.InformationalResponse):
            await caller.inform(event)
        elif isinstance(event, h11.Response):
            headers = _passed_on(event)
            await caller.send(
                h11.Response(status_code=event.status_code, reason=event.reason, headers=headers)
            )
        elif isinstance(event, h11.Data):
            await caller.send(h11.Data(data=event.data))
        elif isinstance(event, h11.EndOfMessage):
            await caller.send(h11.EndOfMessage())
            return
        else:
            raise failed(502, "the host closed without an answer")
        beat()


async def _next_event(http: h11.Connection, upstream: Upstream) -> object:
    try:
        while (event := http.next_event()) is h11.NEED_DATA:
            http.receive_data(await upstream.read())
    except h11.RemoteProtocolError as error:
        raise failed(502, "the host's answer is no HTTP, or cut off") from error
    return event


def _split(target: str) -> tuple[Endpoint, str]:
    parts = urlsplit(target)
    if not parts.scheme:
        raise ProxyError(400, "this is a proxy: ask for a whole URL")
    if parts.scheme != "http":
        raise ProxyError(403, "only http:// is fetched here; use CONNECT for everything else")
    path = parts.path or "/"
    return parse_endpoint(
        parts.netloc, _HTTP_PORT
    ), f"{path}?{parts.query}" if parts.query else path


def _passed_on(message: h11.Request | h11.Response) -> Headers:
    """Return a message's headers, those about the connection replaced by our own."""
    named = [(name.lower(), name, value) for name, value in message.headers.raw_items()]
    about_it = set(_HOP_BY_HOP)
    for name, _, value in named:
        if name == b"connection":
            about_it |= {token.strip().lower() for token in value.split(b",")}
    about_it -= _FRAMING  # nobody may have the length of a body taken away
    if any(name == b"transfer-encoding" for name, _, _ in named):
        about_it.add(b"content-length")
    kept = [(as_written, value) for name, as_written, value in named if name not in about_it]
    return [*kept, (b"Connection", b"close")]


def _check_host(request: h11.Request, endpoint: Endpoint) -> None:
    for name, value in request.headers:
        if name == b"host" and parse_endpoint(value.decode("ascii"), _HTTP_PORT) != endpoint:
            raise ProxyError(403, "the Host header differs from the URL")
