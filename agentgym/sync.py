"""A sync facade for notebooks and scripts, where an event loop is none of your business."""

from types import TracebackType
from typing import Any, Self

from anyio.from_thread import start_blocking_portal

from agentgym.env import Environment
from agentgym.types import Action, Observation, Reward, Snapshot, Task, Transition


class SyncEnvironment:
    """Any environment with plain methods; its loop runs in a thread of its own.

    Args:
        environment: Used by nobody else from now on.
    """

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._manager = start_blocking_portal()
        self._portal = self._manager.__enter__()
        self._open = True

    def reset(self, task: Task[Any, Any], *, seed: int = 0) -> Observation:
        """See `Environment.reset`."""
        return self._portal.call(lambda: self._environment.reset(task, seed=seed))

    def step(self, action: Action) -> Transition:
        """See `Environment.step`."""
        return self._portal.call(self._environment.step, action)

    def grade(self) -> Reward:
        """See `Environment.grade`."""
        return self._portal.call(self._environment.grade)

    def fingerprint(self) -> str:
        """See `Environment.fingerprint`."""
        return self._portal.call(self._environment.fingerprint)

    def snapshot(self) -> Snapshot:
        """See `Environment.snapshot`."""
        return self._portal.call(self._environment.snapshot)

    def restore(self, snapshot: Snapshot) -> Observation:
        """See `Environment.restore`."""
        return self._portal.call(self._environment.restore, snapshot)

    def close(self) -> None:
        """Close the environment and end its thread; closing twice is allowed."""
        if not self._open:
            return
        self._open = False
        try:
            self._portal.call(self._environment.close)
        finally:
            self._manager.__exit__(None, None, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
