"""How programs are run for bubblewrap on the host: as whom, with what around them."""

import errno
import fcntl
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from agentgym.errors import SandboxUnavailableError
from agentgym.sandbox.spec import DEFAULT_PATH

UID = 64998
"""Whom the host sees where root starts a sandbox: a user and group that are nobody's.

So nothing inside is the host's root, not even for the kernel.
"""

_MFD_EXEC = 0x10  # Linux 6.3; before, every file in memory may be executed
_SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE


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


def seal_program(path: Path) -> int:
    """Return a descriptor of a copy of a program that nobody can change any more.

    Sandboxes run the copy: none has a way to the file in the user's cache, no folder of the
    host has to be open to the user they are, and all of them share its memory.

    Raises:
        SandboxUnavailableError: The kernel forbids to execute it.
    """
    try:
        descriptor = _executable_memory()
    except PermissionError as error:
        raise SandboxUnavailableError(
            "The kernel executes no files in memory (vm.memfd_noexec is 2).",
            remedy="sysctl -w vm.memfd_noexec=1",
        ) from error
    with os.fdopen(descriptor, "wb", closefd=False) as copy:
        copy.write(path.read_bytes())
    os.fchmod(descriptor, 0o555)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
    return descriptor


def _executable_memory() -> int:
    flags = os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING
    try:
        return os.memfd_create("agentgym-guest", flags | _MFD_EXEC)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        return os.memfd_create("agentgym-guest", flags)


def _is_known(number: int) -> bool:
    """Whether a user and group number exist in this process's user namespace."""
    return all(
        any(
            first <= number < first + count
            for first, _, count in (map(int, line.split()) for line in lines)
        )
        for lines in (
            Path(f"/proc/self/{kind}_map").read_text("ascii").splitlines()
            for kind in ("uid", "gid")
        )
    )
