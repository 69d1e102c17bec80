"""The proxy: every connection a sandbox opens is judged, connected by the host, and logged."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv6Address
from typing import NamedTuple

import h11

from agentgym.sandbox.egress.allowlist import Allowlist
from agentgym.sandbox.egress.attempt import Attempt, ProxyError, Verdict
from agentgym.sandbox.egress.caller import MAX_REASON, Caller, DroppedError, Stream
from agentgym.sandbox.egress.forward import forward, outgoing_request, target_of
from agentgym.sandbox.egress.hosts import Endpoint, Host
from agentgym.sandbox.egress.tunnel import together, tunnel
from agentgym.sandbox.egress.upstream import Resolver, SystemResolver, Upstream

_MAX_METHOD = 32
_INSIDE: dict[str, Host] = {
    "localhost": "localhost",
    "127.0.0.1": IPv4Address("127.0.0.1"),
    "::1": IPv6Address("::1"),
}
_log = logging.getLogger("agentgym.sandbox.egress")


class Limits(NamedTuple):
    """What one sandbox may take of its proxy.

    Attributes:
        connections: Connections at once; more are refused.
        header: Bytes of the line and headers of a request, and of an answer, at most.
        request_s: Seconds from a connection's start in which its request has to come.
        connect_s: Seconds for finding a host's address and connecting to it.
        idle_s: Seconds in which something has to move on a connection.
        linger_s: Seconds that a program has to take a refusal, and a host the last bytes.
    """

    connections: int = 64
    header: int = 1 << 16
    request_s: float = 30.0
    connect_s: float = 30.0
    idle_s: float = 300.0
    linger_s: float = 2.0


class Egress:
    """One sandbox's way out: an HTTP proxy (CONNECT, and plain HTTP by absolute URLs).

    Args:
        allowed: The hosts that may be reached; see `Allowlist`.
        log: Called with every attempt when it has ended. The logger
            `agentgym.sandbox.egress` gets them too.
        sandbox: The sandbox's id, for the log.
        limits: What it may take.
        resolve: Finds the addresses of names; the host's own resolution by default.

    Raises:
        UsageError: An entry of `allowed` is no host.
    """

    def __init__(
        self,
        allowed: Sequence[str],
        log: Callable[[Attempt], None],
        *,
        sandbox: str = "",
        limits: Limits | None = None,
        resolve: Resolver | None = None,
    ) -> None:
        self._allowlist = Allowlist(allowed)
        self._keep = log
        self._sandbox = sandbox
        self._limits = limits or Limits()
        self._resolve = resolve or SystemResolver()
        self._open = 0

    async def serve(self, stream: Stream) -> None:
        """Answer one connection, to its end; whatever goes wrong with it is logged, not raised.

        Args:
            stream: The connection; it is closed when this returns, and when it is cancelled.
        """
        visit = _Visit()
        caller = Caller(stream, self._limits.header)
        self._open += 1
        try:
            await self._attend(visit, caller)
        except DroppedError:
            visit.reason = visit.reason or "the sandbox dropped the connection"
        except asyncio.CancelledError:
            visit.reason = visit.reason or "the sandbox was closed"
            raise
        finally:
            self._open -= 1
            caller.abort()
            if visit.upstream is not None:
                visit.upstream.abort()
            attempt = visit.attempt(self._sandbox)
            self._keep(attempt)
            _log.info("%s", attempt)

    async def _attend(self, visit: "_Visit", caller: Caller) -> None:
        limits = self._limits
        try:
            upstream = await self._carry_out(visit, caller)
        except ProxyError as error:
            visit.end(error)
            if await caller.tell(error.status, error.reason):
                await caller.finish(limits.linger_s)
        else:
            await together(caller.finish(limits.idle_s), upstream.finish(limits.linger_s))

    async def _carry_out(self, visit: "_Visit", caller: Caller) -> Upstream:
        limits = self._limits
        if self._open > limits.connections:
            raise ProxyError(503, "too many connections at once")
        request = await self._request(caller)
        visit.method = request.method.decode("ascii")
        visit.endpoint, path = target_of(request)
        if not self._allowlist.allows(visit.endpoint):
            raise ProxyError(403, f"{visit.endpoint} is not on the allowlist")
        visit.verdict = "allowed"
        upstream = visit.upstream = await Upstream.connect(
            visit.endpoint, self._allowlist, self._resolve, timeout=limits.connect_s
        )
        if request.method == b"CONNECT":
            await caller.send(h11.Response(status_code=200, headers=[], reason=b"Connected"))
            await tunnel(caller, upstream, idle=limits.idle_s)
        else:
            outgoing = outgoing_request(request, visit.endpoint, path)
            await forward(caller, outgoing, upstream, idle=limits.idle_s, max_header=limits.header)
        return upstream

    async def _request(self, caller: Caller) -> h11.Request:
        seconds = self._limits.request_s
        try:
            async with asyncio.timeout(seconds):
                request = await caller.request()
                if request.method == b"CONNECT" and await caller.body_part():
                    raise ProxyError(400, "a CONNECT request has no body")
        except TimeoutError:
            raise ProxyError(408, f"no request came within {seconds:g} s") from None
        return request


def proxy_environment(port: int, allowed: Sequence[str] = ()) -> dict[str, str]:
    """Return the variables that make a sandbox's programs use its proxy.

    Args:
        port: The proxy's port inside the sandbox.
        allowed: The allowlist. Programs reach servers of their own inside the sandbox without
            the proxy, unless it says that `localhost` is the host's.
    """
    allowlist = Allowlist(allowed)
    inside = ",".join(name for name, host in _INSIDE.items() if not allowlist.names(host))
    variables = dict.fromkeys(
        ("http_proxy", "https_proxy", "all_proxy"), f"http://127.0.0.1:{port}"
    )
    variables["no_proxy"] = inside
    return variables | {name.upper(): value for name, value in variables.items()}


class _Visit:
    """What is known of a connection so far."""

    def __init__(self) -> None:
        self._began = time.time()
        self._started = time.monotonic()
        self.method = ""
        self.endpoint: Endpoint | None = None
        self.upstream: Upstream | None = None
        self.verdict: Verdict = "refused"
        self.reason = ""
        self._address = ""

    def end(self, error: ProxyError) -> None:
        """Note why it went wrong."""
        self.verdict = error.verdict
        self.reason = error.reason
        self._address = error.address

    def attempt(self, sandbox: str) -> Attempt:
        """Return the whole of it, when it has ended."""
        upstream = self.upstream
        return Attempt(
            time=self._began,
            sandbox=sandbox,
            method=self.method[:_MAX_METHOD],
            host="" if self.endpoint is None else str(self.endpoint.host),
            port=0 if self.endpoint is None else self.endpoint.port,
            address=self._address if upstream is None else str(upstream.address),
            verdict=self.verdict,
            reason=self.reason[:MAX_REASON],
            bytes_up=0 if upstream is None else upstream.sent,
            bytes_down=0 if upstream is None else upstream.received,
            duration=time.monotonic() - self._started,
        )
