"""The host: deals the episodes of a run to clients, one a session, and keeps what they play."""

import asyncio
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Self

from agentgym.interop.mcp.session import ClientAgent, Session
from agentgym.rollout.engine import Engine
from agentgym.rollout.plan import Job, Plan
from agentgym.trajectories.record import Trajectory
from agentgym.trajectories.store import TrajectoryStore
from agentgym.trajectories.writer import EpisodeWriter


class EpisodeHost:
    """Use it as an async context manager: entering adds the run to the store, leaving waits.

    An episode is played once, since a client cannot be asked to begin again. One that
    infrastructure broke is kept as such and dealt again to the next client.

    Args:
        plan: The run; its agent is a `ClientAgent`, and it starts each episode once.
        agent: That agent.
        store: Where trajectories go.
        idle_s: Seconds without a call after which a client counts as gone; None waits.
        on_episode: Called with every trajectory once it is durable.

    Attributes:
        all_played: Set once every episode is played and every client has gone.
    """

    def __init__(
        self,
        plan: Plan,
        agent: ClientAgent,
        store: TrajectoryStore,
        *,
        idle_s: float | None = None,
        on_episode: Callable[[Trajectory], None] | None = None,
    ) -> None:
        self._agent = agent
        self._plan = plan
        self._store = store
        self._idle_s = idle_s
        self._on_episode = on_episode
        self._engine = Engine(plan, store)
        self._jobs = deque(plan.jobs())
        self._writer = EpisodeWriter(store)
        self._tasks = asyncio.TaskGroup()
        self._connected: list[Session] = []
        self._playing = 0
        self.all_played = asyncio.Event()

    def begin(self) -> Session | None:
        """Deal the next episode to a client; None where there is none left."""
        if not self._jobs:
            return None
        job = self._jobs.popleft()
        session = Session(idle_s=self._idle_s)
        self._agent.expect(job.task.id, job.seed, session)
        self._connected.append(session)
        self._playing += 1
        self._tasks.create_task(self._play(job, session))
        return session

    def part(self, session: Session) -> None:
        """Take note that a client has gone; may be called twice."""
        if session in self._connected:
            self._connected.remove(session)
            session.leave()
            self._look()

    def dismiss(self) -> None:
        """Let every client count as gone."""
        for session in list(self._connected):
            self.part(session)

    async def _play(self, job: Job, session: Session) -> None:
        trajectory: Trajectory | None = None
        try:
            played = await self._engine.play(job)
            await self._writer.write(played)
            trajectory = played  # kept before the client is told that it is over
        finally:
            session.end(trajectory)
            self._playing -= 1
        if trajectory.outcome.detail == "left" and session in self._connected:
            self._connected.remove(session)  # a client that hangs may keep its connection
        if trajectory.outcome.status == "error":
            self._jobs.appendleft(job)
        if self._on_episode is not None:
            self._on_episode(trajectory)
        self._look()

    def _look(self) -> None:
        if not (self._jobs or self._playing or self._connected):
            self.all_played.set()

    async def __aenter__(self) -> Self:
        self._store.create_run(self._plan.record())
        await self._writer.__aenter__()
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.dismiss()
        try:
            await self._tasks.__aexit__(kind, error, trace)
        except BaseExceptionGroup as group:
            # The first fault cancelled the other episodes, so it is the whole story.
            raise group.exceptions[0] from group
        finally:
            await self._writer.__aexit__(kind, error, trace)
