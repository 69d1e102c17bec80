"""What sandboxes and builds have put on this machine, and the removal of what nobody owns."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from agentgym.sandbox.base import SandboxInfo
from agentgym.sandbox.docker.engine import Engine, EngineError
from agentgym.sandbox.docker.hardening import GUEST, HOSTS, SOCKET
from agentgym.sandbox.owner import Owner, dead_scratch, owner_of, remove_scratch

BACKEND = "docker"
# A container also has its image's labels, so those of sandboxes and of images are not the same:
# whoever runs a container of their own from one of our images must not have it reaped.
SANDBOX = "agentgym"
RUN = "agentgym.run"
OWNER = "agentgym.owner"
IMAGE = "agentgym.image"
BUILDER = "agentgym.builder"
"""An image being built, its layers and their containers: the build's name, which says whose."""
RECIPE = "agentgym.recipe"
KEY = "agentgym.key"
"""A finished image of a recipe: the hash of what it was made from."""


def container_name(identity: str) -> str:
    """Return the name of a sandbox's container."""
    return f"agentgym-{identity}"


def sandbox_labels(identity: str, image: str, run_id: str) -> dict[str, str]:
    """Return the labels of this process's sandbox.

    Args:
        identity: The sandbox's name.
        image: The image's name.
        run_id: The run it belongs to.
    """
    return {SANDBOX: identity, RUN: run_id, OWNER: Owner.current().encode(), IMAGE: image}


async def everything(engine: Engine) -> list[SandboxInfo]:
    """Return all sandboxes and builds of this engine, and the folders of dead processes."""
    found = [_sandbox(container) for container in await engine.containers(SANDBOX)]
    found += [_build(container) for container in await _builds(engine)]
    found += [_unfinished(image) for image in await _dangling(engine)]
    return [*filter(None, found), *_folders()]


async def reap(engine: Engine) -> list[SandboxInfo]:
    """Remove what dead processes have left, and return it."""
    reaped = []
    for info in await everything(engine):
        if info.alive:
            continue
        if info.what == "folder":
            remove_scratch(Path(info.detail))
        elif info.what == "image":
            with suppress(EngineError):  # a container uses it; it goes when that has gone
                await engine.remove_image(info.id)
        else:
            await engine.remove(info.id)
        reaped.append(info)
    return reaped


async def discard_build(engine: Engine, builder: str) -> None:
    """Remove what a build that did not end well has left.

    Args:
        engine: Built it.
        builder: The build's name.
    """
    label = f"{BUILDER}={builder}"
    for container in await engine.containers(label):
        await engine.remove(container["Id"])
    for image in await engine.images(dangling="true", label=label):
        await engine.remove_image(image["Id"])


async def _builds(engine: Engine) -> list[dict[str, Any]]:
    containers = await engine.containers(BUILDER)
    return [item for item in containers if KEY not in item["Labels"]]


async def _dangling(engine: Engine) -> list[dict[str, Any]]:
    return await engine.images(dangling="true", label=BUILDER)


def _sandbox(container: Mapping[str, Any]) -> SandboxInfo | None:
    labels = container["Labels"]
    owner = Owner.decode(labels.get(OWNER, ""))
    if owner is None:
        return None
    detail = f"{labels.get(IMAGE, '')}, {container['Status']}"
    return SandboxInfo(
        container_name(labels[SANDBOX]),
        BACKEND,
        labels.get(RUN, ""),
        owner.pid,
        owner.alive(),
        "sandbox",
        detail,
    )
