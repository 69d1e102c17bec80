"""What this user's processes share about images: locks, and when each image was last used."""

import asyncio
import fcntl
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from platformdirs import user_cache_path

from agentgym.errors import SandboxUnavailableError

_ASK_AGAIN_S = 0.2
_PREFIX = "used-"


@asynccontextmanager
async def locked(name: str) -> AsyncIterator[None]:
    """Hold a lock among all processes of this user; a process that dies lets it go.

    Raises:
        SandboxUnavailableError: The cache folder cannot be written.
    """
    with (_folder() / f"{name}.lock").open("w") as lock:
        while not _take(lock.fileno()):  # noqa: ASYNC110 - another process may hold it
            await asyncio.sleep(_ASK_AGAIN_S)
        yield


def mark_used(digest: str) -> None:
    """Note that an image is used now.

    Raises:
        SandboxUnavailableError: The cache folder cannot be written.
    """
    note = _folder() / f"{_PREFIX}{digest}"
    note.touch()
    now = time.time_ns()  # finer than the file system's own clock
    os.utime(note, ns=(now, now))


def forget(digest: str) -> None:
    """Drop the note about an image that is gone."""
    (_folder() / f"{_PREFIX}{digest}").unlink(missing_ok=True)


def last_uses() -> dict[str, float]:
    """Return when this user last used each image, in seconds since 1970, by digest."""
    notes = _folder().glob(f"{_PREFIX}*")
    return {note.name.removeprefix(_PREFIX): note.stat().st_mtime for note in notes}


def _folder() -> Path:
    folder = user_cache_path("agentgym") / "docker"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SandboxUnavailableError(
            f"The cache folder {folder} cannot be written: {error.strerror}.",
            remedy="Set XDG_CACHE_HOME to a folder that can be.",
        ) from error
    return folder


def _take(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
