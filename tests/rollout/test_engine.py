"""The engine: every episode once, bounded, durable before it is reported, in any order."""

import asyncio
import sqlite3
import threading
from collections import Counter
from pathlib import Path

import pytest

from agentgym import Action, Limits, Observation, call
from agentgym.agents.base import Brief
from agentgym.agents.baselines import NullAgent, RandomAgent
from agentgym.errors import StoreError, UsageError
from agentgym.rollout.engine import Engine
from agentgym.trajectories.record import EpisodeKey, Trajectory
from agentgym.trajectories.store import TrajectoryStore
from tests.environments import BlockingEnvironment, CounterEnvironment, counter_task
from tests.rollout.playing import (
    ADD,
    SUBMIT,
    ActingAgent,
    always,
    carry_out,
    counting,
    essence,
    plan_of,
)

PATIENCE = 60.0
"""Seconds after which a test that hangs is given up."""


def keys(trajectories: list[Trajectory]) -> list[tuple[str, int]]:
    return [(trajectory.key.task_id, trajectory.key.epoch) for trajectory in trajectories]


async def test_every_episode_is_played_once_and_stored(store: TrajectoryStore) -> None:
    plan = plan_of(5, ActingAgent(counting), epochs=2, seed=40, concurrency=3)
    reported = await carry_out(plan, store)
    wanted = [(f"count-{n}", epoch) for n in range(1, 6) for epoch in (0, 1)]
    assert sorted(keys(reported)) == wanted
    stored = list(store.trajectories("run"))
    assert sorted(map(str, map(essence, stored))) == sorted(map(str, map(essence, reported)))
    for trajectory in stored:
        assert trajectory.seed == 40 + trajectory.key.epoch
        assert trajectory.outcome.status == "completed"
        assert trajectory.success is True
        assert (trajectory.attempts, trajectory.faults) == (1, ())
        assert trajectory.env == "test-counter-v1"
    assert {t.task_hash for t in stored if t.key.task_id == "count-1"} == {
        job.task_hash for job in plan.jobs() if job.key.task_id == "count-1"
    }


async def test_an_episode_is_durable_before_it_is_reported(
    store: TrajectoryStore, tmp_path: Path
) -> None:
    seen = []

    def look(trajectory: Trajectory) -> None:
        with sqlite3.connect(tmp_path / "runs.db") as other:
            rows = other.execute("SELECT task_id, epoch FROM agentgym_episodes").fetchall()
        seen.append((trajectory.key.task_id, trajectory.key.epoch) in rows)

    engine = Engine(plan_of(20), store, on_episode=look)
    assert engine.open() == 20
    await engine.run()
    assert seen == [True] * 20


async def test_only_privileged_agents_see_the_private_part(store: TrajectoryStore) -> None:
    agent = always(SUBMIT)
    await carry_out(plan_of(2, agent), store)
    assert [brief.task for brief in agent.briefs] == [None, None]
    agent.privileged = True
    await carry_out(plan_of(2, agent, run_id="other"), store)
    told = [brief.task for brief in agent.briefs[2:]]
    assert [task.private.answer for task in told if task] == ["private-1", "private-2"]


async def test_turn_limits_come_from_the_run_the_task_or_the_environment(
    store: TrajectoryStore,
) -> None:
    tasks = [counter_task(1, max_turns=2), counter_task(2)]
    await carry_out(plan_of(tasks, NullAgent()), store)
    await carry_out(plan_of(tasks, NullAgent(), run_id="r", limits=Limits(turns=3)), store)
    assert [row.turns for row in store.summaries("run")] == [2, 6]
    assert [row.turns for row in store.summaries("r")] == [3, 3]


@pytest.mark.parametrize("concurrency", [1, 3, 8])
async def test_concurrency_is_reached_and_never_passed(
    store: TrajectoryStore, concurrency: int
) -> None:
    playing = most = 0
    together = asyncio.Barrier(concurrency)

    async def act(brief: Brief, observation: Observation, turn: int) -> Action:
        nonlocal playing, most
        playing += 1
        most = max(most, playing)
        await together.wait()
        playing -= 1
        return SUBMIT

    plan = plan_of(concurrency * 4, ActingAgent(act), concurrency=concurrency)
    async with asyncio.timeout(PATIENCE):
        assert len(await carry_out(plan, store)) == concurrency * 4
    assert most == concurrency


async def test_results_do_not_depend_on_concurrency(store: TrajectoryStore) -> None:
    runs = []
    for concurrency in (1, 16):
        plan = plan_of(
            24, RandomAgent(), epochs=2, concurrency=concurrency, run_id=f"at-{concurrency}"
        )
        await carry_out(plan, store)
        runs.append([essence(trajectory) for trajectory in store.trajectories(plan.run_id)])
    assert len(runs[0]) == 48
    assert runs[0] == runs[1]
    assert len({str(episode["turns"]) for episode in runs[0]}) > 24


async def test_a_tool_that_blocks_delays_no_other_episode(store: TrajectoryStore) -> None:
    gate, count = threading.Event(), 10
    order: list[str] = []

    def act(brief: Brief, observation: Observation, turn: int) -> Action:
        return call("block") if brief.task_id == "count-1" and turn == 0 else SUBMIT

    def open_gate_last(trajectory: Trajectory) -> None:
        order.append(trajectory.key.task_id)
        if len(order) == count - 1:
            gate.set()

    plan = plan_of(
        count, ActingAgent(act), concurrency=2, factory=lambda: BlockingEnvironment(gate)
    )
    engine = Engine(plan, store, on_episode=open_gate_last)
    engine.open()
    async with asyncio.timeout(PATIENCE):
        await engine.run()
    assert order == [f"count-{number}" for number in [*range(2, count + 1), 1]]


