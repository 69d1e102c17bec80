"""Which hosts a sandbox may reach, by name and by the address a name turns out to have."""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network
from typing import NamedTuple, Self

from agentgym.errors import UsageError
from agentgym.sandbox.egress.hosts import Address, Endpoint, Host, split_port

DEFAULT_PORTS = frozenset({80, 443})
"""What an entry without a port stands for."""

_NAT64 = IPv6Network("64:ff9b::/96")
_REMEDY = "Write a name, *.name, an IPv4 address or an [IPv6 address], each with an optional :port."


class Rule(NamedTuple):
    """One entry of an allowlist.

    Attributes:
        host: A name or an address.
        subdomains: Whether it stands for the names below `host`, at any depth, and not for
            `host` itself.
        ports: The ports that may be reached.
    """

    host: Host
    subdomains: bool
    ports: frozenset[int]

    @classmethod
    def parse(cls, entry: str) -> Self:
        """Read an entry as a person writes it.

        Raises:
            ValueError: It is none.
        """
        rest = entry.removeprefix("*.")
        host, port = split_port(rest)
        subdomains = rest != entry
        if subdomains and not isinstance(host, str):
            raise ValueError("an address has no subdomains")
        return cls(host, subdomains, DEFAULT_PORTS if port is None else frozenset({port}))

    def covers(self, endpoint: Endpoint) -> bool:
        """Whether it lets a connection through."""
        if endpoint.port not in self.ports:
            return False
        if self.subdomains:
            return isinstance(endpoint.host, str) and endpoint.host.endswith(f".{self.host}")
        return endpoint.host == self.host


class Allowlist:
    """What a sandbox may reach.

    Args:
        entries: `name`, `*.name` (names below it, not itself), an IPv4 address or an IPv6
            address in brackets, each with an optional `:port`; without one ports 80 and 443.

    Raises:
        UsageError: An entry is none of these.
    """

    def __init__(self, entries: Sequence[str]) -> None:
        self._rules = tuple(_rule(entry) for entry in entries)

    def allows(self, endpoint: Endpoint) -> bool:
        """Whether a sandbox may ask for an endpoint, by the name or address it gives."""
        return any(rule.covers(endpoint) for rule in self._rules)

    def names(self, host: Host) -> bool:
        """Whether an entry is for this very host, on whatever port."""
        return any(rule.host == host and not rule.subdomains for rule in self._rules)

    def forbids(self, endpoint: Endpoint, address: Address) -> str | None:
        """Return what kind of address makes an allowed endpoint forbidden, or None.

        A name's owner decides where it points, so a name opens only addresses of the public
        network. Addresses that are on the list themselves are open, and so are loopback
        addresses to the name `localhost` where that is on the list.

        Args:
            endpoint: What was asked for; it is allowed.
            address: What its name resolved to, or the address itself.
        """
        if self.allows(Endpoint(address, endpoint.port)):
            return None
        if endpoint.host == "localhost" and address.is_loopback:
            return None
        return _not_public(_innermost(address))


def _rule(entry: str) -> Rule:
    try:
        return Rule.parse(entry)
    except ValueError as error:
        raise UsageError(f"Egress {entry!r} is no host: {error}.", remedy=_REMEDY) from error


def _innermost(address: Address) -> Address:
    """Return the IPv4 address that a transition mechanism's IPv6 address leads to."""
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.sixtofour or address


def _not_public(address: Address) -> str | None:
    site_local = isinstance(address, IPv6Address) and address.is_site_local
    kinds = {
        "unspecified": address.is_unspecified,
        "loopback": address.is_loopback,
        "link-local": address.is_link_local,
        "multicast": address.is_multicast,
        "private": address.is_private or not address.is_global,
        "reserved": address.is_reserved or site_local,
    }
    return next((kind for kind, is_so in kinds.items() if is_so), None)
