"""What the tests of the bubblewrap backend share."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import agentgym
from agentgym.sandbox import procfs
from agentgym.sandbox.bubblewrap.host import UID
from agentgym.sandbox.cgroups import CgroupHome
from agentgym.sandbox.guest.build import guest_program
from agentgym.sandbox.owner import Owner, owner_of

ORDINARY = 64997
"""A user that root becomes to be an ordinary one."""

AS_ORDINARY = f"""
import asyncio, concurrent.futures.thread, json, os, sys
from agentgym.sandbox import SandboxSpec
from agentgym.sandbox.bubblewrap import BubblewrapBackend

async def once():
    backend = BubblewrapBackend()
    async with await backend.start(SandboxSpec()) as sandbox:
        await sandbox.exec("true")
    await backend.close()

if os.geteuid() == 0:
    asyncio.run(once())  # for what is imported late: the interpreter may be closed to others
    os.setgroups([])
    os.setresgid({ORDINARY}, {ORDINARY}, {ORDINARY})
    os.setresuid({ORDINARY}, {ORDINARY}, {ORDINARY})
"""


@contextmanager
def shared_folder() -> Iterator[Path]:
    """Make a folder that every user may enter, unlike pytest's."""
    with tempfile.TemporaryDirectory(prefix="agentgym-test-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def start_python(program: str, folder: Path, *before: str) -> subprocess.Popen[str]:
    """Start a Python program; `AS_ORDINARY` at its start makes it an ordinary user's.

    Args:
        program: Its source.
        folder: Where it starts, and has its cache as another user; every user may enter it.
        before: What starts it, such as `unshare` with its options.
    """
    environment = {**os.environ, "PYTHONPATH": str(Path(agentgym.__file__).parents[1])}
    if program.startswith(AS_ORDINARY):
        environment["XDG_CACHE_HOME"] = str(folder / "cache")
        _copy(guest_program(), folder / "cache" / "agentgym" / "guest" / guest_program().name)
    return subprocess.Popen(
        [*before, sys.executable, "-c", program],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=folder,
    )


def answer_of(process: subprocess.Popen[str]) -> Any:
    """Wait for a program and return the JSON it has printed."""
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 0, said
    return json.loads(said)


def bwrap_of(identity: str) -> int:
    """Return the `bwrap` process of a sandbox."""
    return next(pid for pid in procfs.pids() if _is_of(pid, identity))


def guest_of(identity: str) -> int:
    """Return the guest of a sandbox, as the host numbers it."""
    bwrap = bwrap_of(identity)
    return next(pid for pid in procfs.pids() if procfs.parent_of(pid) == bwrap)


def identity_of(pid: int) -> dict[str, list[str]]:
    """Return the users and groups of a process, as the host sees them."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: rest.split() for name, _, rest in (line.partition(":") for line in lines)}


def namespace_of(kind: str) -> str:
    """Return this process's namespace of a kind, as a link in /proc names it."""
    return str(Path("/proc/self/ns", kind).readlink())


def left_of(owner: Owner) -> list[str]:
    """Return what there is of a process's sandboxes: processes and control groups."""
    name = owner.encode()
    home = CgroupHome.find()
    groups = home.identities() if home is not None else set()
    return [
        *(f"process {pid}" for pid in procfs.pids() if _is_of(pid, name)),
        *(f"cgroup {identity}" for identity in groups if owner_of(identity) == owner),
    ]


def root_file_system(folder: Path) -> Path:
    """Make a small root file system of the host's shell and `cat`."""
    root = folder / "root"
    for name in ("sh", "cat", "ls", "id"):
        program = shutil.which(name)
        assert program is not None
        _copy(Path(program), root / "bin" / name)
        linked = subprocess.run(["ldd", program], capture_output=True, text=True, check=True)
        for word in linked.stdout.split():
            if word.startswith("/"):
                _copy(Path(word), root / word.lstrip("/"))
    (root / "etc").mkdir()
    (root / "etc" / "only-here").write_text("in the image\n")
    (root / "var" / "lib").mkdir(parents=True)
    (root / "link").symlink_to("etc/only-here")
    for path in (root, *root.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755)
    return root


def host_uid() -> int:
    """Return whom the host sees in a sandbox that this process makes."""
    return UID if os.geteuid() == 0 else os.geteuid()


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)


def _is_of(pid: int, name: str) -> bool:
    return any(word.startswith(name) for word in procfs.words_of(pid)) and not procfs.is_nested(pid)
