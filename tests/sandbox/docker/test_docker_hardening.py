"""What a container may do, read back from the engine and tried from inside."""

from pathlib import Path
from typing import Any

import pytest

from agentgym.sandbox.base import Sandbox
from agentgym.sandbox.docker.backend import DockerBackend
from agentgym.sandbox.docker.engine import Engine
from agentgym.sandbox.docker.leftovers import container_name
from agentgym.sandbox.owner import Owner, scratch_root
from agentgym.sandbox.spec import MIB, SandboxSpec


async def container(engine: Engine, sandbox: Sandbox) -> dict[str, Any]:
    found = await engine.container(container_name(sandbox.id))
    assert found is not None
    return found


async def said(sandbox: Sandbox, command: str, *, user: str | None = None) -> str:
    result = await sandbox.exec(command, user=user)
    assert result.exit_code == 0, result.error_text
    return result.text.strip()


async def test_the_engine_holds_every_limit(
    backend: DockerBackend, engine: Engine, base_image: str
) -> None:
    spec = SandboxSpec(memory=256 * MIB, pids=99, cpus=0.5, disk=32 * MIB, inodes=777)
    async with await backend.start(spec) as sandbox:
        found = await container(engine, sandbox)
    host = found["HostConfig"]
    assert (host["NetworkMode"], host["Privileged"], host["Binds"]) == ("none", False, None)
    assert (host["PidMode"], host["UTSMode"], host["IpcMode"]) == ("", "", "none")
    assert (host["CapDrop"], host["SecurityOpt"]) == (["ALL"], ["no-new-privileges"])
    assert set(host["CapAdd"]) == {
        "SETUID",
        "SETGID",
        "KILL",
        "SETPCAP",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
    }
    assert (host["Memory"], host["MemorySwap"]) == (256 * MIB, 256 * MIB)
    assert (host["PidsLimit"], host["NanoCpus"]) == (100, 500_000_000)
    assert (host["ReadonlyRootfs"], host["AutoRemove"]) == (True, True)
    assert (host["Init"], host["LogConfig"]["Type"]) == (False, "none")
    assert not host["Devices"]
    for options in host["Tmpfs"].values():
        assert {"nosuid", "nodev", f"size={32 * MIB}", "nr_inodes=777"} <= set(options.split(","))
    assert set(host["Tmpfs"]) == {"/work", "/tmp", "/dev/shm"}
    config = found["Config"]
    assert (config["Image"], found["Image"]) == (base_image, base_image)
    assert (config["Tty"], config["OpenStdin"], config["Hostname"]) == (False, False, "sandbox")
    assert config["Labels"]["agentgym"] == sandbox.id
    assert config["Labels"]["agentgym.run"] == "the-run"
    assert config["Labels"]["agentgym.owner"] == Owner.current().encode()


async def test_nothing_of_the_host_is_mounted_but_an_empty_folder(
    backend: DockerBackend, engine: Engine
) -> None:
    async with await backend.start(SandboxSpec()) as sandbox:
        mounts = (await container(engine, sandbox))["Mounts"]
        folder = scratch_root() / sandbox.id
        sources = {mount["Destination"]: Path(mount["Source"]) for mount in mounts}
        assert sources == {"/.agentgym": folder, "/etc/hosts": folder / "hosts"}
        assert [mount["RW"] for mount in mounts] == [False, False]
        assert not folder.exists()
        assert await said(sandbox, "ls -A /.agentgym") == ""
        assert (await sandbox.exec("touch /.agentgym/x")).exit_code != 0
        assert (await sandbox.exec("echo >> /etc/hosts")).exit_code != 0
        look_up = "import socket; print(socket.gethostbyname('localhost'))"
        assert await said(sandbox, f'python3 -c "{look_up}"') == "127.0.0.1"


@pytest.mark.parametrize("user", ["1000", "nobody", "4242"])
async def test_commands_have_no_capabilities(backend: DockerBackend, user: str) -> None:
    async with await backend.start(SandboxSpec()) as sandbox:
        status = await said(sandbox, "cat /proc/self/status", user=user)
    fields = dict(line.split(":\t", 1) for line in status.splitlines())
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(fields[name], 16) == 0
    assert (fields["NoNewPrivs"], fields["Seccomp"]) == ("1", "2")


async def test_the_guest_is_another_user_than_every_command(backend: DockerBackend) -> None:
    async with await backend.start(SandboxSpec()) as sandbox:
        assert await said(sandbox, "stat -c %u /proc/1") != "1000"
        status = await said(sandbox, "cat /proc/1/status")
        for user in ("1000", "nobody"):
            assert (await sandbox.exec("kill -9 1", user=user)).exit_code != 0
            assert (await sandbox.exec("cat /proc/1/environ", user=user)).exit_code != 0
        as_guest = await sandbox.exec("id", user="64999")
        assert (as_guest.exit_code, as_guest.text) == (126, "")
    assert "Uid:\t64999\t64999\t64999\t64999" in status


async def test_a_user_by_name_owns_the_work_folder(backend: DockerBackend) -> None:
    async with await backend.start(SandboxSpec(user="nobody")) as sandbox:
        assert await said(sandbox, "id -un; stat -c '%U %a' /work; touch a; stat -c %U a") == (
            "nobody\nnobody 755\nnobody"
        )
        await sandbox.reset()
        assert await said(sandbox, "stat -c '%U %a' /work; ls -A") == "nobody 755"


async def test_every_writable_folder_has_its_size(backend: DockerBackend) -> None:
    spec = SandboxSpec(disk=4 * MIB, inodes=100)
    async with await backend.start(spec) as sandbox:
        for folder in ("/work", "/tmp", "/dev/shm"):
            full = await sandbox.exec(f"head -c 5M /dev/zero > {folder}/x")
            assert "No space left" in full.error_text
            await sandbox.remove(f"{folder}/x")
            many = await sandbox.exec(f"cd {folder} && touch $(seq 101)")
            assert "No space left" in many.error_text
        await sandbox.reset()
        assert await said(sandbox, "echo here > /var/tmp/x; cat /tmp/x") == "here"
        read_only = "awk '$4 !~ /^ro/ && $3 !~ /^(tmpfs|proc|devpts|mqueue)$/' /proc/mounts"
        assert await said(sandbox, read_only) == ""


async def test_nothing_but_files_can_be_left_behind(backend: DockerBackend) -> None:
    make = "python3 -c 'import ctypes; print(ctypes.CDLL(None).{call})'"
    async with await backend.start(SandboxSpec()) as sandbox:
        assert await said(sandbox, make.format(call="msgget(7, 0o1666)")) == "-1"
        assert await said(sandbox, make.format(call="semget(7, 1, 0o1666)")) == "-1"
        assert await said(sandbox, make.format(call="shmget(7, 4096, 0o1666)")) != "-1"
        assert await said(sandbox, make.format(call="shmget(7, 0, 0)")) == "-1"
