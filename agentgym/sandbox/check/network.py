"""Checks that there is no network, of any sort."""

import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager

from agentgym.sandbox.check.context import Context
from agentgym.sandbox.check.inside import ATTEMPT, DONE, answer, python
from agentgym.sandbox.check.registry import NotApplicable, check, holds, same

_CONNECT = """
for host in sys.argv[2:]:
    attempt(host, socket.create_connection, (host, int(sys.argv[1])), 2)
"""

_SEND = """
def send(host):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    socket.socket(family, socket.SOCK_DGRAM).sendto(b"agentgym", (host, int(sys.argv[1])))
for host in sys.argv[2:]:
    attempt(host, send, host)
"""

_RESOLVE = """
for name in sys.argv[1:]:
    attempt(name, socket.getaddrinfo, name, 80)
question = b"\\x12\\x34\\x01\\0\\0\\1\\0\\0\\0\\0\\0\\0\\7example\\3com\\0\\0\\1\\0\\1"
def ask(host):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(0.2)
        s.sendto(question, (host, 53))
        s.recv(500)
for host in ("127.0.0.11", "127.0.0.53", "127.0.0.1", "8.8.8.8"):
    attempt(host, ask, host)
"""

_KINDS = """
kinds = {
    "raw": (2, 3, 1), "raw tcp": (2, 3, 6), "raw 6": (10, 3, 58), "packet": (17, 3, 0),
    "packet dgram": (17, 2, 0), "vsock": (40, 1, 0), "vsock dgram": (40, 2, 0),
    "bluetooth": (31, 3, 1), "can": (29, 3, 1), "xdp": (44, 3, 0), "alg": (38, 5, 0),
    "key": (15, 3, 2), "nfc": (39, 5, 0), "tipc": (30, 5, 0), "ax25": (3, 3, 0),
}
for name, kind in kinds.items():
    attempt(name, socket.socket, *kind)
"""

_RULES = """
import struct
def ask(kind, body):
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as s:
        s.settimeout(2)
        s.send(struct.pack("=IHHII", 16 + len(body), kind, 0x605, 1, 0) + body)
        code = struct.unpack_from("=i", s.recv(4096), 16)[0]
    if code:
        raise OSError(-code, "refused")
attribute = lambda kind, value: struct.pack("=HH", 4 + len(value), kind) + value
link = struct.pack("=BxHiII", 0, 0, 0, 0, 0)
attempt("interface", ask, 16, link + attribute(3, b"dummy0\\0\\0"))
address = struct.pack("=BBBBi", 2, 24, 0, 0, 1)
attempt("address", ask, 20, address + attribute(2, bytes([10, 9, 8, 7])))
route = struct.pack("=BBBBBBBBI", 2, 0, 0, 0, 254, 3, 0, 1, 0)
attempt("route", ask, 24, route + attribute(4, struct.pack("=i", 1)))
"""

_LOOPBACK = """
import socket
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname(), 5)
client.sendall(b"hello")
print(server.accept()[0].recv(5).decode())
"""

_PUBLIC = ("1.1.1.1", "8.8.8.8", "10.0.0.1", "172.17.0.1", "192.168.0.1", "100.64.0.1")


def _addresses() -> list[str]:
    """Return the host's own IPv4 addresses but loopback."""
    found = {*_resolved(socket.gethostname())}
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing; it asks which address would be used
            found.add(probe.getsockname()[0])
        except OSError:
            pass
    return sorted(address for address in found if not address.startswith("127."))


def _resolved(name: str) -> list[str]:
    try:
        return [str(info[4][0]) for info in socket.getaddrinfo(name, None, socket.AF_INET)]
    except socket.gaierror:
        return []


@contextmanager
def _listening(family: int, kind: int, address: str) -> Iterator[socket.socket]:
    with closing(socket.socket(family, kind)) as server:
        try:
            server.bind((address, 0))
        except OSError as error:
            raise NotApplicable(f"the host has no {address}: {error}") from error
        server.setblocking(False)
        if kind == socket.SOCK_STREAM:
            server.listen()
        yield server


async def _tried(ctx: Context, program: str, *args: str) -> object:
    return await answer(ctx.sandbox, ATTEMPT + program + DONE, *args)


