"""The bubblewrap backend: what is seen inside, whom it is, and what the limits hold."""

import os
import re
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentgym.errors import SandboxStartError, UsageError
from agentgym.sandbox import Sandbox, SandboxSpec
from agentgym.sandbox.bubblewrap import BubblewrapBackend
from agentgym.sandbox.spec import MIB
from tests.sandbox.bubblewrap_rig import (
    AS_ORDINARY,
    answer_of,
    guest_of,
    host_uid,
    identity_of,
    namespace_of,
    root_file_system,
    shared_folder,
    start_python,
)
from tests.servers import require

FOLDERS = ("/work", "/tmp", "/dev/shm")
FORK_BOMB = ":(){ :|:& };:; wait"
FORKS = """
import os, signal
children = 0
try:
    while children < 1000:
        if os.fork() == 0:
            signal.pause()
        children += 1
except BlockingIOError:
    print(children)
"""


@pytest.fixture(autouse=True, scope="module")
def _installed() -> None:
    require(shutil.which("bwrap"), "bubblewrap is not installed")


@pytest.fixture
async def backend() -> AsyncIterator[BubblewrapBackend]:
    made = BubblewrapBackend()
    yield made
    await made.close()


@pytest.fixture
async def sandbox(backend: BubblewrapBackend) -> AsyncIterator[Sandbox]:
    spec = SandboxSpec(memory=96 * MIB, pids=40, disk=2 * MIB, inodes=200, open_files=64)
    async with await backend.start(spec) as made:
        yield made


async def said(sandbox: Sandbox, command: str) -> list[str]:
    result = await sandbox.exec(command)
    assert result.exit_code == 0, result.error_text
    return result.text.split()


async def test_every_namespace_is_its_own(sandbox: Sandbox) -> None:
    names = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")
    found = await said(sandbox, f"cd /proc/self/ns && readlink {' '.join(names)}")
    ours = set(map(namespace_of, names))
    assert len(found) == len(names)
    assert not ours & set(found)
    assert await said(sandbox, "hostname; cat /etc/hostname") == ["sandbox", "sandbox"]
    groups = await said(sandbox, "cut -d: -f3 /proc/self/cgroup")
    assert set(groups) == {"/"}


async def test_nothing_of_the_host_is_seen_but_its_programs(sandbox: Sandbox) -> None:
    system = {"bin", "lib", "lib32", "lib64", "libx32", "sbin"}
    top = set(await said(sandbox, "ls -A /")) - system
    assert top == {"dev", "etc", "proc", "tmp", "usr", "var", "work"}
    assert await said(sandbox, "ls -A /var /work /tmp") == [
        "/tmp:", "/var:", "tmp", "/work:",
    ]  # fmt: skip
    etc = set(await said(sandbox, "ls -A /etc"))
    assert etc.isdisjoint({"shadow", "gshadow", "machine-id", "fstab", "resolv.conf", "ssh"})
    people = await said(sandbox, "cut -d: -f1 /etc/passwd")
    assert people == ["root", "agent", "nobody"]
    processes = await said(sandbox, "ps -e -o pid=")
    assert len(processes) < 5
    with shared_folder() as folder:
        (folder / "canary").touch()
        assert await said(sandbox, "find / -xdev -name canary 2>/dev/null || true") == []
        assert (await sandbox.exec(["ls", str(folder)])).exit_code != 0


async def test_only_its_own_folders_are_writable(sandbox: Sandbox) -> None:
    for folder in FOLDERS:
        await said(sandbox, f"echo x > {folder}/file && chmod +x {folder}/file")
    for path in ("/", "/usr", "/etc", "/dev", "/proc", "/var", "/bin", "/usr/local"):
        result = await sandbox.exec(["touch", f"{path}/file"])
        assert result.exit_code == 1, path
    for path in (
        "/etc/passwd",
        "/usr/bin/env",
        "/proc/sys/kernel/msgmax",
        "/proc/sys/net/ipv4/ip_forward",
    ):
        result = await sandbox.exec(f"echo x > {path}")
        assert result.exit_code == 1, path
    options = dict(
        line.split()[1:4:2]
        for line in (await sandbox.exec(["cat", "/proc/mounts"])).text.splitlines()
    )
    for folder in FOLDERS:
        assert {"nosuid", "nodev", "rw"} <= set(options[folder].split(","))
    for folder in ("/", "/usr", "/dev"):
        assert {"nosuid", "ro"} <= set(options[folder].split(","))


