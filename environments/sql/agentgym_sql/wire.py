"""Frames between the host and a worker process: length-prefixed JSON and one binary part.

A frame is two unsigned 32-bit lengths (network order), a JSON text and a blob. JSON keeps a
worker that an agent has taken over from doing more than answering wrongly, which pickle
would not. Inside the JSON, objects stand for bytes only: {"b64": "..."}.
"""

import binascii
import json
import struct
from collections.abc import Callable
from typing import Any, TypeAlias

Json: TypeAlias = Any
Frame: TypeAlias = tuple[Json, bytes]

HEADER = struct.Struct("!II")
MAX_JSON = 64 << 20
MAX_BLOB = 1 << 30


class FrameError(Exception):
    """Bytes that are not a frame, or a frame over the size limits."""


def _encode_bytes(value: object) -> dict[str, str]:
    if isinstance(value, bytes):
        return {"b64": binascii.b2a_base64(value, newline=False).decode()}
    raise TypeError(f"{type(value).__name__} cannot travel in a frame")


def _decode_bytes(value: dict[str, str]) -> bytes:
    return binascii.a2b_base64(value["b64"])


_dumps = json.JSONEncoder(separators=(",", ":"), check_circular=False, default=_encode_bytes).encode
_loads = json.JSONDecoder(object_hook=_decode_bytes).decode


def encode(message: Json, blob: bytes = b"") -> bytes:
    """Return the frame of a message.

    Raises:
        FrameError: It is over the size limits.
    """
    text = _dumps(message).encode("ascii")
    if len(text) > MAX_JSON or len(blob) > MAX_BLOB:
        raise FrameError(f"a frame of {len(text)} + {len(blob)} bytes is over the limit")
    return HEADER.pack(len(text), len(blob)) + text + blob


def frame_size(header: bytes | bytearray) -> int:
    """Return the whole frame's length from its first `HEADER.size` bytes.

    Raises:
        FrameError: It is over the size limits.
    """
    text, blob = HEADER.unpack_from(header)
    if text > MAX_JSON or blob > MAX_BLOB:
        raise FrameError(f"a frame of {text} + {blob} bytes is over the limit")
    return HEADER.size + int(text) + int(blob)


def decode(frame: bytes | bytearray) -> Frame:
    """Return the message and the blob of a whole frame.

    Raises:
        FrameError: Its JSON part is not one.
    """
    end = HEADER.size + int(HEADER.unpack_from(frame)[0])
    try:
        return _loads(frame[HEADER.size : end].decode("ascii")), bytes(frame[end:])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise FrameError(f"a frame that is not JSON: {error}") from error


def read_frame(receive: Callable[[int], bytes]) -> Frame | None:
    """Read one frame from a blocking source.

    Args:
        receive: Returns at most that many bytes, and none at the end; `socket.recv`.

    Returns:
        The frame, or None where the other side has closed.

    Raises:
        FrameError: It is not a frame.
    """
    data = bytearray()
    size = HEADER.size
    while len(data) < size:
        chunk = receive(min(size - len(data), 1 << 20) if len(data) >= HEADER.size else 1 << 16)
        if not chunk:
            return None
        data += chunk
        if len(data) >= HEADER.size:
            size = frame_size(data)
    return decode(data)
