"""One `bwrap` process with the guest in it: how it is started, and that nothing of it is left."""

import json
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Self

from agentgym.errors import SandboxStartError
from agentgym.sandbox import procfs
from agentgym.sandbox.bubblewrap.view import (
    FOLDERS,
    HOSTNAME,
    Arguments,
    close_view,
    host_view,
    image_view,
)
from agentgym.sandbox.cgroups import Cgroup, CgroupHome
from agentgym.sandbox.spec import DEFAULT_PATH, MIB, WORK, SandboxSpec

UID = 64998
"""Whom the host sees where root starts a sandbox: a user and group that are nobody's.

So nothing inside is the host's root, not even for the kernel.
"""
LABEL = "AGENTGYM_SANDBOX"
"""The variable that names the sandbox in the arguments of its `bwrap` process."""

# The guest has every capability, but only in the sandbox's user namespace: it mounts the
# writable folders. Commands get none.
_ISOLATED = (
    *("--unshare-all", "--uid", "1000", "--gid", "1000", "--hostname", HOSTNAME),
    *("--new-session", "--as-pid-1", "--cap-add", "ALL"),
)
_GRACE_S = 5.0
_SAID = 300


def view_of(spec: SandboxSpec, arguments: Arguments) -> None:
    """Add what a sandbox of a spec is isolated from and what is to be seen in it.

    Raises:
        UsageError: The spec's image is not a root file system.
        OSError: It cannot be read.
    """
    arguments.add(*_ISOLATED)
    if spec.image is None:
        host_view(arguments)
    else:
        image_view(arguments, Path(spec.image))
    close_view(arguments)


def unprivileged() -> tuple[list[str], dict[str, Any]]:
    """Return what keeps a program from being root: words before it, and options of `Popen`."""
    if os.geteuid() != 0 or not _is_known(UID):
        return [], {}
    setpriv = shutil.which("setpriv")
    if setpriv and Path(setpriv).resolve().name == "setpriv":  # busybox's cannot do this
        who = [f"--reuid={UID}", f"--regid={UID}", "--clear-groups", "--no-new-privs"]
        return [setpriv, *who], {}
    # Python forks for these options, which takes 40 ms a GB of what this process holds.
    return [], {"user": UID, "group": UID, "extra_groups": []}


def run_options() -> dict[str, Any]:
    """Return the options of `Popen` that keep the host's surroundings out."""
    return {
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.DEVNULL,
        "env": {"PATH": DEFAULT_PATH},
        "cwd": "/",
        "start_new_session": True,
    }


class Running:
    """A `bwrap` process.

    Attributes:
        connection: Our end of the guest's socket; closing it ends the guest.
    """

    def __init__(self, spec: SandboxSpec, cgroup: Cgroup | None) -> None:
        self._spec = spec
        self._cgroup = cgroup
        self._said = os.memfd_create("agentgym-said", os.MFD_CLOEXEC)
        self._handles: list[int] = []
        self.connection, self._guest_end = socket.socketpair()
        self._info, self._info_end = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    @classmethod
    def launch(
        cls,
        bwrap: str,
        spec: SandboxSpec,
        identity: str,
        labels: Mapping[str, str],
        *,
        program: int,
        home: CgroupHome | None,
    ) -> Self:
        """Start a sandbox; its guest will greet over `connection`.

        Args:
            bwrap: The program's path.
            spec: What is asked for.
            identity: The sandbox's name.
            labels: Variables that are to be seen in the process's arguments.
            program: A descriptor of the guest's program.
            home: Where control groups are made; None limits each process by itself.

        Raises:
            SandboxStartError: It cannot be run.
            UsageError: The spec's image is not a root file system.
        """
