"""The process backend: commands as ordinary processes of this user. It isolates nothing."""

import asyncio
import errno
import io
import os
import socket
import subprocess
import tarfile
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import ClassVar

from agentgym.errors import SandboxStartError, UsageError
from agentgym.sandbox import procfs
from agentgym.sandbox.base import SandboxInfo, SandboxSnapshot
from agentgym.sandbox.guest.build import guest_program
from agentgym.sandbox.guest_sandbox import MAX_ARCHIVE
from agentgym.sandbox.local import (
    GuestChild,
    LocalBackend,
    LocalSandbox,
    Scope,
    undone_on_error,
)
from agentgym.sandbox.owner import dead_scratch, make_scratch, new_id, owner_of, remove_scratch
from agentgym.sandbox.spec import DEFAULT_PATH, WORK, SandboxSpec

_TITLE = "agentgym-sandbox"
_MARK = "AGENTGYM_SANDBOX"
_ROUNDS = 500
_ROUND_S = 0.01


class UnisolatedSandboxWarning(UserWarning):
    """Commands run as this user, with all that this user may do."""


class ProcessSandbox(LocalSandbox):
    """A folder, and processes of this user; see `Sandbox`. `cwd` is the folder.

    Paths are the host's: there is no `/work`, but the spec's `cwd` and `files` in it are in the
    folder instead.
    """

    async def prepare(self) -> None:
        """See `GuestSandbox.prepare`."""
        asked = self.spec
        files = {_placed(path, self._folders[0]): data for path, data in asked.files.items()}
        self.spec = asked.model_copy(update={"files": files})
        try:
            await super().prepare()
        finally:
            self.spec = asked

    async def snapshot(self) -> SandboxSnapshot:
        """See `Sandbox.snapshot`."""
        spec, archive = await super().snapshot()
        return SandboxSnapshot(spec, await self._moved(archive, self._folders[0], WORK))

    async def restore(self, snapshot: SandboxSnapshot) -> None:
        """See `Sandbox.restore`."""
        archive = await self._moved(snapshot.archive, WORK, self._folders[0])
        await super().restore(SandboxSnapshot(snapshot.spec, archive))

    @staticmethod
    async def _moved(archive: bytes, source: str, target: str) -> bytes:
        return await asyncio.to_thread(_move, archive, source.lstrip("/"), target.lstrip("/"))


class ProcessBackend(LocalBackend):
    """Runs commands as this user, for trusted code and its tests.

    The network, the files and the processes of this user are open to it. Memory is limited for
    each process by itself; see `limits`. Every start warns with `UnisolatedSandboxWarning`.

    Args:
        run_id: The run its sandboxes belong to.
    """

    name = "process"
    isolated: ClassVar[bool] = False

    @property
    def limits(self) -> Mapping[str, Scope]:
        """What each limit of a spec holds."""
        none: dict[str, Scope] = dict.fromkeys(("cpus", "pids", "disk", "inodes"), "none")
        return none | {"memory": "process", "open_files": "process"}

    async def check_available(self) -> None:
        """See `SandboxBackend.check_available`."""
        await asyncio.to_thread(guest_program)

    async def start(self, spec: SandboxSpec) -> ProcessSandbox:
        """See `SandboxBackend.start`."""
        _check(spec)
        warnings.warn(
            "The process backend isolates nothing: commands may do all that this user may.",
            UnisolatedSandboxWarning,
            stacklevel=2,
        )
        program = await asyncio.to_thread(guest_program)
        identity = new_id()
        child = _launch(program, spec, identity, self._run_id)
        folder = str(child.folder)
        sandbox = ProcessSandbox(
            spec,
            identity,
            await self._greeted(child),
            child,
            self,
            folders=(folder,),
            base_env={"PATH": os.environ.get("PATH", DEFAULT_PATH), _MARK: identity},
            cwd=_placed(spec.cwd, folder),
            user=str(os.getuid()),
        )
        await self._prepared(sandbox)
        return sandbox

    async def list(self) -> Sequence[SandboxInfo]:
        """See `SandboxBackend.list`."""
        return [*_found()]

    async def reap(self) -> Sequence[SandboxInfo]:
        """See `SandboxBackend.reap`."""
        dead = [info for info in _found() if not info.alive]
        for identity in {info.id for info in dead}:
            await asyncio.to_thread(_end_all, identity)
        for folder in dead_scratch():
            if any(info.id == folder.name for info in dead):
                await asyncio.to_thread(remove_scratch, folder)
        return dead


