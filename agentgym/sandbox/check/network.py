"""Checks that there is no network, of any sort."""

import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager

from agentgym.sandbox.check.context import Context
from agentgym.sandbox.check.inside import ATTEMPT, DONE, answer, python
from agentgym.sandbox.check.registry import NotApplicable, check, holds, same

_CONNECT = (
    ATTEMPT
    + "for host in sys.argv[2:]:\n"
    + "    attempt(host, socket.create_connection, (host, int(sys.argv[1])), 2)"
    + DONE
)
_SEND = (
    ATTEMPT
    + "def send(host):\n"
    + "    kind = socket.AF_INET6 if ':' in host else socket.AF_INET\n"
    + "    s = socket.socket(kind, socket.SOCK_DGRAM)\n"
    + "    s.sendto(b'agentgym', (host, int(sys.argv[1])))\n"
    + "for host in sys.argv[2:]: attempt(host, send, host)"
    + DONE
)
_PUBLIC = ("1.1.1.1", "8.8.8.8", "10.0.0.1", "172.17.0.1", "192.168.0.1", "100.64.0.1")


def _addresses() -> list[str]:
    """Return the host's own IPv4 addresses but loopback."""
    found = {str(info[4][0]) for info in _resolved(socket.gethostname())}
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing; it asks which address would be used
            found.add(probe.getsockname()[0])
        except OSError:
            pass
    return sorted(address for address in found if not address.startswith("127."))


def _resolved(name: str) -> list[tuple[object, ...]]:
    try:
        return [*socket.getaddrinfo(name, None, socket.AF_INET)]
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
    with _listening(socket.AF_INET, socket.SOCK_STREAM, "0.0.0.0") as server:  # noqa: S104 - to be reached
        port = str(server.getsockname()[1])
        hosts = ["127.0.0.1", "0.0.0.0", *_addresses(), *_PUBLIC]  # noqa: S104 - to be tried
        same("the connections", await answer(ctx.sandbox, _CONNECT, port, *hosts), [])
        _nobody_came(server)
    same("connections to port 443", await answer(ctx.sandbox, _CONNECT, "443", *_PUBLIC), [])


@check("network", isolated=True)
async def udp(ctx: Context) -> None:
    """No UDP packet reaches the host or the network."""
    with _listening(socket.AF_INET, socket.SOCK_DGRAM, "0.0.0.0") as server:  # noqa: S104 - to be reached
        port = str(server.getsockname()[1])
        hosts = [*_addresses(), *_PUBLIC, "255.255.255.255", "224.0.0.251"]
        same("the packets sent", await answer(ctx.sandbox, _SEND, port, *hosts), [])
        await answer(ctx.sandbox, _SEND, port, "127.0.0.1")
        _nobody_came(server)


@check("network", isolated=True)
async def dns(ctx: Context) -> None:
    """No name is resolved, and no resolver reached."""
    program = (
        ATTEMPT
        + "for name in ('example.com', 'metadata.google.internal', sys.argv[1]):\n"
        + "    attempt(name, socket.getaddrinfo, name, 80)"
        + DONE
    )
    host = f"{socket.gethostname()}.example"
    same("the names resolved", await answer(ctx.sandbox, program, host), [])
    resolvers = ("8.8.8.8", "1.1.1.1", "127.0.0.11", "127.0.0.53")
    same("resolvers by TCP", await answer(ctx.sandbox, _CONNECT, "53", *resolvers), [])
    program = (
        "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(0.3)\n"
    )
    program += "s.sendto(b'\\x12\\x34\\x01\\0\\0\\1\\0\\0\\0\\0\\0\\0\\7example\\3com\\0\\0\\1\\0\\1', ('127.0.0.11', 53))\n"
    program += "print(s.recv(500))"
    found = await python(ctx.sandbox, program)
    holds(found.exit_code != 0, "no answer from the engine's resolver", found.text)


