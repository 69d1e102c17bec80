"""A sync facade for notebooks and scripts, where an event loop is none of your business."""

import weakref
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Self, TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

from agentgym.env import Environment
from agentgym.errors import ProtocolError
from agentgym.types import Action, Observation, Reward, Snapshot, Task, Transition

ResultT = TypeVar("ResultT")


class SyncEnvironment:
    """Any environment with plain methods; its loop runs in a thread of its own.

    One that is not closed by hand is closed when it is let go of, at the latest when the
    process ends.

    Args:
        environment: Used by nobody else from now on.
    """

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        manager = start_blocking_portal()
        self._portal = manager.__enter__()
        self._closing = weakref.finalize(self, _close, environment, self._portal, manager)

    def reset(self, task: Task[Any, Any], *, seed: int = 0) -> Observation:
        """See `Environment.reset`."""
        return self._call(lambda: self._environment.reset(task, seed=seed))

    def step(self, action: Action) -> Transition:
        """See `Environment.step`."""
        return self._call(self._environment.step, action)

    def grade(self) -> Reward:
        """See `Environment.grade`."""
        return self._call(self._environment.grade)

    def fingerprint(self) -> str:
        """See `Environment.fingerprint`."""
        return self._call(self._environment.fingerprint)

    def snapshot(self) -> Snapshot:
        """See `Environment.snapshot`."""
        return self._call(self._environment.snapshot)

    def restore(self, snapshot: Snapshot) -> Observation:
        """See `Environment.restore`."""
        return self._call(self._environment.restore, snapshot)

    def close(self) -> None:
        """Close the environment and end its thread; closing twice is allowed."""
        self._closing()

    def _call(self, method: Callable[..., Awaitable[ResultT]], *args: Any) -> ResultT:
        if not self._closing.alive:
            raise ProtocolError("This environment is closed.", remedy="Make another one.")
        return self._portal.call(method, *args)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _close(
    environment: Environment,
    portal: BlockingPortal,
    manager: AbstractContextManager[BlockingPortal],
) -> None:
    try:
        portal.call(environment.close)
    finally:
        manager.__exit__(None, None, None)
