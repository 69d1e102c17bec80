"""The agent's own sandbox during an episode: a shell that stays, and the files around it."""

from collections.abc import Awaitable
from typing import NamedTuple, Self

from agentgym.sandbox import ExecResult, Sandbox, Shell
from agentgym_shell.saved_shell import SavedShell, capture, revive
from agentgym_shell.stage import Files, ShellTask, Stage

_TRIES = 5
_PROBE_S = 10.0


class SavedSession(NamedTuple):
    """A session's state; processes in the background are not part of it."""

    archive: bytes
    shell: SavedShell


class Ran(NamedTuple):
    """How a command ended.

    Attributes:
        new_shell: The folder of the shell that has taken the place of the one it cost.
    """

    result: ExecResult
    new_shell: str | None


class Session:
    """A sandbox on loan with a shell in it; `open` and `load` make it, `close` gives it back."""

    def __init__(self, stage: Stage, sandbox: Sandbox, beginning: str) -> None:
        self._stage = stage
        self._sandbox = sandbox
        self._beginning = beginning
        self._shell: Shell = sandbox.shell()

    @classmethod
    async def open(cls, stage: Stage, task: ShellTask, *, beginning: str) -> Self:
        """Begin with the task's own files.

        Args:
            stage: Lends the sandbox.
            task: Sets it up.
            beginning: The first command of every shell.
        """
        session = cls(stage, await stage.begin(task), beginning)
        return await session._ready(session._begin())

    @classmethod
    async def load(cls, stage: Stage, saved: SavedSession, *, beginning: str) -> Self:
        """Go on from a saved state; see `open`."""
        session = cls(stage, await stage.take(), beginning)
        return await session._ready(session._resume(saved))

    async def run(self, command: str, *, seconds: float) -> Ran:
        """Run a command in the shell that stays."""
        before = self._shell.restarts
        result = await self._shell.run(command, timeout=seconds)
        await self._shell.run("", timeout=_PROBE_S)  # starts a new one where that one is gone
        if self._shell.restarts == before:
            return Ran(result, None)
        await self._begin()
        return Ran(result, self._shell.cwd)

    async def save(self) -> SavedSession:
        """Return the state as it is now; the session goes on unchanged.

        Raises:
            OSError: There is more in the files than an archive takes.
        """
        shell = await capture(self._shell)
        return SavedSession(await self._archive(), shell)

    async def files(self) -> Files:
        """End every process and return the files.

        Raises:
            OSError: There is more in them than an archive takes.
        """
        return await self._stage.files(self._sandbox)

    async def close(self) -> None:
        """Give the sandbox back."""
        self._stage.end(self._sandbox)

    async def _archive(self) -> bytes:
        for _ in range(_TRIES):
            try:
                return (await self._sandbox.snapshot()).archive
            except OSError:  # most likely something changes the files while they are read
                continue
        await self._sandbox.kill_all()
        return (await self._sandbox.snapshot()).archive

    async def _ready(self, work: Awaitable[None]) -> Self:
        try:
            await work
        except BaseException:
            await self.close()
            raise
        return self

    async def _resume(self, saved: SavedSession) -> None:
        await self._stage.put_back(self._sandbox, saved.archive)
        await self._begin()
        await revive(self._shell, saved.shell)

    async def _begin(self) -> None:
        began = await self._shell.run(self._beginning)
        if began.exit_code:  # the folder to start in is closed to it: the next one starts elsewhere
            await self._shell.run(self._beginning)
