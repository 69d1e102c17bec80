"""The Docker backend: a hardened container for each sandbox."""

import asyncio
import logging
import os
import sys
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, ClassVar

from agentgym.errors import EpisodeError, SandboxStartError, SandboxUnavailableError
from agentgym.sandbox.admission import STARTS
from agentgym.sandbox.base import SandboxBackend, SandboxInfo
from agentgym.sandbox.docker.available import check_engine
from agentgym.sandbox.docker.built import BuiltImage, built_images
from agentgym.sandbox.docker.engine import Engine, EngineError
from agentgym.sandbox.docker.hardening import Image, container_config
from agentgym.sandbox.docker.images import BUDGET, Images
from agentgym.sandbox.docker.launch import furnish, launch
from agentgym.sandbox.docker.leftovers import (
    BACKEND,
    container_name,
    everything,
    reap,
    sandbox_labels,
)
from agentgym.sandbox.docker.sandbox import DockerSandbox
from agentgym.sandbox.guest.build import guest_program
from agentgym.sandbox.owner import make_scratch, new_id, remove_scratch, scratch_root
from agentgym.sandbox.spec import SandboxSpec

log = logging.getLogger("agentgym")

_START_S = 120.0


class DockerBackend(SandboxBackend):
    """Makes sandboxes in containers. It belongs to the event loop it is first used in.

    Args:
        run_id: The run its sandboxes belong to, for listings.
        image_budget: Bytes of disk that recipes' images take; see `Images`.
        start_timeout: Seconds a container may take from its creation to its guest's greeting.
    """

    name: ClassVar[str] = BACKEND
    users: ClassVar[bool] = True
    overhead: ClassVar[int] = 8 << 20  # the engine's process beside each container

    def __init__(
        self, *, run_id: str = "", image_budget: int = BUDGET, start_timeout: float = _START_S
    ) -> None:
        self._run_id = run_id
        self._image_budget = image_budget
        self._start_timeout = start_timeout
        self._connection: Engine | None = None
        self._starts = asyncio.Semaphore(STARTS)
        self._open: dict[str, DockerSandbox] = {}
        self._closed: set[str] = set()
        self._background: set[asyncio.Task[None]] = set()

    async def check_available(self) -> None:
        """See `SandboxBackend.check_available`."""
        if sys.platform != "linux":
            raise SandboxUnavailableError(
                "Docker sandboxes need Linux.", remedy="Use a Linux host."
            )
        check_engine(await self._engine().info())
        await asyncio.to_thread(guest_program)

    async def start(self, spec: SandboxSpec) -> DockerSandbox:
        """See `SandboxBackend.start`."""
        engine = self._engine()
        try:
            image = await self._images().resolve(spec.image)
        except EngineError as error:
            raise SandboxStartError(error.message) from error
        program = await asyncio.to_thread(guest_program)
        identity = new_id()
        try:
            folder = _furnished(identity, program)
            return await self._start(engine, spec, image, identity, folder)
        except BaseException:
            # In a task of its own, so that a second cancellation does not leave it undone.
            await asyncio.shield(self._spawn(_undo(engine, identity)))
            raise

    async def build(
        self,
        name: str,
        *,
        base_image: str | None = None,
        force: bool = False,
        log: Callable[[str], object] | None = None,
    ) -> str:
        """Build a recipe's image; see `Images.build`."""
        return await self._images().build(name, base_image=base_image, force=force, log=log)

    async def images(self) -> Sequence[BuiltImage]:
        """Return the images that were built from recipes."""
        return await built_images(self._engine())

    async def list(self) -> Sequence[SandboxInfo]:
        """See `SandboxBackend.list`; sandboxes that were closed here are no more in it."""
        closed = {*self._closed}
        return [item for item in await everything(self._engine()) if item.id not in closed]

    async def reap(self) -> Sequence[SandboxInfo]:
        """See `SandboxBackend.reap`."""
        return await reap(self._engine())

    async def close(self) -> None:
        """See `SandboxBackend.close`; the containers are gone when it returns."""
        await asyncio.gather(*(sandbox.close() for sandbox in [*self._open.values()]))
        while self._background:
            await asyncio.wait(self._background)
        if self._connection is not None:
            connection, self._connection = self._connection, None
            await connection.close()

    async def _start(
        self, engine: Engine, spec: SandboxSpec, image: Image, identity: str, folder: Path
    ) -> DockerSandbox:
        name = container_name(identity)
        labels = sandbox_labels(identity, image.name, self._run_id)
        config = container_config(spec, image, folder, labels=labels, cpus=os.cpu_count() or 1)
        async with self._starts:
            channel = await launch(engine, name, config, folder, seconds=self._start_timeout)
        sandbox = DockerSandbox(
            spec,
            identity,
            channel,
            backend=self,
            engine=engine,
            image=image,
            discard=self._discard,
        )
        try:
            await sandbox.prepare()
        except BaseException as error:
            await sandbox.close()
            if isinstance(error, EpisodeError) and not isinstance(error, SandboxStartError):
                why = f"The sandbox was lost while it started: {error}"
                raise SandboxStartError(why) from error
            raise
        self._open[identity] = sandbox
        return sandbox

    def _discard(self, identity: str) -> None:
        """Remove a sandbox's container in the background."""
        self._open.pop(identity, None)
        self._closed.add(identity)
        removing = self._spawn(_discarded(self._engine(), identity))
        removing.add_done_callback(lambda _: self._closed.discard(identity))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    def _engine(self) -> Engine:
        if self._connection is None:
            self._connection = Engine.connect()
        return self._connection

    def _images(self) -> Images:
        return Images(self._engine(), budget=self._image_budget)


def _furnished(identity: str, program: Path) -> Path:
    try:
        folder = make_scratch(identity)
        furnish(folder, program)
    except OSError as error:
        raise SandboxStartError(f"The sandbox's temporary folder: {error}.") from error
    return folder


async def _discarded(engine: Engine, identity: str) -> None:
    try:
        await engine.remove(container_name(identity))
    except EngineError as error:
        log.warning("The container of sandbox %s is not removed: %s", identity, error)


async def _undo(engine: Engine, identity: str) -> None:
    remove_scratch(scratch_root() / identity)
    await _discarded(engine, identity)
