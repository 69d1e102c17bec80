"""What sandboxes and builds have put on this machine, and the removal of what nobody owns."""

import asyncio
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from agentgym.sandbox.base import SandboxInfo
from agentgym.sandbox.docker.engine import Engine, EngineError
from agentgym.sandbox.docker.hardening import GUEST, HOSTS, SOCKET
from agentgym.sandbox.owner import Owner, dead_scratch, owner_of, remove_scratch, scratch_root

BACKEND = "docker"
# A container also has its image's labels, so those of sandboxes and of images are not the same:
# whoever runs a container of their own from one of our images must not have it reaped.
SANDBOX = "agentgym"
RUN = "agentgym.run"
OWNER = "agentgym.owner"
PLACE = "agentgym.place"
"""Where the owner's pid can be looked up: its pid namespace and user."""
IMAGE = "agentgym.image"
BUILDER = "agentgym.builder"
"""An image being built, its layers and their containers: the build's name, which says whose."""
RECIPE = "agentgym.recipe"
KEY = "agentgym.key"
"""The hash of what a recipe's image was made from; empty while it is being built."""


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
    owner = Owner.current().encode()
    return {SANDBOX: identity, RUN: run_id, OWNER: owner, PLACE: _place(), IMAGE: image}


def build_labels(recipe: str, builder: str) -> dict[str, str]:
    """Return the labels of what a build makes until it is finished.

    Args:
        recipe: The recipe's name.
        builder: The build's name.
    """
    return {RECIPE: recipe, BUILDER: builder, PLACE: _place(), KEY: ""}


async def everything(engine: Engine) -> list[SandboxInfo]:
    """Return all sandboxes and builds of this engine, and the folders of dead processes."""
    found = [_sandbox(item) for item in await engine.containers(SANDBOX)]
    found += [_build(item, "build") for item in await engine.containers(BUILDER)]
    images = await engine.images(dangling="true", label=BUILDER)
    found += [_build(item, "image") for item in images]
    return [*filter(None, found), *await asyncio.to_thread(lambda: [*_folders()])]


async def reap(engine: Engine) -> list[SandboxInfo]:
    """Remove what dead processes have left, and return it."""
    reaped = [info for info in await everything(engine) if not info.alive]
    for info in reaped:
        if info.what == "sandbox":
            await engine.remove(container_name(info.id))
        elif info.what == "build":
            await engine.remove(info.id)
        elif info.what == "image":
            await remove_unused(engine, info.id)
        else:
            await asyncio.to_thread(remove_scratch, scratch_root() / info.id)
    return reaped


async def discard_build(engine: Engine, builder: str) -> None:
    """Remove what a build has left beside the image it was for.

    Args:
        engine: Built it.
        builder: The build's name.
    """
    label = f"{BUILDER}={builder}"
    for container in await engine.containers(label):
        await engine.remove(container["Id"])
    for image in await engine.images(dangling="true", label=label):
        await remove_unused(engine, image["Id"])


async def remove_unused(engine: Engine, image: str) -> bool:
    """Remove an image and return whether it is gone; one that a container uses stays."""
    try:
        await engine.remove_image(image)
    except EngineError as error:
        if error.status != 409:
            raise
        return False
    return True


def _place() -> str:
    return f"{Path('/proc/self/ns/pid').stat().st_ino}-{os.getuid()}"


def _alive(owner: Owner, labels: Mapping[str, str]) -> bool:
    """Whether an owner lives, or may: one that this process could not see is not called dead."""
    namespace, _, user = labels.get(PLACE, "").partition("-")
    own_namespace, _, own_user = _place().partition("-")
    seen = namespace == own_namespace and own_user in (user, "0")
    return not seen or owner.alive()


def _sandbox(container: Mapping[str, Any]) -> SandboxInfo | None:
    labels = container["Labels"]
    owner = Owner.decode(labels.get(OWNER, ""))
    if owner is None:
        return None
    detail = f"{labels.get(IMAGE, '')}, {container['Status']}"
    run = labels.get(RUN, "")
    return SandboxInfo(
        labels[SANDBOX], BACKEND, run, owner.pid, _alive(owner, labels), "sandbox", detail
    )


def _build(item: Mapping[str, Any], what: str) -> SandboxInfo | None:
    labels = item["Labels"]
    owner = owner_of(labels[BUILDER])
    by_hand = what == "build" and labels.get(KEY)  # somebody's container of a finished image
    if owner is None or by_hand:
        return None
    detail = f"recipe {labels.get(RECIPE, '')}"
    return SandboxInfo(item["Id"], BACKEND, "", owner.pid, _alive(owner, labels), what, detail)


def _folders() -> Iterator[SandboxInfo]:
    for folder in dead_scratch():
        owner = owner_of(folder.name)
        # Other backends' folders may hold mounts, which are theirs to undo.
        ours = {path.name for path in folder.iterdir()} <= {GUEST, HOSTS, SOCKET}
        if owner is not None and ours:
            detail = str(folder)
            yield SandboxInfo(folder.name, BACKEND, "", owner.pid, False, "folder", detail)
