"""The attempts at an episode: a seat with an environment, and retries by the type of the fault."""

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt
from tenacity.wait import wait_exponential, wait_random

from agentgym.agents.base import Brief
from agentgym.env import Environment, blame
from agentgym.errors import AgentgymError, EpisodeError, ModelRateLimitedError
from agentgym.faults import Fault
from agentgym.rollout.episode import Episode, play
from agentgym.rollout.plan import Job, Plan
from agentgym.trajectories.record import Outcome, Trajectory

log = logging.getLogger("agentgym")

CLOSE_TIMEOUT = 30.0
LONGEST_WAIT = 30.0
LONGEST_ASKED = 120.0
"""Seconds a server may ask to wait; one that asks for longer ends the episode in an error, and the
run can be continued later."""


class Seat:
    """A worker's place: one environment at a time, made when needed, replaced after a fault.

    Args:
        plan: Makes the environment.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._environment: Environment | None = None

    def environment(self) -> Environment:
        """Return the seat's environment.

        Raises:
            EpisodeError: It cannot be made.
        """
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


async def play_job(plan: Plan, seat: Seat, job: Job) -> Trajectory:
    """Play one episode, starting it again where the fault allows it.

    An episode that infrastructure broke comes back as one, and is not an exception.

    Raises:
        UsageError: The environment or the agent cannot work as asked.
    """
    faults: list[Fault] = []
    started = datetime.now(UTC)
    episode = Episode()
    attempt = 0
    try:
        async for again in AsyncRetrying(
            retry=retry_if_exception(_worth_retrying),
            stop=stop_after_attempt(plan.attempts),
            wait=_wait(plan.backoff),
            reraise=True,
        ):
            with again:
                attempt, episode = again.retry_state.attempt_number, Episode()
                started = datetime.now(UTC)
                try:
                    await _attempt(plan, seat, job, episode)
                except EpisodeError as error:
                    await seat.leave()
                    final = not _worth_retrying(error) or attempt == plan.attempts
                    faults += [*_numbered(episode, attempt), _fault(error, attempt, final)]
                    raise
                faults += _numbered(episode, attempt)
    except EpisodeError as error:
        log.info("episode %s failed: %s", job.key.task_id, error)
        episode.outcome = Outcome(status="error", detail=error.kind)
        episode.grade = None
    return _trajectory(plan, job, episode, tuple(faults), attempt, started)


async def _attempt(plan: Plan, seat: Seat, job: Job, episode: Episode) -> None:
    rules = plan.rules(job.task)
    brief = Brief(
        env=plan.env_spec.id,
        task_id=job.task.id,
        seed=job.seed,
        limits=rules.limits,
        task=job.task if plan.agent.privileged else None,
    )
    await play(episode, seat.environment(), plan.agent, brief, job.task, rules)


def _trajectory(
    plan: Plan,
    job: Job,
    episode: Episode,
    faults: tuple[Fault, ...],
    attempts: int,
    started: datetime,
) -> Trajectory:
    grade = episode.grade
    return Trajectory(
        run_id=plan.run_id,
        env=plan.env_spec.id,
        agent=plan.agent.name,
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
