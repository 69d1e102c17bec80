"""The engine: many episodes at once on one event loop, each durable before the next.

A fixed number of workers take episodes from one queue. A worker keeps its environment from
episode to episode, and replaces it after a fault. What is done is in the store, so a run that
was killed is continued by running it again.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterator
from datetime import UTC, datetime

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt
from tenacity.wait import wait_exponential, wait_random

from agentgym.agents.base import Brief
from agentgym.env import Environment, blame
from agentgym.errors import AgentgymError, EpisodeError, ModelRateLimitedError
from agentgym.rollout.episode import Episode, play
from agentgym.rollout.plan import Job, Plan, check_same
from agentgym.trajectories.record import EpisodeKey, Fault, Outcome, RunRecord, Trajectory
from agentgym.trajectories.store import TrajectoryStore, run_exists
from agentgym.trajectories.writer import EpisodeWriter

log = logging.getLogger("agentgym")

Listener = Callable[[Trajectory], None]
CLOSE_TIMEOUT = 30.0
LONGEST_WAIT = 30.0
LONGEST_ASKED = 120.0
"""Seconds a server may ask to wait; one that asks for longer ends the episode in an error, and the
run can be continued later."""


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
        seat = _Seat(self._plan)
        try:
            return await self._play(seat, job)
        finally:
            await seat.leave()

    async def _work(self, queue: Iterator[Job], writer: EpisodeWriter) -> None:
        seat = _Seat(self._plan)
        try:
            for job in queue:
                if self.draining:
                    return
                trajectory = await self._play(seat, job)
                await writer.write(trajectory)
                if self._on_episode is not None:
                    self._on_episode(trajectory)
        finally:
            await seat.leave()

    async def _play(self, seat: "_Seat", job: Job) -> Trajectory:
        """Play one episode, starting it again where the fault allows it."""
        faults: list[Fault] = []
        started = datetime.now(UTC)
        episode = Episode()
        attempt = 0
        try:
            async for again in AsyncRetrying(
                retry=retry_if_exception(_worth_retrying),
                stop=stop_after_attempt(self._plan.attempts),
                wait=_wait(self._plan.backoff),
                reraise=True,
            ):
                with again:
                    attempt, episode = again.retry_state.attempt_number, Episode()
                    started = datetime.now(UTC)
                    try:
                        await self._attempt(seat, job, episode)
                    except EpisodeError as error:
                        await seat.leave()
                        final = not _worth_retrying(error) or attempt == self._plan.attempts
                        faults += [*_numbered(episode, attempt), _fault(error, attempt, final)]
                        raise
                    faults += _numbered(episode, attempt)
        except EpisodeError as error:
            log.info("episode %s failed: %s", job.key.task_id, error)
            episode.outcome = Outcome(status="error", detail=error.kind)
            episode.grade = None
        return self._trajectory(job, episode, tuple(faults), attempt, started)

    async def _attempt(self, seat: "_Seat", job: Job, episode: Episode) -> None:
        rules = self._plan.rules(job.task)
        brief = Brief(
            env=self._plan.env_spec.id,
            task_id=job.task.id,
            seed=job.seed,
            limits=rules.limits,
            task=job.task if self._plan.agent.privileged else None,
        )
        await play(episode, seat.environment(), self._plan.agent, brief, job.task, rules)

    def _trajectory(
        self,
        job: Job,
        episode: Episode,
        faults: tuple[Fault, ...],
        attempts: int,
        started: datetime,
    ) -> Trajectory:
        grade = episode.grade
        return Trajectory(
            run_id=self._plan.run_id,
            env=self._plan.env_spec.id,
            agent=self._plan.agent.name,
            key=job.key,
            task_hash=job.task_hash,
            seed=job.seed,
            first=episode.first,
            first_fingerprint=episode.first_fingerprint,
            turns=tuple(episode.turns),
            outcome=episode.outcome or Outcome(status="error", detail="episode"),
            grade=grade,
            success=None if grade is None else grade.value >= job.task.success,
            faults=faults,
            attempts=attempts,
            started_at=started,
        )


class _Seat:
    """A worker's place: one environment at a time, made when needed, replaced after a fault."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._environment: Environment | None = None

    def environment(self) -> Environment:
        if self._environment is None:
            with blame("making the environment"):
                self._environment = self._plan.environment()
        return self._environment

    async def leave(self) -> None:
        """Close the environment; one that hangs or breaks while closing is only reported."""
        environment, self._environment = self._environment, None
        if environment is None:
            return
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT):
                with blame("close"):
                    await environment.close()
        except TimeoutError:
            log.warning("closing the environment took longer than %g s", CLOSE_TIMEOUT)
        except AgentgymError as error:
            log.warning("closing the environment failed: %s", error)


def _worth_retrying(error: BaseException) -> bool:
    if isinstance(error, ModelRateLimitedError) and (error.retry_after or 0.0) > LONGEST_ASKED:
        return False
    return isinstance(error, EpisodeError) and error.retryable


def _wait(backoff: float) -> Callable[[RetryCallState], float]:
    """Return how long to wait: what the server asked for, else exponentially, with jitter."""
    longer = wait_exponential(multiplier=backoff, max=LONGEST_WAIT) + wait_random(0.0, backoff)

    def wait(state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, ModelRateLimitedError) and error.retry_after is not None:
            return error.retry_after
        return longer(state)

    return wait


def _fault(error: EpisodeError, attempt: int, fatal: bool) -> Fault:
    return Fault(kind=error.kind, message=str(error), attempt=attempt, fatal=fatal)


def _numbered(episode: Episode, attempt: int) -> list[Fault]:
    return [fault.model_copy(update={"attempt": attempt}) for fault in episode.faults]
