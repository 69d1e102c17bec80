"""A guest driven by raw frames, without the host's side of agentgym between."""

import os
import socket
import struct
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from agentgym.sandbox import wire
from agentgym.sandbox.guest.build import guest_program
from agentgym.sandbox.wire import Fault, Kind

SELF = ""
"""The user that is the guest's own."""
PATIENCE_S = 60.0
_ENV = ("PATH=/usr/bin:/bin",)


class Answer(NamedTuple):
    """What ended a request: OK with a number, or FAIL with a fault and an errno."""

    data: bytes
    value: int = 0
    fault: Fault | None = None
    errno: int = 0


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    flags: int
    stdout: bytes
    stderr: bytes
    control: bytes


class RawGuest:
    """One end of a guest's socket.

    Args:
        process: The guest, or what it was started with.
        connection: The host's end.
    """

    def __init__(self, process: subprocess.Popen[bytes], connection: socket.socket) -> None:
        self.process = process
        self.connection = connection
        connection.settimeout(PATIENCE_S)
        self._received = bytearray()
        self._last_id = 0

    def send(self, kind: int, identity: int, payload: bytes = b"") -> None:
        """Send a frame."""
        header = wire.HEADER.pack(len(payload), identity, kind)
        self.connection.sendall(header + payload)

    def receive(self) -> tuple[Kind, int, bytes]:
        """Return the next frame.

        Raises:
            EOFError: The guest hung up.
        """
        while True:
            if len(self._received) >= wire.HEADER.size:
                size, identity, kind = wire.HEADER.unpack_from(self._received)
                end = wire.HEADER.size + size
                if len(self._received) >= end:
                    payload = bytes(self._received[wire.HEADER.size : end])
                    del self._received[:end]
                    return Kind(kind), identity, payload
            data = self.connection.recv(1 << 20)
            if not data:
                raise EOFError
            self._received += data

    def new_id(self) -> int:
        """Return an id that has not been used."""
        self._last_id += 1
        return self._last_id

    def begin(self, kind: Kind, payload: bytes = b"", inputs: Iterable[bytes] = ()) -> int:
        """Send a request with its input, and return its id."""
        identity = self.new_id()
        self.send(kind, identity, payload)
        for part in inputs:
            self.send(Kind.INPUT, identity, part)
        return identity

    def ask(self, kind: Kind, payload: bytes = b"", inputs: Iterable[bytes] = ()) -> Answer:
        """Send a request and return its answer."""
        return self.answer(self.begin(kind, payload, inputs))

    def answer(self, identity: int) -> Answer:
        """Return the answer to a request; frames of others are dropped."""
        data = bytearray()
        while True:
            kind, of, payload = self.receive()
            if of != identity:
                continue
            if kind is Kind.OK:
                return Answer(bytes(data), wire.U64.unpack(payload)[0])
            if kind is Kind.FAIL:
                code, number = wire.FAIL_FIELDS.unpack(payload)
                return Answer(bytes(data), 0, Fault(code), number)
            data += payload

    def start(
        self,
        command: str | Sequence[str],
        *,
        user: str = SELF,
        cwd: str = "/",
        env: Sequence[str] = _ENV,
        flags: int = 0,
        timeout_ms: int = 0,
        limit: int = 1 << 30,
    ) -> int:
        """Start a command, a string being bash's, and return its id."""
        argv = ("bash", "-c", command) if isinstance(command, str) else tuple(command)
        fields = struct.pack("<IQQ", flags, timeout_ms, limit)
        words = [wire.text(word) for word in (user, cwd)]
        for strings in (argv, tuple(env)):
            words += [wire.U32.pack(len(strings)), *map(wire.text, strings)]
        return self.begin(Kind.EXEC, fields + b"".join(words))

    def wait(self, identity: int) -> Ended:
        """Return how a command ended; frames of other requests are dropped."""
        output = {Kind.STDOUT: bytearray(), Kind.STDERR: bytearray(), Kind.CONTROL: bytearray()}
        while True:
            kind, of, payload = self.receive()
            if of != identity:
                continue
            if kind is Kind.EXIT:
                code, flags, _ = wire.EXIT_FIELDS.unpack(payload)
                return Ended(code, flags, *map(bytes, output.values()))
            if kind is not Kind.WINDOW:
                output[kind] += payload

    def run(self, command: str | Sequence[str], **options: object) -> Ended:
        """Run a command to its end; see `start`."""
        return self.wait(self.start(command, **options))  # type: ignore[arg-type]

    def hang_up(self) -> int:
        """Close the socket and return how the guest ended."""
        self.connection.close()
        return self.process.wait(PATIENCE_S)


@contextmanager
def raw_guest(*options: str, before: Sequence[str] = ()) -> Iterator[RawGuest]:
    """Run a guest, after the words of another program that starts it, and take its greeting."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            [*before, guest_program(), "--fd", str(theirs.fileno()), *options],
            pass_fds=(theirs.fileno(),),
            start_new_session=True,
        )
    guest = RawGuest(process, ours)
    try:
        kind, identity, payload = guest.receive()
        assert (kind, identity, payload[:4]) == (Kind.HELLO, 0, wire.U32.pack(wire.VERSION))
        yield guest
    finally:
        guest.hang_up()


def on_path(path: str | os.PathLike[str], *numbers: bytes, user: str = SELF) -> bytes:
    """Return the payload of a request about a path."""
    return wire.text(user) + wire.text(os.fspath(path)) + b"".join(numbers)


def on_paths(*paths: str | os.PathLike[str], user: str = SELF, clear: bool | None = None) -> bytes:
    """Return the payload of PACK, or of UNPACK where `clear` is given."""
    number = b"" if clear is None else wire.U32.pack(clear)
    names = b"".join(wire.text(os.fspath(path)) for path in paths)
    return wire.text(user) + number + wire.U32.pack(len(paths)) + names


def make_deep(top: Path, depth: int) -> None:
    """Make a chain of folders that no path could name as a whole."""
    top.mkdir()
    folder = os.open(top, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=folder)
        below = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = below
    os.close(folder)


@contextmanager
def in_memory() -> Iterator[Path]:
    """Make a folder in a tmpfs, as a sandbox's writable folders are."""
    with tempfile.TemporaryDirectory(prefix="agentgym-test-", dir="/dev/shm") as name:
        yield Path(name)


def names(folder: str | os.PathLike[str]) -> list[str]:
    """Return what a folder holds, sorted."""
    return sorted(path.name for path in Path(folder).iterdir())


def is_held(fifo: Path) -> bool:
    """Return whether some process has a pipe open for writing."""
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        return os.read(reader, 1) != b""
    except BlockingIOError:
        return True
    finally:
        os.close(reader)
