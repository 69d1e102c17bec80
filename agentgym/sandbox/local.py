"""Sandboxes whose guest is a child of this process, over a pair of sockets."""

import asyncio
import os
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Literal

from agentgym.errors import EpisodeError, SandboxStartError
from agentgym.sandbox import procfs
from agentgym.sandbox.base import SandboxBackend
from agentgym.sandbox.channel import GuestChannel
from agentgym.sandbox.guest_sandbox import GuestSandbox
from agentgym.sandbox.spec import SandboxSpec

Scope = Literal["sandbox", "process", "none"]
"""What a limit holds: all that runs in a sandbox together, each process, or nothing."""

_GRACE_S = 5.0
_SAID = 300
_READ = 1 << 16
_KILLED = (-signal.SIGKILL, 128 + signal.SIGKILL)


class GuestChild:
    """A child that is a guest, or waits for one, from its start to when nothing is left.

    Args:
        process: The child.
        connection: Our end of the guest's socket, whose end of file ends the guest.
        said: A descriptor of the file that the child writes its errors to.
    """

    def __init__(
        self, process: subprocess.Popen[bytes], connection: socket.socket, said: int
    ) -> None:
        self.connection = connection
        self._process = process
        self._said = said
        self._child = os.pidfd_open(process.pid)
        self._is_ended = False

    def greeted(self) -> None:
        """Learn that the guest is there."""

    def words(self) -> str:
        """Return the last line that was written as an error."""
        said = os.pread(self._said, _READ, 0).decode("utf-8", "replace").strip()
        line = said.rpartition("\n")[2]
        return "".join(c for c in line if c.isprintable())[:_SAID]

    async def why_ended(self) -> str:
        """Return one sentence on how it came to its end, or nothing where it is to end."""
        if self._is_ended or not await procfs.ended(self._child, _GRACE_S) or self._is_ended:
            return ""
        status = self._process.poll()
        if status in _KILLED:
            return self._why_killed()
        return f"Its guest ended with {status}: {self.words() or 'no message'}."

    async def end(self) -> None:
        """Wait until nothing is left of it, and kill what does not end by itself.

        The guest must have been hung up on.
        """
        self._is_ended = True
        for handle in self._handles():
            if not await procfs.ended(handle, _GRACE_S):
                with suppress(ProcessLookupError):
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
                await procfs.ended(handle, _GRACE_S)
        self._process.poll()
        await self._clear()
        for handle in (*self._handles(), self._said):
            os.close(handle)

    def _handles(self) -> Sequence[int]:
        """Return descriptors of the processes to wait for, in that order."""
        return (self._child,)

    def _why_killed(self) -> str:
        return "Its guest was killed."

    async def _clear(self) -> None:
        """Remove what is left once the processes have ended."""


class LocalSandbox(GuestSandbox):
    """A sandbox whose guest is a child of this process.

    Args:
        spec: See `GuestSandbox`.
        identity: See `GuestSandbox`.
        channel: See `GuestSandbox`.
        child: The guest.
        backend: What made it.
        folders: See `GuestSandbox`.
        base_env: See `GuestSandbox`.
        cwd: See `GuestSandbox`.
        user: See `GuestSandbox`.
    """

    def __init__(
        self,
        spec: SandboxSpec,
        identity: str,
        channel: GuestChannel,
        child: GuestChild,
        backend: "LocalBackend",
        *,
        folders: Sequence[str],
        base_env: Mapping[str, str],
        cwd: str | None = None,
        user: str | None = None,
    ) -> None:
        super().__init__(
            spec,
            identity,
            channel,
            backend=backend,
            folders=folders,
            base_env=base_env,
            cwd=cwd,
            user=user,
        )
        self._child = child
        self._forget = backend.forget

    async def _remove(self) -> None:
        await self._child.end()
        self._forget(self)

    async def _post_mortem(self) -> str:
        return await self._child.why_ended()


class LocalBackend(SandboxBackend):
    """What backends have in common whose guests are children of this process.

    Args:
        run_id: The run its sandboxes belong to, shown in listings.
    """

    def __init__(self, *, run_id: str = "") -> None:
        self._run_id = run_id
        self._open: set[LocalSandbox] = set()
        self._ending: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """See `SandboxBackend.close`."""
        await asyncio.gather(*(sandbox.close() for sandbox in self._open), *self._ending)

    def forget(self, sandbox: LocalSandbox) -> None:
        """Leave a sandbox that has been removed out of `close`."""
        self._open.discard(sandbox)

    async def _greeted(self, child: GuestChild) -> GuestChannel:
        """Wait for a guest's greeting; where it does not come nothing is left of the child."""
        try:
            channel = await _connected(child)
        except BaseException:
            await self._end(child)
            raise
        child.greeted()
        return channel

    async def _prepared(self, sandbox: LocalSandbox) -> None:
        """Make a sandbox ready; where that fails it is closed."""
        self._open.add(sandbox)
        try:
            await sandbox.prepare()
        except BaseException as error:
            await sandbox.close()
            if isinstance(error, EpisodeError) and not isinstance(error, SandboxStartError):
                raise SandboxStartError(f"A sandbox was lost at its start: {error}") from error
            raise

    async def _end(self, child: GuestChild) -> None:
        # In a task of its own, so that a second cancellation does not leave it undone.
        task = asyncio.create_task(child.end())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
        await asyncio.shield(task)


async def _connected(child: GuestChild) -> GuestChannel:
    try:
        return await GuestChannel.over(child.connection)
    except EpisodeError as error:
        why = await child.why_ended() or error.message
        raise SandboxStartError(f"A sandbox did not start. {why}") from error


@contextmanager
def undone_on_error() -> Iterator[Callable[..., object]]:
    """Yield `callback(function, *arguments)`: what is to be called where the body fails."""
    with ExitStack() as stack:
        yield stack.callback
        stack.pop_all()
