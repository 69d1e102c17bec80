"""LISTEN: connections made inside, carried to the host and back."""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from agentgym.sandbox import wire
from agentgym.sandbox.wire import Fault, Kind
from tests.sandbox.guest_rig import RawGuest, names, raw_guest

FIRST = 0x80000000


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def guest() -> Iterator[RawGuest]:
    with raw_guest() as running:
        yield running


class Listening:
    """A port that a guest listens on, as processes beside it see it and as the host does."""

    def __init__(self, guest: RawGuest) -> None:
        self.guest = guest
        self.port = free_port()
        self.id = guest.begin(Kind.LISTEN, self.port.to_bytes(2, "little"))
        assert guest.answer(self.id).fault is None

    def connect(self) -> tuple[socket.socket, int]:
        """Make a connection and return its inner end and its stream's id."""
        inner = socket.create_connection(("127.0.0.1", self.port))
        inner.settimeout(60)
        kind, identity, payload = self.guest.receive()
        assert (kind, identity) == (Kind.ACCEPT, self.id)
        return inner, wire.U32.unpack(payload)[0]


@pytest.fixture
def listening(guest: RawGuest) -> Listening:
    return Listening(guest)


def test_bytes_go_both_ways_until_each_side_ends(listening: Listening) -> None:
    guest, (inner, stream) = listening.guest, listening.connect()
    assert stream >= FIRST
    inner.sendall(b"out")
    assert guest.receive() == (Kind.STREAM, stream, b"out")
    guest.send(Kind.STREAM, stream, b"in")
    assert inner.recv(10) == b"in"
    inner.shutdown(socket.SHUT_WR)
    assert guest.receive() == (Kind.STREAM, stream, b"")
    guest.send(Kind.STREAM, stream, b"more")
    guest.send(Kind.STREAM, stream)
    assert (inner.recv(10), inner.recv(10)) == (b"more", b"")
    inner.close()
    assert guest.ask(Kind.PING).fault is None


def test_no_more_is_sent_out_than_the_host_allows(listening: Listening) -> None:
    guest, (inner, stream) = listening.guest, listening.connect()
    total = 3_000_000
    content = os.urandom(total)
    sender = threading.Thread(target=inner.sendall, args=(content,))
    sender.start()
    received, allowed = bytearray(), wire.WINDOW_BYTES
    while len(received) < total:
        kind, identity, payload = guest.receive()
        assert (kind, identity) == (Kind.STREAM, stream)
        received += payload
        assert len(received) <= allowed
        if len(received) == allowed:
            mark = guest.begin(Kind.PING)
            assert guest.receive()[1] == mark  # and nothing of the stream before it
            guest.send(Kind.WINDOW, stream, wire.U32.pack(100_000))
            allowed += 100_000
    sender.join()
    assert received == content


def test_what_comes_in_is_allowed_as_it_is_taken(listening: Listening) -> None:
    guest, (inner, stream) = listening.guest, listening.connect()
    content = os.urandom(4_000_000)
    received = bytearray()

    def receive() -> None:
        while part := inner.recv(1 << 16):
            received.extend(part)

    receiver = threading.Thread(target=receive)
    receiver.start()
    sent, window = 0, wire.WINDOW_BYTES
    while sent < len(content):
        part = content[sent : sent + min(window, 60_000)]
        if part:
            guest.send(Kind.STREAM, stream, part)
            sent, window = sent + len(part), window - len(part)
            continue
        kind, identity, payload = guest.receive()
        assert (kind, identity) == (Kind.WINDOW, stream)
        window += wire.U32.unpack(payload)[0]
        assert window <= wire.WINDOW_BYTES
    guest.send(Kind.STREAM, stream)
    receiver.join()
    assert received == content


def test_a_slow_end_holds_up_only_itself(listening: Listening) -> None:
    guest, (slow, stuck) = listening.guest, listening.connect()
    quick, stream = listening.connect()
    guest.send(Kind.STREAM, stuck, bytes(wire.WINDOW_BYTES))
    guest.send(Kind.STREAM, stream, b"passes")
    assert quick.recv(10) == b"passes"
    slow.close()
    quick.close()


def test_more_than_allowed_resets_a_stream(listening: Listening) -> None:
    guest, (inner, stream) = listening.guest, listening.connect()
    with closing(inner):
        for _ in range(60):  # what the kernel buffers is taken as well
            guest.send(Kind.STREAM, stream, bytes(wire.WINDOW_BYTES))
        kinds = {guest.receive()[0]}
        while Kind.RESET not in kinds:
            kinds.add(guest.receive()[0])
        assert kinds <= {Kind.WINDOW, Kind.RESET}
    assert guest.ask(Kind.PING).fault is None


def test_either_side_can_reset(listening: Listening) -> None:
    guest, (inner, stream) = listening.guest, listening.connect()
    guest.send(Kind.RESET, stream)
    with pytest.raises(ConnectionResetError):
        inner.recv(10)
    inner, stream = listening.connect()
    inner.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    inner.close()
    assert guest.receive() == (Kind.RESET, stream, b"")
    guest.send(Kind.STREAM, stream, b"late")
    assert guest.ask(Kind.PING).fault is None


def test_a_reset_after_the_end_takes_nothing_back(listening: Listening) -> None:
    guest, (inner, stream) = listening.guest, listening.connect()
    for kind, payload in ((Kind.STREAM, b"refused"), (Kind.STREAM, b""), (Kind.RESET, b"")):
        guest.send(kind, stream, payload)
    assert guest.ask(Kind.PING).fault is None
    inner.sendall(b"too late")
    assert inner.recv(10) == b"refused"
    inner.close()


def test_a_port_in_use_is_a_failure(listening: Listening) -> None:
    answer = listening.guest.ask(Kind.LISTEN, listening.port.to_bytes(2, "little"))
    assert answer.fault is Fault.SYSTEM


def test_many_connections_leave_nothing(listening: Listening) -> None:
    guest = listening.guest
    folder = f"/proc/{guest.process.pid}/fd"
    before = len(names(folder))
    for _ in range(20):
        for inner, stream in [listening.connect() for _ in range(20)]:
            guest.send(Kind.STREAM, stream)
            inner.close()
            assert guest.receive() == (Kind.STREAM, stream, b"")
    assert guest.ask(Kind.PING).fault is None
    assert len(names(folder)) == before
