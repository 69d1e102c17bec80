"""Episodes on a background loop, their model calls answered by the thread that asked for them."""

import asyncio
import time
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from queue import SimpleQueue
from typing import Any, Protocol

from anyio.from_thread import BlockingPortal, start_blocking_portal

from agentgym.agents.base import Agent
from agentgym.agents.sampling import Batcher, Sampled, Sampler, SampleRequest
from agentgym.env import Environment
from agentgym.rollout.attempts import Seat, play_job
from agentgym.rollout.plan import Job, Plan
from agentgym.trajectories.record import Trajectory


class Model(Protocol):
    """Samples in the thread of whoever plays."""

    def sample(self, requests: Sequence[SampleRequest]) -> Sequence[Sampled]:
        """Sample for every request, in their order."""

    def keep_company(self) -> None:
        """Hear that the batch's episodes are over."""


@dataclass(frozen=True)
class TrainingPlan(Plan):
    """A plan whose environments may be wrapped.

    Attributes:
        wrap: What is made of each environment before it is played; None leaves it as it is.
    """

    wrap: Callable[[Environment], Environment] | None = None

    def environment(self) -> Environment:
        """Make an environment for this run."""
        made = super().environment()
        return made if self.wrap is None else self.wrap(made)


@dataclass(frozen=True, slots=True)
class _Order:
    requests: Sequence[SampleRequest]
    answer: "Future[Sequence[Sampled]]"


@dataclass(slots=True)
class Clock:
    """Where a batch's time went.

    Attributes:
        sampling_s: Seconds in which the model sampled.
        waiting_s: Seconds in which no episode had a turn to sample: all were with their
            environments.
    """

    sampling_s: float = 0.0
    waiting_s: float = 0.0


class Rollouts:
    """Plays batches of episodes on one background loop, which is begun when first needed.

    Environments are kept from batch to batch. What is not closed by hand is closed when it is
    let go of, at the latest when the process ends.

    Args:
        plan: By what rules episodes are played; its agent is not asked.

    Attributes:
        clock: Of the newest batch.
    """

    def __init__(self, plan: TrainingPlan) -> None:
        self.clock = Clock()
        self._plan = plan
        self._seats: list[Seat] = []
        self._idle: list[Seat] = []
        self._portal: BlockingPortal | None = None
        self._closing: weakref.finalize[Any, Any] | None = None

    def play(
        self, jobs: Sequence[Job], agent_of: Callable[[Sampler], Agent], model: Model
    ) -> list[Trajectory]:
        """Play episodes, as many at once as the plan says, and return them in order.

        This thread serves the turns of all live episodes by one call of the model, each time
        that all of them wait for it. An episode that infrastructure broke comes back as one.

        Args:
            jobs: The episodes.
            agent_of: Makes an episode's agent from what it samples by.
            model: Samples, in this thread.

        Raises:
            UsageError: The environment or the agent cannot work as asked.
        """
        desk: SimpleQueue[_Order | None] = SimpleQueue()
        playing = self._running().start_task_soon(self._play_all, jobs, agent_of, desk)
        playing.add_done_callback(lambda _: desk.put(None))
        order: _Order | None = None
        self.clock = Clock()
        try:
            began = time.perf_counter()
            while (order := desk.get()) is not None:
                ordered = time.perf_counter()
                order.answer.set_result(model.sample(order.requests))
                self.clock.waiting_s += ordered - began
                began = time.perf_counter()
                self.clock.sampling_s += began - ordered
            self.clock.waiting_s += time.perf_counter() - began
            trajectories: list[Trajectory] = playing.result()
        except BaseException:
            playing.cancel()
            if order is not None:
                order.answer.cancel()
            raise
        model.keep_company()
        return trajectories

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run a coroutine function on the loop and return what it returns."""
        return self._running().call(function, *args)

    def seat(self) -> Seat:
        """Return a place for episodes that are played from outside, closed with the others."""
        seat = Seat(self._plan)
        self._seats.append(seat)
        return seat

    def close(self) -> None:
        """Close every environment and end the loop; closing twice is allowed."""
        if self._closing is not None:
            self._closing()
        self._portal = self._closing = None

    def _running(self) -> BlockingPortal:
        if self._portal is None:
            manager = start_blocking_portal()
            self._portal = manager.__enter__()
            self._closing = weakref.finalize(self, _close, self._seats, self._portal, manager)
        return self._portal

    async def _play_all(
        self,
        jobs: Sequence[Job],
        agent_of: Callable[[Sampler], Agent],
        desk: "SimpleQueue[_Order | None]",
    ) -> list[Trajectory]:
        async def serve(requests: Sequence[SampleRequest]) -> Sequence[Sampled]:
            order = _Order(requests, Future())
            desk.put(order)
            return await asyncio.wrap_future(order.answer)

        unfinished = len(jobs)
        # Whoever may begin counts as live, so that the first does not go ahead of the others.
        batcher = Batcher(serve, lambda: min(self._plan.concurrency, unfinished))
        gate = asyncio.Semaphore(self._plan.concurrency)

        async def one(place: int, job: Job) -> Trajectory:
            nonlocal unfinished
            async with gate:
                try:
                    return await self._one(job, agent_of(batcher.sampler(place)))
                finally:
                    unfinished -= 1
                    batcher.look()

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(one(place, job)) for place, job in enumerate(jobs)]
        except BaseExceptionGroup as failed:
            # The first fault cancelled the other episodes, so it is the whole story.
            raise failed.exceptions[0] from failed
        return [task.result() for task in tasks]

    async def _one(self, job: Job, agent: Agent) -> Trajectory:
        seat = self._idle.pop() if self._idle else self.seat()
        try:
            return await play_job(replace(self._plan, agent=agent), seat, job)
        except BaseException:
            await seat.leave()
            raise
        finally:
            self._idle.append(seat)


def _close(
    seats: list[Seat], portal: BlockingPortal, manager: AbstractContextManager[BlockingPortal]
) -> None:
    try:
        for seat in seats:  # which stay known: whoever sits there may make another environment
            portal.call(seat.leave)
    finally:
        manager.__exit__(None, None, None)
