"""What dead processes have left is found and removed, and nothing of the living."""

import asyncio
import secrets
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import aiodocker
import pytest

from agentgym.sandbox.docker.backend import DockerBackend
from agentgym.sandbox.docker.engine import Engine
from agentgym.sandbox.docker.leftovers import container_name, sandbox_labels
from agentgym.sandbox.owner import Owner, make_scratch, owner_of, remove_scratch
from agentgym.sandbox.spec import SandboxSpec

HOST = """
import sys
from agentgym.sandbox.owner import new_id
print(new_id(), new_id(), new_id(), flush=True)
sys.stdin.read()
"""
BUILD = """
import asyncio, sys
from agentgym.sandbox.docker.backend import DockerBackend
say = lambda line: print(line, flush=True)
asyncio.run(DockerBackend().build(sys.argv[1], base_image=sys.argv[2], log=say))
"""


class Host:
    """Another process that has sandboxes. Reapers run in tests beside, so it ends late."""

    def __init__(self) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            [sys.executable, "-c", HOST], stdin=pipe, stdout=pipe, text=True
        )
        assert self._process.stdout is not None
        self.sandboxes = self._process.stdout.readline().split()

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def host() -> Iterator[Host]:
    host = Host()
    yield host
    host.end()


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
    backend: DockerBackend, engine: Engine, containers: Containers, host: Host
) -> None:
    never_started, running, stopped = host.sandboxes
    for identity in host.sandboxes:
        await containers(container_name(identity), labels_of(identity))
    await engine.start(container_name(running))
    await engine.start(container_name(stopped))
    async with aiodocker.Docker() as docker:
        await docker.containers.container(container_name(stopped)).kill()
    living = await backend.start(SandboxSpec())
    await backend.reap()
    listed = {item.id: item for item in await backend.list() if item.what == "sandbox"}
    for identity in (never_started, running, stopped):
        found = listed[identity]
        assert (found.alive, found.run_id, found.backend) == (True, "old-run", "docker")
        assert found.detail.startswith("base, ")
    assert (listed[living.id].alive, listed[living.id].owner_pid) == (True, Owner.current().pid)
    host.end()
    reaped = await backend.reap()
    assert living.id not in {item.id for item in reaped}
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
    await backend.reap()
    assert await containers.left() == []


async def test_what_is_not_ours_is_left_alone(
    backend: DockerBackend, containers: Containers, host: Host
) -> None:
    # It carries its image's labels, also those that name the process that built it.
    by_hand = await containers("by-hand-" + host.sandboxes[0], {})
    labels = {"agentgym": "x", "agentgym.owner": "?"}
    unreadable = await containers("unreadable-" + host.sandboxes[0], labels)
    # Whose processes cannot be seen from here: those of a container that has the engine's socket.
    elsewhere = {**labels_of(host.sandboxes[1]), "agentgym.place": "1-0"}
    unseen = await containers(container_name(host.sandboxes[1]), elsewhere)
    host.end()
    await backend.reap()
    assert await containers.left() == [by_hand, unreadable, unseen]


async def test_folders_of_a_dead_process_are_reaped(backend: DockerBackend, host: Host) -> None:
    own, others = (make_scratch(identity) for identity in host.sandboxes[:2])
    (own / "guest").touch()
    (others / "mounted").mkdir()
    try:
        await backend.reap()
        assert own.exists()
        host.end()
        await backend.reap()
        assert (own.exists(), others.exists()) == (False, True)
    finally:
        remove_scratch(others)


async def test_a_build_of_a_killed_process_is_reaped(
    backend: DockerBackend, engine: Engine, base_image: str, tmp_path: Path
) -> None:
    recipe = tmp_path / f"killed-{secrets.token_hex(4)}"
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
    label = f"agentgym.recipe={recipe.name}"
    assert await engine.containers(label) == []
    assert await engine.images(dangling="true", label=label) == []
    assert f"recipe {recipe.name}" not in {item.detail for item in await backend.list()}
