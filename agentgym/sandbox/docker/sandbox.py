"""A sandbox in a container."""

import io
import tarfile
import time
from collections.abc import Callable
from contextlib import suppress

from agentgym.errors import SandboxStartError
from agentgym.sandbox import requests, wire
from agentgym.sandbox.base import SandboxBackend
from agentgym.sandbox.channel import GuestChannel
from agentgym.sandbox.docker.engine import Engine
from agentgym.sandbox.docker.hardening import Image, users_folders, writable_folders
from agentgym.sandbox.docker.launch import ending
from agentgym.sandbox.docker.leftovers import container_name
from agentgym.sandbox.guest_sandbox import GuestSandbox
from agentgym.sandbox.spec import MIB, SandboxSpec
from agentgym.sandbox.wire import Kind

_GUEST = ""  # as a user's name: the guest itself, which may give files away


class DockerSandbox(GuestSandbox):
    """A container whose guest has greeted.

    Args:
        spec: What it was made from.
        identity: Its name.
        channel: The guest's connection.
        backend: What made it.
        engine: Runs its container.
        image: What the container was made from.
        discard: Called with its name to have the container removed in the background.

    Attributes:
        image_digest: The image's id, for the record of what ran.
    """

    def __init__(
        self,
        spec: SandboxSpec,
        identity: str,
        channel: GuestChannel,
        *,
        backend: SandboxBackend,
        engine: Engine,
        image: Image,
        discard: Callable[[str], None],
    ) -> None:
        super().__init__(
            spec,
            identity,
            channel,
            backend=backend,
            base_env=image.env,
            folders=writable_folders(image),
        )
        self.image_digest = image.digest
        self._image = image
        self._engine = engine
        self._discard = discard
        self._since = time.time()

    async def prepare(self) -> None:
        """See `GuestSandbox.prepare`."""
        if not self.spec.user.isdecimal():
            await self._give_folders()
        await super().prepare()

    async def _give_folders(self) -> None:
        """Give the user's folders to them: only the image knows the number of a name."""
        uid, gid = await self._look_up(self.spec.user)
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w", format=tarfile.GNU_FORMAT) as tar:
            for path in users_folders(self._image):
                folder = tarfile.TarInfo(path.lstrip("/"))
                folder.type, folder.mode = tarfile.DIRTYPE, 0o755
                folder.uid, folder.gid, folder.mtime = uid, gid, int(self._since)
                tar.addfile(folder)
        request = self._unpack(_GUEST, users_folders(self._image), clear=False)
        await request.feed(archive.getvalue())
        request.end_input()
        await request.result()

    async def _look_up(self, user: str) -> tuple[int, int]:
        path = "/etc/passwd"
        payload = requests.on_path(_GUEST, path, wire.U64.pack(0), wire.U64.pack(MIB))
        request = self._request(Kind.READ, payload, path=path, limit=MIB)
        with suppress(FileNotFoundError):
            await request.result()
        for line in request.data.decode("utf-8", "replace").splitlines():
            name, *fields = line.split(":")
            if name == user and len(fields) > 2 and fields[1].isdecimal() and fields[2].isdecimal():
                return int(fields[1]), int(fields[2])
        raise SandboxStartError(f"The image {self._image.name} has no user {user!r}.")

    async def _remove(self) -> None:
        # The guest has ended and the container with it; what is left to do is the engine's.
        self._discard(self.id)

    async def _post_mortem(self) -> str:
        return await ending(self._engine, container_name(self.id), since=self._since)
