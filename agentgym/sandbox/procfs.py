"""Processes of this machine, found through /proc and ended so that no other is hit."""

import asyncio
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

_PARENT_FIELD = 1  # field 4 of /proc/PID/stat, counted from after the program's name


def pids() -> Iterator[int]:
    """Yield the id of every process."""
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal():
            yield int(entry.name)


def parent_of(pid: int) -> int | None:
    """Return a process's parent, or None where it is gone."""
    stat = _read(pid, "stat")
    # The name in field 2 may hold anything but NUL, so the fields are counted from its end.
    fields = stat.rpartition(b")")[2].split()
    return int(fields[_PARENT_FIELD]) if fields else None


def words_of(pid: int) -> Sequence[str]:
    """Return a process's arguments; none where it is gone."""
    return _words(_read(pid, "cmdline"))


def environment_of(pid: int) -> Sequence[str]:
    """Return the `NAME=value` words a process started with; none where they may not be read."""
    return _words(_read(pid, "environ"))


def is_nested(pid: int) -> bool:
    """Whether a process is in a process namespace within this one, or gone."""
    for line in _read(pid, "status").splitlines():
        if line.startswith(b"NSpid:"):
            return len(line.split()) > 2
    return True


def uid_of(pid: int) -> int | None:
    """Return whose a process is, or None where it is gone."""
    try:
        return Path(f"/proc/{pid}").stat().st_uid
    except (FileNotFoundError, ProcessLookupError):
        return None


def kill(pid: int, meant: Callable[[int], bool]) -> None:
    """Kill a process where it is the one that is meant.

    The process is held before it is asked, so a pid that was given to another meanwhile does
    that other no harm.

    Raises:
        PermissionError: It is somebody else's.
    """
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        if meant(pid):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
    except ProcessLookupError:
        pass
    finally:
        os.close(handle)


async def ended(handle: int, timeout: float) -> bool:
    """Wait until a process has ended, at most some seconds; return whether it has.

    Args:
        handle: A descriptor from `os.pidfd_open`.
        timeout: Seconds.
    """
    loop = asyncio.get_running_loop()
    over = asyncio.Event()
    own = os.dup(handle)  # a loop has one reader for each descriptor, and others may wait too
    loop.add_reader(own, over.set)
    try:
        async with asyncio.timeout(timeout):
            await over.wait()
    except TimeoutError:
        return False
    finally:
        loop.remove_reader(own)
        os.close(own)
    return True


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return b""


def _words(content: bytes) -> Sequence[str]:
    return content.decode("utf-8", "surrogateescape").split("\0")[:-1]
