"""Containers end with their sandbox, with its start, with their host, and say why."""

import asyncio
import json
import re
import sys
import time
from pathlib import Path
from typing import Any

import aiodocker
import pytest

from agentgym.errors import SandboxLostError, SandboxStartError, UsageError
from agentgym.sandbox.docker.backend import DockerBackend
from agentgym.sandbox.docker.engine import Engine
from agentgym.sandbox.docker.launch import ending
from agentgym.sandbox.docker.leftovers import container_name
from agentgym.sandbox.owner import Owner, new_id, owner_of, scratch_root
from agentgym.sandbox.spec import MIB, SandboxSpec

HOST = """
import asyncio
from agentgym.sandbox.docker.backend import DockerBackend
from agentgym.sandbox.spec import SandboxSpec

async def main():
    backend = DockerBackend()
    made = await asyncio.gather(*(backend.start(SandboxSpec()) for _ in range(4)))
    for sandbox in made:
        await sandbox.start("sleep 600", stdin=None)
    print(*(sandbox.id for sandbox in made), flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def left_of_this_process(backend: DockerBackend) -> list[Any]:
    own = [item for item in await backend.list() if item.owner_pid == Owner.current().pid]
    folders = [path for path in scratch_root().iterdir() if owner_of(path.name) == Owner.current()]
    return own + folders


async def gone(engine: Engine, identity: str, since: float) -> None:
    """Wait until the engine has removed a sandbox's container."""
    async with asyncio.timeout(60):
        async for _ in engine.events(container_name(identity), ("destroy",), since=since):
            break
    assert await engine.container(container_name(identity)) is None


async def test_a_closed_sandbox_is_gone(backend: DockerBackend, engine: Engine) -> None:
    sandbox = await backend.start(SandboxSpec())
    await sandbox.exec("echo; sleep 600 & disown")
    await sandbox.close()
    await sandbox.close()
    await gone(engine, sandbox.id, since=0)
    assert await left_of_this_process(backend) == []


async def test_closing_the_backend_closes_its_sandboxes(engine: Engine, base_image: str) -> None:
    backend = DockerBackend()
    made = await asyncio.gather(*(backend.start(SandboxSpec()) for _ in range(3)))
    await backend.close()
    for sandbox in made:
        assert await engine.container(container_name(sandbox.id)) is None


@pytest.mark.parametrize("moment", ["create", "attach", "start"])
async def test_a_start_that_is_cancelled_leaves_nothing(
    backend: DockerBackend, moment: str
) -> None:
    async with aiodocker.Docker() as docker:
        filters = {"event": [moment], "label": [f"agentgym.owner={Owner.current().encode()}"]}
        events: Any = docker.events
        news = events.subscribe(since=f"{time.time():.6f}", filters=json.dumps(filters))
        starting = asyncio.create_task(backend.start(SandboxSpec()))
        await news.get()
        if starting.cancel():
            with pytest.raises(asyncio.CancelledError):
                await starting
        else:  # the engine's news took longer than the rest of the start
            await starting.result().close()
            await backend.close()
    assert await left_of_this_process(backend) == []


async def test_what_cannot_start_leaves_nothing(backend: DockerBackend) -> None:
    big = SandboxSpec(files={"/work/x": b"x" * (2 * MIB)}, disk=MIB)
    with pytest.raises(SandboxStartError, match="/work/x"):
        await backend.start(big)
    with pytest.raises(SandboxStartError, match="no user 'missing'"):
        await backend.start(SandboxSpec(user="missing"))
    with pytest.raises((SandboxStartError, UsageError), match="localhost/none"):
        await backend.start(SandboxSpec(image="localhost/none:1"))
    assert await left_of_this_process(backend) == []


@pytest.mark.parametrize(
    ("guest", "said"),
    [
        ("#!/bin/sh\necho its last words >&2\nexit 7\n", "exit code 7. its last words"),
        ("no program", "exec format error"),
    ],
)
async def test_a_guest_that_does_not_run_is_quoted(
    backend: DockerBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, guest: str, said: str
) -> None:
    program = tmp_path / "guest"
    program.write_text(guest)
    program.chmod(0o755)
    monkeypatch.setattr("agentgym.sandbox.docker.backend.guest_program", lambda: program)
    with pytest.raises(SandboxStartError, match=re.escape(said)):
        await backend.start(SandboxSpec())
    assert await left_of_this_process(backend) == []


async def test_a_start_has_its_time(base_image: str) -> None:
    backend = DockerBackend(start_timeout=0.001)
    with pytest.raises(SandboxStartError, match="not ready after"):
        await backend.start(SandboxSpec())
    assert await left_of_this_process(backend) == []
    await backend.close()


async def test_a_killed_container_is_reported_as_that(
    backend: DockerBackend, engine: Engine
) -> None:
    sandbox = await backend.start(SandboxSpec())
    running = asyncio.create_task(sandbox.exec("echo started; sleep 600"))
    await sandbox.exec("true")
    async with aiodocker.Docker() as docker:
        await docker.containers.container(container_name(sandbox.id)).kill()
    with pytest.raises(SandboxLostError, match="killed from outside with signal 9"):
        await running
    with pytest.raises(SandboxLostError):
        await sandbox.exec("true")
    await sandbox.close()
    await gone(engine, sandbox.id, since=0)


async def test_a_container_without_memory_is_reported_as_that(
    engine: Engine, base_image: str
) -> None:
    name = f"agentgym-test-{new_id()}"
    limit = {"Memory": 32 * MIB, "MemorySwap": 32 * MIB}
    command = ["python3", "-c", "bytearray(1 << 30)"]
    since = time.time()
    await engine.create(name, {"Image": base_image, "Cmd": command, "HostConfig": limit})
    try:
        await engine.start(name)
        why = await ending(engine, name, since=since)
    finally:
        await engine.remove(name)
    assert why == "Its container was killed for memory."


async def test_a_killed_host_leaves_nothing(engine: Engine, base_image: str) -> None:
    host = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOST, stdout=asyncio.subprocess.PIPE
    )
    assert host.stdout is not None
    names = (await host.stdout.readline()).decode().split()
    assert len(names) == 4
    host.kill()
    await host.wait()
    for name in names:
        await gone(engine, name, since=0)
    assert not [path for path in scratch_root().iterdir() if path.name in names]
