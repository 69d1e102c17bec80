"""Processes of this machine: found, waited for, and ended only where they are the ones meant."""

import asyncio
import os
import subprocess
from collections.abc import Iterator

import pytest

from agentgym.sandbox import procfs


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    environment = {**os.environ, "SLEEPER": "yes"}
    with subprocess.Popen(
        ["cat", "-u"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"ready\n")
        process.stdin.flush()
        process.stdout.readline()  # from here on it is the program, and no more our fork
        yield process
        process.kill()


def test_what_is_known_of_a_process(sleeper: subprocess.Popen[bytes]) -> None:
    pid = sleeper.pid
    assert pid in set(procfs.pids())
    assert procfs.parent_of(pid) == os.getpid()
    assert procfs.words_of(pid) == ["cat", "-u"]
    assert "SLEEPER=yes" in procfs.environment_of(pid)
    assert procfs.uid_of(pid) == os.geteuid()
    assert not procfs.is_nested(pid)


def test_nothing_is_known_of_one_that_is_gone(sleeper: subprocess.Popen[bytes]) -> None:
    sleeper.kill()
    sleeper.wait()
    pid = sleeper.pid
    assert procfs.parent_of(pid) is None
    assert procfs.uid_of(pid) is None
    assert not procfs.words_of(pid)
    assert not procfs.environment_of(pid)
    assert procfs.is_nested(pid)
    procfs.kill(pid, lambda _: True)


def test_only_what_is_meant_is_killed(sleeper: subprocess.Popen[bytes]) -> None:
    procfs.kill(sleeper.pid, lambda _: False)
    assert sleeper.poll() is None
    procfs.kill(sleeper.pid, lambda pid: pid == sleeper.pid)
    assert sleeper.wait() == -9


async def test_an_end_is_waited_for_by_any_number(sleeper: subprocess.Popen[bytes]) -> None:
    handle = os.pidfd_open(sleeper.pid)
    assert not await procfs.ended(handle, 0)
    waiting = [asyncio.create_task(procfs.ended(handle, 60)) for _ in range(3)]
    await asyncio.sleep(0)
    sleeper.kill()
    assert await asyncio.gather(*waiting) == [True] * 3
    os.close(handle)