class _Child(GuestChild):
    def __init__(
        self,
        process: subprocess.Popen[bytes],
        connection: socket.socket,
        said: int,
        *,
        identity: str,
        folder: Path,
    ) -> None:
        super().__init__(process, connection, said)
        self.folder = folder
        self._identity = identity

    async def _clear(self) -> None:
        # A guest ends with all it has started, unless it was killed itself.
        await asyncio.to_thread(_end_all, self._identity)
        await asyncio.to_thread(remove_scratch, self.folder)


def _check(spec: SandboxSpec) -> None:
    asked = {
        "an image": spec.image is not None,
        "an egress allowlist": bool(spec.egress),
        f"the user {spec.user}": spec.user not in ("1000", str(os.getuid())),
    }
    for what, is_asked in asked.items():
        if is_asked:
            raise UsageError(
                f"The process backend cannot give a sandbox {what}: it isolates nothing.",
                remedy="Use the backend bubblewrap or docker.",
            )


def _launch(program: Path, spec: SandboxSpec, identity: str, run_id: str) -> _Child:
    try:
        with undone_on_error() as undo:
            folder = make_scratch(identity)
            undo(remove_scratch, folder)
            said = os.memfd_create("agentgym-said", os.MFD_CLOEXEC)
            undo(os.close, said)
            ours, theirs = socket.socketpair()
            undo(ours.close)
            with theirs:
                process = subprocess.Popen(
                    [
                        *(f"{_TITLE} {identity} {run_id}", "--fd", str(theirs.fileno())),
                        *("--nofile", str(spec.open_files), "--as", str(spec.memory)),
                    ],
                    executable=program,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=said,
                    pass_fds=(theirs.fileno(),),
                    start_new_session=True,
                    cwd=folder,
                )
            return _Child(process, ours, said, identity=identity, folder=folder)
    except OSError as error:
        raise SandboxStartError(f"A process could not be started: {error}.") from error


def _placed(path: str, folder: str) -> str:
    inner = PurePosixPath(path)
    return str(folder / inner.relative_to(WORK)) if inner.is_relative_to(WORK) else path


def _move(archive: bytes, source: str, target: str) -> bytes:
    """Return an archive of a folder as one of another folder.

    Raises:
        OSError: It is too large with its holes filled.
    """

    def renamed(name: str) -> str:
        return str(PurePosixPath(target) / PurePosixPath(name).relative_to(source))

    moved = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as old,
        tarfile.open(fileobj=moved, mode="w", format=tarfile.GNU_FORMAT) as new,
    ):
        for member in old:
            content = old.extractfile(member) if member.isreg() else None
            if member.issparse():  # its holes are filled here
                member.type = tarfile.REGTYPE
            if moved.tell() + member.size > MAX_ARCHIVE:
                raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), f"/{member.name}")
            member.name = renamed(member.name)
            if member.islnk():
                member.linkname = renamed(member.linkname)
            new.addfile(member, content)
    return moved.getvalue()


def _found() -> Iterator[SandboxInfo]:
    identities = set()
    for pid in procfs.pids():
        identity, run_id = _titled(pid)
        if owner_of(identity) is not None and procfs.uid_of(pid) == os.getuid():
            identities.add(identity)
            yield _info(identity, "sandbox", run_id)
    for folder in dead_scratch():
        if folder.name not in identities:
            yield _info(folder.name, "folder", "")


def _titled(pid: int) -> tuple[str, str]:
    """Return the sandbox and the run that a guest is of, empty where it is none."""
    words = next(iter(procfs.words_of(pid)), "").split(" ", 2)
    return (words[1], words[2]) if words[0] == _TITLE and len(words) == 3 else ("", "")


def _info(identity: str, what: str, run_id: str) -> SandboxInfo:
    owner = owner_of(identity)
    return SandboxInfo(
        id=identity,
        backend="process",
        run_id=run_id,
        owner_pid=owner.pid if owner is not None else 0,
        alive=owner is not None and owner.alive(),
        what=what,
        detail="",
    )


def _end_all(identity: str) -> None:
    """End a sandbox's guest, and what carries its name because it was started in it."""

    def is_meant(pid: int) -> bool:
        named = f"{_MARK}={identity}" in procfs.environment_of(pid)
        ours = procfs.uid_of(pid) == os.getuid() and pid != os.getpid()
        return ours and (named or _titled(pid)[0] == identity)

    for _ in range(_ROUNDS):
        left = [pid for pid in procfs.pids() if is_meant(pid)]
        if not left:
            return
        for pid in left:
            procfs.kill(pid, is_meant)
        time.sleep(_ROUND_S)
