"""Which hosts are let through: entries, odd forms of names and addresses, and what names mean."""

import socket
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.errors import UsageError
from agentgym.sandbox.egress.allowlist import Allowlist
from agentgym.sandbox.egress.hosts import Endpoint, parse_address, parse_endpoint, parse_host

LABEL = st.from_regex(r"[a-z0-9_](?:[a-z0-9_-]{0,8}[a-z0-9_])?", fullmatch=True)
NAME = st.builds(
    lambda labels, last: ".".join([*labels, last]),
    st.lists(LABEL, max_size=4),
    st.from_regex(r"[a-z][a-z0-9]{0,8}", fullmatch=True),
)
PORT = st.integers(1, 65_535)
V4 = st.integers(0, (1 << 32) - 1).map(IPv4Address)
V6 = st.integers(0, (1 << 128) - 1).map(IPv6Address)


def allows(entry: str, wanted: str) -> bool:
    return Allowlist([entry]).allows(parse_endpoint(wanted, 443))


@pytest.mark.parametrize(
    ("entry", "wanted"),
    [
        ("pypi.org", "pypi.org:443"),
        ("pypi.org", "PyPI.ORG.:80"),
        ("PyPi.org.", "pypi.org:443"),
        ("pypi.org:22", "pypi.org:22"),
        ("*.pythonhosted.org", "files.pythonhosted.org"),
        ("*.pythonhosted.org", "a.b.c.pythonhosted.org"),
        ("*.pythonhosted.org:8443", "a.pythonhosted.org:8443"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("*.BÜCHER.example", "shop.XN--BCHER-KVA.example"),
        ("bücher。example", "xn--bcher-kva.example"),
        ("192.0.2.7", "192.0.2.7:80"),
        ("[2001:db8::1]", "[2001:DB8:0:0::1]:443"),
        ("[2001:db8::1]:53", "[2001:db8::1]:53"),
        ("localhost", "localhost:80"),
        ("my_host", "my_host"),
    ],
)
def test_what_an_entry_lets_through(entry: str, wanted: str) -> None:
    assert allows(entry, wanted)


@pytest.mark.parametrize(
    ("entry", "wanted"),
    [
        ("pypi.org", "pypi.org:22"),
        ("pypi.org:22", "pypi.org:443"),
        ("pypi.org", "evilpypi.org"),
        ("pypi.org", "pypi.org.evil.example"),
        ("pypi.org", "sub.pypi.org"),
        ("*.pypi.org", "pypi.org"),
        ("*.pypi.org", "evilpypi.org"),
        ("*.pypi.org", "pypi.org.evil.example"),
        ("*.pypi.org:22", "a.pypi.org"),
        ("192.0.2.7", "192.0.2.70"),
        ("[::1]", "127.0.0.1"),
        ("127.0.0.1", "localhost"),
        ("localhost", "127.0.0.1"),
        ("localhost", "a.localhost"),
    ],
)
def test_what_an_entry_does_not_let_through(entry: str, wanted: str) -> None:
    assert not allows(entry, wanted)


@pytest.mark.parametrize(
    "entry",
    [
        "",
        "*",
        "*.",
        "a..b",
        "-a.example",
        "a-.example",
        "a b",
        "a/b",
        "http://a",
        "user@a",
        "a:0",
        "a:65536",
        "a:",
        "a:x",
        "*.*.a",
        "a.*",
        "*.10.0.0.1",
        "*.[::1]",
        "[::1",
        "::1",
        "[::1%lo]",
        "127.1",
        "0x7f.1",
        "2130706433",
        "0177.0.0.1",
        "1.2.3.4.5",
        "256.1.1.1",
        "a.example.123",
        "[::ffff:127.0.0.1]",
        "[127.0.0.1]",
        "x" * 64,
        ".".join(["x" * 60] * 5),
        "a\n",
        "a\x00b",
        "١٢٧.٠.٠.١",
        "xn--ü.example",
        "%6cocalhost",
        "a\\b",
        "a#b",
        "a?b",
    ],
)
def test_what_is_no_entry(entry: str) -> None:
    with pytest.raises(UsageError, match="Egress"):
        Allowlist([entry])


@pytest.mark.parametrize(
    "text",
    [
        "0x7f.1",
        "0X7F000001",
        "2130706433",
        "127.1",
        "127.0.1",
        "0177.0.0.1",
        "127.0.0.01",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "127.0.0.1 ",
        "127.0.0.1%00",
        "1.1.1.0x1",
        "0x",
    ],
)
def test_odd_forms_of_addresses_are_none(text: str) -> None:
    with pytest.raises(ValueError):
        parse_host(text)


@given(st.text("0123456789abcdefxX.-", max_size=24) | st.text(max_size=24))
def test_no_name_is_an_address_to_the_resolver(text: str) -> None:
    try:
        host = parse_host(text)
    except ValueError:
        return
    if not isinstance(host, str):
        return
    with pytest.raises(OSError):
        socket.inet_aton(host)
    with pytest.raises(socket.gaierror):
        socket.getaddrinfo(host, 80, flags=socket.AI_NUMERICHOST)


@given(st.text("aA1.:[]@/\\?#%-_x ", max_size=20))
def test_an_endpoint_is_what_other_parsers_take_it_for(text: str) -> None:
    with suppress(ValueError):
        endpoint = parse_endpoint(text, 80)
        parts = urlsplit(f"http://{text}/")
        assert parse_host(_written(parts.hostname or "")) == endpoint.host
        assert (parts.port or 80) == endpoint.port


def _written(host: str) -> str:
    return f"[{host}]" if ":" in host else host


@given(NAME, PORT)
def test_names_are_compared_in_normal_form(name: str, port: int) -> None:
    endpoint = parse_endpoint(f"{name.upper()}.:{port}")
    assert endpoint == Endpoint(name, port)
    assert parse_endpoint(str(endpoint)) == endpoint
    assert Allowlist([f"{name}:{port}"]).allows(endpoint)
    assert Allowlist([name]).allows(endpoint) is (port in (80, 443))


@given(NAME, NAME)
def test_a_wildcard_is_for_the_names_below(below: str, name: str) -> None:
    wildcard = Allowlist([f"*.{name}"])
    assert wildcard.allows(Endpoint(f"{below}.{name}", 443))
    assert not wildcard.allows(Endpoint(f"{below}{name}", 443)) or f".{name}" in f"{below}{name}"
    assert not wildcard.allows(Endpoint(name, 443))
    assert wildcard.allows(Endpoint(below, 443)) is below.endswith(f".{name}")


@given(V4 | V6, PORT)
def test_addresses_are_compared_as_addresses(address: IPv4Address | IPv6Address, port: int) -> None:
    text = f"[{address.exploded}]" if isinstance(address, IPv6Address) else str(address)
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        return
    endpoint = parse_endpoint(f"{text}:{port}")
    assert endpoint == Endpoint(address, port)
    assert parse_endpoint(str(endpoint)) == endpoint
    assert Allowlist([str(endpoint)]).forbids(endpoint, address) is None


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("127.0.0.1", "loopback"),
        ("127.8.9.10", "loopback"),
        ("::1", "loopback"),
        ("::ffff:127.0.0.1", "loopback"),
        ("64:ff9b::7f00:1", "loopback"),
        ("2002:7f00:1::", "loopback"),
        ("169.254.169.254", "link-local"),
        ("fe80::1", "link-local"),
        ("64:ff9b::a9fe:a9fe", "link-local"),
        ("224.0.0.1", "multicast"),
        ("ff02::1", "multicast"),
        ("0.0.0.0", "unspecified"),
        ("::", "unspecified"),
        ("0.1.2.3", "private"),
        ("10.0.0.5", "private"),
        ("172.16.0.1", "private"),
        ("192.168.1.1", "private"),
        ("100.64.0.1", "private"),
        ("198.18.0.1", "private"),
        ("255.255.255.255", "private"),
        ("fd00::1", "private"),
        ("2001:db8::1", "private"),
        ("2001:0:53aa:64c:0:7cef:3f57:fed4", "private"),
        ("fec0::1", "reserved"),
        ("::7f00:1", "reserved"),
        ("93.184.216.34", None),
        ("2606:2800:220:1::1", None),
        ("64:ff9b::5db8:d822", None),
    ],
)
def test_a_name_opens_only_the_public_network(address: str, kind: str | None) -> None:
    endpoint = Endpoint("a.example", 443)
    assert Allowlist(["a.example"]).forbids(endpoint, parse_address(address)) == kind


