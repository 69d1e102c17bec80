"""Going on with a run: exactly what is missing, only as the same run, also after kill -9."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import agentgym
from agentgym import Limits
from agentgym.agents.base import Agent
from agentgym.agents.baselines import RandomAgent
from agentgym.errors import EnvironmentLostError, UsageError
from agentgym.rollout.engine import Engine
from agentgym.trajectories.store import TrajectoryStore
from agentgym.types import Json
from tests.environments import Breakage, BreakingEnvironment, counter_task, write_counter_tasks
from tests.rollout.playing import (
    ActingAgent,
    carry_out,
    counting,
    essence,
    plan_of,
    task_set,
)


async def test_a_run_is_not_begun_twice(store: TrajectoryStore) -> None:
    await carry_out(plan_of(2), store)
    with pytest.raises(UsageError, match=r"already has a run 'run'. Go on with it by --resume"):
        Engine(plan_of(2), store).open()


async def test_resuming_what_does_not_exist_begins_it(store: TrajectoryStore) -> None:
    assert len(await carry_out(plan_of(2), store, resume=True)) == 2


async def test_only_what_is_missing_is_played(store: TrajectoryStore) -> None:
    plan = plan_of(6, epochs=2, concurrency=1)
    played = 0

    def stop_after_four(trajectory: object) -> None:
        nonlocal played
        played += 1
        if played == 4:
            engine.drain()

    engine = Engine(plan, store, on_episode=stop_after_four)
    engine.open()
    await engine.run()
    before = {trajectory.key: essence(trajectory) for trajectory in store.trajectories("run")}
    assert len(before) == 4
    reported = await carry_out(plan, store, resume=True)
    assert len(reported) == 8
    assert not before.keys() & {trajectory.key for trajectory in reported}
    after = {trajectory.key: essence(trajectory) for trajectory in store.trajectories("run")}
    assert before.items() <= after.items()
    assert after.keys() == {job.key for job in plan.jobs()}


async def test_episodes_that_broke_are_played_again(store: TrajectoryStore) -> None:
    breakage = Breakage(Counter({"setup": 3}), lambda: EnvironmentLostError("gone"))
    plan = plan_of(5, concurrency=1, attempts=1, factory=lambda: BreakingEnvironment(breakage))
    first = await carry_out(plan, store)
    assert [t.outcome.status for t in first] == ["error"] * 3 + ["completed"] * 2
    again = await carry_out(plan, store, resume=True)
    assert [t.key.task_id for t in again] == ["count-1", "count-2", "count-3"]
    assert [t.outcome.status for t in store.trajectories("run")] == ["completed"] * 5


class _Configured(ActingAgent):
    def __init__(self, **config: Json) -> None:
        super().__init__(counting)
        self._config = config

    def config(self) -> dict[str, Json]:
        return self._config


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"seed": 1}, "seed"),
        ({"epochs": 1}, "epochs"),
        ({"epochs": 3}, "epochs"),
        ({"env_options": {"start": 1}}, "env_options"),
        ({"limits": Limits(turns=5)}, "limits"),
        ({"limits": Limits(tokens=5), "seed": 3}, "seed, limits"),
        ({"agent": RandomAgent()}, "agent, agent_config"),
        ({"agent": _Configured(model="b")}, "agent_config"),
        ({"tasks": task_set(2)}, "tasks_hash, task_ids"),
        ({"tasks": task_set([counter_task(2), counter_task(1), counter_task(3)])}, "task_ids"),
        (
            {"tasks": task_set([counter_task(n, success=0.5) for n in (1, 2, 3)])},
            "tasks_hash",
        ),
    ],
)
async def test_another_run_is_not_gone_on_with(
    store: TrajectoryStore, changes: dict[str, Any], named: str
) -> None:
    settings: dict[str, Any] = {"epochs": 2, "limits": Limits(turns=6)}
    await carry_out(plan_of(3, _Configured(model="a"), **settings), store)
    changes = dict(changes)
    agent: Agent = changes.pop("agent", _Configured(model="a"))
    tasks = list(changes.pop("tasks", task_set(3)))
    changed = plan_of(tasks, agent, **(settings | changes))
    with pytest.raises(UsageError) as caught:
        Engine(changed, store).open(resume=True)
    assert f"started with other settings: {named}." in str(caught.value)
    assert "--run-id" in str(caught.value)


@pytest.mark.parametrize(
    "changes",
    [{"concurrency": 1}, {"attempts": 9}, {"backoff": 9.0}, {"step_timeout": 9.0}],
    ids=str,
)
async def test_what_decides_no_result_may_change(
    store: TrajectoryStore, changes: dict[str, Any]
) -> None:
    agent = _Configured(window=(1, 2), nested={"a": [None, 0.5]})
    await carry_out(plan_of(2, agent, limits=Limits(turns=6, cost=0.1)), store)
    plan = plan_of(2, agent, limits=Limits(turns=6, cost=0.1), **changes)
    assert Engine(plan, store).open(resume=True) == 0


async def test_secrets_in_the_settings_do_not_hinder(
    store: TrajectoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = _Configured(api_key="sk-0123456789abcdefABCDEF", note="plain")
    await carry_out(plan_of(2, agent), store)
    assert "sk-0123456789abcdefABCDEF" not in store.get_run("run").model_dump_json()
    assert Engine(plan_of(2, agent), store).open(resume=True) == 0


PROGRAM = """
import asyncio, sys
from agentgym import load_tasks, register
from agentgym.agents.baselines import RandomAgent
from agentgym.rollout.engine import Engine
from agentgym.rollout.plan import Plan
from agentgym.trajectories.store import TrajectoryStore
from tests.environments import COUNTER

