"""Connections from the host to what a sandbox may reach."""

import asyncio
import os
import socket
import struct
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Self

from agentgym.sandbox.egress.allowlist import Allowlist
from agentgym.sandbox.egress.attempt import ProxyError, failed
from agentgym.sandbox.egress.hosts import Address, Endpoint, parse_address

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""Returns a name's addresses, best first; raises OSError where it has none."""

CHUNK = 1 << 16
_RESET = struct.pack("ii", 1, 0)  # close without waiting: the connection is reset
_MAX_ADDRESSES = 8
_LOOKUPS_AT_ONCE = 4


class SystemResolver:
    """The host's own name resolution.

    Lookups block a thread each. They have threads of their own, so that a sandbox which asks
    for many slow names keeps nobody else waiting.
    """

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_LOOKUPS_AT_ONCE, "agentgym-egress-lookup")

    async def __call__(self, name: str, port: int) -> list[str]:
        """Return a name's addresses."""
        look_up = partial(socket.getaddrinfo, name, port, type=socket.SOCK_STREAM)
        found = await asyncio.get_running_loop().run_in_executor(self._threads, look_up)
        return [str(address[0]) for *_, address in found]


class Upstream:
    """A connection to the address that was checked.

    Attributes:
        address: That address.
        sent: Bytes written to it.
        received: Bytes read from it.
    """

    def __init__(
        self, address: Address, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.address = address
        self.sent = 0
        self.received = 0
        self._reader = reader
        self._writer = writer

    @classmethod
    async def connect(
        cls, endpoint: Endpoint, allowlist: Allowlist, resolve: Resolver, *, timeout: float
    ) -> Self:
        """Connect to an endpoint that is allowed.

        Args:
            endpoint: Where to.
            allowlist: Judges the addresses that its name has.
            resolve: Finds them.
            timeout: Seconds for the lookup and all tries together.

        Raises:
            ProxyError: It leads to a forbidden address, or cannot be reached.
        """
        try:
            async with asyncio.timeout(timeout):
                addresses = await _addresses(endpoint, resolve)
                for address in addresses:
                    kind = allowlist.forbids(endpoint, address)
                    if kind is not None:
                        reason = f"{endpoint.host} has a {kind} address"
                        raise ProxyError(403, reason, address=str(address))
                return await cls._open(addresses, endpoint.port)
        except TimeoutError:
            raise failed(504, f"{endpoint} did not answer in time") from None
        except socket.gaierror:
            raise failed(502, f"{endpoint.host} has no address") from None
        except OSError as error:
            raise failed(502, f"{endpoint}: {_in_words(error)}") from error

    @classmethod
    async def _open(cls, addresses: Sequence[Address], port: int) -> Self:
        failure = OSError()
        for address in addresses:
            try:
                return cls(address, *await asyncio.open_connection(str(address), port))
            except OSError as error:
                failure = error
        raise failure

    async def read(self) -> bytes:
        """Return what has come, or nothing at the end.

        Raises:
            ProxyError: The host broke off.
        """
        try:
            data = await self._reader.read(CHUNK)
        except OSError as error:
            raise failed(502, f"the host broke off: {_in_words(error)}") from error
        self.received += len(data)
        return data

    async def write(self, data: bytes) -> None:
        """Send bytes, and wait while too many are unsent.

        Raises:
            ProxyError: The host broke off.
        """
        try:
            self._writer.write(data)
            await self._writer.drain()
        except OSError as error:
            raise failed(502, f"the host broke off: {_in_words(error)}") from error
        self.sent += len(data)

    def write_eof(self) -> None:
        """Let the host read the end."""
        with suppress(OSError):  # it is gone, which `read` tells
            self._writer.write_eof()

    async def finish(self, timeout: float) -> None:
        """Close, giving the host some seconds to take what is still unsent."""
        self._writer.close()
        with suppress(OSError):
            async with asyncio.timeout(timeout):
                await self._writer.wait_closed()
        self.abort()

    def abort(self) -> None:
        """Drop the connection; one that is not closed is reset.

        An end would let the host take half of what was meant for the whole.
        """
        if not self._writer.is_closing():
            connection = self._writer.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self._writer.transport.abort()


async def _addresses(endpoint: Endpoint, resolve: Resolver) -> list[Address]:
    if not isinstance(endpoint.host, str):
        return [endpoint.host]
    texts = await resolve(endpoint.host, endpoint.port)
    # An address with a zone (fe80::1%eth0) is judged without it, as link-local.
    found = [parse_address(text.partition("%")[0]) for text in texts]
    if not found:
        raise socket.gaierror(socket.EAI_NONAME, "no address")
    return list(dict.fromkeys(found))[:_MAX_ADDRESSES]


def _in_words(error: OSError) -> str:
    # The error's own text names addresses of the host's network.
    return os.strerror(error.errno).lower() if error.errno else "connection lost"
