"""The sync facade: the protocol with plain calls, also where a loop is already running."""

import subprocess
import sys
import threading
from collections import Counter

import pytest

from agentgym import SyncEnvironment, call
from agentgym.errors import EnvironmentFailedError, ProtocolError
from tests.environments import (
    BlockingEnvironment,
    Breakage,
    BreakingEnvironment,
    CounterEnvironment,
    counter_task,
)


class _Closing(CounterEnvironment):
    closed = 0

    async def close(self) -> None:
        self.closed += 1


def play(environment: SyncEnvironment) -> None:
    observation = environment.reset(counter_task(2), seed=3)
    assert observation.text == "Count to 2."
    before = environment.fingerprint()
    snapshot = environment.snapshot()
    assert environment.step(call("add", amount=2)).observation.text == "The counter shows 2."
    assert environment.grade().value == 1.0
    assert environment.restore(snapshot) == observation
    assert environment.fingerprint() == before
    assert environment.step(call("submit")).reward.value == 0.0


def test_a_whole_episode_without_a_loop() -> None:
    with SyncEnvironment(CounterEnvironment()) as environment:
        play(environment)


async def test_a_whole_episode_inside_a_running_loop() -> None:
    with SyncEnvironment(CounterEnvironment()) as environment:
        play(environment)


def test_errors_arrive_as_they_are() -> None:
    inner = BreakingEnvironment(Breakage(Counter(["setup"]), lambda: OSError("disk")))
    with SyncEnvironment(inner) as environment:
        with pytest.raises(ProtocolError, match="Call reset first"):
            environment.step(call("submit"))
        with pytest.raises(EnvironmentFailedError, match="disk"):
            environment.reset(counter_task())


def test_closing_twice_closes_once() -> None:
    inner = _Closing()
    with SyncEnvironment(inner) as environment:
        environment.close()
    environment.close()
    assert inner.closed == 1
    with pytest.raises(ProtocolError, match="closed"):
        environment.reset(counter_task())


def test_one_that_is_let_go_of_is_closed_with_its_thread() -> None:
    before = set(threading.enumerate())
    inner = _Closing()
    environment = SyncEnvironment(inner)
    environment.reset(counter_task())
    (own,) = set(threading.enumerate()) - before
    del environment
    assert inner.closed == 1
    assert not own.is_alive()


def test_a_tool_may_block_its_thread() -> None:
    gate = threading.Event()
    gate.set()
    with SyncEnvironment(BlockingEnvironment(gate)) as environment:
        environment.reset(counter_task())
        assert environment.step(call("block")).observation.text == "The gate is open."


def test_a_script_that_forgets_to_close_ends_and_closes() -> None:
    program = """
from agentgym import Reward, SyncEnvironment, Task, ToolEnvironment

class Forgotten(ToolEnvironment):
    async def setup(self):
        return "hello"
    async def grade(self):
        return Reward()
    async def close(self):
        print("closed")

environment = SyncEnvironment(Forgotten())
print(environment.reset(Task(id="a", public={}, private={})).text)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "hello\nclosed\n"
    assert done.stderr == ""
