"""Frames between the host and the guest, the program that is PID 1 in every sandbox.

A frame is a header of 9 bytes, little-endian: payload length (u32), id (u32), kind (u8); then
the payload. A request's id is chosen by the host and is on every frame that belongs to it, in
both directions, until the frame that ends it. Payloads are fixed binary fields and strings (u32
length, bytes); nothing in them is ever evaluated, imported or unpickled. `guest/protocol.h`
holds the same numbers.

Requests and what answers them (`*` any number, `|` or):

    PING                                                     -> OK
    EXEC      flags u32, timeout_ms u64 (0 none), limit u64 (bytes kept of each stream),
              user str, cwd str, argc u32, argv str*, envc u32, env str* (NAME=value)
              INPUT frames with the same id are its standard input, an empty one its end;
              without the flag STDIN it is /dev/null. The host sends at most 262,144 bytes of
              input ahead: the guest answers WINDOW(u32 bytes) under this id as it has written
              them into the pipe, or thrown them away because nobody reads
                                              -> (STDOUT | STDERR | CONTROL | WINDOW)* EXIT
    SIGNAL    target u32 (an EXEC's id), number u32 (0: SIGKILL to it and all it started;
              otherwise that signal to all it started, but not to itself)       -> OK | FAIL
    KILL_ALL  every process but the guest ends                -> OK(number killed) | FAIL
    READ      user str, path str, offset u64, limit u64       -> DATA* OK(file size) | FAIL
    WRITE     user str, path str, mode u32; INPUT frames carry the content, an empty one ends it
              (folders above are made)                        -> OK(bytes written) | FAIL
    STAT      user str, path str                              -> DATA(one entry) OK | FAIL
    LIST      user str, path str     entries, some to a frame -> DATA* OK(number) | FAIL
    MAKE_DIR  user str, path str, mode u32                    -> OK | FAIL
    REMOVE    user str, path str                              -> OK | FAIL
    PACK      user str ("" the guest itself), count u32, path str*  a tar archive of the paths
                                                              -> DATA* OK(bytes) | FAIL
    UNPACK    user str, clear u32, count u32, path str* (folders whose content is removed first
              where clear is 1; nothing outside them is written), INPUT frames carry a tar
              archive, an empty one ends it; with a user, the archive's owners
              are ignored                                     -> OK(entries) | FAIL
    CANCEL    target u32: stop that READ, LIST, PACK, WRITE or UNPACK; FAIL(CANCELLED) answers it
                                                              -> OK
    LISTEN    port u16 on 127.0.0.1; for each connection the guest sends ACCEPT(stream id u32,
              chosen by the guest, from 0x80000000 up) under the LISTEN's id; from then on
              STREAM frames under the stream's id carry bytes both ways, an empty one ends one
              direction, RESET drops it, and WINDOW(u32) allows the other side that many more
              bytes (each side starts with 262,144)           -> OK | FAIL, then ACCEPT*

An entry: mode u32, uid u32, gid u32, size u64, mtime_ns i64, name str, link target str.
EXIT: code i32 (0 to 255, or 128 + signal), flags u32 (EXIT_*), duration_us u64.
OK: value u64. FAIL: code u32 (`Fault`), errno u32.
On connecting the guest sends HELLO: version u32, its uid u32, under id 0.
"""

import struct
from enum import IntEnum

VERSION = 1
HEADER = struct.Struct("<IIB")
MAX_PAYLOAD = 1 << 20
"""Bytes of a frame's payload at most, in both directions."""


class Kind(IntEnum):
    """Kinds of frames."""

    PING = 1
    EXEC = 2
    SIGNAL = 3
    KILL_ALL = 4
    READ = 5
    WRITE = 6
    STAT = 7
    LIST = 8
    MAKE_DIR = 9
    REMOVE = 10
    PACK = 11
    UNPACK = 12
    CANCEL = 13
    LISTEN = 14
    INPUT = 32
    STREAM = 33
    RESET = 34
    WINDOW = 35
    HELLO = 64
    STDOUT = 65
    STDERR = 66
    CONTROL = 67
    EXIT = 68
    DATA = 69
    OK = 70
    FAIL = 71
    ACCEPT = 72


EXEC_STDIN = 1
"""EXEC flag: standard input is a pipe fed by INPUT frames."""
EXEC_CONTROL = 2
"""EXEC flag: for a persistent shell. INPUT frames feed descriptor 3, standard input is
/dev/null, and what is written to descriptor 4 comes as CONTROL frames, each sent after all
output that was written before it."""

WINDOW_BYTES = 1 << 18
"""Bytes of input or of a stream that may be on their way before a WINDOW allows more."""

EXIT_TIMED_OUT = 1
EXIT_TRUNCATED = 2


class Fault(IntEnum):
    """Why a request failed: the closed table of a FAIL's first field."""

    SYSTEM = 1  # a system call failed; errno says how
    NOT_REGULAR = 2  # a device, pipe or socket where a file is needed
    TOO_LARGE = 3
    BAD_REQUEST = 4  # the guest did not understand the host: a defect
    NO_USER = 5
    BAD_ARCHIVE = 6
    CANCELLED = 7
    NO_SUCH_TARGET = 8


STAT_FIELDS = struct.Struct("<IIIQq")
EXIT_FIELDS = struct.Struct("<iIQ")
FAIL_FIELDS = struct.Struct("<II")
U32 = struct.Struct("<I")
U64 = struct.Struct("<Q")


class WireError(Exception):
    """Bytes that are not what a guest sends."""


def frame(kind: Kind, identity: int, payload: bytes = b"") -> bytes:
    """Return one frame."""
    return HEADER.pack(len(payload), identity, kind) + payload


def text(value: str | bytes) -> bytes:
    """Return a string field; surrogate escapes become the bytes they stand for."""
    raw = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
    return U32.pack(len(raw)) + raw


def read_text(payload: bytes | memoryview, offset: int) -> tuple[str, int]:
    """Return the string field at an offset and the offset after it.

    Raises:
        WireError: There is none.
    """
    start = offset + U32.size
    if len(payload) < start:
        raise WireError("a field is cut off")
    end = start + int(U32.unpack_from(payload, offset)[0])
    if len(payload) < end:
        raise WireError("a field is cut off")
    return bytes(payload[start:end]).decode("utf-8", "surrogateescape"), end