def _nobody_came(server: socket.socket) -> None:
    try:
        found = server.accept() if server.type == socket.SOCK_STREAM else server.recvfrom(100)
    except BlockingIOError:
        return
    holds(False, "nothing to reach the host", found)


@check("network", isolated=True)
async def interfaces(ctx: Context) -> None:
    """There is the loopback interface and no other, with no way out in the routes."""
    program = "import json, socket; print(json.dumps([n for _, n in socket.if_nameindex()]))"
    same("the interfaces", await answer(ctx.sandbox, program), ["lo"])
    found = await ctx.sandbox.exec(["cat", "/proc/net/route"])
    same("the routes", found.text.splitlines()[1:], [])


@check("network", isolated=True)
async def tcp(ctx: Context) -> None:
    """No TCP connection reaches the host, by any of its addresses, or the network."""
    with _listening(socket.AF_INET, socket.SOCK_STREAM, "0.0.0.0") as server:
        port = str(server.getsockname()[1])
        hosts = ["127.0.0.1", "0.0.0.0", *_addresses(), *_PUBLIC]
        same("the connections", await _tried(ctx, _CONNECT, port, *hosts), [])
        _nobody_came(server)
    same("connections to port 443", await _tried(ctx, _CONNECT, "443", *_PUBLIC), [])


@check("network", isolated=True)
async def udp(ctx: Context) -> None:
    """No UDP packet reaches the host or the network."""
    with _listening(socket.AF_INET, socket.SOCK_DGRAM, "0.0.0.0") as server:
        port = str(server.getsockname()[1])
        hosts = [*_addresses(), *_PUBLIC, "255.255.255.255", "224.0.0.251"]
        same("the packets sent", await _tried(ctx, _SEND, port, *hosts), [])
        await _tried(ctx, _SEND, port, "127.0.0.1")
        _nobody_came(server)


@check("network", isolated=True)
async def dns(ctx: Context) -> None:
    """No name is resolved, and no resolver reached."""
    names = ("example.com", "metadata.google.internal", f"{socket.gethostname()}.example")
    same("what was answered", await _tried(ctx, _RESOLVE, *names), [])
    resolvers = ("8.8.8.8", "1.1.1.1", "127.0.0.11", "127.0.0.53")
    same("resolvers by TCP", await _tried(ctx, _CONNECT, "53", *resolvers), [])


@check("network", isolated=True)
async def metadata(ctx: Context) -> None:
    """The cloud's metadata addresses cannot be reached."""
    hosts = ("169.254.169.254", "169.254.170.2", "fd00:ec2::254", "100.100.100.200", "192.0.0.192")
    same("the connections", await _tried(ctx, _CONNECT, "80", *hosts), [])
    same("the packets", await _tried(ctx, _SEND, "80", *hosts), [])


@check("network", isolated=True)
async def ipv6(ctx: Context) -> None:
    """IPv6 reaches neither the host nor the network."""
    hosts = ("2606:4700:4700::1111", "fe80::1%lo", "ff02::1", "::ffff:8.8.8.8", "fd00::1")
    same("the connections", await _tried(ctx, _CONNECT, "443", *hosts), [])
    with _listening(socket.AF_INET6, socket.SOCK_STREAM, "::1") as server:
        port = str(server.getsockname()[1])
        same("the host's loopback", await _tried(ctx, _CONNECT, port, "::1"), [])
        _nobody_came(server)


@check("network", isolated=True)
async def unusual_sockets(ctx: Context) -> None:
    """Sockets that go round the network's rules cannot be made: raw, packet, vsock and others."""
    same("the sockets made", await _tried(ctx, _KINDS), [])


@check("network", isolated=True)
async def own_rules(ctx: Context) -> None:
    """Commands cannot give themselves interfaces, addresses or routes."""
    same("what was carried out", await _tried(ctx, _RULES), [])


@check("network", isolated=True)
async def own_loopback(ctx: Context) -> None:
    """The sandbox's own loopback works, for servers that commands start and talk to."""
    same("what was received", (await python(ctx.sandbox, _LOOPBACK)).text, "hello\n")
