"""Whose a sandbox is: a process named so that a reused pid is not mistaken for it."""

import os
import re
import secrets
import shutil
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple, Self

from agentgym.errors import UsageError

_START_FIELD = 19  # field 22 of /proc/PID/stat, counted from after the program's name


class Owner(NamedTuple):
    """A host process.

    Attributes:
        pid: Its process id.
        start: When it started, in clock ticks since boot.
        boot: The machine's boot, the first 8 hexadecimal digits of the kernel's boot id.
    """

    pid: int
    start: int
    boot: str

    @classmethod
    def current(cls) -> Self:
        """Return the process that asks."""
        pid = os.getpid()
        return cls(pid, _start_of(pid) or 0, _boot())

    @classmethod
    def decode(cls, text: str) -> Self | None:
        """Return what `encode` wrote, or None where it did not write that."""
        pid, _, rest = text.partition("-")
        start, _, boot = rest.partition("-")
        if not (pid.isdecimal() and start.isdecimal() and boot):
            return None
        return cls(int(pid), int(start), boot)

    def encode(self) -> str:
        """Return it as one word for labels and file names."""
        return f"{self.pid}-{self.start}-{self.boot}"

    def alive(self) -> bool:
        """Whether this very process still runs."""
        return self.boot == _boot() and _start_of(self.pid) == self.start


def new_id() -> str:
    """Return a sandbox name that no other has on this machine: the owner, the time, chance."""
    return f"{Owner.current().encode()}-{int(time.time()):08x}{secrets.token_hex(4)}"


def owner_of(identity: str) -> Owner | None:
    """Return whose a sandbox's name says it is, or None where it is no such name."""
    return Owner.decode(identity.rpartition("-")[0])


def made_at(identity: str) -> float | None:
    """Return when a sandbox was named, in seconds since 1970, or None where it is no such name."""
    digits = identity.rpartition("-")[2]
    if owner_of(identity) is None or not re.fullmatch("[0-9a-f]{16}", digits):
        return None
    return float(int(digits[:8], 16))


def scratch_root() -> Path:
    """Return the folder of this user's temporary sandbox folders, made where it is missing.

    Raises:
        UsageError: It belongs to somebody else, or others may write to it.
    """
    root = Path(tempfile.gettempdir()) / f"agentgym-{os.getuid()}"
    with suppress(FileExistsError):  # by whom, and whether it is a folder, is seen below
        root.mkdir(mode=0o700)
    status = root.lstat()
    if status.st_uid != os.getuid() or status.st_mode & 0o170077 != 0o040000:
        raise UsageError(
            f"The folder {root} is not this user's alone.",
            remedy=f"Remove it, or set TMPDIR to another folder: rm -r {root}",
        )
    return root


def make_scratch(identity: str) -> Path:
    """Make a sandbox's temporary folder and return it."""
    folder = scratch_root() / identity
    folder.mkdir(mode=0o700)
    return folder


def remove_scratch(folder: Path) -> None:
    """Remove a temporary folder with all in it; one that is gone is fine."""
    shutil.rmtree(folder, ignore_errors=True)


def dead_scratch() -> list[Path]:
    """Return the temporary folders whose owner is dead."""
    found = []
    for folder in scratch_root().iterdir():
        owner = owner_of(folder.name)
        if owner is not None and not owner.alive():
            found.append(folder)
    return found


def _start_of(pid: int) -> int | None:
    try:
        # The name in field 2 may hold anything but NUL, so the fields are counted from its end.
        fields = Path(f"/proc/{pid}/stat").read_text("latin-1").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    return int(fields[_START_FIELD]) if fields and fields[0] != "Z" else None


@cache
def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()[:8]
