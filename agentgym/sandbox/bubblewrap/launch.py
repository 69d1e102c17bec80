"""One `bwrap` process with the guest in it: how it is started, and that nothing of it is left."""

import json
import os
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from agentgym.errors import SandboxStartError, UsageError
from agentgym.sandbox import procfs
from agentgym.sandbox.bubblewrap.host import run_options, unprivileged
from agentgym.sandbox.bubblewrap.view import (
    FOLDERS,
    HOSTNAME,
    USER,
    Arguments,
    close_view,
    host_view,
    image_view,
)
from agentgym.sandbox.cgroups import Cgroup, CgroupHome
from agentgym.sandbox.local import GuestChild, undone_on_error
from agentgym.sandbox.spec import WORK, SandboxSpec

LABEL = "AGENTGYM_SANDBOX"
"""The variable that names the sandbox in the arguments of its `bwrap` process."""

# The guest has every capability, but only in the sandbox's user namespace: it mounts the
# writable folders. Commands get none.
_ISOLATED = (
    *("--unshare-all", "--hostname", HOSTNAME, "--new-session"),
    *("--as-pid-1", "--cap-add", "ALL"),
)
_USER_ID = 1000
_READ = 4096


def view_of(spec: SandboxSpec, arguments: Arguments) -> None:
    """Add what a sandbox of a spec is isolated from and what is to be seen in it.

    Raises:
        UsageError: The spec's image is not a root file system, or its user not to be had.
        OSError: The image cannot be read.
    """
    uid = _uid_of(spec)
    arguments.add(*_ISOLATED, "--uid", str(uid), "--gid", str(uid))
    if spec.image is None:
        host_view(arguments, uid)
    else:
        image_view(arguments, Path(spec.image).absolute())
    close_view(arguments)


class BwrapChild(GuestChild):
    """A `bwrap` process and the guest it starts.

    Args:
        process: See `GuestChild`.
        connection: See `GuestChild`.
        said: See `GuestChild`.
        info: Where bwrap writes who the guest is.
        cgroup: The group of both.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        connection: socket.socket,
        said: int,
        *,
        info: int,
        cgroup: Cgroup | None,
    ) -> None:
        super().__init__(process, connection, said)
        self._info: int | None = info
        self._cgroup = cgroup
        self._guest: int | None = None

    def greeted(self) -> None:
        """Take hold of the guest, so that it can be ended by force."""
        if self._info is not None:
            self._guest = _guest_of(self._process.pid, self._info)
            os.close(self._info)
            self._info = None

    def words(self) -> str:
        """See `GuestChild.words`."""
        return super().words().removeprefix("bwrap: ")

    async def end(self) -> None:
        """See `GuestChild.end`."""
        self.greeted()
        await super().end()

    def _handles(self) -> Sequence[int]:
        # The guest first: bwrap only waits for it, and to kill bwrap would not end it.
        handles = super()._handles()
        return handles if self._guest is None else (self._guest, *handles)

    def _why_killed(self) -> str:
        if self._cgroup is not None and self._cgroup.memory_kills():
            return "It had no memory left."
        return super()._why_killed()

    async def _clear(self) -> None:
        if self._cgroup is not None:
            await self._cgroup.remove()


def _guest_of(bwrap: int, info: int) -> int | None:
    """Return a descriptor of the guest that a `bwrap` has said to have started."""
    try:
        pid = int(json.loads(os.read(info, _READ))["child-pid"])
        handle = os.pidfd_open(pid)
    except (BlockingIOError, ValueError, KeyError, ProcessLookupError):
        return None
    if procfs.parent_of(pid) == bwrap:
        return handle
    os.close(handle)  # the guest is gone, and its id is another's
    return None


def launch(
    bwrap: str,
    spec: SandboxSpec,
    identity: str,
    labels: Mapping[str, str],
    *,
    program: int,
    home: CgroupHome | None,
) -> BwrapChild:
    """Start a sandbox, whose guest will greet over the child's connection.

    Args:
        bwrap: The program's path.
        spec: What is asked for.
        identity: The sandbox's name.
        labels: Variables that are to be seen in the arguments of the `bwrap` process.
        program: A descriptor of the guest's program.
        home: Where control groups are made; with None each process is limited by itself.

    Raises:
        SandboxStartError: It cannot be run.
        UsageError: The spec's image is not a root file system, or its user not to be had.
    """
    try:
        with undone_on_error() as undo:
            return _launch(undo, bwrap, spec, identity, labels, program, home)
    except OSError as error:
        raise SandboxStartError(f"A sandbox could not be started: {error}.") from error


def _launch(
    undo: Callable[..., object],
    bwrap: str,
    spec: SandboxSpec,
    identity: str,
    labels: Mapping[str, str],
    program: int,
    home: CgroupHome | None,
) -> BwrapChild:
    with ExitStack() as files:
        arguments = Arguments(files)
        view_of(spec, arguments)
        ours, theirs = socket.socketpair()
        undo(ours.close)
        files.callback(theirs.close)
        said = os.memfd_create("agentgym-said", os.MFD_CLOEXEC)
        undo(os.close, said)
        info, info_end = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        undo(os.close, info)
        arguments.add("--info-fd", str(arguments.keep(info_end)))
        cgroup = None
        if home is not None:
            # Beside the spec's processes there are the guest and, outside, bwrap.
            cgroup = home.make(identity, memory=spec.memory, pids=spec.pids + 2, cpus=spec.cpus)
            undo(cgroup.discard)
        waiting, go = os.pipe2(os.O_CLOEXEC)
        files.callback(os.close, go)
        before, options = unprivileged()
        process = subprocess.Popen(
            [
                *before,
                bwrap,
                *(word for item in labels.items() for word in ("--setenv", *item)),
                *("--args", str(arguments.keep(waiting))),
                f"/proc/self/fd/{program}",
                *_guest_options(spec, theirs.fileno(), limited=cgroup is not None),
            ],
            stderr=said,
            pass_fds=(*arguments.descriptors, theirs.fileno(), program),
            **run_options(),
            **options,
        )
        undo(process.wait)
        undo(process.kill)  # it has no child before it has its arguments
        # Until then bwrap waits, so that everything it will start is in the control group.
        if cgroup is not None:
            cgroup.add(process.pid)
        _write(go, "\0".join([*arguments.words, ""]).encode("utf-8", "surrogateescape"))
        return BwrapChild(process, ours, said, info=info, cgroup=cgroup)


def _uid_of(spec: SandboxSpec) -> int:
    if spec.user.isdecimal() and int(spec.user):
        return int(spec.user)
    if spec.user == USER and spec.image is None:
        return _USER_ID
    raise UsageError(
        f"A bubblewrap sandbox knows no user {spec.user!r}.",
        remedy="Give the user as a number, such as 1000.",
    )


def _guest_options(spec: SandboxSpec, connection: int, *, limited: bool) -> Iterator[str]:
    yield from ("--fd", str(connection), "--nofile", str(spec.open_files))
    if not limited:
        yield from ("--as", str(spec.memory), "--nproc", str(spec.pids))
    for folder in FOLDERS:
        mode = "755" if folder == WORK else "1777"
        yield from ("--tmpfs", f"{folder}:{spec.disk}:{spec.inodes}:{mode}")


def _write(descriptor: int, content: bytes) -> None:
    with suppress(BrokenPipeError):  # bwrap has ended; it has said why
        while content:
            content = content[os.write(descriptor, content) :]
