"""What checks look at on the host: its memory, its processes, and the guest's own."""

import asyncio
import os
import resource
import signal
from pathlib import Path
from types import TracebackType
from typing import Self

from agentgym.sandbox.base import Sandbox
from agentgym.sandbox.check.context import token
from agentgym.sandbox.check.registry import NotApplicable, fail, holds

_PAGE = resource.getpagesize()
_PROC = Path("/proc")


class Growth:
    """Fails where this process takes more memory while the body runs; an async context manager.

    Args:
        bound: Bytes of resident memory it may grow by, at any time.
    """

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._before = self._most = 0

    async def __aenter__(self) -> Self:
        """Start to look."""
        self._before = self._most = resident()
        self._watcher = asyncio.create_task(self._watch())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Judge."""
        self._watcher.cancel()
        grown = max(self._most, resident()) - self._before
        if error is None and grown > self._bound:
            fail(f"at most {self._bound >> 20} MB more of the host's memory", f"{grown >> 20} MB")

    async def _watch(self) -> None:
        while True:
            self._most = max(self._most, resident())
            await asyncio.sleep(0.005)


def resident(pid: int | None = None) -> int:
    """Return the bytes of memory a process holds; this one's by default."""
    fields = (_PROC / str(pid or os.getpid()) / "statm").read_text("ascii").split()
    return int(fields[1]) * _PAGE


def with_marker(marker: str) -> list[int]:
    """Return the host's processes that have a marker among their arguments."""
    found = []
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes()
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                continue
            if marker.encode() in words:
                found.append(int(entry.name))
    return found


async def host_pid(sandbox: Sandbox) -> int:
    """Return the host's number of the process that is number 1 in a sandbox.

    Raises:
        CheckFailure: There is none; the sandbox shares its process numbers with the host.
    """
    marker = token()
    process = await sandbox.start(["sleep", f"600.{marker}"], stdin=b"")
    try:
        pid = await _appears(marker)
        while (numbers := _numbers(pid))[-1] != 1:
            holds(len(numbers) > 1, "process numbers of the sandbox's own", f"process {pid}")
            pid = _parent(pid)
    finally:
        await process.kill()
    # Number 1 of this very process' own numbering is the machine's and never the sandbox's.
    holds(len(numbers) > len(_numbers(os.getpid())), "process numbers of its own", numbers)
    return pid


def end(pid: int, number: int = signal.SIGKILL) -> None:
    """Send a signal to what `host_pid` found.

    Raises:
        NotApplicable: Only another user of this machine may.
    """
    if pid <= 1:
        raise ValueError(f"{pid} is no sandbox's process")
    try:
        os.kill(pid, number)
    except PermissionError:
        raise NotApplicable("only root can end a sandbox's first process here") from None


async def gone(marker: str, seconds: float = 10.0) -> bool:
    """Wait until no process of the host has a marker; False where that does not happen."""
    end_of_wait = asyncio.get_running_loop().time() + seconds
    while with_marker(marker):
        if asyncio.get_running_loop().time() > end_of_wait:
            return False
        await asyncio.sleep(0.02)
    return True


async def _appears(marker: str) -> int:
    for _ in range(500):
        if with_marker(marker):
            break
        await asyncio.sleep(0.01)
    found = with_marker(marker)
    holds(found, "a sandbox's process to be seen by the host", "none")
    return found[0]


def _numbers(pid: int) -> list[int]:
    return [int(word) for word in _status(pid, "NSpid").split()]


def _parent(pid: int) -> int:
    return int(_status(pid, "PPid"))


def _status(pid: int, field: str) -> str:
    for line in (_PROC / str(pid) / "status").read_text("utf-8", "replace").splitlines():
        name, _, value = line.partition(":")
        if name == field:
            return value
    raise LookupError(f"/proc/{pid}/status has no {field}")
