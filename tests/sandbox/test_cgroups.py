"""Control groups: what the kernel is told, what it holds, and that none is left."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agentgym.sandbox.cgroups import PREFIX, Cgroup, CgroupHome
from agentgym.sandbox.owner import Owner, new_id
from agentgym.sandbox.spec import MIB
from tests.sandbox.bubblewrap_rig import (
    AS_ORDINARY,
    ORDINARY,
    answer_of,
    shared_folder,
    start_python,
)

FOUND = CgroupHome.find()
pytestmark = pytest.mark.skipif(FOUND is None, reason="this process may make no control groups")

WAIT = "import sys; sys.stdin.readline();"
HOG = WAIT + "b'x' * (512 << 20)"
FORKS = """
import os, signal
children = []
try:
    while len(children) < 1000:
        child = os.fork()
        if child == 0:
            signal.pause()
        children.append(child)
except BlockingIOError:
    print(len(children))
for child in children:
    os.kill(child, signal.SIGKILL)
"""


DELEGATED = """
from agentgym.sandbox.cgroups import CgroupHome

async def main():
    backend = BubblewrapBackend()
    home = CgroupHome.find()
    async with await backend.start(SandboxSpec(memory=64 << 20)) as sandbox:
        hog = await sandbox.exec(["python3", "-c", "b'x' * (1 << 30)"])
    await backend.close()
    parents = {name: str(path) for name, path in home.parents.items()}
    print(json.dumps([parents, hog.exit_code]))
asyncio.run(main())
"""


def home() -> CgroupHome:
    assert FOUND is not None
    return FOUND


def folders(identity: str) -> set[Path]:
    return {parent / (PREFIX + identity) for parent in home().parents.values()}


def setting(identity: str, controller: str, *names: str) -> str:
    folder = home().parents[controller] / (PREFIX + identity)
    return next((folder / name).read_text().strip() for name in names if (folder / name).exists())


@pytest.fixture
def identity() -> Iterator[str]:
    name = new_id()
    yield name
    asyncio.run(home().group(name).remove())
    assert not any(folder.exists() for folder in folders(name))


@contextmanager
def inside(group: Cgroup, program: str) -> Iterator[subprocess.Popen[str]]:
    """Start a Python program that waits for a line, and put it into a group."""
    command = [sys.executable, "-c", program]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        group.add(process.pid)
        yield process
        process.kill()


def test_the_kernel_is_told_every_limit(identity: str) -> None:
    home().make(identity, memory=64 * MIB, pids=23, cpus=0.5)
    assert setting(identity, "memory", "memory.max", "memory.limit_in_bytes") == str(64 * MIB)
    assert setting(identity, "pids", "pids.max") == "23"
    assert setting(identity, "cpu", "cpu.max", "cpu.cfs_quota_us") in ("50000", "50000 100000")
    swap = ("memory.swap.max", "memory.memsw.limit_in_bytes")
    assert setting(identity, "memory", *swap) in ("0", str(64 * MIB))


def test_a_memory_hog_is_killed_and_counted(identity: str) -> None:
    group = home().make(identity, memory=64 * MIB, pids=23, cpus=1)
    assert group.memory_kills() == 0
    with inside(group, HOG) as process:
        process.communicate("\n")
    assert process.returncode == -9
    assert group.memory_kills() == 1


def test_processes_are_limited(identity: str) -> None:
    group = home().make(identity, memory=64 * MIB, pids=23, cpus=1)
    with inside(group, WAIT + FORKS) as process:
        said, _ = process.communicate("\n")
    assert said == "22\n"


async def test_a_group_is_removed_with_what_runs_in_it(identity: str) -> None:
    group = home().make(identity, memory=64 * MIB, pids=23, cpus=1)
    stubborn = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN);" + WAIT
    with inside(group, stubborn) as process, inside(group, WAIT) as other:
        assert group.pids() == {process.pid, other.pid}
        assert not group.discard()
        assert await group.remove()
        assert process.wait() == other.wait() == -9
    assert not any(folder.exists() for folder in folders(identity))
    assert group.pids() == set()
    assert group.memory_kills() == 0
    assert await group.remove()


def test_of_a_group_that_cannot_be_made_nothing_is_left(identity: str) -> None:
    with pytest.raises(OSError, match="Invalid argument"):
        home().make(identity, memory=64 * MIB, pids=-5, cpus=1)
    assert not any(folder.exists() for folder in folders(identity))


def test_only_groups_of_sandboxes_are_listed(identity: str) -> None:
    foreign = home().parents["memory"] / f"{PREFIX}something-else"
    foreign.mkdir()
    try:
        home().make(identity, memory=64 * MIB, pids=23, cpus=1)
        found = home().identities()
    finally:
        foreign.rmdir()
    assert identity in found
    assert "something-else" not in found


# Only root delegates a part of the hierarchy, and only in version 2 is there such a promise.
if FOUND is not None and FOUND.version == 2 and os.geteuid() == 0:

    def test_a_delegated_part_serves_an_ordinary_user(identity: str) -> None:
        """As `systemd-run --user --scope` has it: the user's part, and in it the program's own."""
        part = home().parents["memory"] / f"{PREFIX}delegated"
        scope = part / "scope"
        scope.mkdir(parents=True)
        try:
            (part.parent / "cgroup.subtree_control").write_text("+memory +pids +cpu")
            for path in (part, *(part / f"cgroup.{name}" for name in ("procs", "subtree_control"))):
                os.chown(path, ORDINARY, ORDINARY)
            enter = ("sh", "-c", f'echo $$ > {scope}/cgroup.procs; exec "$@"', "sh")
            with shared_folder() as folder:
                parents, hog = answer_of(start_python(AS_ORDINARY + DELEGATED, folder, *enter))
        finally:
            scope.rmdir()
            part.rmdir()
        assert parents == dict.fromkeys(("memory", "pids", "cpu"), str(part))
        assert hog == 137


async def test_what_a_dead_process_left_half_removed_is_found() -> None:
    name = f"{Owner.current()._replace(start=1).encode()}-0"
    left = home().parents["pids"] / (PREFIX + name)
    left.mkdir()
    assert name in home().identities()
    assert await home().group(name).remove()
    assert not left.exists()
