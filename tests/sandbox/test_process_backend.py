"""The process backend: it says that it isolates nothing, and keeps to its own processes."""

import asyncio
import json
import os
import signal
import subprocess
import warnings
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from agentgym.errors import SandboxLostError, UsageError
from agentgym.sandbox import Process, Sandbox, SandboxSpec, procfs
from agentgym.sandbox.owner import scratch_root
from agentgym.sandbox.process import ProcessBackend, UnisolatedSandboxWarning
from tests.sandbox.bubblewrap_rig import namespace_of, shared_folder, start_python

pytestmark = pytest.mark.filterwarnings("ignore::agentgym.sandbox.process.UnisolatedSandboxWarning")

HOST = """
import asyncio, json, os, signal
from agentgym.sandbox import SandboxSpec
from agentgym.sandbox.process import ProcessBackend

async def main():
    backend = ProcessBackend(run_id="doomed")
    sandbox = await backend.start(SandboxSpec(files={"/work/a": "x"}))
    process = await sandbox.start("trap '' TERM HUP; echo $$; setsid sleep 1000 & wait")
    async for _, data in process:
        break
    heir = os.fork() or signal.pause()
    print(json.dumps([sandbox.id, heir, int(data)]), flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""


@pytest.fixture
async def backend() -> AsyncIterator[ProcessBackend]:
    made = ProcessBackend()
    yield made
    await made.close()


@pytest.fixture
async def sandbox(backend: ProcessBackend) -> AsyncIterator[Sandbox]:
    async with await backend.start(SandboxSpec()) as made:
        yield made


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "1000"]) as process:
        yield process
        process.kill()


async def pids_said(process: Process) -> set[int]:
    """Return the process ids in the first thing that a command writes."""
    async for _, data in process:
        return set(map(int, data.split()))
    raise AssertionError("it has written nothing")


def running() -> set[int]:
    """Return every process but zombies, which the system's first process has yet to bury."""
    return {pid for pid in procfs.pids() if procfs.words_of(pid)}


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def content_of(path: Path) -> str:
    return path.read_text()


def folder_of(sandbox: Sandbox) -> Path:
    return scratch_root() / sandbox.id


async def test_every_start_warns(backend: ProcessBackend) -> None:
    assert not backend.isolated
    for _ in range(2):
        with pytest.warns(UnisolatedSandboxWarning, match="isolates nothing") as warned:
            await (await backend.start(SandboxSpec())).close()
        assert warned[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UnisolatedSandboxWarning):
            await backend.start(SandboxSpec())


async def test_commands_are_this_users_in_a_folder_of_their_own(sandbox: Sandbox) -> None:
    folder = folder_of(sandbox)
    result = await sandbox.exec("pwd; echo $HOME; id -u; echo x > here; readlink /proc/self/ns/pid")
    ours = namespace_of("pid")
    assert result.text.split() == [str(folder), str(folder), str(os.getuid()), ours]
    assert content_of(folder / "here") == "x\n"
    assert await sandbox.read_file(str(folder / "here")) == b"x\n"
    assert (await sandbox.stat(str(folder))).mode & 0o777 == 0o700


async def test_the_specs_folder_is_its_own(backend: ProcessBackend) -> None:
    spec = SandboxSpec(files={"/work/deep/a": "x"}, cwd="/work/deep", env={"X": "y"})
    async with await backend.start(spec) as sandbox:
        result = await sandbox.exec("pwd; cat a; echo $X")
        assert result.text.split() == [str(folder_of(sandbox) / "deep"), "xy"]
        assert sandbox.spec == spec


async def test_its_folder_is_put_back_and_copied(backend: ProcessBackend) -> None:
    async with await backend.start(SandboxSpec(files={"/work/a": "first"})) as sandbox:
        folder = folder_of(sandbox)
        await sandbox.exec("echo second > a; ln a b; ln -s a c; mkdir d; touch d/e")
        async with await sandbox.fork() as twin:
            result = await twin.exec("cat a b c; ls d; pwd")
            assert result.text.split() == ["second"] * 3 + ["e", str(folder_of(twin))]
            await twin.exec("rm -r *")
        snapshot = await sandbox.snapshot()
        await sandbox.reset()
        assert names_in(folder) == ["a"]
        assert content_of(folder / "a") == "first"
        await sandbox.restore(snapshot)
        assert (await sandbox.exec("cat a b c")).text.split() == ["second"] * 3


