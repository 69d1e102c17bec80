"""A process that writes a run's episodes and says each one that is durable.

Usage: python -m tests.trajectories.writing LOCATION RUN_ID FIRST LAST
"""

import asyncio
import sys
from collections.abc import Iterator

from agentgym.trajectories.record import EpisodeKey
from agentgym.trajectories.store import TrajectoryStore
from agentgym.trajectories.writer import EpisodeWriter
from tests.trajectories import samples

WORKERS = 8


async def write(location: str, run_id: str, first: int, last: int) -> None:
    with TrajectoryStore.open(location) as store:
        done = store.finished(run_id)
        keys = (EpisodeKey(task_id=f"t{number}") for number in range(first, last))
        missing = (key for key in keys if key not in done)
        async with EpisodeWriter(store) as writer, asyncio.TaskGroup() as workers:
            for _ in range(WORKERS):
                workers.create_task(_work(writer, run_id, missing))


async def _work(writer: EpisodeWriter, run_id: str, keys: Iterator[EpisodeKey]) -> None:
    for key in keys:
        await writer.write(samples.episode(key.task_id, run_id=run_id))
        sys.stdout.write(f"{key.task_id}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    location, run_id, first, last = sys.argv[1:]
    asyncio.run(write(location, run_id, int(first), int(last)))
