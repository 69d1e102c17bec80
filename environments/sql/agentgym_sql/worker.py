"""The child process that runs statements, so that no agent's SQL runs in the host.

Started by `pool.Worker` without site-packages where it serves SQLite. It reads frames from
an inherited socket, answers each, and ends when the socket closes.
"""

import resource
import signal
import socket
from collections.abc import Callable
from typing import Protocol

from agentgym_sql import wire
from agentgym_sql.results import DatabaseLostError, DatabaseUnusableError, StatementError

SERVER, ADMIN, SQLITE = "server", "admin", "sqlite"

ADDRESS_SPACE_BYTES = {SQLITE: 2 << 30, SERVER: 1 << 30, ADMIN: 8 << 30}
OPEN_FILES = {SQLITE: 32, SERVER: 128, ADMIN: 128}


class Service(Protocol):
    """What a worker serves: operations by name, each given the frame's blob and arguments."""

    operations: dict[str, Callable[..., wire.Frame]]


def main(descriptor: int, kind: str) -> None:
    """Serve until the host closes its end.

    Args:
        descriptor: Of the inherited socket.
        kind: SQLITE, SERVER or ADMIN.
    """
    _limit(kind)
    service = _service(kind)
    with socket.socket(fileno=descriptor) as connection:
        try:
            while (frame := wire.read_frame(connection.recv)) is not None:
                connection.sendall(_answer(service, *frame))
        except (BrokenPipeError, ConnectionResetError):
            return


def _service(kind: str) -> Service:
    if kind == SQLITE:
        from agentgym_sql.sqlite_worker import SqliteWorker

        return SqliteWorker()
    if kind == SERVER:
        from agentgym_sql.server_worker import ServerWorker

        return ServerWorker()
    from agentgym_sql.server_admin import ServerAdmin

    return ServerAdmin()


def _limit(kind: str) -> None:
    for limit, value in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, OPEN_FILES[kind]),
        (resource.RLIMIT_AS, ADDRESS_SPACE_BYTES[kind]),
    ):
        hard = resource.getrlimit(limit)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(limit, (value, value))


def _answer(service: Service, message: wire.Json, blob: bytes) -> bytes:
    operation, end_after_s, *arguments = message
    # The host kills a worker that overstays; this ends one whose host is gone.
    signal.setitimer(signal.ITIMER_REAL, end_after_s)
    try:
        reply, out = service.operations[operation](blob, *arguments)
        return wire.encode(["ok", reply], out)
    except StatementError as error:
        return wire.encode(["fault", error.kind, error.message])
    except DatabaseUnusableError as error:
        return wire.encode(["unusable", error.message, error.remedy])
    except DatabaseLostError as error:
        return wire.encode(["lost", str(error)])
    except (MemoryError, wire.FrameError):
        message = "The answer, or the memory it needs, is larger than a worker may hold."
        return wire.encode(["fault", "too_big", message])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
