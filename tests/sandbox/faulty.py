"""Backends with one fault each: a sound one, and a wrapper that breaks a promise."""

import asyncio
import os
import shutil
import tarfile
import tempfile
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentgym.errors import SandboxLostError
from agentgym.sandbox import (
    Command,
    ExecResult,
    FileInfo,
    Process,
    Sandbox,
    SandboxInfo,
    SandboxSnapshot,
    SandboxSpec,
    Shell,
)
from agentgym.sandbox.egress.attempt import Attempt
from tests.sandbox.wrapped import Wrapped, WrappedBackend


class LeavesChildren(Wrapped):
    """A timeout that only stops waiting, as an engine's own exec has."""

    async def exec(self, command: Command, **options: Any) -> ExecResult:
        timeout = options.pop("timeout", None) or self.spec.timeout
        task = asyncio.create_task(self.inner.exec(command, timeout=100, **options))
        done, _ = await asyncio.wait([task], timeout=timeout)
        return task.result() if done else ExecResult(b"", b"", 137, True, False, timeout)


class KillsTheRoot(Wrapped):
    """A timeout that ends the command's first process alone."""

    async def exec(self, command: Command, **options: Any) -> ExecResult:
        timeout = options.pop("timeout", None) or self.spec.timeout
        argv = ["bash", "-c", command] if isinstance(command, str) else list(command)
        line = ["timeout", "--foreground", "-s", "KILL", str(timeout), *argv]
        found = await self.inner.exec(line, timeout=100, **options)
        return found._replace(timed_out=found.exit_code == 137)


class CollectsEverything(Wrapped):
    """An output limit that is applied when all has been collected."""

    async def exec(self, command: Command, **options: Any) -> ExecResult:
        limit = options.pop("output_limit", None)
        limit = self.spec.output_limit if limit is None else limit
        found = await self.inner.exec(command, output_limit=1 << 30, **options)
        cut = len(found.stdout) > limit or len(found.stderr) > limit
        return found._replace(
            stdout=found.stdout[:limit], stderr=found.stderr[:limit], truncated=cut
        )


class UnpacksBlindly(Wrapped):
    """A download that trusts the archive it is sent."""

    async def download(self, path: str, target: Path) -> None:
        parent, _, name = path.rpartition("/")
        packed = await self.inner.exec(
            ["tar", "-C", parent, "-cf", "-", name], output_limit=1 << 30
        )
        if packed.exit_code:
            raise FileNotFoundError(2, packed.error_text, path)
        with tempfile.TemporaryFile() as archive:
            archive.write(packed.stdout)
            archive.seek(0)
            with tarfile.open(fileobj=archive) as tar:
                members = tar.getmembers()
                for member in members:
                    member.name = str(target) + member.name.removeprefix(name)
                tar.extractall("/", members, filter="fully_trusted")


