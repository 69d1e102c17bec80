"""Sandboxes that are set up for a task, and what its oracle leaves in one."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from agentgym.errors import EnvironmentFailedError
from agentgym.sandbox import ExecResult, Sandbox, SandboxSnapshot, SandboxSpec
from agentgym.sandbox.pool import SandboxPool
from agentgym.sandbox.shared import SharedPool
from agentgym.tasks import task_hash
from agentgym.types import Task
from agentgym_shell.archives import read_tree, with_settled_times
from agentgym_shell.tasks import ShellPrivate, ShellPublic
from agentgym_shell.trees import Tree

PATIENCE_S = 60.0
"""Seconds that a set-up, or one of the oracle's commands, may take."""

BASH = ("/bin/bash", "--noprofile", "--norc")

_KEPT = 256
_KEPT_BYTES = 1 << 20
_SAID = 500

ShellTask = Task[ShellPublic, ShellPrivate]


class Files(NamedTuple):
    """The files of a sandbox at one moment.

    Attributes:
        output: What the last command had written then.
    """

    archive: bytes
    tree: Tree
    output: str = ""


class TaskScriptError(Exception):
    """A task's own script did not do what it is there for."""


class Stage:
    """Lends sandboxes of one sort, set up for a task.

    Args:
        backend: The sandboxes' backend, by name.
        spec: What they are made from.
    """

    def __init__(self, backend: str, spec: SandboxSpec) -> None:
        self.spec = spec
        self._backend = backend
        self._shared: SharedPool | None = None

    async def begin(self, task: ShellTask) -> Sandbox:
        """Return a sandbox that is set up for a task, to be given to `end`."""
        sandbox = await self.take()
        try:
            initial = await self._initial(task, sandbox)
            await self.put_back(sandbox, initial.archive)
        except BaseException:
            self.end(sandbox)
            raise
        return sandbox

    async def take(self) -> Sandbox:
        """Return a sandbox that is not set up for anything, to be given to `end`."""
        return await self._pool.acquire(self.spec)

    def end(self, sandbox: Sandbox) -> None:
        """Take a sandbox back."""
        self._pool.release(sandbox)

    async def initial(self, task: ShellTask) -> Files:
        """Return a task's files before anything is done."""
        async with self.blank() as sandbox:
            return await self._initial(task, sandbox)

    async def gold(self, task: ShellTask) -> Files:
        """Return a task's files after the oracle's commands.

        Raises:
            EnvironmentFailedError: One of them does not come to an end.
        """
        key = self._key("gold", task)
        if found := _kept.get(key):
            return found
        async with self.blank() as sandbox:
            initial = await self._initial(task, sandbox)
            await self.put_back(sandbox, initial.archive)
            result = None
            async with sandbox.shell() as shell:
                for command in task.private.oracle.commands:
                    result = await shell.run(command, timeout=PATIENCE_S)
                    if result.timed_out:
                        raise _failed("the oracle", result)
            output = result.text + result.error_text if result else ""
            return _keep(key, await self.files(sandbox, output))

    async def files(self, sandbox: Sandbox, output: str = "") -> Files:
        """End every process and return the files.

        Raises:
            OSError: There is more in them than an archive takes.
        """
        await sandbox.kill_all()
        archive = (await sandbox.snapshot()).archive
        return Files(archive, await asyncio.to_thread(read_tree, archive), output)

    async def put_back(self, sandbox: Sandbox, archive: bytes) -> None:
        """End every process and put files back."""
        await sandbox.restore(SandboxSnapshot(self.spec, archive))

    @asynccontextmanager
    async def blank(self) -> AsyncIterator[Sandbox]:
        """Lend a sandbox that is not set up for anything."""
        sandbox = await self.take()
        try:
            yield sandbox
        finally:
            self.end(sandbox)

    async def close(self) -> None:
        """Let go of the sandboxes; closing twice is allowed."""
        shared, self._shared = self._shared, None
        if shared is not None:
            await shared.close()

    @property
    def _pool(self) -> SandboxPool:
        if self._shared is None:  # not before there is an event loop for it to live in
            self._shared = SharedPool(self._backend)
        return self._shared.pool

    async def _initial(self, task: ShellTask, sandbox: Sandbox) -> Files:
        key = self._key("initial", task)
        if found := _kept.get(key):
            return found
        setup = task.private.setup
        for path, content in setup.files.items():
            await sandbox.write_file(path, content)
        if setup.script:
            script = [*BASH, "-eu", "-o", "pipefail", "-c", setup.script]
            result = await sandbox.exec(script, timeout=PATIENCE_S)
            if result.exit_code:
                raise _failed("the set-up", result)
        await sandbox.kill_all()
        archive = await asyncio.to_thread(with_settled_times, (await sandbox.snapshot()).archive)
        return _keep(key, Files(archive, await asyncio.to_thread(read_tree, archive)))

    def _key(self, what: str, task: ShellTask) -> str:
        return f"{what} {task_hash(task)} {self._backend} {self.spec.model_dump_json()}"


_kept: OrderedDict[str, Files] = OrderedDict()
"""What set-ups and oracles came to, which is the same every time, for this whole process."""


def _keep(key: str, files: Files) -> Files:
    if len(files.archive) <= _KEPT_BYTES:
        _kept[key] = files
        while len(_kept) > _KEPT:
            _kept.popitem(last=False)
    return files


def _failed(what: str, result: ExecResult) -> EnvironmentFailedError:
    said = result.error_text[-_SAID:].strip()
    how = "ran out of time" if result.timed_out else f"ended with {result.exit_code}"
    return EnvironmentFailedError(what, TaskScriptError(f"it {how}: {said}"))
