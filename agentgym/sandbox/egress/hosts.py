"""Host names and addresses in the one form in which they are compared and connected to."""

import re
from ipaddress import IPv4Address, IPv6Address
from typing import NamedTuple

Address = IPv4Address | IPv6Address
Host = str | IPv4Address | IPv6Address
"""A name (lower case, ASCII, no trailing dot) or an address."""

MAX_NAME = 253
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
# Resolvers read names that end so as addresses: 2130706433, 0x7f.1, 127.1, 0177.0.0.1.
_NUMERIC = re.compile(r"[0-9]+|0x[0-9a-f]*")
_BRACKETED = re.compile(r"\[([0-9a-fA-F:.]+)\]")
_AUTHORITY = re.compile(r"(?P<host>\[[^\[\]]*\]|[^\[\]:]*)(?::(?P<port>[0-9]{1,5}))?")


class Endpoint(NamedTuple):
    """Where a connection goes.

    Attributes:
        host: A name or an address.
        port: 1 to 65,535.
    """

    host: Host
    port: int

    def __str__(self) -> str:
        """Return it as it stands in a URL."""
        return f"{bracketed(self.host)}:{self.port}"


def bracketed(host: Host) -> str:
    """Return a host as it stands in a URL: IPv6 addresses in brackets."""
    return f"[{host}]" if isinstance(host, IPv6Address) else str(host)


def parse_host(text: str) -> Host:
    """Return the normal form of a name, an IPv4 address or an IPv6 address in brackets.

    Raises:
        ValueError: It is none, or an address in a form that programs read differently.
    """
    if text.startswith("["):
        return _parse_ipv6(text)
    name = (text if text.isascii() else _to_ascii(text)).lower().removesuffix(".")
    labels = name.split(".")
    if _NUMERIC.fullmatch(labels[-1]):
        return IPv4Address(name)
    if len(name) > MAX_NAME or not all(map(_LABEL.fullmatch, labels)):
        raise ValueError(f"{text[:MAX_NAME]!r} is not a host name")
    return name


def split_port(text: str) -> tuple[Host, int | None]:
    """Return the host and the port of `host` or `host:port`; user names are not taken.

    Raises:
        ValueError: It is neither.
    """
    if "@" in text:
        raise ValueError("a user name stands before the host")
    match = _AUTHORITY.fullmatch(text)
    if match is None:
        raise ValueError(f"{text[:MAX_NAME]!r} is not a host with an optional port")
    port = int(match["port"]) if match["port"] else None
    if port is not None and not 0 < port < 1 << 16:
        raise ValueError(f"{port} is not a port")
    return parse_host(match["host"]), port


def parse_endpoint(text: str, default_port: int | None = None) -> Endpoint:
    """Return the endpoint that stands in a URL between `//` and the path.

    Args:
        text: `host:port` or `host`.
        default_port: Where none is given; None asks for one.

    Raises:
        ValueError: It names none.
    """
    host, port = split_port(text)
    if port is None and default_port is None:
        raise ValueError(f"{text[:MAX_NAME]!r} names no port")
    return Endpoint(host, port or default_port or 0)


def parse_address(text: str) -> Address:
    """Return a resolved address; an IPv4 address that is wrapped in an IPv6 one is unwrapped.

    Raises:
        ValueError: It is none.
    """
    if ":" not in text:
        return IPv4Address(text)
    address = IPv6Address(text)
    return address.ipv4_mapped or address


def _parse_ipv6(text: str) -> IPv6Address:
    match = _BRACKETED.fullmatch(text)
    if match is None:
        raise ValueError(f"{text[:MAX_NAME]!r} is not an IPv6 address")
    address = parse_address(match[1])
    if isinstance(address, IPv4Address):
        raise ValueError(f"{text} is not an IPv6 address")
    return address


def _to_ascii(name: str) -> str:
    import idna  # its tables are large, and hardly any allowlist needs them

    try:
        return idna.encode(name, uts46=True).decode("ascii")
    except idna.IDNAError as error:
        raise ValueError(f"{name[:MAX_NAME]!r} is not a host name: {error}") from error