async def test_commands_have_no_privilege_at_all(sandbox: Sandbox) -> None:
    status = (await sandbox.exec(["cat", "/proc/self/status"])).text
    found = dict(re.findall(r"^(Cap\w+|NoNewPrivs|Seccomp|Groups):[ \t]*(.*)$", status, re.M))
    assert {found[f"Cap{name}"] for name in ("Inh", "Prm", "Eff", "Bnd", "Amb")} == {"0" * 16}
    assert (found["NoNewPrivs"], found["Seccomp"], found["Groups"].strip()) == ("1", "2", "")
    for command in (
        "unshare -U true",
        "unshare -m true",
        "mount -t tmpfs x /tmp",
        "cat /proc/1/mem",
    ):
        assert (await sandbox.exec(command)).exit_code != 0, command
    await sandbox.exec("kill -STOP 1; kill -9 1")  # the kernel shields the first process
    assert await said(sandbox, "echo alive") == ["alive"]


async def test_the_host_sees_no_root_in_it(sandbox: Sandbox) -> None:
    identity = identity_of(guest_of(sandbox.id))
    assert set(identity["Uid"]) == {str(host_uid())}
    if os.geteuid() == 0:
        assert set(identity["Gid"]) == {str(host_uid())}
        assert not identity["Groups"]


async def test_the_network_is_the_loopback_alone(sandbox: Sandbox) -> None:
    devices = await said(sandbox, "tail -n +3 /proc/net/dev | cut -d: -f1")
    assert devices == ["lo"]
    assert await said(sandbox, "tail -n +2 /proc/net/route") == []


@pytest.mark.parametrize(("user", "uid"), [("1000", "1000"), ("agent", "1000"), ("4321", "4321")])
async def test_the_user_is_the_specs(backend: BubblewrapBackend, user: str, uid: str) -> None:
    async with await backend.start(SandboxSpec(user=user)) as sandbox:
        assert await said(sandbox, "id -u; id -g; whoami; echo $HOME") == [
            uid, uid, "agent", "/work",
        ]  # fmt: skip
        await sandbox.write_file("/work/folder/file", "x")
        assert (await sandbox.stat("/work/folder/file")).uid == int(uid)


async def test_a_user_that_is_not_known_is_refused(backend: BubblewrapBackend) -> None:
    with pytest.raises(UsageError, match="no user 'somebody'"):
        await backend.start(SandboxSpec(user="somebody"))


async def test_a_memory_hog_is_killed_alone(sandbox: Sandbox) -> None:
    hog = await sandbox.exec(["python3", "-c", "b'x' * (1 << 30)"])
    assert hog.exit_code in (1, 137)  # MemoryError where each process is limited by itself
    assert await said(sandbox, "echo alive") == ["alive"]


async def test_a_fork_bomb_is_contained(sandbox: Sandbox) -> None:
    count = await sandbox.exec(["python3", "-c", FORKS])
    assert 35 < int(count.text) < 40
    await sandbox.exec(FORK_BOMB, timeout=2)
    await sandbox.kill_all()
    assert await said(sandbox, "echo alive") == ["alive"]


@pytest.mark.parametrize("folder", FOLDERS)
async def test_disk_and_inodes_are_capped(sandbox: Sandbox, folder: str) -> None:
    full = await sandbox.exec(["dd", "if=/dev/zero", f"of={folder}/big", "bs=64k", "count=64"])
    assert "No space left" in full.error_text
    assert (await sandbox.stat(f"{folder}/big")).size == 2 * MIB
    await sandbox.remove(f"{folder}/big")
    files = await sandbox.exec(f"cd {folder} && touch $(seq 300)")
    assert "No space left" in files.error_text
    assert len(await sandbox.list_dir(folder)) < 200


