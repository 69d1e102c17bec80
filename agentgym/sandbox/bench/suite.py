"""The whole bench: every topic on every backend, one after the other."""

from collections.abc import Callable, Iterable, Sequence

from agentgym.errors import MissingExtraError, SandboxUnavailableError
from agentgym.sandbox.backends import make_backend
from agentgym.sandbox.base import SandboxBackend
from agentgym.sandbox.bench import commands, copies, footprint, lifetimes
from agentgym.sandbox.bench.figures import Effort, Figure, Findings, Skipped
from agentgym.sandbox.spec import SandboxSpec

BACKENDS = ("docker", "bubblewrap")
"""What is measured where nobody says otherwise."""

_TOPICS: dict[str, Callable[[SandboxBackend, Effort], Findings]] = {
    "commands": commands.measure,
    "lifetimes": lifetimes.measure,
    "copies": copies.measure,
    "footprint": footprint.measure,
}


async def measure(
    names: Sequence[str] | None, effort: Effort, *, say: Callable[[str], object] | None = None
) -> Findings:
    """Measure backends.

    Args:
        names: Their names, each of which has to be available; None is those that are of
            `BACKENDS`, and at least one has to be.
        effort: How thoroughly.
        say: Told what is measured next.

    Raises:
        SandboxUnavailableError: A backend is not available here.
        MissingExtraError: What a backend needs is not installed.
        UnknownNameError: There is no such backend.
    """
    available, missing = await _available(names)
    for item in missing:
        yield item
    for name in available:
        backend = make_backend(name)
        try:
            async for found in _measured(backend, effort, say):
                yield found
        finally:
            await backend.close()


async def _available(names: Sequence[str] | None) -> tuple[list[str], list[Skipped]]:
    """Find out what can be measured before anything is."""
    available: list[str] = []
    missing: list[Skipped] = []
    for name in BACKENDS if names is None else names:
        try:
            backend = make_backend(name)
            try:
                await backend.check_available()
            finally:
                await backend.close()
            available.append(name)
        except (SandboxUnavailableError, MissingExtraError) as error:
            if names is not None:
                raise
            missing.append(Skipped(name, "all", str(error)))
    if not available:
        raise SandboxUnavailableError(" ".join(item.reason for item in missing))
    return available, missing


async def _measured(
    backend: SandboxBackend, effort: Effort, say: Callable[[str], object] | None
) -> Findings:
    for topic, measure_topic in _TOPICS.items():
        if say:
            say(f"measuring {backend.name}: {topic}")
        async for found in measure_topic(backend, effort):
            yield found
    if backend.name == "docker":
        async for found in _commits(backend, effort):
            yield found


async def _commits(backend: SandboxBackend, effort: Effort) -> Findings:
    from agentgym.sandbox.bench import commit
    from agentgym.sandbox.docker.sandbox import DockerSandbox

    sandbox = await backend.start(SandboxSpec())
    await sandbox.close()
    if isinstance(sandbox, DockerSandbox):
        async for found in commit.measure(sandbox.image_digest, effort):
            yield found


def to_json(found: Iterable[Figure | Skipped]) -> dict[str, list[dict[str, object]]]:
    """Return what was measured and what was not."""
    figures, skipped = [], []
    for item in found:
        if isinstance(item, Figure):
            figures.append(item.to_json())
        else:
            skipped.append(item._asdict())
    return {"figures": figures, "skipped": skipped}