database, tasks, epochs = sys.argv[1:]
spec = register(COUNTER.model_copy(update={"entry_point": "tests.environments:PacedEnvironment"}))
plan = Plan(
    env_spec=spec, tasks=load_tasks(spec, tasks), agent=RandomAgent(), epochs=int(epochs),
    concurrency=8, run_id="run",
)
def report(trajectory):
    print(trajectory.key.task_id, trajectory.key.epoch, flush=True)
with TrajectoryStore.open(database) as store:
    engine = Engine(plan, store, on_episode=report)
    engine.open(resume=True)
    asyncio.run(engine.run())
"""

Reported = list[tuple[str, int]]


def start(database: Path, tasks: Path, epochs: int) -> subprocess.Popen[str]:
    root = str(Path(agentgym.__file__).parents[1])
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(database), str(tasks), str(epochs)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": root},
    )


def read_reports(process: subprocess.Popen[str], most: int = sys.maxsize) -> Reported:
    """Return whole reported lines until there are enough or the process ends."""
    assert process.stdout is not None
    reported: Reported = []
    while len(reported) < most and (line := process.stdout.readline()).endswith("\n"):
        task_id, epoch = line.split()
        reported.append((task_id, int(epoch)))
    return reported


def stored(database: Path) -> dict[tuple[str, int], str]:
    if not database.exists():
        return {}
    with TrajectoryStore.open(database, create=False) as store:
        return {
            (t.key.task_id, t.key.epoch): json.dumps(essence(t), sort_keys=True)
            for t in store.trajectories("run")
        }


@pytest.mark.slow
def test_a_run_killed_at_random_moments_ends_like_one_that_was_not(tmp_path: Path) -> None:
    tasks, epochs, kills = write_counter_tasks(tmp_path, 100), 3, 20
    database, whole = tmp_path / "killed.db", tmp_path / "whole.db"
    rng = random.Random(20)
    reported: Reported = []
    for left in range(kills, 0, -1):
        process = start(database, tasks, epochs)
        reported += read_reports(process, rng.randint(0, (300 - len(reported)) // (left + 1)))
        time.sleep(rng.uniform(0.0, 0.01))  # any moment will do, not only that of a report
        process.kill()
        reported += read_reports(process)  # what it told before it died
        assert process.wait(60) == -signal.SIGKILL
        assert set(reported) <= stored(database).keys()

    for path in (database, whole):
        process = start(path, tasks, epochs)
        told = read_reports(process)
        assert process.wait(60) == 0
        reported += told if path == database else []

    assert len(reported) == len(set(reported))
    assert len(stored(whole)) == 300
    assert stored(database) == stored(whole)