@check("network", isolated=True)
async def metadata(ctx: Context) -> None:
    """The cloud's metadata addresses cannot be reached."""
    hosts = ("169.254.169.254", "169.254.170.2", "fd00:ec2::254", "100.100.100.200", "192.0.0.192")
    same("the connections", await answer(ctx.sandbox, _CONNECT, "80", *hosts), [])
    same("the packets", await answer(ctx.sandbox, _SEND, "80", *hosts), [])


@check("network", isolated=True)
async def ipv6(ctx: Context) -> None:
    """IPv6 reaches neither the host nor the network."""
    hosts = ("2606:4700:4700::1111", "fe80::1%lo", "ff02::1", "::ffff:8.8.8.8", "fd00::1")
    same("the connections", await answer(ctx.sandbox, _CONNECT, "443", *hosts), [])
    with _listening(socket.AF_INET6, socket.SOCK_STREAM, "::1") as server:
        port = str(server.getsockname()[1])
        same("the host's loopback", await answer(ctx.sandbox, _CONNECT, port, "::1"), [])
        _nobody_came(server)


@check("network", isolated=True)
async def unusual_sockets(ctx: Context) -> None:
    """Sockets that go round the network's rules cannot be made: raw, packet, vsock and others."""
    program = (
        ATTEMPT
        + "kinds = {'raw': (2, 3, 1), 'raw tcp': (2, 3, 6), 'raw 6': (10, 3, 58), 'packet': (17, 3, 0),\n"
        + "         'packet dgram': (17, 2, 0), 'vsock': (40, 1, 0), 'vsock dgram': (40, 2, 0),\n"
        + "         'bluetooth': (31, 3, 1), 'can': (29, 3, 1), 'xdp': (44, 3, 0),\n"
        + "         'alg': (38, 5, 0), 'key': (15, 3, 2), 'nfc': (39, 5, 0), 'tipc': (30, 5, 0)}\n"
        + "for name, kind in kinds.items(): attempt(name, socket.socket, *kind)"
        + DONE
    )
    same("the sockets made", await answer(ctx.sandbox, program), [])


@check("network", isolated=True)
async def own_rules(ctx: Context) -> None:
    """Commands cannot give themselves interfaces, addresses or routes."""
    program = (
        ATTEMPT
        + "import struct\n"
        + "def ask(kind, body):\n"
        + "    s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)\n"
        + "    s.settimeout(2)\n"
        + "    s.send(struct.pack('=IHHII', 16 + len(body), kind, 0x605, 1, 0) + body)\n"
        + "    code = struct.unpack_from('=i', s.recv(4096), 16)[0]\n"
        + "    if code: raise OSError(-code, 'refused')\n"
        + "attempt('interface', ask, 16, struct.pack('=BxHiII', 0, 0, 0, 0, 0)\n"
        + "        + struct.pack('=HH8s', 9, 3, b'dummy0\\0') )\n"
        + "attempt('address', ask, 20, struct.pack('=BBBBi', 2, 24, 0, 0, 1)\n"
        + "        + struct.pack('=HH4s', 8, 2, bytes([10, 9, 8, 7])))\n"
        + "attempt('route', ask, 24, struct.pack('=BBBBBBBBI', 2, 0, 0, 0, 254, 3, 0, 1, 0)\n"
        + "        + struct.pack('=HHi', 8, 4, 1))"
        + DONE
    )
    same("what was carried out", await answer(ctx.sandbox, program), [])


@check("network", isolated=True)
async def own_loopback(ctx: Context) -> None:
    """The sandbox's own loopback works, for servers that commands start and talk to."""
    program = (
        "import socket\n"
        "server = socket.create_server(('127.0.0.1', 0))\n"
        "client = socket.create_connection(server.getsockname(), 5)\n"
        "client.sendall(b'hello'); print(server.accept()[0].recv(5).decode())"
    )
    same("what was received", (await python(ctx.sandbox, program)).text, "hello\n")