async def test_open_files_are_limited(sandbox: Sandbox) -> None:
    assert await said(sandbox, "ulimit -n; ulimit -Hn; ulimit -c") == ["64", "64", "0"]


async def test_what_the_limits_hold_is_said(backend: BubblewrapBackend) -> None:
    await backend.check_available()
    assert set(backend.limits) == {"memory", "cpus", "pids", "disk", "inodes", "open_files"}
    assert backend.limits["disk"] == "sandbox"
    assert backend.limits["open_files"] == "process"


async def test_an_image_is_a_folder(backend: BubblewrapBackend) -> None:
    with shared_folder() as folder:
        spec = SandboxSpec(image=str(root_file_system(folder)))
        async with await backend.start(spec) as sandbox:
            shell = ["/bin/sh", "-c", "cat /etc/only-here /link; echo x > /etc/new || id -u"]
            result = await sandbox.exec(shell)
            assert result.text == "in the image\nin the image\n1000\n"
            assert "Read-only file system" in result.error_text
            listed = {item.name for item in await sandbox.list_dir("/")}
            assert {"bin", "etc", "link", "work", "tmp", "var", "proc", "dev"} <= listed
            assert "usr" not in listed or (folder / "root" / "usr").exists()
            names = [item.name for item in await sandbox.list_dir("/var")]
            assert names == ["lib", "tmp"]
            await sandbox.write_file("/var/tmp/file", "x")
        assert not (folder / "root" / "work").exists()


@pytest.mark.parametrize("image", ["/no/such/folder", "debian:bookworm", "/proc"])
async def test_an_image_that_is_none_is_refused(backend: BubblewrapBackend, image: str) -> None:
    with pytest.raises(UsageError, match=re.escape(image)):
        await backend.start(SandboxSpec(image=image))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes sandboxes as another user")
async def test_an_image_closed_to_the_sandboxs_user(
    backend: BubblewrapBackend, tmp_path: Path
) -> None:
    with pytest.raises(SandboxStartError, match="Permission denied"):  # pytest's folder is 0700
        await backend.start(SandboxSpec(image=str(root_file_system(tmp_path))))


def test_an_ordinary_user_has_the_same() -> None:
    program = (
        AS_ORDINARY
        + f"FORKS = {FORKS!r}\nBOMB = {FORK_BOMB!r}\n"
        + """
async def main():
    backend = BubblewrapBackend()
    spec = SandboxSpec(memory=96 << 20, pids=40, disk=2 << 20, inodes=200)
    found = {"limits": dict(backend.limits)}
    async with await backend.start(spec) as sandbox:
        async def run(name, command, **options):
            result = await sandbox.exec(command, **options)
            found[name] = [result.exit_code, result.text, result.error_text]
        await run("id", "id -u; id -g; whoami")
        await run("caps", "grep -c '^Cap.*:.0*$' /proc/self/status")
        await run("write", "echo x > /usr/x")
        await run("home", f"ls {os.getcwd()}")
        await run("hog", ["python3", "-c", "b'x' * (1 << 30)"])
        await run("forks", ["python3", "-c", FORKS])
        await run("bomb", BOMB, timeout=2)
        await sandbox.kill_all()
        await run("disk", "dd if=/dev/zero of=/work/x bs=64k count=64")
        await sandbox.reset()
        await run("after", "ls -A /work; ps -e -o comm=")
    found["left"] = [info._asdict() for info in await backend.list()]
    await backend.close()
    print(json.dumps(found))
asyncio.run(main())
"""
    )
    with shared_folder() as folder:
        found = answer_of(start_python(program, folder))
    assert found["id"][1].split() == ["1000", "1000", "agent"]
    assert found["caps"][1] == "5\n"
    assert "Read-only" in found["write"][2]
    assert "No such file" in found["home"][2]
    assert found["hog"][0] in (1, 137)
    assert found["limits"]["memory"] == "sandbox" or "MemoryError" in found["hog"][2]
    assert 35 < int(found["forks"][1]) < 40
    assert "No space left" in found["disk"][2]
    assert found["after"][1].split()[-1] == "ps"
    assert found["left"] == []
