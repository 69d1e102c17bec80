"""Files up and down, and whole sandboxes copied: snapshot, restore, fork."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agentgym.sandbox.base import Sandbox, SandboxBackend, SandboxSnapshot
from agentgym.sandbox.bench.figures import Effort, Figure, Findings, repeated, timed
from agentgym.sandbox.bench.lifetimes import A_THOUSAND_FILES
from agentgym.sandbox.spec import MIB, SandboxSpec

_SIZES = (("1 MB", 1_000_000, 50), ("100 MB", 100_000_000, 5))
_COPIES = 20
_FORKS = 5
_ROOMY = SandboxSpec(memory=1024 * MIB, disk=256 * MIB)


async def measure(backend: SandboxBackend, effort: Effort) -> Findings:
    """Measure copies into, out of and of sandboxes."""
    sandbox = await backend.start(_ROOMY)
    try:
        for what, size, count in _SIZES:
            for name, times in (await _moved(sandbox, size, effort.of(count, least=2))).items():
                yield Figure(backend.name, f"{what} {name}", "ms", times)
    finally:
        await sandbox.close()
    sandbox = await backend.start(SandboxSpec())
    try:
        await sandbox.exec(A_THOUSAND_FILES)
        async for figure in _copied(backend, sandbox, effort):
            yield figure
    finally:
        await sandbox.close()


async def _moved(sandbox: Sandbox, size: int, count: int) -> dict[str, list[float]]:
    target = f"{sandbox.spec.cwd}/copy"
    content = os.urandom(size)
    with _on_disk(content) as source:
        back = source.with_name("back")

        async def download() -> None:
            await sandbox.download(target, back)
            _remove(back)

        times = {
            "written": await repeated(count, lambda: sandbox.write_file(target, content)),
            "read": await repeated(count, lambda: sandbox.read_file(target)),
            "uploaded": await repeated(count, lambda: sandbox.upload(source, target)),
            "downloaded": await repeated(count, download),
        }
    await sandbox.remove(target)
    return times


def _remove(path: Path) -> None:
    path.unlink()


@contextmanager
def _on_disk(content: bytes) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="agentgym-bench-") as folder:
        source = Path(folder, "source")
        source.write_bytes(content)
        yield source


async def _copied(backend: SandboxBackend, sandbox: Sandbox, effort: Effort) -> Findings:
    name, files = backend.name, "1,000 files"
    snapshots: list[SandboxSnapshot] = []

    async def snapshot() -> None:
        snapshots[:] = [await sandbox.snapshot()]

    times = await repeated(effort.of(_COPIES), snapshot)
    yield Figure(name, f"snapshot, {files}", "ms", times)
    times = await repeated(effort.of(_COPIES), lambda: sandbox.restore(snapshots[0]))
    yield Figure(name, f"restore, {files}", "ms", times)
    times = [await _forked(sandbox) for _ in range(effort.of(_FORKS))]
    yield Figure(name, f"fork, {files}, its start included", "ms", times)


async def _forked(sandbox: Sandbox) -> float:
    twins: list[Sandbox] = []

    async def fork() -> None:
        twins.append(await sandbox.fork())

    try:
        return await timed(fork)
    finally:
        for twin in twins:
            await twin.close()
