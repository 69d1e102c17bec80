"""Commands: one at a time beside their floor, in a persistent shell, and in many sandboxes."""

import asyncio
import shutil
import time

from agentgym.sandbox.base import Sandbox, SandboxBackend
from agentgym.sandbox.bench.figures import (
    Effort,
    Figure,
    Findings,
    Skipped,
    repeated,
    run,
    timed,
)
from agentgym.sandbox.bench.floor import floor
from agentgym.sandbox.pool import SandboxPool
from agentgym.sandbox.spec import MIB, SandboxSpec

_ROUNDS = 1000
_CLI_ROUNDS = 20
_BUILTINS = 2000
_MANY = (1, 16, 64)
_MANY_COMMANDS = 2000
_MANY_REPETITIONS = 3
_TARGET_MS = 1.5
_TARGET_RATIO = 2
_BUILTIN_MS = 0.3
_WARM_UP = 20
_SMALL = SandboxSpec(memory=32 * MIB, disk=4 * MIB)


async def measure(backend: SandboxBackend, effort: Effort) -> Findings:
    """Measure what a command costs."""
    name = backend.name
    sandbox = await backend.start(SandboxSpec())
    try:
        times, floors = await _by_turns(sandbox, effort.of(_ROUNDS))
        least = Figure(name, "posix_spawn and waitpid of true", "ms", floors, kind="floor")
        yield least
        target = min(_TARGET_MS, _TARGET_RATIO * least.median)
        yield Figure(name, "exec of true", "ms", times, target, least.median)
        if name == "docker":
            yield await _docker_cli(sandbox, effort, least.median)
        yield await _builtin(name, sandbox, effort)
    finally:
        await sandbox.close()
    async for figure in _many(backend, effort):
        yield figure


async def _by_turns(sandbox: Sandbox, rounds: int) -> tuple[list[float], list[float]]:
    times, floors = [], []
    async with floor() as spawn:
        for _ in range(_WARM_UP):
            await spawn()
            await sandbox.exec(["true"])
        for _ in range(rounds):
            floors.append(await spawn())
            times.append(await timed(lambda: sandbox.exec(["true"])))
    return times, floors


async def _docker_cli(sandbox: Sandbox, effort: Effort, least: float) -> Figure | Skipped:
    from agentgym.sandbox.docker.leftovers import container_name

    what = "docker exec of true, by its command"
    if shutil.which("docker") is None:
        return Skipped("docker", what, "there is no program `docker`")
    words = ("docker", "exec", "--user", sandbox.spec.user, container_name(sandbox.id), "true")
    try:
        times = await repeated(effort.of(_CLI_ROUNDS), lambda: run(*words))
    except OSError as error:
        return Skipped("docker", what, str(error))
    return Figure("docker", what, "ms", times, floor=least, kind="peer")


async def _builtin(name: str, sandbox: Sandbox, effort: Effort) -> Figure:
    shell = sandbox.shell()
    await repeated(_WARM_UP, lambda: shell.run(":"))
    times = await repeated(effort.of(_BUILTINS), lambda: shell.run(":"))
    await shell.close()
    return Figure(name, "a builtin in a persistent shell", "ms", times, _BUILTIN_MS)


async def _many(backend: SandboxBackend, effort: Effort) -> Findings:
    """Run commands in many sandboxes at once, as many in all whatever their number."""
    for count in _MANY[:2] if effort.quick else _MANY:
        async with SandboxPool(backend, max_sandboxes=count) as pool:
            sandboxes = await asyncio.gather(*(pool.acquire(_SMALL) for _ in range(count)))
            each = max(1, effort.of(_MANY_COMMANDS) // count)
            rates = [
                await _rate(sandboxes, each) for _ in range(effort.of(_MANY_REPETITIONS, least=2))
            ]
        what = f"commands a second, {count} sandbox{'es' if count > 1 else ''}"
        yield Figure(backend.name, what, "1/s", rates)


async def _rate(sandboxes: list[Sandbox], each: int) -> float:
    async def use(sandbox: Sandbox) -> None:
        for _ in range(each):
            await sandbox.exec(["true"])

    started = time.perf_counter()
    await asyncio.gather(*map(use, sandboxes))
    return each * len(sandboxes) / (time.perf_counter() - started)
