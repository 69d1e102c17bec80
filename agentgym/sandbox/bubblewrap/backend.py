"""The bubblewrap backend: sandboxes from namespaces alone, without a daemon or an image."""

import asyncio
import os
import threading
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

from agentgym.sandbox.base import SandboxInfo
from agentgym.sandbox.bubblewrap import leftovers
from agentgym.sandbox.bubblewrap.host import seal_program
from agentgym.sandbox.bubblewrap.launch import launch
from agentgym.sandbox.bubblewrap.unusable import find_bwrap, try_out
from agentgym.sandbox.bubblewrap.view import FOLDERS, USER
from agentgym.sandbox.cgroups import CgroupHome
from agentgym.sandbox.guest.build import guest_program
from agentgym.sandbox.local import LocalBackend, LocalSandbox, Scope
from agentgym.sandbox.owner import new_id
from agentgym.sandbox.spec import SandboxSpec


class _Means(NamedTuple):
    """What sandboxes are started with on this machine."""

    bwrap: str
    program: int
    home: CgroupHome | None


class BubblewrapBackend(LocalBackend):
    """Makes sandboxes with bubblewrap, as any user.

    Inside is one user, the spec's, whom the host sees as the user who made the sandbox, or as
    the otherwise unused 64998 where that is root. Of the host there is /usr, read-only, with
    what leads to it (/bin, /lib), and what programs need of /etc: certificates, alternatives,
    the linker's cache. Programs elsewhere are not there, such as a Python of pyenv's or conda's.
    With the spec's `image`, the folder of a root file system, that is there instead.

    Memory, processes and processor time are limited for the sandbox as a whole where this
    process may make control groups: as root, or in a part of the version 2 hierarchy that is
    delegated to the user, such as in `systemd-run --user --scope`. Elsewhere each process by
    itself may take the spec's memory, and processor time is not limited; see `limits`.

    Args:
        run_id: The run its sandboxes belong to, shown in listings.
    """

    name = "bubblewrap"
    overhead: ClassVar[int] = 3 << 20

    def __init__(self, *, run_id: str = "") -> None:
        super().__init__(run_id=run_id)
        self._means: _Means | None = None
        self._preparing = threading.Lock()

    @property
    def limits(self) -> Mapping[str, Scope]:
        """What each limit of a spec holds here."""
        means = self._means
        home = means.home if means is not None else CgroupHome.find()
        scope: Scope = "process" if home is None else "sandbox"
        cpus: Scope = "sandbox" if home is not None and "cpu" in home.parents else "none"
        return {
            "memory": scope,
            "cpus": cpus,
            "pids": "sandbox",
            "disk": "sandbox",
            "inodes": "sandbox",
            "open_files": "process",
        }

    async def check_available(self) -> None:
        """See `SandboxBackend.check_available`."""
        await self._ready()

    async def start(self, spec: SandboxSpec) -> LocalSandbox:
        """See `SandboxBackend.start`."""
        bwrap, program, home = await self._ready()
        identity = new_id()
        labels = leftovers.labels(identity, self._run_id, spec)
        child = launch(bwrap, spec, identity, labels, program=program, home=home)
        sandbox = LocalSandbox(
            spec,
            identity,
            await self._greeted(child),
            child,
            self,
            folders=FOLDERS,
            base_env={"USER": USER, "LOGNAME": USER},
        )
        await self._prepared(sandbox)
        return sandbox

    async def list(self) -> Sequence[SandboxInfo]:
        """See `SandboxBackend.list`."""
        return leftovers.found(self._home())

    async def reap(self) -> Sequence[SandboxInfo]:
        """See `SandboxBackend.reap`."""
        return await leftovers.reap(self._home())

    async def close(self) -> None:
        """See `SandboxBackend.close`."""
        await super().close()
        with self._preparing:
            if self._means is not None:
                os.close(self._means.program)
                self._means = None

    async def _ready(self) -> _Means:
        means = self._means
        return means if means is not None else await asyncio.to_thread(self._prepare)

    def _prepare(self) -> _Means:
        with self._preparing:
            if self._means is None:
                bwrap = find_bwrap()
                program = guest_program()
                try_out(bwrap)
                self._means = _Means(bwrap, seal_program(program), CgroupHome.find())
            return self._means

    def _home(self) -> CgroupHome | None:
        return self._means.home if self._means is not None else CgroupHome.find()