@given(V4, st.sampled_from(["::ffff:{}", "64:ff9b::{}", "2002:{}::", "::{}"]))
def test_no_wrapping_opens_an_address(address: IPv4Address, wrapping: str) -> None:
    halves = f"{int(address) >> 16:x}:{int(address) & 0xFFFF:x}"
    wrapped = parse_address(wrapping.format(halves))
    allowlist, endpoint = Allowlist(["a.example"]), Endpoint("a.example", 443)
    if allowlist.forbids(endpoint, address):
        assert allowlist.forbids(endpoint, wrapped)


def test_addresses_on_the_list_and_localhost_are_open() -> None:
    loopback, metadata = parse_address("127.0.0.1"), parse_address("169.254.169.254")
    named = Endpoint("a.example", 8000)
    assert Allowlist(["a.example:8000", "127.0.0.1:8000"]).forbids(named, loopback) is None
    assert Allowlist(["a.example:8000", "127.0.0.1"]).forbids(named, loopback) == "loopback"
    local = Endpoint("localhost", 80)
    assert Allowlist(["localhost"]).forbids(local, loopback) is None
    assert Allowlist(["localhost"]).forbids(local, metadata) == "link-local"
    assert Allowlist(["*.localhost"]).forbids(Endpoint("a.localhost", 80), loopback) == "loopback"
