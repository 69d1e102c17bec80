"""What dead processes have left is found and removed, and nothing of the living."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import aiodocker
import pytest

from agentgym.sandbox.docker.backend import DockerBackend
from agentgym.sandbox.docker.engine import Engine
from agentgym.sandbox.docker.leftovers import container_name, sandbox_labels
from agentgym.sandbox.owner import Owner, make_scratch, owner_of, remove_scratch
from agentgym.sandbox.spec import SandboxSpec

ENDED = "from agentgym.sandbox.owner import new_id; print(new_id(), new_id(), new_id())"
BUILD = """
import asyncio, sys
from agentgym.sandbox.docker.backend import DockerBackend
say = lambda line: print(line, flush=True)
asyncio.run(DockerBackend().build(sys.argv[1], base_image=sys.argv[2], log=say))
"""


@pytest.fixture(scope="module")
def dead() -> list[str]:
    """Names of sandboxes of a process that has ended."""
    command = [sys.executable, "-c", ENDED]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


class Containers:
    """Makes containers as some process would have left them."""

    def __init__(self, engine: Engine, image: str) -> None:
        self.engine = engine
        self.image = image
        self.made: list[str] = []

    async def __call__(self, name: str, labels: dict[str, str]) -> str:
        config = {"Image": self.image, "Cmd": ["sleep", "600"], "Labels": labels}
        await self.engine.create(name, config)
        self.made.append(name)
        return name

    async def left(self) -> list[str]:
        return [name for name in self.made if await self.engine.container(name)]


@pytest.fixture
async def containers(engine: Engine, base_image: str) -> AsyncIterator[Containers]:
    containers = Containers(engine, base_image)
    yield containers
    for name in containers.made:
        await engine.remove(name)


def labels_of(identity: str, owner: Owner | None = None) -> dict[str, str]:
    labels = sandbox_labels(identity, "base", "old-run")
    owner = owner or owner_of(identity)
    assert owner is not None
    return {**labels, "agentgym.owner": owner.encode()}


async def test_sandboxes_of_a_dead_process_are_reaped(
    backend: DockerBackend, engine: Engine, containers: Containers, dead: list[str]
) -> None:
    await containers(container_name(dead[0]), labels_of(dead[0]))
    running = await containers(container_name(dead[1]), labels_of(dead[1]))
    stopped = await containers(container_name(dead[2]), labels_of(dead[2]))
    await engine.start(running)
    await engine.start(stopped)
    async with aiodocker.Docker() as docker:
        await docker.containers.container(stopped).kill()
    living = await backend.start(SandboxSpec())
    listed = {item.id: item for item in await backend.list() if item.what == "sandbox"}
    for name in dead:
        found = listed[name]
        assert (found.alive, found.run_id, found.backend) == (False, "old-run", "docker")
        assert found.detail.startswith("base, ")
    assert (listed[living.id].alive, listed[living.id].owner_pid) == (True, Owner.current().pid)
    reaped = {item.id for item in await backend.reap()}
    assert set(dead) <= reaped
    assert living.id not in reaped
    assert await containers.left() == []
    assert (await living.exec("echo here")).text == "here\n"


@pytest.mark.parametrize(
    "owner",
    [
        pytest.param(Owner.current()._replace(start=1), id="a reused pid"),
        pytest.param(Owner.current()._replace(boot="00000000"), id="before the last boot"),
    ],
)
async def test_an_owner_is_more_than_its_pid(
    backend: DockerBackend, containers: Containers, owner: Owner
) -> None:
    identity = f"{owner.encode()}-12345678"
    await containers(container_name(identity), labels_of(identity, owner))
    assert identity in {item.id for item in await backend.reap()}
    assert await containers.left() == []


async def test_what_is_not_ours_is_left_alone(
    backend: DockerBackend, containers: Containers, dead: list[str]
) -> None:
    # It carries its image's labels, also those that name the process that built it.
    by_hand = await containers("by-hand-" + dead[0], {})
    unreadable = await containers("unreadable-" + dead[0], {"agentgym": "x", "agentgym.owner": "?"})
    await backend.reap()
    assert await containers.left() == [by_hand, unreadable]


async def test_folders_of_a_dead_process_are_reaped(
    backend: DockerBackend, dead: list[str]
) -> None:
    own, others = make_scratch(dead[0]), make_scratch(dead[1])
    (own / "guest").touch()
    (others / "mounted").mkdir()
    try:
        assert (dead[0], "folder") in {(item.id, item.what) for item in await backend.reap()}
        assert (own.exists(), others.exists()) == (False, True)
    finally:
        remove_scratch(others)


async def test_a_build_of_a_killed_process_is_reaped(
    backend: DockerBackend, engine: Engine, base_image: str, tmp_path: Path
) -> None:
    recipe = tmp_path / "killed"
    recipe.mkdir()
    steps = "ARG BASE_IMAGE=none\nFROM ${BASE_IMAGE}\nRUN echo one > /one\n"
    (recipe / "Dockerfile").write_text(steps + "RUN echo begun && sleep 600\n")
    builder = await asyncio.create_subprocess_exec(
        sys.executable, "-c", BUILD, str(recipe), base_image, stdout=asyncio.subprocess.PIPE
    )
    assert builder.stdout is not None
    async for line in builder.stdout:
        if line.strip() == b"begun":
            break
    builder.kill()
    await builder.wait()
    await backend.reap()
    label = "agentgym.recipe=killed"
    assert await engine.containers(label) == []
    assert await engine.images(dangling="true", label=label) == []
    assert "recipe killed" not in {item.detail for item in await backend.list()}