@pytest.mark.parametrize(
    "fields", [{"image": "debian"}, {"egress": ("example.org",)}, {"user": "1234567"}]
)
async def test_what_it_cannot_give_is_refused(
    backend: ProcessBackend, fields: dict[str, object]
) -> None:
    with pytest.raises(UsageError, match="isolates nothing"):
        await backend.start(SandboxSpec.of(**fields))


async def test_its_limits_are_those_of_each_process(backend: ProcessBackend) -> None:
    assert {"memory", "open_files"} == {k for k, v in backend.limits.items() if v == "process"}
    assert set(backend.limits.values()) == {"process", "none"}
    spec = SandboxSpec(memory=256 << 20, open_files=64)
    async with await backend.start(spec) as sandbox:
        result = await sandbox.exec("ulimit -n; ulimit -v; python3 -c \"b'x' * (1 << 30)\"")
        assert result.text.split() == ["64", str(256 << 10)]
        assert "MemoryError" in result.error_text


async def test_a_timeout_ends_the_whole_tree_and_nothing_else(
    sandbox: Sandbox, bystander: subprocess.Popen[bytes]
) -> None:
    result = await sandbox.exec("trap '' TERM; setsid sleep 1000 & echo $!; wait", timeout=0.3)
    assert result.timed_out
    assert int(result.text) not in running()
    await sandbox.start("setsid sleep 1000 & wait")
    await sandbox.kill_all()
    assert bystander.poll() is None
    assert (await sandbox.exec(["echo", "alive"])).text == "alive\n"


async def test_a_closed_sandbox_is_gone(
    backend: ProcessBackend, bystander: subprocess.Popen[bytes]
) -> None:
    sandbox = await backend.start(SandboxSpec())
    process = await sandbox.start("trap '' TERM; setsid sleep 1000 & echo $$ $!; wait")
    started = await pids_said(process)
    await sandbox.close()
    assert not started & running()
    assert sandbox.id not in names_in(scratch_root())
    assert bystander.poll() is None


async def test_a_killed_guest_takes_its_commands_along(
    backend: ProcessBackend, bystander: subprocess.Popen[bytes]
) -> None:
    sandbox = await backend.start(SandboxSpec())
    process = await sandbox.start("trap '' TERM; setsid sleep 1000 & echo $$ $!; wait")
    started = await pids_said(process)
    os.kill(guest_of(sandbox), signal.SIGKILL)
    with pytest.raises(SandboxLostError, match="guest was killed"):
        await process.wait()
    await sandbox.close()
    assert not started & running()
    assert bystander.poll() is None


async def test_a_cancelled_start_leaves_nothing(backend: ProcessBackend) -> None:
    for moment in range(30):
        start = asyncio.create_task(backend.start(SandboxSpec()))
        for _ in range(moment):
            await asyncio.sleep(0)
        start.cancel()
        await asyncio.wait([start])
        if not start.cancelled():
            await start.result().close()
        mine = [info for info in await backend.list() if info.owner_pid == os.getpid()]
        assert mine == [], moment
        assert not [name for name in names_in(scratch_root()) if name.startswith(f"{os.getpid()}-")]


def test_what_a_killed_host_has_left_is_reaped() -> None:
    with shared_folder() as folder, start_python(HOST, folder) as host:
        assert host.stdout is not None
        identity, heir, command = json.loads(host.stdout.readline())
        try:
            host.kill()
            host.wait()
            assert command in running()
            reaped = asyncio.run(ProcessBackend().reap())
        finally:
            os.kill(heir, signal.SIGKILL)
    (info,) = [info for info in reaped if info.id == identity]
    assert (info.what, info.run_id, info.alive) == ("sandbox", "doomed", False)
    assert not (scratch_root() / identity).exists()
    assert command not in running()
    assert not [pid for pid in procfs.pids() if identity in " ".join(procfs.words_of(pid))]


async def test_it_is_listed_while_it_is_there(backend: ProcessBackend, sandbox: Sandbox) -> None:
    (info,) = [info for info in await backend.list() if info.id == sandbox.id]
    assert (info.backend, info.what, info.owner_pid, info.alive) == (
        "process", "sandbox", os.getpid(), True,
    )  # fmt: skip
    assert sandbox.id not in {info.id for info in await backend.reap()}
    assert (await sandbox.exec(["true"])).exit_code == 0


def guest_of(sandbox: Sandbox) -> int:
    return next(
        pid
        for pid in procfs.pids()
        if procfs.parent_of(pid) == os.getpid() and sandbox.id in " ".join(procfs.words_of(pid))
    )
