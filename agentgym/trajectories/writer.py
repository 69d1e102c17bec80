"""Durable writes off the event loop, many workers to one commit."""

import asyncio
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Self

from agentgym.errors import ProtocolError, UsageError
from agentgym.trajectories.record import Trajectory
from agentgym.trajectories.rows import Row
from agentgym.trajectories.store import TrajectoryStore


class EpisodeWriter:
    """Saves episodes on one background thread.

    Whatever is queued while a commit runs goes into the next one together, so that workers
    share the price of a transaction. Use it as an async context manager; leaving it waits for
    what is queued.

    Args:
        store: Where to; the writer does not close it.
    """

    def __init__(self, store: TrajectoryStore) -> None:
        self._store = store
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="episode-writer")
        self._lock = threading.Lock()
        self._queued: list[Trajectory] = []
        self._next: Future[list[UsageError | None]] | None = None
        self._closed = False

    async def write(self, trajectory: Trajectory) -> None:
        """Save an episode; on return it is committed.

        A caller that is cancelled while it waits does not take the episode back.

        Raises:
            StoreError: The episode cannot be stored, or the store cannot be written.
            UnknownNameError: Its run was not created.
            ProtocolError: The writer is closed.
        """
        with self._lock:
            if self._closed:
                raise ProtocolError("The episode writer is closed.")
            if self._next is None:
                self._next = self._thread.submit(self._commit)
            place, commit = len(self._queued), self._next
            self._queued.append(trajectory)
        failures = await asyncio.shield(asyncio.wrap_future(commit))
        if (failure := failures[place]) is not None:
            raise failure

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._lock:
            self._closed = True
        await asyncio.to_thread(self._thread.shutdown)

    def _commit(self) -> list[UsageError | None]:
        """Save all that is queued; return for each episode why it alone was left out."""
        with self._lock:
            queued, self._queued, self._next = self._queued, [], None
        rows: list[Row] = []
        failures: list[UsageError | None] = []
        for trajectory in queued:
            try:
                rows.append(self._store.pack(trajectory))
                failures.append(None)
            except UsageError as error:
                failures.append(error)
        self._store.insert(rows)
        return failures
