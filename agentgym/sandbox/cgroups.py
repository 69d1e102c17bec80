"""Limits on all that a sandbox runs together: control groups, of version 1 or 2."""

import asyncio
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from agentgym.sandbox import procfs
from agentgym.sandbox.owner import new_id, owner_of
from agentgym.sandbox.spec import MIB

PREFIX = "agentgym-"
_NEEDED = ("memory", "pids")
_WANTED = (*_NEEDED, "cpu")
# A kernel without swap accounting lacks the files that limit swap.
_SWAP = ("memory.swap.max", "memory.memsw.limit_in_bytes")
_PERIOD_US = 100_000
_LEAST_QUOTA_US = 1_000
_RETRY_S = 0.005


class Cgroup:
    """The control group of one sandbox.

    Args:
        folders: Its folder for each controller; with version 2 one and the same.
    """

    def __init__(self, folders: Mapping[str, Path]) -> None:
        self._folders = folders

    def add(self, pid: int) -> None:
        """Put a process in, and so whatever it will start.

        Raises:
            OSError: It may not be moved.
        """
        for folder in self._distinct():
            (folder / "cgroup.procs").write_text(str(pid), "ascii")

    def pids(self) -> set[int]:
        """Return what runs in it; nothing where it is gone."""
        found: set[int] = set()
        for folder in self._distinct():
            with suppress(FileNotFoundError):
                found.update(map(int, (folder / "cgroup.procs").read_text("ascii").split()))
        return found

    def memory_kills(self) -> int:
        """Return how many processes the kernel has ended for the sandbox's memory limit."""
        for name in ("memory.events", "memory.oom_control"):
            with suppress(OSError):
                for line in (self._folders["memory"] / name).read_text("ascii").splitlines():
                    if line.startswith("oom_kill "):
                        return int(line.split()[1])
        return 0

    def kill(self) -> None:
        """Kill what is in it."""
        for pid in self.pids():
            procfs.kill(pid, lambda pid: pid in self.pids())

    async def remove(self, *, patience: float = 10.0) -> bool:
        """Kill what is in it and remove it; return whether that was done within some seconds."""
        end = asyncio.get_running_loop().time() + patience
        while not self.discard():
            if asyncio.get_running_loop().time() > end:
                return False
            self.kill()
            # A group stays busy for a moment after its last process was waited for, and the
            # kernel has no event for the end of that which both versions share.
            await asyncio.sleep(_RETRY_S)
        return True

    def discard(self) -> bool:
        """Remove it where nothing runs in it; return whether it is gone."""
        for folder in self._distinct():
            try:
                folder.rmdir()
            except FileNotFoundError:
                continue
            except OSError:
                return False
        return True

    def _distinct(self) -> Iterator[Path]:
        yield from dict.fromkeys(self._folders.values())


class CgroupHome(NamedTuple):
    """Where this process may make control groups.

    Attributes:
        version: 1 or 2.
        parents: The folder to make them in, for each controller that there is.
    """

    version: int
    parents: Mapping[str, Path]

    @classmethod
    def find(cls) -> "CgroupHome | None":
        """Return the place, or None where this process may make no groups.

        Memory and processes must be limitable; processor time is limited where it can be.
        """
        for home in _candidates():
            if home._usable():
                return home
        return None

    def make(self, identity: str, *, memory: int, pids: int, cpus: float) -> Cgroup:
        """Make a sandbox's group.

        Args:
            identity: The sandbox's name, which names the group.
            memory: Bytes, swap included.
            pids: Processes and threads.
            cpus: Processors' worth of time.

        Raises:
            OSError: It cannot be made.
        """
        group = self.group(identity)
        try:
            for folder in group._distinct():
                folder.mkdir()
            for controller, name, value in self._settings(memory, pids, cpus):
                path = group._folders.get(controller, Path()) / name
                if controller in group._folders and (name not in _SWAP or path.exists()):
                    path.write_text(value, "ascii")
        except OSError:
            group.discard()
            raise
        return group

    def group(self, identity: str) -> Cgroup:
        """Return the group of a sandbox by its name."""
        name = PREFIX + identity
        return Cgroup({which: parent / name for which, parent in self.parents.items()})

    def identities(self) -> set[str]:
        """Return the names of the sandboxes that have a group here, by any process."""
        found = {
            path.name for parent in self.parents.values() for path in parent.glob(f"{PREFIX}*")
        }
        names = {name.removeprefix(PREFIX) for name in found}
        return {name for name in names if owner_of(name) is not None}

    def _settings(self, memory: int, pids: int, cpus: float) -> Iterator[tuple[str, str, str]]:
        quota = str(max(_LEAST_QUOTA_US, int(cpus * _PERIOD_US)))
        if self.version == 2:
            yield "memory", "memory.max", str(memory)
            yield "memory", "memory.swap.max", "0"
            yield "cpu", "cpu.max", f"{quota} {_PERIOD_US}"
        else:
            yield "memory", "memory.limit_in_bytes", str(memory)
            yield "memory", "memory.memsw.limit_in_bytes", str(memory)
            yield "cpu", "cpu.cfs_period_us", str(_PERIOD_US)
            yield "cpu", "cpu.cfs_quota_us", quota
        yield "pids", "pids.max", str(pids)

    def _usable(self) -> bool:
        if not set(_NEEDED) <= set(self.parents):
            return False
        if not all(os.access(parent / "cgroup.procs", os.W_OK) for parent in self.parents.values()):
            return False
        try:
            if self.version == 2:
                enabled = " ".join(f"+{name}" for name in self.parents)
                (self.parents["memory"] / "cgroup.subtree_control").write_text(enabled, "ascii")
            return self.make(new_id(), memory=64 * MIB, pids=16, cpus=1).discard()
        except OSError:
            return False


class _Mount(NamedTuple):
    point: Path
    kind: str
    options: frozenset[str]


def _candidates() -> Iterator[CgroupHome]:
    mounts = [mount for mount in _mounts() if mount.kind in ("cgroup", "cgroup2")]
    for mount in mounts:
        if mount.kind == "cgroup2":
            yield from map(partial(_unified, mount.point), _own_path())
    split = {
        name: mount.point
        for name in _WANTED
        for mount in mounts
        if mount.kind == "cgroup" and name in mount.options
    }
    yield CgroupHome(1, split)


def _unified(point: Path, path: str) -> CgroupHome:
    folder = point / path
    try:
        there = (folder / "cgroup.controllers").read_text("ascii").split()
    except OSError:
        there = []
    return CgroupHome(2, {name: folder for name in _WANTED if name in there})


def _own_path() -> Iterator[str]:
    """Yield the paths of the groups of version 2 this process is in, the outermost first.

    The outermost that may be used is the same for all processes of a user, so that each finds
    what another has left behind.
    """
    lines = Path("/proc/self/cgroup").read_text("utf-8").splitlines()
    path = next((line[4:] for line in lines if line.startswith("0::/")), "")
    parts = path.split("/") if path else []
    yield from ("/".join(parts[:count]) for count in range(len(parts) + 1))


def _mounts() -> Iterator[_Mount]:
    for line in Path("/proc/self/mountinfo").read_text("utf-8").splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        point = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), before.split()[4])
        yield _Mount(Path(point), kind, frozenset(options.split(",")))