async def test_many_tools_may_block_at_once(store: TrajectoryStore) -> None:
    count = 60
    meeting = threading.Barrier(count)

    class Meeting(BlockingEnvironment):
        def __init__(self) -> None:
            super().__init__(threading.Event())
            self.gate.wait = lambda timeout=None: meeting.wait() >= 0  # type: ignore[method-assign]

    def act(brief: Brief, observation: Observation, turn: int) -> Action:
        return call("block") if turn == 0 else SUBMIT

    plan = plan_of(count, ActingAgent(act), concurrency=count, factory=Meeting)
    async with asyncio.timeout(PATIENCE):
        assert len(await carry_out(plan, store)) == count


async def test_an_environment_is_kept_from_episode_to_episode(store: TrajectoryStore) -> None:
    made: list[CounterEnvironment] = []

    def factory() -> CounterEnvironment:
        made.append(CounterEnvironment())
        return made[-1]

    await carry_out(plan_of(12, concurrency=3, factory=factory), store)
    assert len(made) == 3


async def test_a_drained_run_finishes_what_is_in_flight_and_begins_nothing(
    store: TrajectoryStore,
) -> None:
    both = asyncio.Barrier(2)
    reported: list[Trajectory] = []

    async def act(brief: Brief, observation: Observation, turn: int) -> Action:
        if turn == 0:
            await both.wait()
        return ADD if turn < 3 else SUBMIT

    def stop(trajectory: Trajectory) -> None:
        reported.append(trajectory)
        engine.drain()

    plan = plan_of(6, ActingAgent(act), concurrency=2)
    engine = Engine(plan, store, on_episode=stop)
    engine.open()
    async with asyncio.timeout(PATIENCE):
        await engine.run()
    assert sorted(keys(reported)) == [("count-1", 0), ("count-2", 0)]
    rest = await carry_out(plan_of(6, ActingAgent(lambda *_: SUBMIT)), store, resume=True)
    assert sorted(keys(rest)) == [(f"count-{n}", 0) for n in range(3, 7)]


async def test_a_run_that_is_cancelled_closes_its_environments_and_can_go_on(
    store: TrajectoryStore,
) -> None:
    closed = []
    stuck = asyncio.Event()

    class Closing(CounterEnvironment):
        async def close(self) -> None:
            closed.append(self)

    async def act(brief: Brief, observation: Observation, turn: int) -> Action:
        if brief.task_id in ("count-3", "count-4"):
            stuck.set()
            await asyncio.Event().wait()
        return SUBMIT

    plan = plan_of(5, ActingAgent(act), concurrency=1, factory=Closing)
    engine = Engine(plan, store)
    engine.open()
    running = asyncio.create_task(engine.run())
    await stuck.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert len(closed) == 1
    assert store.finished("run") == {EpisodeKey(task_id=f"count-{n}") for n in (1, 2)}
    rest = await carry_out(plan_of(5, always(SUBMIT)), store, resume=True)
    assert keys(rest) == [(f"count-{n}", 0) for n in (3, 4, 5)]


async def test_a_listener_that_raises_stops_the_run_and_loses_nothing(
    store: TrajectoryStore,
) -> None:
    def fail(trajectory: Trajectory) -> None:
        raise LookupError("in the listener")

    engine = Engine(plan_of(3, concurrency=1), store, on_episode=fail)
    engine.open()
    with pytest.raises(LookupError, match="in the listener"):
        await engine.run()
    assert store.finished("run") == {EpisodeKey(task_id="count-1")}


STORE_IS_FULL = """
CREATE TRIGGER is_full BEFORE INSERT ON agentgym_episodes
WHEN (SELECT count(*) FROM agentgym_episodes) >= 5
BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END
"""


async def test_a_store_that_fails_stops_the_run_and_reports_nothing_undone(
    store: TrajectoryStore, tmp_path: Path
) -> None:
    plan = plan_of(40, ActingAgent(counting), limits=Limits(turns=100), concurrency=4)
    with sqlite3.connect(tmp_path / "runs.db") as other:
        other.execute(STORE_IS_FULL)
    reported: list[Trajectory] = []
    engine = Engine(plan, store, on_episode=reported.append)
    engine.open()
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(StoreError, match="full"):
            await engine.run()
    done = store.finished("run")
    assert {trajectory.key for trajectory in reported} <= done
    assert len(done) <= 5

    with sqlite3.connect(tmp_path / "runs.db") as other:
        other.execute("DROP TRIGGER is_full")
    rest = await carry_out(plan, store, resume=True)
    assert {trajectory.key for trajectory in rest} | done == {job.key for job in plan.jobs()}
    assert len(rest) == 40 - len(done)


async def test_what_cannot_be_stored_stops_the_run(store: TrajectoryStore) -> None:
    plan = plan_of(3, always(call("add", amount=object())))
    with pytest.raises(StoreError, match="must be JSON values"):
        await carry_out(plan, store)
    assert store.finished("run") == set()


async def test_an_environment_that_cannot_work_as_asked_stops_the_run(
    store: TrajectoryStore,
) -> None:
    class Unable(CounterEnvironment):
        async def setup(self) -> str:
            raise UsageError("There is no database 'x'.")

    with pytest.raises(UsageError, match="no database 'x'"):
        await carry_out(plan_of(3, factory=Unable), store)


async def test_nothing_missing_is_nothing_to_do(store: TrajectoryStore) -> None:
    await carry_out(plan_of(3), store)
    engine = Engine(plan_of(3), store)
    assert engine.open(resume=True) == 0
    await engine.run()
    assert Counter(keys(list(store.trajectories("run")))).most_common(1)[0][1] == 1
