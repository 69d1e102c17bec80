"""A backend around another, that hands every call on."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from agentgym.sandbox import (
    Command,
    ExecResult,
    FileInfo,
    Process,
    Sandbox,
    SandboxBackend,
    SandboxInfo,
    SandboxSnapshot,
    SandboxSpec,
    Shell,
)
from agentgym.sandbox.egress.attempt import Attempt


class Wrapped(Sandbox):
    """A sandbox that hands every call on; a fault overrides some."""

    def __init__(self, inner: Sandbox) -> None:
        self.inner = inner
        self.spec = inner.spec
        self.id = inner.id

    @property
    def egress_log(self) -> Collection[Attempt]:  # type: ignore[override]
        return self.inner.egress_log

    @property
    def alive(self) -> bool:
        return self.inner.alive

    async def exec(self, command: Command, **options: Any) -> ExecResult:
        return await self.inner.exec(command, **options)

    async def start(self, command: Command, **options: Any) -> Process:
        return await self.inner.start(command, **options)

    def shell(self, **options: Any) -> Shell:
        return self.inner.shell(**options)

    async def read_file(self, path: str, *, limit: int | None = None) -> bytes:
        return await self.inner.read_file(path, limit=limit)

    async def write_file(
        self, path: str, content: bytes | str, *, mode: int = 0o644, user: str | None = None
    ) -> None:
        await self.inner.write_file(path, content, mode=mode, user=user)

    async def list_dir(self, path: str) -> list[FileInfo]:
        return await self.inner.list_dir(path)

    async def stat(self, path: str) -> FileInfo:
        return await self.inner.stat(path)

    async def make_dir(self, path: str, *, mode: int = 0o755) -> None:
        await self.inner.make_dir(path, mode=mode)

    async def remove(self, path: str) -> None:
        await self.inner.remove(path)

    async def upload(self, source: Path, path: str) -> None:
        await self.inner.upload(source, path)

    async def download(self, path: str, target: Path) -> None:
        await self.inner.download(path, target)

    async def kill_all(self) -> None:
        await self.inner.kill_all()

    async def snapshot(self) -> SandboxSnapshot:
        return await self.inner.snapshot()

    async def restore(self, snapshot: SandboxSnapshot) -> None:
        await self.inner.restore(snapshot)

    async def reset(self) -> None:
        await self.inner.reset()

    async def fork(self) -> Sandbox:
        return type(self)(await self.inner.fork())

    async def close(self) -> None:
        await self.inner.close()


class WrappedBackend(SandboxBackend):
    """A backend whose sandboxes are wrapped; a fault overrides some calls."""

    sandbox: type[Wrapped] = Wrapped

    def __init__(self, inner: SandboxBackend) -> None:
        self.inner = inner
        self.name = inner.name  # type: ignore[misc]
        self.users = inner.users  # type: ignore[misc]

    async def check_available(self) -> None:
        await self.inner.check_available()

    async def start(self, spec: SandboxSpec) -> Sandbox:
        return self.sandbox(await self.inner.start(spec))

    async def list(self) -> Sequence[SandboxInfo]:
        return await self.inner.list()

    async def reap(self) -> Sequence[SandboxInfo]:
        return await self.inner.reap()

    async def close(self) -> None:
        await self.inner.close()
