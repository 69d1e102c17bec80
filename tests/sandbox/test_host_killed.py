"""A host that is killed with 32 sandboxes alive: after the next start nothing of it is left."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentgym.sandbox.backends import make_backend
from agentgym.sandbox.bench.footprint import descendants
from agentgym.sandbox.cgroups import CgroupHome
from agentgym.sandbox.docker.engine import Engine
from agentgym.sandbox.docker.leftovers import BUILDER, SANDBOX
from agentgym.sandbox.owner import Owner, owner_of, scratch_root
from agentgym.sandbox.pool import SandboxPool
from tests.sandbox.crowd_rig import guest_pid, process, require_backend

COUNT = 32
HOST = """
import asyncio, json, sys
from agentgym.sandbox.backends import make_backend
from agentgym.sandbox.pool import SandboxPool
from agentgym.sandbox.spec import MIB, SandboxSpec

async def build(backend, folder, begun):
    def log(line):
        if "building" in line:
            begun.set()
    await backend.build(folder, log=log)

async def main(name, count, recipe):
    backend = make_backend(name)
    spec = SandboxSpec(memory=32 * MIB, disk=4 * MIB)
    async with SandboxPool(backend, max_sandboxes=count) as pool:
        made = await asyncio.gather(*(pool.acquire(spec) for _ in range(count)))
        for sandbox in made:
            await sandbox.start("setsid sleep 600 & sleep 600", stdin=None)
            await sandbox.write_file("/tmp/file", b"left")
        if recipe:
            begun = asyncio.Event()
            building = asyncio.create_task(build(backend, recipe, begun))
            waiting = asyncio.create_task(begun.wait())
            await asyncio.wait((building, waiting), return_when=asyncio.FIRST_COMPLETED)
        print(json.dumps([sandbox.id for sandbox in made]), flush=True)
        await asyncio.Event().wait()

asyncio.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
"""
RECIPE = """
ARG BASE_IMAGE=debian:bookworm-slim
FROM ${BASE_IMAGE}
RUN touch /layer
RUN echo building && sleep 600
"""


@pytest.fixture(params=["bubblewrap", "docker"])
def backend_name(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    require_backend(name, request)
    return name


@pytest.fixture
def host(backend_name: str, tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    recipe = tmp_path / "killed"
    if backend_name == "docker":
        recipe.mkdir()
        (recipe / "Dockerfile").write_text(RECIPE)
    words = (backend_name, str(COUNT), str(recipe) if recipe.exists() else "")
    with subprocess.Popen(
        [sys.executable, "-c", HOST, *words],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        process.kill()


async def test_nothing_is_left_after_the_next_start(
    host: "subprocess.Popen[str]", backend_name: str
) -> None:
    assert host.stdout is not None
    identities = json.loads(await asyncio.to_thread(host.stdout.readline))
    assert len(identities) == COUNT
    owner = process(host.pid)
    guests = [await guest_pid(backend_name, identity) for identity in identities]
    processes = [process(pid) for guest in guests for pid in (guest, *descendants(guest))]
    assert len(processes) >= 3 * COUNT
    containers = await docker_ids(owner) if backend_name == "docker" else set()
    assert len(containers) > COUNT or backend_name != "docker", "nothing is being built"

    host.kill()
    await asyncio.to_thread(host.wait)
    backend = make_backend(backend_name)
    try:
        async with SandboxPool(backend):
            left = [info for info in await backend.list() if info.owner_pid == owner.pid]
    finally:
        await backend.close()

    assert left == []
    assert [one for one in processes if one.alive()] == []
    assert [path for path in scratch_root().iterdir() if owner_of(path.name) == owner] == []
    mounts = await asyncio.to_thread(Path("/proc/self/mountinfo").read_text)
    assert [name for name in [*identities, *containers] if name in mounts] == []
    home = CgroupHome.find()
    groups = home.identities() if home is not None else set()
    assert groups & set(identities) == set()
    if backend_name == "docker":
        assert await docker_ids(owner) == set()


async def docker_ids(owner: Owner) -> set[str]:
    """Return the containers and unfinished images of a process's sandboxes and builds."""
    engine = Engine.connect()
    try:
        things: list[dict[str, Any]] = [
            *await engine.containers(SANDBOX),
            *await engine.containers(BUILDER),
            *await engine.images(dangling="true", label=BUILDER),
        ]
    finally:
        await engine.close()
    return {
        str(thing["Id"])
        for thing in things
        if owner_of(thing["Labels"].get(SANDBOX) or thing["Labels"].get(BUILDER, "")) == owner
    }
