import asyncio
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest
import sqlalchemy as sa

from agentgym.errors import ProtocolError, StoreError, UnknownNameError
from agentgym.trajectories.record import EpisodeKey
from agentgym.trajectories.rows import Row
from agentgym.trajectories.store import TrajectoryStore
from agentgym.trajectories.writer import EpisodeWriter
from tests.trajectories import samples


async def test_a_written_episode_is_durable(store: TrajectoryStore, location: str) -> None:
    store.create_run(samples.run())
    async with EpisodeWriter(store) as writer:
        await writer.write(samples.episode("t1"))
        with TrajectoryStore.open(location) as other:
            assert other.finished("r1") == {EpisodeKey(task_id="t1")}


async def test_workers_share_commits(tmp_path: Path) -> None:
    commits = 0

    with TrajectoryStore.open(tmp_path / "runs.db") as store:
        store.create_run(samples.run(tasks=100))

        @sa.event.listens_for(sa.Engine, "commit")
        def _count(_connection: sa.Connection) -> None:
            nonlocal commits
            commits += 1

        async with EpisodeWriter(store) as writer:
            written = (writer.write(samples.episode(f"t{number}")) for number in range(100))
            await asyncio.gather(*written)
        sa.event.remove(sa.Engine, "commit", _count)
        assert len(store.finished("r1")) == 100
    assert commits <= 5


async def test_one_bad_episode_spoils_no_other(store: TrajectoryStore) -> None:
    store.create_run(samples.run())
    async with EpisodeWriter(store) as writer:
        good, bad = await asyncio.gather(
            writer.write(samples.episode("t0")),
            writer.write(samples.episode("t0", run_id="r2")),
            return_exceptions=True,
        )
    assert good is None
    assert isinstance(bad, UnknownNameError)
    assert len(store.finished("r1")) == 1


async def test_a_store_that_fails_tells_every_waiter(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with TrajectoryStore.open(path) as store:
        store.create_run(samples.run())
        with sqlite3.connect(path) as raw:
            raw.execute("DROP TABLE agentgym_episodes")
        async with EpisodeWriter(store) as writer:
            written = (writer.write(samples.episode(f"t{number}")) for number in range(3))
            answers = await asyncio.gather(*written, return_exceptions=True)
    assert [type(answer) for answer in answers] == [StoreError] * 3


class GatedStore(TrajectoryStore):
    """A store whose commits wait until the test lets them go."""

    gate: asyncio.Event
    started: asyncio.Event
    loop: asyncio.AbstractEventLoop

    def insert(self, rows: Sequence[Row]) -> None:
        self.loop.call_soon_threadsafe(self.started.set)
        asyncio.run_coroutine_threadsafe(self.gate.wait(), self.loop).result()
        super().insert(rows)


async def test_a_cancelled_waiter_takes_nothing_back(tmp_path: Path) -> None:
    with GatedStore.open(tmp_path / "runs.db") as store:
        store.gate, store.started = asyncio.Event(), asyncio.Event()
        store.loop = asyncio.get_running_loop()
        store.create_run(samples.run())
        async with EpisodeWriter(store) as writer:
            first = asyncio.create_task(writer.write(samples.episode("t0")))
            await store.started.wait()
            second = asyncio.create_task(writer.write(samples.episode("t1")))
            third = asyncio.create_task(writer.write(samples.episode("t2")))
            await asyncio.sleep(0)  # both have queued their episodes
            second.cancel()
            store.gate.set()
            await asyncio.gather(first, third)
            assert second.cancelled()
        assert len(store.finished("r1")) == 3


async def test_leaving_waits_for_what_is_queued(store: TrajectoryStore) -> None:
    store.create_run(samples.run())
    async with EpisodeWriter(store) as writer:
        task = asyncio.create_task(writer.write(samples.episode("t0")))
        await asyncio.sleep(0)  # the task has queued its episode
    assert len(store.finished("r1")) == 1
    await task


async def test_a_closed_writer_says_so(store: TrajectoryStore) -> None:
    store.create_run(samples.run())
    async with EpisodeWriter(store) as writer:
        pass
    with pytest.raises(ProtocolError, match="closed"):
        await writer.write(samples.episode())
