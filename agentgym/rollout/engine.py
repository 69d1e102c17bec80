"""The engine: many episodes at once on one event loop, each durable before the next.

A fixed number of workers take episodes from one queue. A worker keeps its environment from
episode to episode, and replaces it after a fault. What is done is in the store, so a run that
was killed is continued by running it again.
"""

import asyncio
from collections.abc import Callable, Collection, Iterator

from agentgym.rollout.attempts import Seat, play_job
from agentgym.rollout.plan import Job, Plan, check_same
from agentgym.trajectories.record import EpisodeKey, RunRecord, Trajectory
from agentgym.trajectories.store import TrajectoryStore, run_exists
from agentgym.trajectories.writer import EpisodeWriter

Listener = Callable[[Trajectory], None]


class Engine:
    """Carries out a plan.

    Args:
        plan: What to play.
        store: Where trajectories go.
        on_episode: Called with every trajectory once it is durable.

    Attributes:
        draining: Whether no further episode is begun.
    """

    def __init__(
        self, plan: Plan, store: TrajectoryStore, *, on_episode: Listener | None = None
    ) -> None:
        self._plan = plan
        self._store = store
        self._on_episode = on_episode
        self.draining = False
        self._jobs: list[Job] = []
        self._new: RunRecord | None = None

    def drain(self) -> None:
        """Begin no further episode; those in flight are finished and kept."""
        self.draining = True

    def open(self, *, resume: bool = False) -> int:
        """Look the run up in the store, and return how many episodes are missing.

        Nothing is written yet, so that several runs can be opened before any is played.

        Args:
            resume: Continue the run of this id where it exists; else that is an error.

        Raises:
            UsageError: The run exists and is not to be resumed, or is another one.
        """
        record = self._plan.record()
        done: Collection[EpisodeKey] = ()
        if not self._store.has_run(record.run_id):
            self._new = record
        elif resume:
            check_same(self._store.get_run(record.run_id), self._store.redacted(record))
            done = self._store.finished(record.run_id)
        else:
            raise run_exists(record.run_id)
        self._jobs = list(self._plan.jobs(done))
        return len(self._jobs)

    async def run(self) -> None:
        """Play every missing episode.

        Raises:
            UsageError: The environment or the agent cannot work as asked, or somebody else has
                put a run of this id into the store meanwhile.
            StoreError: A trajectory could not be written; nothing was reported done that is not.
        """
        if self._new is not None:
            self._store.create_run(self._new)
        queue = iter(self._jobs)
        try:
            async with EpisodeWriter(self._store) as writer, asyncio.TaskGroup() as workers:
                for _ in range(min(self._plan.concurrency, len(self._jobs))):
                    workers.create_task(self._work(queue, writer))
        except BaseExceptionGroup as group:
            # The first fault cancelled the other workers, so it is the whole story.
            raise group.exceptions[0] from group

    async def play(self, job: Job) -> Trajectory:
        """Play one episode in an environment of its own; nothing is written.

        An episode that infrastructure broke comes back as one, and is not an exception.

        Raises:
            UsageError: The environment or the agent cannot work as asked.
        """
        seat = Seat(self._plan)
        try:
            return await play_job(self._plan, seat, job)
        finally:
            await seat.leave()

    async def _work(self, queue: Iterator[Job], writer: EpisodeWriter) -> None:
        seat = Seat(self._plan)
        try:
            for job in queue:
                if self.draining:
                    return
                trajectory = await play_job(self._plan, seat, job)
                await writer.write(trajectory)
                if self._on_episode is not None:
                    self._on_episode(trajectory)
        finally:
            await seat.leave()
