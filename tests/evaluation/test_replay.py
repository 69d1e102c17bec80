"""Replay: the same actions give the same, and whatever differs is found and named."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentgym import EnvSpec, Limits, Observation, Reward, load_tasks, registry
from agentgym.agents.base import Agent
from agentgym.agents.baselines import NullAgent, OracleAgent, RandomAgent
from agentgym.errors import EnvironmentFailedError, UnknownNameError, UsageError
from agentgym.evaluation.replay import Replayed, replay_run
from agentgym.rollout.engine import Engine
from agentgym.rollout.plan import Plan
from agentgym.trajectories.record import Outcome, Trajectory, Turn
from agentgym.trajectories.store import TrajectoryStore
from agentgym.types import Message
from tests.environments import COUNTER, CounterEnvironment, counter_task, write_counter_tasks


class Leaking(CounterEnvironment):
    """Shows a secret of the process."""

    async def setup(self) -> str:
        return f"{await super().setup()} {os.environ['SERVICE_API_KEY']}"


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_by_hand", {})
    registry.register(COUNTER)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[TrajectoryStore]:
    with TrajectoryStore.open(tmp_path / "runs.db") as opened:
        yield opened


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    return write_counter_tasks(tmp_path, 4)


async def play(
    store: TrajectoryStore, tasks: Path, agent: Agent, env_spec: EnvSpec = COUNTER, **settings: Any
) -> None:
    loaded = load_tasks(env_spec, str(tasks))
    plan = Plan(env_spec=env_spec, tasks=loaded, agent=agent, run_id="run", **settings)
    engine = Engine(plan, store)
    engine.open()
    await engine.run()


async def replay(
    store: TrajectoryStore,
    change: Callable[[Trajectory], Trajectory] | None = None,
    **settings: Any,
) -> list[Replayed]:
    """Replay the stored run, each episode changed before."""
    stored = store.trajectories("run")
    trajectories = map(change, stored) if change else stored
    return [item async for item in replay_run(store.get_run("run"), trajectories, **settings)]


@pytest.mark.parametrize("concurrency", [1, 8])
@pytest.mark.parametrize(
    "agent", [RandomAgent(), NullAgent(), OracleAgent(COUNTER)], ids=lambda agent: agent.name
)
async def test_a_run_replays_the_same(
    store: TrajectoryStore, tasks: Path, agent: Agent, concurrency: int
) -> None:
    await play(store, tasks, agent, epochs=3, seed=7, concurrency=concurrency)
    replayed = await replay(store)
    assert len(replayed) == 12
    assert {(item.difference, item.skipped) for item in replayed} == {(None, None)}
    turns = {row.key: row.turns for row in store.summaries("run")}
    assert {item.key: item.turns for item in replayed} == turns


@pytest.mark.parametrize("limits", [Limits(turns=1), Limits(turns=3)])
async def test_episodes_cut_by_a_limit_replay_the_same(
    store: TrajectoryStore, tasks: Path, limits: Limits
) -> None:
    await play(store, tasks, RandomAgent(), limits=limits, epochs=4)
    assert {row.status for row in store.summaries("run")} == {"limit", "completed"}
    assert all(item.difference is None for item in await replay(store))


async def test_options_of_the_environment_are_replayed(store: TrajectoryStore, tasks: Path) -> None:
    await play(store, tasks, OracleAgent(COUNTER), env_options={"start": 10})
    assert all(item.difference is None for item in await replay(store))
    first = (await replay(store, env_options={"start": 11}))[0].difference
    assert first is not None
    assert (first.turn, first.what) == (0, "fingerprint")


def in_turn(number: int, **changes: Any) -> Callable[[Trajectory], Trajectory]:
    def change(trajectory: Trajectory) -> Trajectory:
        turns = list(trajectory.turns)
        turns[number - 1] = turns[number - 1].model_copy(update=changes)
        return trajectory.model_copy(update={"turns": tuple(turns)})

    return change


def on_record(**changes: Any) -> Callable[[Trajectory], Trajectory]:
    return lambda trajectory: trajectory.model_copy(update=changes)


def cut_short(trajectory: Trajectory) -> Trajectory:
    turns = (*trajectory.turns[:-1], trajectory.turns[-1].model_copy(update={"reward": Reward()}))
    return trajectory.model_copy(update={"turns": turns[:1]})


def prolonged(trajectory: Trajectory) -> Trajectory:
    return trajectory.model_copy(update={"turns": (*trajectory.turns, trajectory.turns[0])})


OTHER = Observation(messages=(Message(role="user", content="Count to 99."),))


@pytest.mark.parametrize(
    ("change", "turn", "what"),
    [
        (on_record(first=OTHER), 0, "observation"),
        (on_record(first_fingerprint="f"), 0, "fingerprint"),
        (in_turn(1, observation=OTHER), 1, "observation"),
        (in_turn(1, reward=Reward(value=0.5)), 1, "reward"),
        (in_turn(1, reward=Reward(labels={"by": "hand"})), 1, "reward"),
        (in_turn(1, fingerprint="f"), 1, "fingerprint"),
        (in_turn(2, observation=OTHER), 2, "observation"),
        (in_turn(2, reward=Reward(value=0.0)), 2, "reward"),
        (in_turn(2, fingerprint="f"), 2, "fingerprint"),
        (on_record(outcome=Outcome(status="limit", detail="turns")), 2, "outcome"),
        (on_record(grade=Reward(value=0.9)), 2, "grade"),
        (on_record(grade=Reward(value=1.0, feedback="Well done.")), 2, "grade"),
        (prolonged, 2, "turns"),
        (cut_short, 1, "reward"),
    ],
)
async def test_planted_differences_are_found_where_they_are(
    store: TrajectoryStore,
    tasks: Path,
    change: Callable[[Trajectory], Trajectory],
    turn: int,
    what: str,
) -> None:
    await play(store, tasks, OracleAgent(COUNTER))
    for item in await replay(store, change):
        assert item.difference is not None
        assert (item.difference.turn, item.difference.what) == (turn, what)
        assert item.difference.stored != item.difference.replayed
        json.dumps([item.difference.stored, item.difference.replayed])


async def test_another_seed_is_found_where_dice_fall(store: TrajectoryStore, tasks: Path) -> None:
    await play(store, tasks, RandomAgent(), epochs=5)

    def reseeded(trajectory: Trajectory) -> Trajectory:
        return trajectory.model_copy(update={"seed": 1000})

    found = [item.difference for item in await replay(store, reseeded)]
    rolled = [
        any(call.name == "roll" for turn in t.turns for call in turn.action.tool_calls)
        for t in store.trajectories("run")
    ]
    assert any(difference is not None for difference in found)
    assert all(did for did, difference in zip(rolled, found, strict=True) if difference)


async def test_an_environment_that_ends_no_more_is_found(
    store: TrajectoryStore, tasks: Path
) -> None:
    """Even where observations, rewards and grades are the same."""

    def unended(trajectory: Trajectory) -> Trajectory:
        last: Turn = trajectory.turns[-1]
        stayed = trajectory.turns[0].model_copy(update={"reward": last.reward})
        ended = Outcome(status="completed")
        return trajectory.model_copy(update={"turns": (stayed,), "outcome": ended})

    await play(store, tasks, OracleAgent(COUNTER))
    for item in await replay(store, unended):
        assert item.difference is not None
        assert (item.difference.what, item.difference.stored) == (
            "outcome",
            {"status": "completed", "detail": ""},
        )


def rewrite(source: Path, target: Path, changes: dict[int, str]) -> None:
    """Copy a file with some of its lines, counted from 0, replaced."""
    lines = dict(enumerate(source.read_text().splitlines())) | changes
    target.write_text("\n".join(lines.values()))


async def test_a_task_whose_content_changed_is_refused(store: TrajectoryStore, tasks: Path) -> None:
    await play(store, tasks, OracleAgent(COUNTER))
    rewrite(tasks, tasks, {2: counter_task(3, success=0.5).model_dump_json()})
    with pytest.raises(UsageError, match="'count-3' is not the one that was played"):
        await replay(store)


async def test_tasks_that_are_gone_or_moved(
    store: TrajectoryStore, tasks: Path, tmp_path: Path
) -> None:
    await play(store, tasks, OracleAgent(COUNTER))
    moved = tmp_path / "moved.jsonl"
    rewrite(tasks, moved, {})
    rewrite(tasks, tasks, {3: ""})
    with pytest.raises(UsageError, match=r"1 tasks of run 'run' are not in .*count-4"):
        await replay(store)
    assert all(item.difference is None for item in await replay(store, tasks=str(moved)))


async def test_another_version_of_the_environment_is_refused(
    store: TrajectoryStore, tasks: Path
) -> None:
    await play(store, tasks, OracleAgent(COUNTER))
    registry.register(COUNTER.model_copy(update={"version": 2}))
    with pytest.raises(UsageError, match="'test-counter-v1' is not installed"):
        await replay(store)
    registry._by_hand.clear()
    with pytest.raises(UnknownNameError, match="test-counter-v1"):
        await replay(store)


async def test_episodes_that_broke_are_skipped(store: TrajectoryStore, tasks: Path) -> None:
    await play(store, tasks, OracleAgent(COUNTER))
    broke = Outcome(status="error", detail="environment_lost")
    (first, *_) = await replay(store, lambda t: t.model_copy(update={"outcome": broke}))
    assert (first.skipped, first.difference) == ("error: environment_lost", None)


async def test_an_environment_that_breaks_in_the_replay_says_so(
    store: TrajectoryStore, tasks: Path
) -> None:
    await play(store, tasks, OracleAgent(COUNTER))
    with pytest.raises(EnvironmentFailedError, match="tool add raised TypeError"):
        await replay(store, env_options={"start": None})


async def test_secrets_left_out_of_the_store_are_no_difference(
    store: TrajectoryStore, tasks: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SERVICE_API_KEY", "Zx81-the-counter-key")
    leaking = COUNTER.model_copy(update={"entry_point": "tests.evaluation.test_replay:Leaking"})
    registry.register(leaking)
    with TrajectoryStore.open(tmp_path / "redacting.db") as redacting:
        await play(redacting, tasks, OracleAgent(COUNTER), leaking)
        for trajectory in redacting.trajectories("run"):
            assert "Zx81" not in trajectory.model_dump_json()
            assert "redacted" in trajectory.model_dump_json()
        assert all(item.difference is None for item in await replay(redacting))
