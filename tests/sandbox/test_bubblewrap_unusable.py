"""Where bubblewrap cannot be used: one clear line says what is missing and how to get it."""

import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from agentgym.errors import SandboxUnavailableError
from agentgym.sandbox import SandboxSpec
from agentgym.sandbox.bubblewrap import BubblewrapBackend
from agentgym.sandbox.bubblewrap.unusable import explain
from tests.sandbox.bubblewrap_rig import answer_of, shared_folder, start_python

REFUSED = """
import asyncio, json
from agentgym.errors import SandboxUnavailableError
from agentgym.sandbox.bubblewrap import BubblewrapBackend
try:
    asyncio.run(BubblewrapBackend().check_available())
except SandboxUnavailableError as error:
    print(json.dumps([error.message, error.remedy]))
"""


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that is the whole PATH."""
    with shared_folder() as found:
        monkeypatch.setenv("PATH", str(found))
        yield found


def program(folder: Path, name: str, source: str = "") -> None:
    """Put a shell script into a folder, or a link to the real program of that name."""
    path = folder / name
    if source:
        path.write_text(f"#!/bin/sh\n{source}\n")
        path.chmod(0o755)
    else:
        path.symlink_to(shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin") or "")


async def unavailable() -> SandboxUnavailableError:
    with pytest.raises(SandboxUnavailableError) as caught:
        await BubblewrapBackend().check_available()
    assert "\n" not in str(caught.value)
    return caught.value


async def test_it_is_not_installed(folder: Path) -> None:
    error = await unavailable()
    assert error.message == "bubblewrap is not installed: there is no program `bwrap`."
    assert "apt-get install bubblewrap" in str(error.remedy)
    with pytest.raises(SandboxUnavailableError, match="not installed"):
        await BubblewrapBackend().start(SandboxSpec())


async def test_the_kernel_refuses(folder: Path) -> None:
    why = "No permissions to create new namespace, likely because the kernel does not allow it"
    program(folder, "bwrap", f"echo 'bwrap: {why}' >&2; exit 1")
    error = await unavailable()
    assert error.message == f"bubblewrap does not work here: {why}."
    assert "In a container" in str(error.remedy)


async def test_it_is_too_old(folder: Path) -> None:
    program(folder, "bwrap", "echo 'bwrap: Unknown option --perms' >&2; exit 1")
    assert "Version 0.5 or later" in str((await unavailable()).remedy)


async def test_it_cannot_be_executed(folder: Path) -> None:
    (folder / "bwrap").write_bytes(b"\x7fELF")
    (folder / "bwrap").chmod(0o755)
    assert (await unavailable()).message.startswith("bubblewrap does not work here:")


async def test_it_works_without_setpriv(folder: Path) -> None:
    program(folder, "bwrap")
    assert shutil.which("setpriv") is None
    backend = BubblewrapBackend()
    async with await backend.start(SandboxSpec()) as sandbox:
        assert (await sandbox.exec(["id", "-u"])).text == "1000\n"
    await backend.close()


@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        ("user/max_user_namespaces", "0", "user.max_user_namespaces=15000"),
        ("kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone=1"),
        (
            "kernel/apparmor_restrict_unprivileged_userns",
            "1",
            "kernel.apparmor_restrict_unprivileged_userns=0",
        ),
    ],
)
def test_each_switch_has_its_remedy(tmp_path: Path, name: str, value: str, remedy: str) -> None:
    switch = tmp_path / name
    switch.parent.mkdir()
    switch.write_text(f"{value}\n")
    error = explain("bwrap: setting up uid map: Permission denied", switches=tmp_path)
    assert error.remedy == f"sysctl -w {remedy}"
    assert name.partition("/")[2] in error.message
    switch.write_text("7\n")
    assert "uid map" in explain("bwrap: setting up uid map", switches=tmp_path).message


def test_a_kernel_that_is_told_to_make_no_namespaces() -> None:
    with shared_folder() as found:
        limit = "echo 0 > /proc/sys/user/max_user_namespaces"
        user = ("unshare", "--user", "--map-current-user", "--keep-caps")
        shell = ("sh", "-c", f'{limit} && exec "$0" "$@"')
        message, remedy = answer_of(start_python(REFUSED, found, *user, *shell))
    assert message == "User namespaces are switched off (user.max_user_namespaces is 0)."
    assert remedy == "sysctl -w user.max_user_namespaces=15000"


@pytest.mark.skipif(find_spec("ziglang") is not None, reason="ziglang is a compiler too")
def test_there_is_no_compiler(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(folder, "bwrap")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "empty"))
    monkeypatch.setenv("CC", "")
    message, remedy = answer_of(start_python(REFUSED, folder))
    assert "C compiler" in message
    assert "gcc" in remedy
