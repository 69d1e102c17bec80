"""The guest's protocol: what it answers, and what it makes of frames that are none."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from agentgym.sandbox import wire
from agentgym.sandbox.guest.build import guest_program
from agentgym.sandbox.wire import Fault, Kind
from tests.sandbox.guest_rig import RawGuest, on_path, raw_guest

BAD_FRAME = 3


@pytest.fixture
def guest() -> Iterator[RawGuest]:
    with raw_guest() as running:
        yield running


def ended(guest: RawGuest) -> int:
    """Return how a guest that hangs up of itself ends."""
    with suppress(EOFError, ConnectionResetError):
        while True:
            guest.receive()
    return guest.process.wait(60)


def test_ping_is_answered(guest: RawGuest) -> None:
    assert guest.ask(Kind.PING).fault is None


def test_the_end_of_the_socket_ends_the_guest_and_its_commands(tmp_path: Path) -> None:
    with raw_guest() as guest:
        fifo = tmp_path / "held"
        os.mkfifo(fifo)
        guest.start(f"(setsid sleep 1000 <>{fifo} &) ; exec sleep 1000 <>{fifo}")
        with fifo.open("rb") as held:  # opens as soon as somebody writes, ends when all are gone
            assert guest.hang_up() == 0
            assert held.read() == b""


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        (0, b""),
        (15, b""),
        (Kind.HELLO, b""),
        (255, b""),
        (Kind.PING, b"x"),
        (Kind.EXEC, b""),
        (Kind.EXEC, b"\xff" * 64),
        (Kind.SIGNAL, b"\0" * 7),
        (Kind.SIGNAL, b"\0" * 9),
        (Kind.READ, wire.text("") + wire.U32.pack(0xFFFFFFFF)),
        (Kind.READ, on_path("relative", bytes(16))),
        (Kind.READ, on_path("/a\0b", bytes(16))),
        (Kind.STAT, wire.text("") + wire.U32.pack(5) + b"/tmp"),
        (Kind.PACK, wire.text("") + wire.U32.pack(0x7FFFFFFF)),
        (Kind.UNPACK, wire.text("")),
        (Kind.LISTEN, b"\0"),
    ],
)
def test_a_malformed_request_ends_the_guest(guest: RawGuest, kind: int, payload: bytes) -> None:
    guest.send(kind, 1, payload)
    assert ended(guest) == BAD_FRAME


def test_more_strings_than_bytes_end_the_guest(guest: RawGuest) -> None:
    fields = bytes(20) + wire.text("") + wire.text("/") + wire.U32.pack(0x40000000) + bytes(8)
    guest.send(Kind.EXEC, 1, fields)
    assert ended(guest) == BAD_FRAME


def test_a_huge_length_ends_the_guest_before_it_is_read(guest: RawGuest) -> None:
    guest.connection.sendall(wire.HEADER.pack(wire.MAX_PAYLOAD + 1, 1, Kind.PING))
    assert ended(guest) == BAD_FRAME


def test_an_id_in_use_ends_the_guest(guest: RawGuest) -> None:
    identity = guest.start("sleep 1000")
    guest.send(Kind.PING, identity)
    assert ended(guest) == BAD_FRAME


def test_input_beyond_the_window_ends_the_guest(guest: RawGuest) -> None:
    identity = guest.start(("sleep", "1000"), flags=wire.EXEC_STDIN)
    for _ in range(2):
        guest.send(Kind.INPUT, identity, bytes(wire.WINDOW_BYTES))
    assert ended(guest) == BAD_FRAME


def test_a_frame_cut_off_by_the_end_is_dropped(guest: RawGuest, tmp_path: Path) -> None:
    frame = wire.frame(Kind.MAKE_DIR, 1, on_path(tmp_path / "made", wire.U32.pack(0o755)))
    guest.connection.sendall(frame[:-1])
    assert guest.hang_up() == 0
    assert not (tmp_path / "made").exists()


def test_frames_may_come_in_pieces_and_in_lumps(guest: RawGuest) -> None:
    frames = b"".join(wire.frame(Kind.PING, identity) for identity in range(1, 200))
    for start in range(90):
        guest.connection.sendall(frames[start : start + 1])
    guest.connection.sendall(frames[90:])
    assert [guest.receive()[1] for _ in range(1, 200)] == list(range(1, 200))


def test_a_request_may_be_as_large_as_a_frame(guest: RawGuest) -> None:
    value = "x" * 100_000
    env = ("PATH=/usr/bin:/bin", *(f"V{i}={value}" for i in range(10)))
    assert guest.run('echo "${#V9}"', env=env).stdout == b"100000\n"


def test_late_frames_of_what_has_ended_are_nothing(guest: RawGuest) -> None:
    for kind in (Kind.INPUT, Kind.STREAM, Kind.RESET, Kind.WINDOW):
        guest.send(kind, 77, b"late")
    assert guest.ask(Kind.SIGNAL, wire.U32.pack(77) + wire.U32.pack(0)).fault is (
        Fault.NO_SUCH_TARGET
    )
    assert guest.ask(Kind.CANCEL, wire.U32.pack(77)).fault is None


def test_a_host_that_does_not_read_holds_up_commands_but_not_its_requests(
    guest: RawGuest,
) -> None:
    flood = guest.start(("head", "-c", "50000000", "/dev/zero"))
    marks = [guest.begin(Kind.PING) for _ in range(1000)]  # nothing has been read so far
    output = 0
    while True:
        kind, identity, payload = guest.receive()
        if identity == marks[-1]:
            break
        output += len(payload) if kind is Kind.STDOUT else 0
    assert output < 8 << 20
    assert len(guest.wait(flood).stdout) == 50_000_000 - output


def test_it_connects_to_a_path_even_before_anybody_listens(tmp_path: Path) -> None:
    path = tmp_path / "host"
    process = subprocess.Popen([guest_program(), "--connect", path])
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.fspath(path))
        listener.listen()
        connection, _ = listener.accept()
    guest = RawGuest(process, connection)
    assert guest.receive()[0] is Kind.HELLO
    assert guest.hang_up() == 0


@pytest.mark.parametrize(
    "options",
    [(), ("--fd", "x"), ("--fd", "3", "--connect", "/x"), ("--what",), ("--fd", "3", "y")],
)
def test_options_that_make_no_sense_are_refused(options: tuple[str, ...]) -> None:
    done = subprocess.run([guest_program(), *options], capture_output=True, check=False)
    assert done.returncode == 2
    assert b"guest:" in done.stderr


def test_it_serves_on_when_it_is_signalled(guest: RawGuest) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGUSR1):
        guest.process.send_signal(number)
    assert guest.ask(Kind.PING).fault is None
    assert guest.run("true").code == 0


def test_it_cannot_be_traced_or_looked_into(guest: RawGuest) -> None:
    pid = guest.process.pid
    assert guest.run(f"cat /proc/{pid}/maps").code != 0 or os.getuid() == 0
    assert Path(f"/proc/{pid}/environ").stat().st_uid == 0
