"""The contract between the SQL environment and a database: backends open sessions.

Invariants:
    * One session is one episode's private view of one database: what it writes, no other
      session sees, and the file or server it came from stays as it was.
    * The agent's SQL reaches nothing but that view, and ends at its limits. Its faults are
      `StatementError`; what breaks around it is an `agentgym.errors.EpisodeError`.
    * A statement that raised changed nothing, and leaves the session usable.
    * Each statement is a transaction of its own.
    * The same statements in the same order with the same seed give the same rows.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias

from agentgym_sql.results import Result, Table

SavedState: TypeAlias = Any
"""Opaque; valid for sessions of the same database in the same backend."""


class Session(ABC):
    """One episode's private view of one database."""

    @abstractmethod
    async def execute(self, sql: str, *, timeout_s: float, max_rows: int, max_bytes: int) -> Result:
        """Run exactly one statement.

        Args:
            sql: The statement, in the engine's dialect.
            timeout_s: Seconds until it is stopped and rolled back.
            max_rows: Rows returned at most.
            max_bytes: Bytes of text and blobs returned at most; other cells count 8.

        Raises:
            StatementError: The statement's fault; nothing was changed.
            EnvironmentLostError: The database died under it.
        """

    @abstractmethod
    async def schema(self) -> list[Table]:
        """Return the tables and views as they are now.

        Raises:
            EnvironmentLostError: The database died.
            EnvironmentTimeoutError: It took too long.
        """

    @abstractmethod
    async def state_hash(self, declared: Collection[str] | None = None) -> str:
        """Return the hash of schema and rows: equal content, equal string.

        The order of rows does not count, and floats count to 12 significant digits. Views
        and triggers count by their text. Comparable within one backend.

        Args:
            declared: Names of the tables and views of which the declaration counts, types and
                keys included; of others only the columns' names and the rows do, in any order.
                None means all.

        Raises:
            StatementError: With `declared`, where views are read: one of the agent's cannot be,
                or not in time.
            EnvironmentLostError: The database died.
            EnvironmentTimeoutError: It took too long.
        """

    @abstractmethod
    async def save(self) -> SavedState:
        """Return the state as it is now, for `load`.

        Raises:
            EnvironmentLostError: The database died.
        """

    @abstractmethod
    async def load(self, saved: SavedState) -> None:
        """Go back to a saved state, of this session or another on the same database.

        Raises:
            EnvironmentLostError: The database died.
        """

    @abstractmethod
    async def rest(self) -> None:
        """Give back what runs the statements, for other sessions, until the next statement.

        The view stays as it is. Worth it where little was written: that is done again on waking.
        """

    @abstractmethod
    async def close(self) -> None:
        """Give up the view and what it wrote; may be called again."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()


class Backend(ABC):
    """Opens sessions on databases whose canonical form is a SQLite file."""

    @abstractmethod
    async def open(self, path: str | Path, *, writable: bool = False, seed: int = 0) -> Session:
        """Open a fresh view, in the file's own state.

        Args:
            path: The SQLite file; never written.
            writable: Whether statements may change the view.
            seed: Of whatever is random in the engine.

        Raises:
            UsageError: The file or the server cannot be used.
            EnvironmentLostError: The database died while it was opened.
        """

    @abstractmethod
    async def close(self) -> None:
        """End what the backend holds; may be called again. Close the sessions first."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()
