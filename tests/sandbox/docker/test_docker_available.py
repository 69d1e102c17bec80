"""Where there is no usable engine, one line says what is missing and what mends it."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentgym.errors import SandboxUnavailableError
from agentgym.sandbox.docker.available import check_engine
from agentgym.sandbox.docker.backend import DockerBackend
from agentgym.sandbox.guest.build import guest_program
from agentgym.sandbox.spec import SandboxSpec

WITHOUT_AIODOCKER = """
import asyncio, sys
sys.modules["aiodocker"] = None
from agentgym.errors import SandboxUnavailableError
from agentgym.sandbox.docker.backend import DockerBackend
try:
    asyncio.run(DockerBackend().check_available())
except SandboxUnavailableError as error:
    print(error)
"""
ABLE = {
    "OSType": "linux",
    "OperatingSystem": "Debian GNU/Linux 12",
    "MemoryLimit": True,
    "PidsLimit": True,
    "CpuCfsQuota": True,
    "SecurityOptions": ["name=seccomp,profile=default"],
}


@pytest.fixture
def listener(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    path = tmp_path / "docker.sock"
    monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        path.chmod(0o600)
        yield listener


async def refusal() -> str:
    with pytest.raises(SandboxUnavailableError) as caught:
        await DockerBackend().check_available()
    with pytest.raises(SandboxUnavailableError):
        await DockerBackend().start(SandboxSpec())
    assert "\n" not in str(caught.value)
    return str(caught.value)


async def test_no_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    said = await refusal()
    assert "There is no Docker engine" in said
    assert "apt-get install docker.io" in said


async def test_nobody_listens(listener: socket.socket) -> None:
    said = await refusal()
    assert "The Docker engine does not run" in said
    assert "systemctl start docker" in said


async def test_no_permission(listener: socket.socket) -> None:
    listener.listen()
    if os.geteuid() == 0:
        os.seteuid(65534)
    try:
        said = await refusal()
    finally:
        os.seteuid(os.getuid())
    assert "may not use the Docker engine's socket" in said
    assert "usermod -aG docker" in said


@pytest.mark.parametrize("host", ["tcp://192.0.2.1:2375", "ssh://someone@example.org"])
async def test_an_engine_elsewhere(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", host)
    said = await refusal()
    assert host in said
    assert "Unset DOCKER_HOST" in said


def test_the_extra_is_not_installed() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_AIODOCKER], capture_output=True, text=True, check=True
    )
    assert "needs the extra 'docker'" in done.stdout
    assert "pip install -e '.[docker]'" in done.stdout


async def test_no_compiler_for_the_guest(
    docker_engine: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    guest_program.cache_clear()
    assert "C compiler" in await refusal()


def test_an_engine_that_cannot_hold_the_limits() -> None:
    check_engine(ABLE)
    for change, said in (
        ({"MemoryLimit": False, "PidsLimit": False}, "memory and process limits"),
        ({"CpuCfsQuota": False}, "processor limits"),
        ({"SecurityOptions": None}, "seccomp"),
        ({"SecurityOptions": ["name=seccomp,profile=unconfined"]}, "seccomp"),
        ({"OSType": "windows"}, "on Linux"),
        ({"OperatingSystem": "Docker Desktop"}, "on this machine itself"),
    ):
        with pytest.raises(SandboxUnavailableError, match=said):
            check_engine({**ABLE, **change})