class FollowsLinksUp(Wrapped):
    """An upload that copies what links of the host point to."""

    async def upload(self, source: Path, path: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "copy"
            _copied(source, copy)
            await self.inner.upload(copy, path)


def _copied(source: Path, copy: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, copy, symlinks=False, ignore_dangling_symlinks=True)
    else:
        shutil.copy2(source, copy)


class KeepsFiles(Wrapped):
    """A reset that ends the processes and forgets the files."""

    async def reset(self) -> None:
        await self.inner.kill_all()


class KeepsProcesses(Wrapped):
    """A reset that puts the files back and forgets the processes."""

    async def reset(self) -> None:
        for entry in await self.inner.list_dir("/work"):
            await self.inner.remove(f"/work/{entry.name}")


class KeepsNewFiles(Wrapped):
    """A restore that puts files back and leaves those that came after."""

    async def restore(self, snapshot: SandboxSnapshot) -> None:
        line = "cp -a /work /dev/shm/after"
        await self.inner.exec(line)
        kept = {e.name for e in await self.inner.list_dir("/work")}
        await self.inner.restore(snapshot)
        for name in kept - {e.name for e in await self.inner.list_dir("/work")}:
            await self.inner.write_file(f"/work/{name}", "")


class Retries(Wrapped):
    """An exec that is tried again where it did not go well."""

    async def exec(self, command: Command, **options: Any) -> ExecResult:
        found = await self.inner.exec(command, **options)
        return found if found.exit_code == 0 else await self.inner.exec(command, **options)


class ForwardsEnvironment(Wrapped):
    """Commands that are given the host's environment."""

    async def exec(
        self, command: Command, *, env: Mapping[str, str] | None = None, **options: Any
    ) -> ExecResult:
        return await self.inner.exec(command, env={**os.environ, **(env or {})}, **options)


class HidesLosses(Wrapped):
    """A loss that is told as the command's own end."""

    async def exec(self, command: Command, **options: Any) -> ExecResult:
        try:
            return await self.inner.exec(command, **options)
        except SandboxLostError:
            return ExecResult(b"", b"", 137, False, False, 0.0)


class MixesOutputs(Wrapped):
    """Commands whose outputs go to whoever asked last."""

    last: ExecResult | None = None

    async def exec(self, command: Command, **options: Any) -> ExecResult:
        found = await self.inner.exec(command, **options)
        before, self.last = self.last, found
        if before is not None and len(before.stdout) > 10_000:
            return found._replace(stdout=before.stdout)
        return found


class OneAtATime(Wrapped):
    """Commands that wait for each other."""

    def __init__(self, inner: Sandbox) -> None:
        super().__init__(inner)
        self._lock = asyncio.Lock()

    async def exec(self, command: Command, **options: Any) -> ExecResult:
        async with self._lock:
            return await self.inner.exec(command, **options | {"timeout": 2})


class TextOnly(Wrapped):
    """Output that went through text."""

    async def exec(self, command: Command, **options: Any) -> ExecResult:
        found = await self.inner.exec(command, **options)
        return found._replace(stdout=found.text.encode(), stderr=found.error_text.encode())


class JoinsWords(Wrapped):
    """Arguments that a shell splits anew."""

    async def exec(self, command: Command, **options: Any) -> ExecResult:
        line = command if isinstance(command, str) else " ".join(command)
        return await self.inner.exec(line, **options)


class RaisesWhatIsOrdinary(Wrapped):
    """A missing program and a timeout as errors."""

    async def exec(self, command: Command, **options: Any) -> ExecResult:
        found = await self.inner.exec(command, **options)
        if found.timed_out:
            raise TimeoutError
        if found.exit_code == 127:
            raise FileNotFoundError(2, "No such program")
        return found


class ForgetsWhere(Wrapped):
    """Commands that start where they like."""

    async def exec(self, command: Command, **options: Any) -> ExecResult:
        return await self.inner.exec(command, **options | {"cwd": None})


class GoesOnWhenCancelled(Wrapped):
    """A cancelled call whose command goes on."""

    async def exec(self, command: Command, **options: Any) -> ExecResult:
        return await asyncio.shield(self.inner.exec(command, **options))


class _Late(Process):
    def __init__(self, inner: Process) -> None:
        self.inner = inner

    async def __aiter__(self) -> AsyncIterator[tuple[str, bytes]]:
        found = await self.inner.wait()
        for chunk in (("stdout", found.stdout), ("stderr", found.stderr)):
            yield chunk

    async def write(self, data: bytes) -> None:
        await self.inner.write(data)

    async def close_stdin(self) -> None:
        await self.inner.close_stdin()

    async def kill(self) -> None:
        await self.inner.kill()

    async def wait(self) -> ExecResult:
        return await self.inner.wait()


class StreamsAtTheEnd(Wrapped):
    """Output that is seen when the command has ended."""

    async def start(self, command: Command, **options: Any) -> Process:
        return _Late(await self.inner.start(command, **options | {"timeout": 2}))


class SharesForks(Wrapped):
    """A fork that is the sandbox itself under another name."""

    async def fork(self) -> Sandbox:
        twin = type(self)(self.inner)
        twin.id = f"{self.id}-fork"
        return twin


class NeverCloses(Wrapped):
    """A close that leaves everything as it is."""

    async def close(self) -> None:
        pass


class CarelessFiles(Wrapped):
    """File calls without modes, limits or order, that follow links."""

    async def read_file(self, path: str, *, limit: int | None = None) -> bytes:
        return await self.inner.read_file(path)

    async def write_file(
        self, path: str, content: bytes | str, *, mode: int = 0o644, user: str | None = None
    ) -> None:
        await self.inner.write_file(path, content)

    async def list_dir(self, path: str) -> list[FileInfo]:
        return (await self.inner.list_dir(path))[::-1]

    async def make_dir(self, path: str, *, mode: int = 0o755) -> None:
        await self.inner.make_dir(path)
        await self.inner.exec(["chmod", f"{mode:o}", path])

    async def remove(self, path: str) -> None:
        await self.inner.exec(["rm", "-rf", path])


class _Forgetful(Shell):
    cwd, restarts = "/work", 0

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    async def run(self, command: str, **options: Any) -> ExecResult:
        return await self._sandbox.exec(command, **options)

    async def close(self) -> None:
        pass


class ShellWithoutMemory(Wrapped):
    """A shell that is a new one each time."""

    def shell(self, **options: Any) -> Shell:
        return _Forgetful(self.inner)


class HidesEgress(Wrapped):
    """A proxy whose log says nothing."""

    @property
    def egress_log(self) -> Collection[Attempt]:  # type: ignore[override]
        return ()


class Generous(WrappedBackend):
    """Limits that are higher than those asked for."""

    async def start(self, spec: SandboxSpec) -> Sandbox:
        more = {
            "memory": 4 * spec.memory,
            "pids": 2 * spec.pids,
            "disk": 4 * spec.disk,
            "inodes": 4 * spec.inodes,
            "open_files": 4 * spec.open_files,
            "cpus": 20 * spec.cpus,
        }
        return await super().start(spec.model_copy(update=more))


class OpensEverything(WrappedBackend):
    """An allowlist that is longer than the one asked for."""

    async def start(self, spec: SandboxSpec) -> Sandbox:
        wide = (f"localhost:{port}" for port in range(1024, 65536))
        egress = spec.egress and (*spec.egress, *wide, "example.com")
        return await super().start(spec.model_copy(update={"egress": egress}))


class ListsNothing(WrappedBackend):
    """A backend that does not know its sandboxes."""

    async def list(self) -> Sequence[SandboxInfo]:
        return []


class ClaimsIsolation(WrappedBackend):
    """Plain processes under the name of isolation."""

    isolated = True
