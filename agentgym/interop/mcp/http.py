"""Serving many clients over streamable HTTP, each session an episode of its own."""

import asyncio
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import uvicorn
from mcp.server import Server
from mcp.server.transport_security import TransportSecuritySettings

from agentgym.errors import UsageError
from agentgym.interop.mcp.host import EpisodeHost
from agentgym.interop.mcp.stdio import SIGNALS

PATH = "/mcp"
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_GRACE_S = 2


def bind(address: str, port: int) -> socket.socket:
    """Return a socket to serve on.

    Args:
        address: A host name or address of this machine.
        port: 0 takes one that is free.

    Raises:
        UsageError: It cannot be had.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    bound = socket.socket(family)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((address, port))
    except (OSError, OverflowError) as error:
        bound.close()
        raise UsageError(
            f"Port {port} of {address} cannot be listened on: {str(error).rstrip('.')}.",
            remedy="Choose another --port or --host.",
        ) from error
    return bound


async def serve_http(
    server: Server[Any],
    host: EpisodeHost,
    bound: socket.socket,
    *,
    names: Sequence[str] = (),
    most_sessions: int,
    idle_s: float,
    on_ready: Callable[[], None],
) -> None:
    """Serve until every episode is played and every client has gone, or a signal asks to end.

    Requests whose Host or Origin header names anything but this machine's loopback, the
    socket's address or one of `names` are refused, so that no web page can play.

    Args:
        server: What each session talks to.
        host: The episodes.
        bound: From `bind`.
        names: Further host names under which clients reach the server.
        most_sessions: Clients at once; one more is answered with 503.
        idle_s: Seconds after which a session without a request under way is ended.
        on_ready: Called once connections are accepted.
    """
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        session_idle_timeout=idle_s,
        max_sessions=most_sessions,
        transport_security=_only_for({*_LOOPBACK, _in_url(bound.getsockname()[0]), *names}),
    )
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=_GRACE_S)
    web = _Web(config, on_ready)
    serving = asyncio.create_task(web.serve([bound]))
    played = asyncio.create_task(host.all_played.wait())
    await asyncio.wait({serving, played}, return_when=asyncio.FIRST_COMPLETED)
    played.cancel()
    web.should_exit = True
    await serving


def url_of(bound: socket.socket) -> str:
    """Return the URL that clients connect to."""
    address, port = bound.getsockname()[:2]
    return f"http://{_in_url(address)}:{port}{PATH}"


def _in_url(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _only_for(names: set[str]) -> TransportSecuritySettings:
    hosts = [form for name in sorted(names) for form in (name, f"{name}:*")]
    origins = [f"{scheme}://{host}" for scheme in ("http", "https") for host in hosts]
    return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)


class _Web(uvicorn.Server):
    """A server that ends in order at a signal and lets the process go on.

    Args:
        config: Its settings.
        on_ready: Called once connections are accepted.
    """

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in SIGNALS:
                loop.remove_signal_handler(number)
