"""Owners: a process is told from another that has its pid, from its zombie, from another boot."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentgym.errors import UsageError
from agentgym.sandbox.owner import (
    Owner,
    dead_scratch,
    made_at,
    make_scratch,
    new_id,
    owner_of,
    remove_scratch,
    scratch_root,
)


@pytest.fixture(autouse=True)
def _own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", "1000"])
    yield process
    process.kill()
    process.wait()


def owner(process: subprocess.Popen[bytes]) -> Owner:
    stat = Path(f"/proc/{process.pid}/stat").read_text("latin-1")
    start = int(stat.rpartition(")")[2].split()[19])
    return Owner(process.pid, start, Owner.current().boot)


def test_the_process_that_asks_is_alive() -> None:
    assert Owner.current().pid == os.getpid()
    assert Owner.current().alive()


def test_another_process_is_alive_until_it_is_gone(sleeper: subprocess.Popen[bytes]) -> None:
    found = owner(sleeper)
    assert found.alive()
    sleeper.kill()
    sleeper.wait()
    assert not found.alive()


def test_a_process_with_the_pid_of_a_dead_one_is_another() -> None:
    now = Owner.current()
    assert not now._replace(start=now.start - 1).alive()


def test_the_same_pid_and_start_in_another_boot_is_another() -> None:
    assert not Owner.current()._replace(boot="00000000").alive()


def test_a_zombie_is_dead(sleeper: subprocess.Popen[bytes]) -> None:
    found = owner(sleeper)
    sleeper.kill()
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
    assert Path(f"/proc/{sleeper.pid}").exists()
    assert not found.alive()


def test_a_program_may_have_any_name(tmp_path: Path) -> None:
    program = tmp_path / "a) Z 1 (b"
    shutil.copy(shutil.which("sleep") or "", program)
    with subprocess.Popen([program, "1000"]) as process:
        assert owner(process).alive()
        process.kill()


def test_a_name_says_whose_it_is() -> None:
    name = new_id()
    assert owner_of(name) == Owner.current()
    assert name != new_id()
    assert Owner.decode(Owner.current().encode()) == Owner.current()


def test_a_name_says_when_it_was_given() -> None:
    before = int(time.time())
    found = made_at(new_id())
    assert found is not None
    assert before <= found <= time.time()
    assert made_at("not-a-sandbox") is None
    assert made_at(f"{Owner.current().encode()}-abc") is None


@pytest.mark.parametrize("name", ["", "docker", "1-2", "1-2-", "a-2-b-x", "1-b-boot-x", "-1-2-3"])
def test_other_names_are_nobodys(name: str) -> None:
    assert owner_of(name) is None


def test_a_sandbox_folder_is_this_users_alone() -> None:
    folder = make_scratch(new_id())
    assert folder.parent == scratch_root()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert scratch_root().stat().st_mode & 0o777 == 0o700
    remove_scratch(folder)
    remove_scratch(folder)
    assert not folder.exists()


def test_only_the_folders_of_the_dead_are_found(sleeper: subprocess.Popen[bytes]) -> None:
    alive = f"{owner(sleeper).encode()}-0"
    dead = f"{Owner.current()._replace(start=1).encode()}-1"
    for name in (new_id(), alive, dead, "not-a-sandbox"):
        make_scratch(name)
    assert dead_scratch() == [scratch_root() / dead]
    sleeper.kill()
    sleeper.wait()
    assert {folder.name for folder in dead_scratch()} == {alive, dead}


def test_a_root_that_others_may_write_to_is_refused() -> None:
    scratch_root().chmod(0o770)
    with pytest.raises(UsageError, match="not this user's alone") as caught:
        scratch_root()
    assert "rm -r" in str(caught.value)


def test_a_root_that_leads_elsewhere_is_refused(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    scratch_root().rmdir()
    (tmp_path / f"agentgym-{os.getuid()}").symlink_to(elsewhere)
    with pytest.raises(UsageError, match="not this user's alone"):
        make_scratch(new_id())
    assert not list(elsewhere.iterdir())


@pytest.mark.parametrize("there", ["file", "dangling link"])
def test_a_root_that_is_no_folder_is_refused(tmp_path: Path, there: str) -> None:
    path = tmp_path / f"agentgym-{os.getuid()}"
    if there == "file":
        path.touch()
    else:
        path.symlink_to(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="not this user's alone"):
        scratch_root()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's folder")
def test_a_root_of_another_user_is_refused(tmp_path: Path) -> None:
    os.chown(scratch_root(), 64997, 64997)
    with pytest.raises(UsageError, match="not this user's alone"):
        scratch_root()
