"""The bubblewrap backend: from start to end, however they come, nothing is left."""

import asyncio
import json
import os
import select
import shutil
import signal
import subprocess
import threading
from collections.abc import AsyncIterator, Sequence

import pytest

from agentgym.errors import SandboxLostError, SandboxStartError
from agentgym.sandbox import Sandbox, SandboxSpec
from agentgym.sandbox.bubblewrap import BubblewrapBackend
from agentgym.sandbox.cgroups import CgroupHome
from agentgym.sandbox.owner import Owner, owner_of
from agentgym.sandbox.spec import MIB
from tests.sandbox.bubblewrap_rig import (
    bwrap_of,
    guest_of,
    left_of,
    shared_folder,
    start_python,
)
from tests.servers import require

HOST = """
import asyncio, json, os, signal, sys
from agentgym.sandbox import SandboxSpec
from agentgym.sandbox.bubblewrap import BubblewrapBackend

async def main():
    backend = BubblewrapBackend(run_id="doomed")
    made = [await backend.start(SandboxSpec()) for _ in range(3)]
    for sandbox in made:
        await sandbox.start("trap '' TERM HUP; (setsid sleep 1000 &) ; sleep 1000")
    heir = HEIR
    print(json.dumps({"ids": [sandbox.id for sandbox in made], "heir": heir}), flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""
# A fork that lives on keeps the sandboxes' sockets open, such as a worker of a data loader.
HEIR = "os.fork() or signal.pause()"


@pytest.fixture(autouse=True, scope="module")
def _installed() -> None:
    require(shutil.which("bwrap"), "bubblewrap is not installed")


@pytest.fixture
async def backend() -> AsyncIterator[BubblewrapBackend]:
    made = BubblewrapBackend()
    yield made
    await made.close()
    assert left_of(Owner.current()) == []


async def works(sandbox: Sandbox) -> bool:
    return (await sandbox.exec(["echo", "yes"])).text == "yes\n"


def wait_for_end(handles: Sequence[int], *, patience_ms: int = 60_000) -> None:
    """Wait until the processes of some descriptors have ended, and close those."""
    poll = select.poll()
    left = set(handles)
    for handle in handles:
        poll.register(handle, select.POLLIN)
    while left:
        ended = poll.poll(patience_ms)
        assert ended
        for handle, _ in ended:
            poll.unregister(handle)
            os.close(handle)
            left.discard(handle)


async def test_a_closed_sandbox_is_gone(backend: BubblewrapBackend) -> None:
    sandbox = await backend.start(SandboxSpec())
    await sandbox.start("trap '' TERM; setsid sleep 1000 & sleep 1000")
    guest = os.pidfd_open(guest_of(sandbox.id))
    assert left_of(Owner.current())
    await sandbox.close()
    await sandbox.close()
    wait_for_end([guest], patience_ms=0)
    assert left_of(Owner.current()) == []


async def test_the_backend_closes_what_is_open(backend: BubblewrapBackend) -> None:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(backend.start(SandboxSpec())) for _ in range(16)]
    assert all([await works(task.result()) for task in tasks])
    await backend.close()
    assert left_of(Owner.current()) == []
    async with await backend.start(SandboxSpec()) as sandbox:
        assert await works(sandbox)


async def test_a_sandbox_is_in_a_group_with_all_in_it(backend: BubblewrapBackend) -> None:
    home = CgroupHome.find()
    if home is None:
        pytest.skip("this process may make no control groups")
    sandbox = await backend.start(SandboxSpec(memory=64 * MIB, pids=20))
    group = home.group(sandbox.id)
    assert group.pids() == {bwrap_of(sandbox.id), guest_of(sandbox.id)}
    async for _ in await sandbox.start("echo started; exec sleep 1000"):
        break
    assert len(group.pids()) == 3
    await sandbox.close()
    assert sandbox.id not in home.identities()


async def test_it_is_listed_while_it_is_there() -> None:
    backend = BubblewrapBackend(run_id="run 7")
    async with await backend.start(SandboxSpec()) as sandbox:
        (info,) = [info for info in await backend.list() if info.id == sandbox.id]
        assert (info.backend, info.run_id, info.what) == ("bubblewrap", "run 7", "sandbox")
        assert info.owner_pid == os.getpid()
        assert info.alive
        assert sandbox.id not in {info.id for info in await backend.reap()}
        assert await works(sandbox)
    assert sandbox.id not in {info.id for info in await backend.list()}


async def test_what_runs_inside_cannot_look_like_a_sandbox(backend: BubblewrapBackend) -> None:
    dead = f"{Owner.current()._replace(start=1).encode()}-0"
    async with await backend.start(SandboxSpec()) as sandbox:
        words = ["--setenv", "AGENTGYM_SANDBOX", dead]
        process = await sandbox.start(["sh", "-c", "echo started; read line", *words])
        async for _ in process:
            break
        assert dead not in {info.id for info in await backend.list()}
        await process.kill()


async def test_a_killed_guest_is_the_sandboxs_loss(backend: BubblewrapBackend) -> None:
    sandbox = await backend.start(SandboxSpec())
    os.kill(guest_of(sandbox.id), signal.SIGKILL)
    with pytest.raises(SandboxLostError, match="guest was killed"):
        await sandbox.exec("sleep 1000")
    await sandbox.close()
    assert left_of(Owner.current()) == []


async def test_what_is_under_way_when_it_is_closed_is_lost(backend: BubblewrapBackend) -> None:
    sandbox = await backend.start(SandboxSpec())
    running = [asyncio.create_task(sandbox.exec("echo; sleep 1000")) for _ in range(3)]
    await sandbox.exec(["true"])
    await asyncio.gather(sandbox.close(), sandbox.close())
    for task in running:
        with pytest.raises(SandboxLostError, match=r"^The sandbox is closed\.$"):
            await task


async def test_without_its_bwrap_a_guest_ends_all_the_same(backend: BubblewrapBackend) -> None:
    sandbox = await backend.start(SandboxSpec())
    guest = os.pidfd_open(guest_of(sandbox.id))
    os.kill(bwrap_of(sandbox.id), signal.SIGKILL)
    assert await works(sandbox)
    await sandbox.close()
    wait_for_end([guest], patience_ms=0)


async def test_a_stopped_guest_is_ended_by_force(
    backend: BubblewrapBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentgym.sandbox.local._GRACE_S", 0.05)
    sandbox = await backend.start(SandboxSpec())
    os.kill(guest_of(sandbox.id), signal.SIGSTOP)
    await sandbox.close()
    assert left_of(Owner.current()) == []


@pytest.mark.parametrize("cancels", [1, 2])
async def test_a_start_that_is_cancelled_leaves_nothing(
    backend: BubblewrapBackend, cancels: int
) -> None:
    await backend.check_available()
    for moment in range(40):
        start = asyncio.create_task(backend.start(SandboxSpec(files={"/work/a": "x"})))
        for _ in range(moment):
            await asyncio.sleep(0)
        for _ in range(cancels):
            start.cancel()
            await asyncio.sleep(0)
        await asyncio.wait([start])
        if cancels > 1:
            await backend.close()
        elif not start.cancelled():
            await start.result().close()
        assert left_of(Owner.current()) == [], moment


async def test_a_start_that_fails_says_why_and_leaves_nothing(
    backend: BubblewrapBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shared_folder() as folder:
        bwrap = folder / "bwrap"
        bwrap.symlink_to(shutil.which("bwrap") or "")
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        await backend.check_available()
        bwrap.unlink()
        bwrap.write_text("#!/bin/sh\necho 'bwrap: Creating new namespace failed' >&2\nexit 1\n")
        bwrap.chmod(0o755)
        with pytest.raises(SandboxStartError, match="Creating new namespace failed"):
            await backend.start(SandboxSpec())
        bwrap.unlink()
        with pytest.raises(SandboxStartError):
            await backend.start(SandboxSpec())
    assert left_of(Owner.current()) == []


async def test_a_file_that_cannot_be_written_fails_the_start(backend: BubblewrapBackend) -> None:
    with pytest.raises(SandboxStartError, match="/usr/x"):
        await backend.start(SandboxSpec(files={"/usr/x": ""}))
    assert left_of(Owner.current()) == []


def test_another_thread_has_its_own_loop() -> None:
    found = []

    async def main() -> None:
        backend = BubblewrapBackend()
        async with await backend.start(SandboxSpec()) as sandbox:
            found.append(await works(sandbox))
        await backend.close()

    thread = threading.Thread(target=lambda: asyncio.run(main()))
    thread.start()
    thread.join()
    assert found == [True]
    assert left_of(Owner.current()) == []


def test_of_a_killed_host_nothing_is_left() -> None:
    with shared_folder() as folder, start_python(HOST.replace("HEIR", "0"), folder) as host:
        owner, handles, _ = began(host)
        host.kill()
        host.wait()
        wait_for_end(handles)
    assert not [name for name in left_of(owner) if name.startswith("process")]
    backend = BubblewrapBackend()
    groups = [info for info in asyncio.run(backend.list()) if owner_of(info.id) == owner]
    assert all(info.what == "cgroup" and not info.alive for info in groups)
    reaped = [info for info in asyncio.run(backend.reap()) if owner_of(info.id) == owner]
    assert reaped == groups
    assert left_of(owner) == []


def test_what_a_fork_of_a_killed_host_keeps_alive_is_reaped() -> None:
    with shared_folder() as folder, start_python(HOST.replace("HEIR", HEIR), folder) as host:
        owner, handles, heir = began(host)
        try:
            host.kill()
            host.wait()
            reaped = asyncio.run(BubblewrapBackend().reap())
        finally:
            os.kill(heir, signal.SIGKILL)
        assert len([info for info in reaped if owner_of(info.id) == owner]) == 3
        assert {info.run_id for info in reaped if owner_of(info.id) == owner} == {"doomed"}
        wait_for_end(handles)
    assert left_of(owner) == []


def test_a_bwrap_that_was_never_told_what_to_do_is_reaped() -> None:
    dead = f"{Owner.current()._replace(start=1).encode()}-0"
    waiting, go = os.pipe()
    words = ["--setenv", "AGENTGYM_SANDBOX", dead, "--args", str(waiting), "true"]
    with subprocess.Popen(["bwrap", *words], pass_fds=[waiting]) as process:
        (info,) = [info for info in asyncio.run(BubblewrapBackend().reap()) if info.id == dead]
        assert process.wait() == -signal.SIGKILL
    os.close(waiting)
    os.close(go)
    assert not info.alive


def began(host: subprocess.Popen[str]) -> tuple[Owner, list[int], int]:
    """Return who a host is, descriptors of its sandboxes' processes, and its fork."""
    assert host.stdout is not None
    found = json.loads(host.stdout.readline())
    owner = owner_of(found["ids"][0])
    assert owner is not None
    assert owner.pid == host.pid
    handles = [
        os.pidfd_open(of(identity)) for identity in found["ids"] for of in (guest_of, bwrap_of)
    ]
    return owner, handles, found["heir"]
