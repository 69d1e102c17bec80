"""The payloads of requests, and what comes back in them."""

import struct
from collections.abc import Mapping, Sequence

from agentgym.errors import UsageError
from agentgym.sandbox import wire
from agentgym.sandbox.base import Command
from agentgym.sandbox.spec import FileInfo, check_environment, checked_path
from agentgym.sandbox.wire import WireError

_SHELL = ("/bin/bash", "-c")
_FOREVER = 1e12


def argv_of(command: Command) -> Sequence[str]:
    """Return a program with its arguments.

    Raises:
        UsageError: There is none, or it holds a NUL.
    """
    argv = (*_SHELL, command) if isinstance(command, str) else tuple(command)
    if not argv or any("\0" in word for word in argv):
        raise UsageError("A command needs a program, and no NUL in its words.")
    return argv


def execute(
    argv: Sequence[str],
    env: Mapping[str, str],
    *,
    cwd: str,
    user: str,
    timeout: float,
    limit: int,
    flags: int,
) -> bytes:
    """Return an EXEC request.

    Raises:
        UsageError: Something in it cannot be.
    """
    if not 0 < timeout < _FOREVER or limit < 0:
        raise UsageError("A command's timeout is above 0 and its output limit not below.")
    try:
        check_environment(env)
        words = [wire.text(word) for word in argv]
        pairs = [wire.text(f"{name}={value}") for name, value in env.items()]
        where = wire.text(checked_path(cwd))
    except ValueError as error:
        raise UsageError(f"A command that cannot be: {error}.") from error
    return b"".join(
        (
            struct.pack("<IQQ", flags, max(1, int(timeout * 1000)), limit),
            wire.text(user),
            where,
            wire.U32.pack(len(words)),
            *words,
            wire.U32.pack(len(pairs)),
            *pairs,
        )
    )


def normal(path: str) -> str:
    """Return a path of the sandbox in its normal form.

    Raises:
        UsageError: It is relative, holds a NUL or cannot be encoded.
    """
    try:
        wire.text(path)
        return checked_path(path)
    except ValueError as error:
        raise UsageError(f"A path that cannot be: {error}.") from error


def content(content: bytes | str) -> bytes:
    """Return content as bytes.

    Raises:
        UsageError: It is text that cannot be encoded.
    """
    try:
        return content.encode() if isinstance(content, str) else content
    except UnicodeEncodeError as error:
        raise UsageError(f"Text that cannot be: {error}.") from error


def on_path(user: str, path: str, *numbers: bytes) -> bytes:
    """Return a request about a path: user, path, and numbers in their binary form.

    Raises:
        UsageError: There cannot be such a path.
    """
    return b"".join((wire.text(user), wire.text(normal(path)), *numbers))


def on_paths(user: str, paths: Sequence[str], *numbers: bytes) -> bytes:
    """Return a request about several paths: user, numbers, and the paths with their count.

    Raises:
        UsageError: There cannot be such a path.
    """
    fields = [wire.text(normal(path)) for path in paths]
    return b"".join((wire.text(user), *numbers, wire.U32.pack(len(paths)), *fields))


def entries(data: bytes | bytearray) -> list[FileInfo]:
    """Return the entries of a STAT or LIST answer.

    Raises:
        WireError: They are none.
    """
    data = bytes(data)
    found, offset = [], 0
    while offset < len(data):
        if len(data) - offset < wire.STAT_FIELDS.size:
            raise WireError("an entry is cut off")
        mode, uid, gid, size, mtime = wire.STAT_FIELDS.unpack_from(data, offset)
        name, offset = wire.read_text(data, offset + wire.STAT_FIELDS.size)
        target, offset = wire.read_text(data, offset)
        found.append(FileInfo(name, mode, uid, gid, size, mtime / 1e9, target))
    return found
